"""Forests of many sentences, as read: what tuning over forests works on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.data.corpus import Corpus
from hulltune.data.features import DenseFeatures
from hulltune.data.forest import Forest
from hulltune.data.union import union, with_common_features
from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError
from hulltune.formats.candidates import CandidateLists, Provenance, SentenceId, spread
from hulltune.formats.references import References
from hulltune.formats.streams import without_suffix
from hulltune.wording import counted


@dataclass(frozen=True)
class Member:
    """Where one of the forests of a sentence is from: the file, and its name there, if it has one."""

    file: str
    name: str | None = None
    is_list: bool = False


@dataclass(frozen=True, eq=False)
class Piece:
    """A forest on its way into a ForestSet: of which sentence it is, and where from."""

    sentence: SentenceId
    forest: Forest
    member: Member
    first_choice: int = -1
    """The edge that a list puts first itself."""


@dataclass(frozen=True, eq=False, repr=False)
class ForestSet:
    """Sentences with a forest each, over one set of features; n-best lists are forests of one node.

    Where a sentence has several forests, its forest is their union under a common root, in the order in which they
    were read. Ids that are numbers are in increasing order; they say which line of a reference file is meant.
    """

    ids: tuple[SentenceId, ...]
    corpus: Corpus
    members: tuple[tuple[Member, ...], ...]
    """Per sentence, what its forest is made of."""
    first_choices: NDArray[np.int64]
    """Per sentence the edge (from 0) that a list puts first itself; −1 for forests, which have no order."""
    references: References | None = None
    sources: tuple[str | None, ...] | None = None
    ids_by: str = "order"
    """What the ids are: "order", "name" or "name1"."""
    listed: int | None = None
    """The lines of the file of names that the ids were taken from, if they were."""
    model: Mapping[str, float] | None = None
    """The weights by which the decoder itself ranks, where the files tell (see read_forests)."""
    left_out: tuple[str, ...] = ()
    """Files in folders of forests that are none."""
    provenance: tuple[Provenance, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return (
            f"ForestSet({counted(len(self), 'sentence')}, {counted(self.corpus.nodes, 'node')}, "
            f"{counted(self.corpus.edges, 'edge')}, {counted(len(self.feature_names), 'feature')})"
        )

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the weights."""
        return self.corpus.feature_names

    @cached_property
    def empty_ids(self) -> tuple[SentenceId, ...]:
        """The sentences without any derivation."""
        return tuple(self.ids[int(i)] for i in np.flatnonzero(np.diff(self.corpus.sentence_edges) == 0))

    @property
    def has_lists(self) -> bool:
        """Whether a sentence has an n-best list among its members."""
        return any(member.is_list for members in self.members for member in members)

    @staticmethod
    def from_forests(forests: Iterable[Forest | Sequence[Forest]]) -> ForestSet:
        """Sentence i has the i-th forest, or the union of the i-th forests, or nothing where there are none."""
        pieces = []
        for sentence, given in enumerate(forests):
            nothing = () if isinstance(given, Forest) or len(given) else (Forest.from_nbest([], [], feature_names=()),)
            for forest in (given,) if isinstance(given, Forest) else (*given, *nothing):
                if not isinstance(forest, Forest):
                    raise InputError(f"forests: sentence {sentence} has a {type(forest).__name__}; expected a Forest")
                pieces.append(Piece(sentence, forest, Member("memory")))
        return ForestSet.from_pieces(pieces)

    @staticmethod
    def from_pieces(
        pieces: Sequence[Piece],
        *,
        lists: CandidateLists | None = None,
        ids_by: str = "order",
        left_out: Sequence[str] = (),
        provenance: Sequence[Provenance] = (),
    ) -> ForestSet:
        """The sentences that these pieces make up; numbers in order, other ids by first appearance. Linear.

        References and sources are those of ``lists``, some of whose pieces these are.
        """
        if not pieces:
            raise InputError("forests: expected at least one forest, got none")
        by_sentence: dict[SentenceId, list[int]] = {}
        for number, piece in enumerate(pieces):
            by_sentence.setdefault(piece.sentence, []).append(number)
        by_sentence = _in_order(by_sentence)
        same = with_common_features([piece.forest for piece in pieces])
        first_choices = [
            pieces[numbers[0]].first_choice if len(numbers) == 1 else -1 for numbers in by_sentence.values()
        ]
        return ForestSet(
            ids=tuple(by_sentence),
            corpus=Corpus.pack([union([same[number] for number in numbers]) for numbers in by_sentence.values()]),
            members=tuple(tuple(pieces[number].member for number in numbers) for numbers in by_sentence.values()),
            first_choices=np.array(first_choices, dtype=np.int64),
            references=_of_lists(lists, "references", by_sentence, ()),
            sources=_of_lists(lists, "sources", by_sentence, None),
            ids_by=ids_by,
            left_out=tuple(left_out),
            provenance=tuple(provenance),
        )

    def _named_by_order(self) -> bool:
        """Whether the files of the sentences are numbered in their order, from 0 or from 1.

        A lone file with a 1 says nothing of the kind: it may be the second one of many.
        """
        numbers = [number_in_name(members[0].file) if members else None for members in self.members]
        return any(numbers == list(range(first, first + len(self))) for first in (0, 1) if len(self) > first)

    def with_features(self, names: Sequence[str]) -> ForestSet:
        """The same forests with exactly these features in this order: one that they lack is 0, others are left out."""
        if self.feature_names == tuple(names):
            return self
        if names and not set(names) & set(self.feature_names):
            raise InputError(
                f"the forests have none of the features {', '.join(list(names)[:8])}; they have "
                f"{', '.join(self.feature_names[:8])}"
            )
        return replace(self, corpus=Corpus.pack(with_common_features(list(self.corpus), names)))

    def matched(self, references: References | None) -> tuple[ForestSet, References]:
        """Sentences and references with sentence i of both at place i: reference line n is for id n.

        Of forests by order there are as many as lines; only where the names of their files say the same as their order
        may there be further lines. Of forests by name, the lines that none is named after are left out: they are not
        what these forests are of. Without references, lists among the forests carry them.
        """
        if references is None:
            if self.references is None:
                raise InputError("no references: the forests carry none, and no reference file was given")
            references = self.references
            lacking = [name for name, texts in zip(self.ids, references, strict=True) if not texts]
            if lacking:
                raise InputError(f"sentence {lacking[0]!r} has no reference; give a reference file")
            return self, references
        if any(isinstance(name, str) for name in self.ids) or (self.ids_by == "order" and not self.has_lists):
            further = len(references) - len(self)
            if further < 0 or (further > 0 and not self._named_by_order()):
                raise self._other_count(len(references))
            return self, references[: len(self)]
        return self, tuple(references[number] for number in self._lines(len(references)))

    def aligned_to(self, count: int) -> ForestSet:
        """The forests of ``count`` sentences, all of which were decoded: one that has none gets an empty forest.

        Of forests by order, or whose ids are names, there must be as many. Linear.
        """
        if any(isinstance(name, str) for name in self.ids) or (self.ids_by == "order" and not self.has_lists):
            if len(self) != count:
                raise self._other_count(count)
            return self
        places = self._lines(count)
        if len(self) == count:
            return self
        corpus = list(self.corpus)
        nothing = Forest.from_nbest([], [], feature_names=self.feature_names, vocabulary=self.corpus.vocabulary)
        sentences = [nothing] * count
        members: list[tuple[Member, ...]] = [()] * count
        first_choices = np.full(count, -1, dtype=np.int64)
        for place, number in enumerate(places):
            sentences[number], members[number] = corpus[place], self.members[place]
            first_choices[number] = self.first_choices[place]
        return replace(
            self,
            ids=tuple(range(count)),
            corpus=Corpus.pack(sentences),
            members=tuple(members),
            first_choices=first_choices,
            references=spread(self.references, places, count, ()),
            sources=spread(self.sources, places, count, None),
        )

    def _lines(self, count: int) -> list[int]:
        """The line of each sentence, of ``count`` lines."""
        if self.listed is not None and self.listed != count:
            raise InputError(
                f"the file of names has {counted(self.listed, 'line')}, but the references have {count}; "
                "expected line i of one to name line i of the other"
            )
        numbers = [int(name) for name in self.ids]
        if max(numbers) >= count:
            hint = "; --ids name1 counts from 1" if self.ids_by == "name" and max(numbers) == count else ""
            raise InputError(
                f"the forests go up to sentence {max(numbers)}, but the references have only {counted(count, 'line')}; "
                f"expected at least {max(numbers) + 1}, counted from 0{hint}"
            )
        return numbers

    def _other_count(self, count: int) -> InputError:
        return InputError(
            f"{counted(len(self), 'sentence')}, but {counted(count, 'reference line')}; "
            "expected a line for each, in order ("
            "--ids name takes the line from the number in the name of a file, --ids name1 counts from 1)"
        )


