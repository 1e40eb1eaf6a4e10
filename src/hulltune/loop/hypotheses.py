"""The outputs of the decoder in all iterations so far, as one dataset."""

from __future__ import annotations

import hashlib
import math
import os
import shutil
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hulltune.arrays import Floats
from hulltune.data.dataset import Dataset, Member
from hulltune.data.features import as_sparse, concatenate_features, over_names
from hulltune.data.forest import Forest
from hulltune.data.joining import Piece, joined
from hulltune.data.lists import packed_texts
from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError
from hulltune.formats.jsonl import write_jsonl
from hulltune.formats.packed import pack
from hulltune.formats.read import read
from hulltune.formats.rows import Rows, to_dataset
from hulltune.search.problem import Problem
from hulltune.tuning.inputs import DataLike

NOTHING = Member("no output")


@dataclass(frozen=True, eq=False)
class Hypotheses:
    """The outputs of the iterations, in order. The union is lists if all of them are, otherwise forests."""

    missing: float | None = None
    """What a feature counts as that some of the lists lack; None if that is an error."""
    each: tuple[Dataset, ...] = ()

    @cached_property
    def union(self) -> Dataset:
        """All outputs as one dataset."""
        if len(self.each) == 1:
            return self.each[0]
        return joined_lists(self.each, missing=self.missing) if self.are_lists else united(self.each)

    @property
    def are_lists(self) -> bool:
        """Whether the decoder puts out nothing but lists."""
        return all(one.is_lists for one in self.each)

    @property
    def size(self) -> int:
        """The number of distinct hypotheses of lists, or edges of forests."""
        return self.union.corpus.edges if self.each else 0

    @property
    def unit(self) -> str:
        """The unit of ``size``."""
        return "hypotheses" if self.are_lists else "edges"

    def added(self, found: Dataset) -> Hypotheses:
        """The hypotheses with those of one more iteration."""
        return Hypotheses(self.missing, (*self.each, found))


def united(sets: Sequence[Dataset]) -> Dataset:
    """The union of the forests of each sentence in several datasets. Repeated forests of a sentence count once."""
    vocabulary = Vocabulary()
    pieces: list[Piece] = []
    known: set[tuple[object, bytes]] = set()
    for found in sets:
        numbers = np.array([vocabulary.id(word) for word in found.corpus.vocabulary.tokens], dtype=np.int32)
        for place, sentence in enumerate(found.ids):
            forest = _with_words(found.corpus[place], numbers, vocabulary)
            key = (sentence, _fingerprint(forest))
            if key not in known or not forest.edges:
                known.add(key)
                pieces.append(Piece(sentence, forest, next(iter(found.members_of(place)), NOTHING)))
    return replace(
        joined(pieces, ids_by=sets[0].ids_by, provenance=[one for s in sets for one in s.provenance]),
        references=sets[0].references,
        sources=sets[0].sources,
    )


def joined_lists(sets: Sequence[Dataset], *, missing: float | None) -> Dataset:
    """The lists of each sentence in several datasets, one after the other, without duplicates: what reading all files
    at once would give. O(hypotheses), and the texts are the only Python objects.

    If a dataset has features that were left out and count as 0, so do the features that other datasets lack.
    """
    from hulltune.kernels.outputs.texts import Layouts

    names = tuple(dict.fromkeys(name for one in sets for name in one.feature_names))
    lacking = [(number, name) for number, one in enumerate(sets, 1) for name in names if name not in one.feature_names]
    if lacking and missing is None and not any(one.omitted for one in sets):
        number, name = lacking[0]
        raise InputError(
            f"the lists of iteration {number} lack feature {name!r}, which those of another one have; give it, or take "
            "what is missing as 0 (missing=0)"
        )
    sentences = list(dict.fromkeys(sentence for one in sets for sentence in one.ids))
    numbers = {sentence: number for number, sentence in enumerate(sentences)}
    sizes = np.concatenate([np.diff(one.corpus.sentence_edges) for one in sets])
    parts = [over_names(one.corpus.features, one.feature_names, names) for one in sets]
    features = as_sparse(concatenate_features(parts, len(names)))
    text, text_offsets = packed_texts([text for one in sets for text in one.texts()])
    scores = [one.scores for one in sets if one.scores is not None]

    rows = Rows(
        ids=sentences,
        keys=np.repeat([numbers[sentence] for one in sets for sentence in one.ids], sizes),
        feature_names=names,
        values=array(features.dtype.char, features.values.tobytes()),
        row_layout=np.arange(len(features.offsets) - 1, dtype=np.int32),
        layouts=Layouts(features.offsets, features.columns),
        text=text,
        text_lengths=np.diff(text_offsets),
        scores=np.concatenate(scores) if len(scores) == len(sets) else None,
        sources={
            sentence: source
            for one in sets
            for sentence, source in zip(one.ids, one.sources or (), strict=False)
            if source is not None
        },
    )
    omitted = {name: sum(one.omitted.get(name, 0) for one in sets) for name in names}
    return replace(
        to_dataset(rows, provenance=[origin for one in sets for origin in one.provenance]),
        omitted={name: count for name, count in omitted.items() if count},
    )


