"""Translate many sentences: into candidate lists, or into the forests themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hulltune.decoder.best import best_translations
from hulltune.decoder.translation import FEATURES, Translator, weight_vector
from hulltune.forest.forest import Forest
from hulltune.forest.vocabulary import Vocabulary
from hulltune.io.candidates import CandidateLists
from hulltune.io.records import lists_from_records


def translate_to_forests(
    translator: Translator, sources: Sequence[str], weights: Mapping[str, float]
) -> Iterator[Forest]:
    """The forest of each sentence; they share a vocabulary."""
    vocabulary = Vocabulary()
    for source in sources:
        yield translator.forest(source.split(), weights, vocabulary=vocabulary)


def translate_to_lists(
    translator: Translator, sources: Sequence[str], weights: Mapping[str, float], *, size: int = 100
) -> CandidateLists:
    """The ``size`` best different translations of each sentence, with their features and scores."""
    vector = weight_vector(weights)
    return lists_from_records(
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
