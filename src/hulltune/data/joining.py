"""Join forests and lists of many sentences into one dataset."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hulltune.data.corpus import Corpus
from hulltune.data.dataset import Dataset, Member, Provenance, SentenceId
from hulltune.data.features import SparseFeatures
from hulltune.data.forest import Forest
from hulltune.data.union import union, with_common_features
from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError


@dataclass(frozen=True, eq=False)
class Piece:
    """A forest to be joined into a dataset: its sentence and its origin."""

    sentence: SentenceId
    forest: Forest
    member: Member
    first_choice: int = -1
    """The edge that a list puts first; −1 for a forest."""


def from_forests(forests: Iterable[Forest | Sequence[Forest]] | Corpus) -> Dataset:
    """The dataset whose sentence i has the i-th forest, or the union of the forests (perhaps none) at place i."""
    if isinstance(forests, Corpus) and not isinstance(forests.features, SparseFeatures):
        no_choices = np.full(len(forests), -1, dtype=np.int64)
        members = ((Member("memory"),),) * len(forests)
        return Dataset(range(len(forests)), forests, no_choices, members=members)
    pieces = []
    for sentence, one_or_several in enumerate(forests):
        group = (one_or_several,) if isinstance(one_or_several, Forest) else tuple(one_or_several)
        for forest in group or (Forest.from_nbest([], [], feature_names=()),):
            if not isinstance(forest, Forest):
                raise InputError(f"forests: sentence {sentence} has a {type(forest).__name__}; expected a Forest")
            pieces.append(Piece(sentence, forest, Member("memory")))
    return joined(pieces)


def joined(
    pieces: Sequence[Piece],
    *,
    lists: Dataset | None = None,
    ids_by: str = "order",
    left_out: Sequence[str] = (),
    provenance: Sequence[Provenance] = (),
    threads: int = 1,
) -> Dataset:
    """The dataset of these pieces; a sentence has the union of its pieces. Linear.

    Ids that are numbers are in order, other ids by first appearance. References and sources are those of ``lists``,
    the dataset that some of the pieces come from.
    """
    if not pieces:
        raise InputError("forests: expected at least one forest, got none")
    by_sentence: dict[SentenceId, list[int]] = {}
    for number, piece in enumerate(pieces):
        by_sentence.setdefault(piece.sentence, []).append(number)
    by_sentence = _in_order(by_sentence)
    forests = with_common_features([piece.forest for piece in pieces])
    first_choices = [pieces[numbers[0]].first_choice if len(numbers) == 1 else -1 for numbers in by_sentence.values()]
    return Dataset(
        ids=tuple(by_sentence),
        corpus=Corpus.pack(
            [union([forests[number] for number in numbers]) for numbers in by_sentence.values()], threads=threads
        ),
        first_choices=np.array(first_choices, dtype=np.int64),
        references=_of_lists(lists, "references", by_sentence, ()),
        sources=_of_lists(lists, "sources", by_sentence, None),
        members=tuple(tuple(pieces[number].member for number in numbers) for numbers in by_sentence.values()),
        ids_by=ids_by,
        left_out=tuple(left_out),
        provenance=tuple(provenance),
    )


def pieces_of(lists: Dataset, vocabulary: Vocabulary) -> list[Piece]:
    """The lists as pieces, their texts numbered in ``vocabulary``; ids that no file names are left out."""
    corpus = lists.corpus
    numbers = np.array([*vocabulary.ids(corpus.vocabulary.tokens), 0], dtype=np.int32)
    renumbered = replace(corpus, labels=numbers[corpus.labels], vocabulary=vocabulary)
    unnamed = set(lists.unnamed)
    return [
        Piece(name, renumbered[place], lists.members_of(place)[0], int(lists.first_choices[place]))
        for place, name in enumerate(lists.ids)
        if name not in unnamed
    ]


def _in_order(by_sentence: dict[SentenceId, list[int]]) -> dict[SentenceId, list[int]]:
    """Sentences by number, or by first appearance where ids are names."""
    names = [name for name in by_sentence if isinstance(name, str)]
    if not names:
        return dict(sorted(by_sentence.items()))
    if len(names) < len(by_sentence):
        number = next(name for name in by_sentence if not isinstance(name, str))
        raise InputError(
            f"a sentence is called {names[0]!r} and another one {number}: expected numbers for all, or names for all"
        )
    return by_sentence


def _of_lists(lists: Dataset | None, what: str, ids: Iterable[SentenceId], default: Any) -> Any:
    """The values of a field of ``lists`` for each sentence, or None where it has none."""
    values = None if lists is None else getattr(lists, what)
    if lists is None or values is None:
        return None
    known = dict(zip(lists.ids, values, strict=True))
    return tuple(known.get(name, default) for name in ids)
