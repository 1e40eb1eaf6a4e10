"""The union of forests, such as those of a sentence from several runs of a decoder, and of their features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hulltune.arrays import Int32s
from hulltune.data.corpus import Corpus
from hulltune.data.features import DenseFeatures, Features, SparseFeatures, concatenate_features, stays_dense
from hulltune.data.forest import Forest, Pruned
from hulltune.errors import InputError


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
            place = places[forest.feature_names] = _places(forest.feature_names, names)
        features = _moved(forest.features, place, len(names), dense)
        changed.append(replace(forest, features=features, feature_names=names))
    return changed


def over_names(features: Features, old: Sequence[str], new: Sequence[str], *, stay_dense: bool = False) -> Features:
    """Features with the columns ``new`` instead of ``old``, matched by name; a column that is not there is 0.

    They are stored as by with_common_features; with ``stay_dense`` a matrix stays a matrix.
    """
    filled = int(np.count_nonzero(features.values))
    dense = stays_dense(len(new), features.shape[0], filled) or (stay_dense and isinstance(features, DenseFeatures))
    return _moved(features, _places(old, new), len(new), dense)


def _places(old: Sequence[str], new: Sequence[str]) -> Int32s:
    """The column of each old name among the new ones, −1 where it has none."""
    column = {name: k for k, name in enumerate(new)}
    return np.array([column.get(name, -1) for name in old], dtype=np.int32)


def _by_number(names: tuple[str, ...]) -> tuple[str, ...]:
    stems = {name.rstrip("0123456789") for name in names}
    if len(stems) != 1 or any(name in stems for name in names):
        return names
    return tuple(sorted(names, key=lambda name: int(name[len(next(iter(stems))) :])))


def _moved(features: Features, place: Int32s, width: int, dense: bool) -> Features:
    """Features with column k at ``place[k]`` of ``width``, or left out where that is −1."""
    if isinstance(features, DenseFeatures):
        if dense:
            if np.array_equal(place, np.arange(width)):
                return features
            matrix = np.zeros((features.shape[0], width), dtype=features.values.dtype, order="F")
            matrix[:, place[place >= 0]] = features.values[:, place >= 0]
            return DenseFeatures(matrix)
        rows, columns = (places.astype(np.int64) for places in np.nonzero(features.values))
        values = features.values[rows, columns]
    else:
        rows = np.repeat(np.arange(features.shape[0]), np.diff(features.offsets))
        columns, values = features.columns.astype(np.int64), features.values
    kept = place[columns] >= 0
    rows, columns, values = rows[kept], place[columns[kept]].astype(np.int64), values[kept]
    if dense:
        matrix = np.zeros((features.shape[0], width), dtype=features.values.dtype, order="F")
        np.add.at(matrix, (rows, columns), values)  # a name that an edge has twice counts twice
        return DenseFeatures(matrix)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=features.shape[0]))]).astype(np.int64)
    return SparseFeatures(offsets, columns.astype(np.int32), values, width)
