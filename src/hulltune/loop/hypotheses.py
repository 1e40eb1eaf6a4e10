"""Everything that the decoder has found so far: outputs of several iterations as one dataset."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hulltune.data.dataset import Dataset, Member
from hulltune.data.forest import Forest
from hulltune.data.joining import Piece, joined
from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError
from hulltune.formats.forest_files import NamedForest
from hulltune.formats.forest_text import write_forest_text
from hulltune.formats.jsonl import write_jsonl
from hulltune.formats.read import read
from hulltune.formats.reading import Reading
from hulltune.tuning.inputs import DataLike

NOTHING = Member("no output")


@dataclass(frozen=True, eq=False)
class Hypotheses:
    """The outputs of iterations, in order. Lists stay lists as long as all of them are."""

    reading: Reading = field(default_factory=Reading)
    files: tuple[tuple[Path, ...], ...] = ()
    """The files of each iteration; none for forests that are only in memory."""
    each: tuple[Dataset, ...] = ()

    @cached_property
    def union(self) -> Dataset:
        """All of them as one. Lists are read again from their files, which joins those of a sentence. Linear."""
        if len(self.each) == 1:
            return self.each[0]
        if all(one.is_lists for one in self.each):
            paths = [path for paths in self.files for path in paths]
            return read(paths, format=self.reading.format, missing=self.reading.missing)
        return united(self.each)

    @property
    def size(self) -> int:
        """Hypotheses of lists, edges of forests; each once, however often it was found."""
        return self.union.corpus.edges if self.each else 0

    @property
    def unit(self) -> str:
        """What ``size`` counts."""
        return "hypotheses" if all(one.is_lists for one in self.each) else "edges"

    def added(self, found: Dataset, files: Sequence[Path]) -> Hypotheses:
        """With one more iteration."""
        return Hypotheses(self.reading, (*self.files, tuple(files)), (*self.each, found))


def united(sets: Sequence[Dataset]) -> Dataset:
    """The forests of each sentence in all of these sets, searched as their union. One that came before is left out."""
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


def keep(given: DataLike, folder: Path, *, lasting: bool, count: int) -> tuple[Dataset, list[Path]]:
    """What a function returned, read or taken as it is, and files in ``folder`` that hold it.

    Forests are written only if they are to last: not all of them can be.
    """
    if isinstance(given, (str, os.PathLike)):
        given = [given]
    if isinstance(given, Sequence) and given and all(isinstance(item, (str, os.PathLike)) for item in given):
        return _copied([Path(item) for item in given], folder)
    found = read(given)
    if found.is_lists:
        path = folder / "output.jsonl"
        write_jsonl(found, path)
        return found, [path]
    found = found.aligned_to(count)  # their order is all that the file tells
    if not lasting:
        return found, []
    path = folder / "output.forest"
    names = (NamedForest(forest, str(name)) for name, forest in zip(found.ids, found.corpus, strict=True))
    write_forest_text(path, names)
    return found, [path]


def _copied(paths: Sequence[Path], folder: Path) -> tuple[Dataset, list[Path]]:
    """Files stay where nobody changes them: in the folder."""
    copies = []
    for number, path in enumerate(paths):
        if not path.exists():
            raise InputError(f"{path}: no such file, though the decoder named it as its output")
        copy = folder / (f"output-{number}-{path.name}" if len(paths) > 1 else f"output-{path.name}")
        if path.is_dir():
            shutil.copytree(path, copy)
        else:
            shutil.copyfile(path, copy)
        copies.append(copy)
    return Reading().read(copies), copies


def _with_words(forest: Forest, numbers: Any, vocabulary: Vocabulary) -> Forest:
    labels = forest.labels.copy()
    words = labels >= 0
    labels[words] = numbers[labels[words]]
    return replace(forest, labels=labels, vocabulary=vocabulary)


def _fingerprint(forest: Forest) -> bytes:
    """Equal for forests with the same nodes, edges, words and features."""
    digest = hashlib.sha256("\n".join(forest.feature_names).encode("utf-8", "surrogatepass"))
    for array in (forest.edge_offsets, forest.tail_offsets, forest.tails, forest.label_offsets, forest.labels):
        digest.update(np.ascontiguousarray(array).tobytes())
    digest.update(np.ascontiguousarray(forest.features.toarray()).tobytes())
    return digest.digest()


def known_weights(weights: Mapping[str, float], names: Sequence[str]) -> dict[str, float]:
    """The weights of these features: one that was never given is 0."""
    return {name: float(weights.get(name, 0.0)) for name in names}