def number_in_name(file: str) -> int | None:
    """The last number in the name of a file, without its suffixes."""
    numbers = re.findall(r"[0-9]+", without_suffix(Path(file).name).stem)
    return int(numbers[-1]) if numbers else None


def _in_order(by_sentence: dict[SentenceId, list[int]]) -> dict[SentenceId, list[int]]:
    """Sentences by number, or by first appearance where their names are none."""
    names = [name for name in by_sentence if isinstance(name, str)]
    if not names:
        return dict(sorted(by_sentence.items()))
    if len(names) < len(by_sentence):
        number = next(name for name in by_sentence if not isinstance(name, str))
        raise InputError(
            f"a sentence is called {names[0]!r} and another one {number}: expected numbers for all, or names for all"
        )
    return by_sentence


def _of_lists(lists: CandidateLists | None, what: str, ids: Iterable[SentenceId], default: Any) -> Any:
    """What lists carry for each sentence, or None if they carry nothing."""
    values = None if lists is None else getattr(lists, what)
    if lists is None or values is None:
        return None
    known = dict(zip(lists.ids, values, strict=True))
    return tuple(known.get(name, default) for name in ids)


def pieces_of_lists(lists: CandidateLists, vocabulary: Vocabulary) -> list[Piece]:
    """Each list as a forest of one node. A text stays one token, so that it comes out as it was, spaces and all."""
    where = lists.provenance[0].file if lists.provenance else "memory"
    pieces = []
    for sentence, (first, last) in enumerate(pairwise(lists.offsets.tolist())):
        size = last - first
        labels = [[vocabulary.id(text)] if text else [] for text in lists.texts[first:last]]
        ends = list(accumulate(map(len, labels), initial=0))
        totals = None if lists.scores is None else lists.scores[first:last]
        forest = Forest(
            edge_offsets=np.array([0, size], dtype=np.int64),
            tail_offsets=np.zeros(size + 1, dtype=np.int64),
            tails=np.empty(0, dtype=np.int32),
            features=DenseFeatures(lists.features[first:last]),
            feature_names=lists.feature_names,
            label_offsets=np.array(ends, dtype=np.int64),
            labels=np.array([label for row in labels for label in row], dtype=np.int32),
            vocabulary=vocabulary,
            edge_ids=np.arange(size, dtype=np.int64),
        )
        choice = -1 if not size else 0 if totals is None else int(np.argmax(totals))
        pieces.append(Piece(lists.ids[sentence], forest, Member(where, str(lists.ids[sentence]), True), choice))
    return pieces
