"""The outputs of the decoder in all iterations so far, as one dataset."""

from __future__ import annotations

import hashlib
import math
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hulltune.arrays import Floats
from hulltune.data.dataset import Dataset, Member
from hulltune.data.features import as_sparse
from hulltune.data.forest import Forest
from hulltune.data.joining import Piece, joined
from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError
from hulltune.formats.jsonl import write_jsonl
from hulltune.formats.packed import pack
from hulltune.formats.read import Part, read, read_parts
from hulltune.formats.registry import sniff
from hulltune.formats.rows import RowCollector, to_dataset
from hulltune.formats.streams import LineError
from hulltune.options import Reading
from hulltune.search.problem import Problem
from hulltune.tuning.inputs import DataLike

NOTHING = Member("no output")


@dataclass(frozen=True, eq=False)
class Hypotheses:
    """The outputs of the iterations, in order. The union is lists if all of them are, otherwise forests."""

    reading: Reading = field(default_factory=Reading)
    parts: tuple[tuple[Part, ...], ...] = ()
    """The files of each iteration."""
    each: tuple[Dataset, ...] = ()

    @cached_property
    def union(self) -> Dataset:
        """All outputs as one dataset. Lists in one format are read again from all files at once, which joins those of a
        sentence.
        """
        if len(self.each) == 1:
            return self.each[0]
        if not all(one.is_lists for one in self.each):
            return united(self.each)
        parts = [part for parts in self.parts for part in parts]
        formats = {self.reading.format or sniff(path) for part in parts for path in part.paths}
        if len(formats) > 1 or "packed" in formats:
            return joined_lists(self.each, missing=self.reading.missing)
        return read_parts(Reading(format=self.reading.format, missing=self.reading.missing), parts)

    @property
    def size(self) -> int:
        """The number of distinct hypotheses of lists, or edges of forests."""
        return self.union.corpus.edges if self.each else 0

    @property
    def unit(self) -> str:
        """The unit of ``size``."""
        return "hypotheses" if all(one.is_lists for one in self.each) else "edges"

    def added(self, found: Dataset, parts: Sequence[Part]) -> Hypotheses:
        """The hypotheses with those of one more iteration."""
        return Hypotheses(self.reading, (*self.parts, tuple(parts)), (*self.each, found))

    def moved(self, parts: Sequence[Part]) -> Hypotheses:
        """The hypotheses after their last files have got other names."""
        moved = Hypotheses(self.reading, (*self.parts[:-1], tuple(parts)), self.each)
        moved.__dict__["union"] = self.union  # already read
        return moved


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
    """The lists of each sentence in several datasets, one after the other: for formats that cannot be read together.

    If a dataset has features that were left out and count as 0, so do the features that other datasets lack.
    """
    sparse = any(one.omitted for one in sets)
    collector = RowCollector(missing=0.0 if sparse else missing)
    scored = all(one.scores is not None for one in sets)
    for number, one in enumerate(sets, start=1):
        values, edges = one.corpus.features.toarray(), one.corpus.sentence_edges
        for sentence, first, last in zip(one.ids, edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            collector.declare(sentence)
            for row, text in enumerate(one.texts(np.arange(first, last)), start=first):
                features = dict(zip(one.feature_names, values[row].tolist(), strict=True))
                score = float(one.scores[row]) if scored and one.scores is not None else None
                try:
                    collector.add(sentence, text, features, score)
                except LineError as fault:
                    raise InputError(f"sentence {sentence} of iteration {number}: {fault}") from None
    provenance = [origin for one in sets for origin in one.provenance]
    return to_dataset(collector.rows(), columns=[], dtype=np.dtype(np.float64), skipped=[], provenance=provenance)


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
    for array in (forest.edge_offsets, forest.tail_offsets, forest.tails, forest.label_offsets, forest.labels):
        digest.update(np.ascontiguousarray(array).tobytes())
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
