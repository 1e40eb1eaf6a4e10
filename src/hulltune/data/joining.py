"""Join forests and lists of many sentences into one dataset; a sentence with several forests has their union."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hulltune.arrays import Int32s
from hulltune.data.corpus import Corpus
from hulltune.data.dataset import Dataset, Member, Provenance, SentenceId
from hulltune.data.features import (
    DenseFeatures,
    Features,
    SparseFeatures,
    concatenate_features,
    moved,
    places_among,
    stays_dense,
)
from hulltune.data.forest import Forest, Pruned
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


# Unions.


def union(forests: Sequence[Forest]) -> Forest:
    """The forest of all derivations of any of these: a new root with an edge, all features 0, to each of their roots.

    Their features must be the same. One forest alone stays as it is; forests without derivations are left out. Ties
    go to the earlier forest. Edges of the new root have the id −1. Linear.
    """
    if not forests:
        raise InputError("forests: a union needs at least one forest, got none")
    if len(forests) == 1:
        return forests[0]
    filled = [forest for forest in forests if forest.edges]
    if len(filled) <= 1:
        return filled[0] if filled else forests[0]
    corpus = Corpus.pack(filled)
    members, width = len(filled), len(corpus.feature_names)
    shifts = np.repeat(corpus.node_offsets[:-1], np.diff(corpus.tail_offsets[corpus.sentence_edges]))
    roots = corpus.node_offsets[1:] - 1
    zeros: Features = DenseFeatures(np.zeros((members, width), dtype=corpus.features.values.dtype, order="F"))
    return Forest(
        edge_offsets=np.append(corpus.edge_offsets, corpus.edges + members),
        tail_offsets=np.concatenate([corpus.tail_offsets, len(corpus.tails) + 1 + np.arange(members)]),
        tails=np.concatenate([corpus.tails + shifts, roots]).astype(np.int32),
        features=concatenate_features([corpus.features, zeros], width),
        feature_names=corpus.feature_names,
        label_offsets=np.concatenate([corpus.label_offsets, len(corpus.labels) + 1 + np.arange(members)]),
        labels=np.concatenate([corpus.labels, np.full(members, -1, dtype=np.int32)]),
        vocabulary=corpus.vocabulary,
        edge_ids=np.concatenate([corpus.edge_ids, np.full(members, -1, dtype=np.int64)]),
        pruned=Pruned(
            nodes=sum(forest.pruned.nodes for forest in forests), edges=sum(forest.pruned.edges for forest in forests)
        ),
    )


def with_common_features(forests: Sequence[Forest], names: Sequence[str] | None = None) -> list[Forest]:
    """The forests over the union of their features; a feature that a forest lacks is 0 in it.

    Features are in the order of first appearance, or of their numbers where the names differ in nothing else (f1, f2,
    …). With ``names`` they are these, and others are left out. Features become a matrix where that is not too empty
    (see features.stays_dense), otherwise sparse rows.
    """
    if names is None:
        seen: dict[str, None] = {}
        for some in dict.fromkeys(forest.feature_names for forest in forests):
            seen.update(dict.fromkeys(some))
        names = _by_number(tuple(seen))
    edges = sum(forest.edges for forest in forests)
    dense = stays_dense(len(names), edges, 0)
    if not dense:
        dense = stays_dense(len(names), edges, sum(int(np.count_nonzero(each.features.values)) for each in forests))
    names = tuple(names)
    places: dict[tuple[str, ...], Int32s] = {}
    changed = []
    for forest in forests:
        if dense and forest.feature_names == names and isinstance(forest.features, DenseFeatures):
            changed.append(forest)
            continue
        place = places.get(forest.feature_names)
        if place is None:
            place = places[forest.feature_names] = places_among(forest.feature_names, names)
        features = moved(forest.features, place, len(names), dense)
        changed.append(replace(forest, features=features, feature_names=names))
    return changed


def _by_number(names: tuple[str, ...]) -> tuple[str, ...]:
    stems = {name.rstrip("0123456789") for name in names}
    if len(stems) != 1 or any(name in stems for name in names):
        return names
    return tuple(sorted(names, key=lambda name: int(name[len(next(iter(stems))) :])))
