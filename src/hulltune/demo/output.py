"""Translate many sentences into candidate lists, word lattices or forests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from hulltune.data.dataset import Dataset
from hulltune.data.forest import Forest
from hulltune.data.unfolding import MOST_EDGES, unfolded_or_none
from hulltune.data.vocabulary import Vocabulary
from hulltune.demo.best import best_translations
from hulltune.demo.translation import FEATURES, Translator, weight_vector
from hulltune.errors import InputError
from hulltune.formats.read import read


def translate_to_forests(
    translator: Translator, sources: Sequence[str], weights: Mapping[str, float]
) -> Iterator[Forest]:
    """The forest of each sentence; they share a vocabulary."""
    vocabulary = Vocabulary()
    for source in sources:
        yield translator.forest(source.split(), weights, vocabulary=vocabulary)


@dataclass(frozen=True)
class Lattice:
    """The word lattice of a sentence, and the number of edges of its forest that had to be left out."""

    forest: Forest
    left_out: int


def translate_to_lattices(
    translator: Translator, sources: Sequence[str], weights: Mapping[str, float], *, most_edges: int = MOST_EDGES
) -> Iterator[Lattice]:
    """The forest of each sentence as a lattice with the derivations of the forest.

    While the lattice would have more than ``most_edges`` edges, edges of the worst derivations are left out.
    """
    vector = weight_vector(weights)
    for number, forest in enumerate(translate_to_forests(translator, sources, weights)):
        yield _lattice(forest, vector, most_edges, number)


def _lattice(forest: Forest, weights: Sequence[float], most_edges: int, sentence: int) -> Lattice:
    lattice = unfolded_or_none(forest, most_edges)
    if lattice is not None:
        return Lattice(lattice, 0)
    from hulltune.search.pruning import prune

    density, kept = float(forest.edges), forest
    while kept.edges > 1:  # ends with the best derivation alone
        density /= 2
        smaller = prune(forest, weights, density=density, share=False).corpus[0]
        if smaller.edges < kept.edges:
            lattice, kept = unfolded_or_none(smaller, most_edges), smaller
            if lattice is not None:
                return Lattice(lattice, forest.edges - smaller.edges)
        elif density < 1e-9:
            break
    raise InputError(f"sentence {sentence}: its best translation alone has more than {most_edges:,} edges; allow more")


def translate_to_lists(
    translator: Translator, sources: Sequence[str], weights: Mapping[str, float], *, size: int = 100
) -> Dataset:
    """The ``size`` best different translations of each sentence, with their features and scores."""
    vector = weight_vector(weights)
    return read(
        {
            "candidates": [
                {
                    "text": " ".join(translation.words),
                    "features": dict(zip(FEATURES, translation.features, strict=True)),
                    "score": translation.score,
                }
                for translation in best_translations(forest, vector, size)
            ]
        }
        for forest in translate_to_forests(translator, sources, weights)
    )
