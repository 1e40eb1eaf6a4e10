"""Forests of arcs as arrays: the last step of every reader of lattices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Int32s, Int64s
from hulltune.data.features import DenseFeatures, Features, SparseFeatures
from hulltune.data.forest import Forest
from hulltune.data.packing import CycleError, pack
from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError, unknown_name
from hulltune.formats.forest_files import ForestOptions

_MOST_DENSE = 256
"""The features of sparse tuples are a dense matrix if their numbers go no further than this."""


@dataclass(frozen=True, eq=False)
class Arcs:
    """The arcs of a lattice whose states are numbered from 0, in the order of the file.

    The features have a row for the start, a row for each arc, and a row for each final state.
    """

    states: int
    start: int
    sources: Int64s
    targets: Int64s
    words: Int32s
    """The number of each arc's word in the vocabulary, −1 for none."""
    finals: Int64s
    """The final states; their weights are the last rows of the features."""
    features: Features
    feature_names: tuple[str, ...]
    start_word: int = -1
    """The word put out at the start, before any arc, or −1."""
    state_names: Int64s | None = None
    """The names of the states in the file, for messages; None where they are their numbers."""


def lattice_forest(
    arcs: Arcs, vocabulary: Vocabulary, *, where: str, describe_row: Callable[[int], str] | None = None
) -> Forest:
    """The forest of a lattice: an edge without tails for the start, an edge for each arc, an edge from each final state
    to the root. A single final state without weight is the root itself. Linear in arcs.

    ``where`` begins messages about a cycle or a lattice without a path; ``describe_row`` begins messages about a row
    of the features.
    """
    count = len(arcs.sources)
    ends_at_state = len(arcs.finals) == 1 and not _row_counts(arcs.features, count + 1)
    finals = arcs.finals[:0] if ends_at_state else arcs.finals
    root = int(arcs.finals[0]) if ends_at_state else arcs.states
    edges = 1 + count + len(finals)
    heads = np.empty(edges, dtype=np.int64)
    heads[0] = arcs.start
    heads[1 : count + 1] = arcs.targets
    heads[count + 1 :] = root
    tails = np.concatenate([arcs.sources, finals])
    tail_offsets = np.arange(-1, edges, dtype=np.int64)
    tail_offsets[0] = 0
    words = np.full(edges, -1, dtype=np.int32)
    words[0] = arcs.start_word
    words[1 : count + 1] = arcs.words
    label_offsets, labels = _labels(words)
    try:
        forest = pack(
            nodes=arcs.states + (not ends_at_state),
            root=root,
            heads=heads,
            tail_offsets=tail_offsets,
            tails=tails,
            features=arcs.features.rows(0, edges),
            feature_names=arcs.feature_names,
            label_offsets=label_offsets,
            labels=labels,
            vocabulary=vocabulary,
            describe_edge=describe_row or partial(_row_of_features, arcs, where),
        )
    except CycleError as error:
        named = error if arcs.state_names is None else error.called([*arcs.state_names.tolist(), "the end"])
        raise InputError(f"{where}: {named}") from None
    if not forest.edges:
        raise InputError(f"{where}: no path leads from the start state to a final one; expected at least one")
    return forest


def _row_of_features(arcs: Arcs, where: str, row: int) -> str:
    count = len(arcs.sources)
    if row > count:
        return f"{where}: final state {arcs.finals[row - count - 1]}"
    return f"{where}: arc {row - 1}, from state {arcs.sources[row - 1]} to {arcs.targets[row - 1]}"


def _row_counts(features: Features, row: int) -> bool:
    """Whether a row of the features has a value other than 0."""
    if isinstance(features, SparseFeatures):
        return bool(np.any(features.values[features.offsets[row] : features.offsets[row + 1]] != 0))
    return bool(np.any(features.values[row] != 0))


def _labels(words: Int32s) -> tuple[Int64s, Int32s]:
    """The labels of edges: first the tail (the first edge has none), then the word, if there is one."""
    has_word = words >= 0
    lengths = 1 + has_word.astype(np.int64)
    lengths[0] -= 1
    offsets = np.zeros(len(words) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    labels = np.full(int(offsets[-1]), -1, dtype=np.int32)
    labels[offsets[1:][has_word] - 1] = words[has_word]
    return offsets, labels


def negated(features: Features, names: Sequence[str], options: ForestOptions, *, costs: bool) -> Features:
    """The features as scores: those that the options name change their sign, by default all if they are ``costs``."""
    negate = costs if options.negate is None else options.negate
    if negate is False:
        return features
    with np.errstate(invalid="ignore"):  # a signalling NaN: pack refuses it with a message
        opposite = 0 - features.values  # not −values: a negative zero would be written as "-0.0"
    if isinstance(negate, frozenset):
        unknown = sorted(negate - set(names))
        if unknown and not names:
            raise InputError(f"negate: there is no feature {unknown[0]!r}; the file has none")
        if unknown:
            raise unknown_name("feature to negate:", unknown[0], names)
        chosen = np.array([name in negate for name in names], dtype=bool)
        of_values = chosen[features.columns] if isinstance(features, SparseFeatures) else chosen
        values: NDArray[Any] = np.where(of_values, opposite, features.values)
    else:
        values = opposite
    if isinstance(features, SparseFeatures):
        return SparseFeatures(features.offsets, features.columns, values, features.width)
    return DenseFeatures(np.asfortranarray(values))


def tuple_features(
    rows: Int64s, keys: Int64s, values: NDArray[np.floating], total: int
) -> tuple[Features, tuple[str, ...]]:
    """The features f1, f2, … of sparse tuples: a matrix, or sparse rows where feature numbers are large.

    Pairs of row −1 are left out.
    """
    from hulltune.kernels.reading.fst_binary import scatter_pairs

    most = int(keys.max(initial=0))
    if most <= _MOST_DENSE:
        matrix = np.zeros((total, most), dtype=values.dtype, order="F")
        scatter_pairs(rows, keys, values, matrix)
        # Names also for numbers that do not occur: the lattices of a corpus then have the same features in order.
        return DenseFeatures(matrix), tuple(f"f{key}" for key in range(1, most + 1))
    order = np.argsort(rows, kind="stable")
    order = order[np.searchsorted(rows[order], 0) :]
    used, columns = np.unique(keys[order], return_inverse=True)
    offsets = np.searchsorted(rows[order], np.arange(total + 1)).astype(np.int64)
    names = tuple(f"f{key}" for key in used.tolist())
    return SparseFeatures(offsets, columns.reshape(-1).astype(np.int32), values[order], len(used)), names
