"""Candidate lists as packed arrays: what every reader returns, whatever the format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.data.corpus import Corpus
from hulltune.data.features import DenseFeatures
from hulltune.data.forest import Pruned
from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError
from hulltune.formats.problems import Skipped
from hulltune.wording import counted

SentenceId = int | str


@dataclass(frozen=True)
class Provenance:
    """A file that was read, and the format it was read as."""

    file: str
    format: str


@dataclass(frozen=True, eq=False, repr=False)
class CandidateLists:
    """The hypotheses of many sentences, laid end to end.

    Sentence i owns the rows ``offsets[i]`` up to ``offsets[i + 1]``, in the order of the file; no two of them have the
    same text and the same features. Ids that are whole numbers are in increasing order, and a number that is missing
    in between has an empty list; other ids are in the order of their first appearance.
    """

    ids: Sequence[SentenceId]
    offsets: NDArray[np.int64]
    features: NDArray[Any]
    """Rows by features, stored column by column; float64 or float32."""
    feature_names: tuple[str, ...]
    text_bytes: NDArray[np.uint8]
    text_offsets: NDArray[np.int64]
    """The UTF-8 text of row r is ``text_bytes[text_offsets[r]:text_offsets[r + 1]]``."""
    scores: NDArray[np.float64] | None
    """The total score of each row, where the lists carry one."""
    ranks: NDArray[np.int32]
    """The place of each row in its list as written, from 0: duplicates leave gaps."""
    copies: NDArray[np.int32]
    """How often each row stood in its list as written."""
    references: tuple[tuple[str, ...], ...] | None = None
    sources: tuple[str | None, ...] | None = None
    omitted: Mapping[str, int] = field(default_factory=dict)
    """Per feature, in how many hypotheses as written it was left out and taken as 0."""
    skipped: tuple[Skipped, ...] = ()
    provenance: tuple[Provenance, ...] = ()
    unnamed: tuple[int, ...] = ()
    """The ids that no file names: numbers in between, whose lists are empty."""

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        return (
            f"CandidateLists({counted(len(self), 'sentence')}, {counted(self.rows, 'hypothesis')}, "
            f"{counted(len(self.feature_names), 'feature')})"
        )

    @property
    def rows(self) -> int:
        """The number of hypotheses."""
        return int(self.offsets[-1])

    @cached_property
    def duplicates(self) -> int:
        """How many hypotheses were left out because their list has the same text with the same features already."""
        return int(self.copies.sum()) - self.rows

    @property
    def empty_ids(self) -> tuple[SentenceId, ...]:
        """The sentences without hypotheses."""
        return tuple(self.ids[int(sentence)] for sentence in np.flatnonzero(np.diff(self.offsets) == 0))

    def text(self, row: int) -> str:
        """The text of a row of the whole."""
        if not 0 <= row < self.rows:
            raise IndexError(f"row {row} of {self.rows}")
        try:
            return self.text_bytes[self.text_offsets[row] : self.text_offsets[row + 1]].tobytes().decode("utf-8")
        except UnicodeDecodeError:  # the readers let none through, so that this is a damaged packed file
            raise InputError(f"the text of hypothesis {row} is damaged; pack the lists again") from None

    def some_texts(self, rows: NDArray[np.int64]) -> list[str]:
        """The texts of many rows: ten times as fast as one after the other."""
        data, (starts, ends) = self.text_bytes.tobytes(), (self.text_offsets[rows], self.text_offsets[rows + 1])
        pairs = zip(starts.tolist(), ends.tolist(), strict=True)
        if data.isascii():
            text = data.decode("ascii")
            return [text[start:end] for start, end in pairs]
        try:
            return [data[start:end].decode("utf-8") for start, end in pairs]
        except UnicodeDecodeError:
            return [self.text(row) for row in rows.tolist()]

    def hypothesis(self, sentence: int, rank: int) -> str:
        """The text of a sentence's hypothesis: what edge ``rank`` of the corpus stands for."""
        size = int(self.offsets[sentence + 1] - self.offsets[sentence])
        if not 0 <= rank < size:
            raise IndexError(f"hypothesis {rank} of {size} of sentence {self.ids[sentence]}")
        return self.text(int(self.offsets[sentence]) + rank)

    @property
    def texts(self) -> Texts:
        """All texts as a sequence, decoded when asked for."""
        return Texts(self)

    def corpus(self) -> Corpus:
        """The lists as forests with one node each, whose edges are the rows; their labels are empty.

        The features are shared, not copied. O(rows) for the offsets.
        """
        nothing = np.zeros(self.rows + 1, dtype=np.int64)
        return Corpus(
            node_offsets=np.arange(len(self) + 1, dtype=np.int64),
            edge_offsets=np.asarray(self.offsets),
            tail_offsets=nothing,
            tails=np.zeros(0, dtype=np.int32),
            features=DenseFeatures(self.features),
            feature_names=self.feature_names,
            label_offsets=nothing,
            labels=np.zeros(0, dtype=np.int32),
            vocabulary=Vocabulary(),
            edge_ids=np.arange(self.rows, dtype=np.int64) - np.repeat(self.offsets[:-1], np.diff(self.offsets)),
            pruned=(Pruned(),) * len(self),
        )

    def aligned_to(self, count: int) -> CandidateLists:
        """The lists of ``count`` sentences, of which line i of a reference file describes number i.

        With numbers as ids, sentence i is the one with id i; one that the lists do not mention gets an empty list.
        With other ids the number of sentences must be ``count``, and their order is that of first appearance.
        """
        if len(self) and isinstance(self.ids[0], str):
            if len(self) != count:
                raise InputError(
                    f"the lists have {counted(len(self), 'sentence')}, but the references {counted(count, 'line')}; "
                    "expected one line a sentence, in the order in which the lists first name them"
                )
            return self
        numbers = np.asarray(self.ids, dtype=np.int64)
        if len(numbers) and numbers[-1] >= count:
            hint = "; ids count from 0, these start at 1" if numbers[-1] == count and self._starts_at_one() else ""
            raise InputError(
                f"the lists go up to sentence id {numbers[-1]}, but there are only {count} reference lines; "
                f"expected at least {numbers[-1] + 1}, line i for id i{hint}"
            )
        if isinstance(self.ids, range) and len(self) == count:
            return self
        sizes = np.zeros(count, dtype=np.int64)
        sizes[numbers] = np.diff(self.offsets)
        return replace(
            self,
            ids=range(count),
            offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            references=spread(self.references, numbers.tolist(), count, ()),
            sources=spread(self.sources, numbers.tolist(), count, None),
        )

    def _starts_at_one(self) -> bool:
        return bool(self.rows) and self.ids[int(np.flatnonzero(np.diff(self.offsets))[0])] == 1

    def with_features(self, names: Sequence[str], columns: Sequence[NDArray[Any]]) -> CandidateLists:
        """The lists with further features; the matrix is copied once."""
        check_new_names(self.feature_names, names)
        width = len(self.feature_names)
        matrix = np.empty((self.rows, width + len(names)), dtype=self.features.dtype, order="F")
        matrix[:, :width] = self.features
        for number, column in enumerate(columns):
            matrix[:, width + number] = column
        return replace(self, features=matrix, feature_names=(*self.feature_names, *names))


class Texts(Sequence[str]):
    """The texts of candidate lists, decoded one at a time."""

    def __init__(self, lists: CandidateLists) -> None:
        self._lists = lists

    def __len__(self) -> int:
        return self._lists.rows

    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, slice):
            return [self._lists.text(number) for number in range(*row.indices(len(self)))]
        return self._lists.text(row + len(self) if row < 0 else row)


def check_new_names(old: Sequence[str], new: Sequence[str]) -> None:
    """Refuse a feature name that is there already, or twice."""
    seen = set(old)
    for name in new:
        if name in seen:
            raise InputError(f"the lists already have a feature {name!r}; choose another name for the new one")
        seen.add(name)


def spread(values: Sequence[Any] | None, places: Iterable[int], count: int, default: Any) -> Any:
    """``count`` values with these at their places and a default elsewhere; None stays None."""
    if values is None:
        return None
    found = [default] * count
    for place, value in zip(places, values, strict=True):
        found[place] = value
    return tuple(found)