def keep(returned: DataLike, folder: Path, *, count: int, is_piece: bool = False) -> tuple[Dataset, list[Path]]:
    """The data that a decoder function returned for so many sentences, and the files in ``folder`` that hold them.

    Forests become a packed file: text cannot hold every forest.
    """
    if isinstance(returned, (str, os.PathLike)):
        returned = [returned]
    if isinstance(returned, Sequence) and returned and all(isinstance(item, (str, os.PathLike)) for item in returned):
        return _copied([Path(item) for item in returned], folder)
    found = read(returned)
    if found.is_lists:
        path = folder / "output.jsonl"
        # A Dataset was read as its reader wanted it: other pieces may have features that are 0 in all of this one.
        write_jsonl(found, path, mark_sparse=is_piece and isinstance(returned, Dataset))
        return found, [path]
    path = folder / "output.hull"
    found = found.aligned_to(count)
    pack(found, path)
    return found, [path]


def _copied(paths: Sequence[Path], folder: Path) -> tuple[Dataset, list[Path]]:
    """Copies of the files in the folder, where nobody changes them, and the dataset that they hold."""
    copies = []
    for number, path in enumerate(paths):
        if not path.exists():
            raise InputError(f"{path}: no such file, but the decoder named it as its output")
        copy = folder / (f"output-{number}-{path.name}" if len(paths) > 1 else f"output-{path.name}")
        if path.is_dir():
            shutil.copytree(path, copy)
        else:
            shutil.copyfile(path, copy)
        copies.append(copy)
    return read(copies), copies


def _with_words(forest: Forest, numbers: Any, vocabulary: Vocabulary) -> Forest:
    labels = forest.labels.copy()
    words = labels >= 0
    labels[words] = numbers[labels[words]]
    return replace(forest, labels=labels, vocabulary=vocabulary)


def _fingerprint(forest: Forest) -> bytes:
    """A digest that is equal for forests with the same nodes, edges, words and features."""
    digest = hashlib.sha256("\n".join(forest.feature_names).encode("utf-8", "surrogatepass"))
    for each in (forest.edge_offsets, forest.tail_offsets, forest.tails, forest.label_offsets, forest.labels):
        digest.update(np.ascontiguousarray(each).tobytes())
    features = as_sparse(forest.features).tidy()
    digest.update(features.offsets.tobytes() + features.columns.tobytes() + features.values.astype("<f8").tobytes())
    return digest.digest()


def winning_outputs(problem: Problem, weights: Floats, others: Floats | None = None) -> set[tuple[int, str]]:
    """The outputs (sentence, text) that win anywhere on a line through ``weights``: along each feature, and through
    ``others``.

    If this set stays equal when hypotheses are added, so does every error surface along these lines, and a search that
    starts here sees nothing new. Costs a line search for each feature.
    """
    directions = list(np.eye(len(weights)))
    if others is not None and np.any(weights != others):
        directions.append(weights - others)
    intervals = np.repeat([[-math.inf, math.inf]], len(directions), axis=0)
    lines = problem.search(weights, np.array(directions), intervals)
    winners = np.unique(np.concatenate([line.outputs for line in lines])).astype(np.int64)
    sentences, texts = problem.outputs.described(winners)
    return set(zip(sentences.tolist(), texts, strict=True))


def known_weights(weights: Mapping[str, float], names: Sequence[str]) -> dict[str, float]:
    """The weights of these features; 0 for a feature without a weight."""
    return {name: float(weights.get(name, 0.0)) for name in names}
