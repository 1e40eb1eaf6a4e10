"""Feature values of edges: a dense matrix, or compressed sparse rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Bools, Floats, Int32s, Int64s
from hulltune.errors import InputError

DENSE_WIDTH = 64
"""Features up to this many are always stored as a matrix: scoring its columns is far faster than sparse rows."""
DENSE_SHARE = 0.05
"""A wider matrix is still stored as one if at least this share of its values is given or not 0."""


def stays_dense(width: int, edges: int, filled: int) -> bool:
    """Whether ``filled`` values of so many features and edges are stored as a matrix, or else as sparse rows.

    Answers do not depend on it for lists, to the bit; memory and time do.
    """
    return width <= DENSE_WIDTH or filled >= DENSE_SHARE * edges * width


@dataclass(frozen=True, eq=False)
class DenseFeatures:
    """A float32 or float64 matrix, one row an edge.

    Stored column by column (Fortran order): scoring adds up whole columns, which is the SIMD direction.
    """

    values: NDArray[Any]

    @property
    def shape(self) -> tuple[int, int]:
        """Edges and features."""
        return self.values.shape[0], self.values.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values."""
        return self.values.dtype

    @property
    def nbytes(self) -> int:
        """The size in memory."""
        return int(self.values.nbytes)

    def rows(self, start: int, stop: int) -> DenseFeatures:
        """A view of some edges."""
        return DenseFeatures(self.values[start:stop])

    def take(self, edges: Int64s) -> DenseFeatures:
        """A copy with the rows in this order."""
        return DenseFeatures(np.take(self.values.T, edges, axis=1).T)  # in column order at once

    def copy(self) -> DenseFeatures:
        """A copy in column order that shares no memory."""
        return DenseFeatures(np.array(self.values, order="F"))

    def matrix(self) -> NDArray[Any]:
        """The values as they are stored: no copy."""
        return self.values

    def by_name(self, names: Sequence[str]) -> Iterator[dict[str, float]]:
        """The values of each row by the names of their features."""
        for row in range(self.shape[0]):  # a row at a time: Python numbers take four times the memory
            yield dict(zip(names, self.values[row].tolist(), strict=True))

    def some_columns(self, columns: Int64s) -> Floats:
        """The values of some features, a contiguous row each, as float64."""
        return np.ascontiguousarray(self.values.T[columns], dtype=np.float64)

    def times(self, weights: Floats) -> Floats:
        """The product of each row and the weights, added up from left to right: every processor rounds it alike."""
        sums = np.zeros(len(self.values))
        for column, weight in zip(self.values.T, weights.tolist(), strict=True):
            sums += column * weight
        return sums

    def weighted_sum(self, weights: Floats, starts: Int64s) -> Floats:
        """The sum of all rows, each times its weight. Rows are added up from each start to the next, and these sums are
        added exactly: their order does not change a bit.
        """
        return np.array([math.fsum(np.add.reduceat(weights * column, starts).tolist()) for column in self.values.T])

    def toarray(self) -> Floats:
        """A copy as an ordinary float64 matrix."""
        return np.array(self.values, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class SparseFeatures:
    """Compressed sparse rows: the values of edge e are ``values[offsets[e]:offsets[e + 1]]``, with their columns.

    Rows of lists are tidy (see ``tidy``) from reading on, except where a user made them.
    """

    offsets: Int64s
    columns: Int32s
    values: NDArray[Any]
    width: int

    @property
    def shape(self) -> tuple[int, int]:
        """Edges and features."""
        return len(self.offsets) - 1, self.width

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values."""
        return self.values.dtype

    @property
    def nbytes(self) -> int:
        """The size in memory."""
        return int(self.offsets.nbytes + self.columns.nbytes + self.values.nbytes)

    def rows(self, start: int, stop: int) -> SparseFeatures:
        """A view of some edges (their offsets are copied)."""
        first, last = self.offsets[start], self.offsets[stop]
        offsets = self.offsets[start : stop + 1] - first
        return SparseFeatures(offsets, self.columns[first:last], self.values[first:last], self.width)

    def take(self, edges: Int64s) -> SparseFeatures:
        """A copy with the rows in this order."""
        offsets, index = gather_rows(self.offsets, edges)
        return SparseFeatures(offsets, self.columns[index], self.values[index], self.width)

    def copy(self) -> SparseFeatures:
        """A copy that shares no memory."""
        return SparseFeatures(self.offsets.copy(), self.columns.copy(), self.values.copy(), self.width)

    def tidy(self) -> SparseFeatures:
        """The rows with increasing columns, each once, and without zeros; these rows, if they are so already."""
        from hulltune.kernels.lists.features import tidy_rows

        columns, values = self.columns.copy(), self.values.copy()
        changed, offsets = tidy_rows(self.offsets, columns, values)
        if not changed:
            return self
        return SparseFeatures(offsets, columns[: offsets[-1]].copy(), values[: offsets[-1]].copy(), self.width)

    def matrix(self) -> NDArray[Any]:
        """The values as a new matrix; DenseFeatures.matrix needs no copy."""
        return self.toarray()

    def by_name(self, names: Sequence[str]) -> Iterator[dict[str, float]]:
        """The values of each row by the names of their features; those that a row does not have are left out."""
        ends = self.offsets.tolist()
        for first, last in itertools.pairwise(ends):
            columns, values = self.columns[first:last].tolist(), self.values[first:last].tolist()
            yield {names[column]: value for column, value in zip(columns, values, strict=True)}

    def some_columns(self, columns: Int64s) -> Floats:
        """The values of some features, a contiguous row each, as float64."""
        place = np.full(self.width, -1, dtype=np.int64)
        place[columns] = np.arange(len(columns))
        chosen = np.flatnonzero(place[self.columns] >= 0)
        found = np.zeros((len(columns), self.shape[0]))
        rows = np.searchsorted(self.offsets, chosen, side="right") - 1
        np.add.at(found, (place[self.columns[chosen]], rows), self.values[chosen])
        return found

    def times(self, weights: Floats) -> Floats:
        """The product of each row and the weights."""
        rows = np.repeat(np.arange(self.shape[0]), np.diff(self.offsets))
        return np.asarray(np.bincount(rows, self.values * weights[self.columns], minlength=self.shape[0]))

    def weighted_sum(self, weights: Floats, starts: Int64s) -> Floats:
        """The sum of all rows, each times its weight, added up from the first row to the last."""
        del starts  # only dense sums are worth their own order
        of_values = np.repeat(weights, np.diff(self.offsets))
        return np.asarray(np.bincount(self.columns, self.values * of_values, minlength=self.width))

    def toarray(self) -> Floats:
        """A copy as an ordinary float64 matrix. A column that is named twice in a row counts twice."""
        dense = np.zeros(self.shape)
        places = np.repeat(np.arange(self.shape[0]), np.diff(self.offsets)), self.columns
        dense[places] = -0.0  # what keeps the sign of every number that is added, also of −0
        np.add.at(dense, places, self.values)
        return dense


Features: TypeAlias = DenseFeatures | SparseFeatures


def gather_rows(offsets: Int64s, rows: Int64s) -> tuple[Int64s, Int64s]:
    """Offsets and element numbers of ragged ``rows`` laid end to end."""
    return ranges(offsets[rows], offsets[rows + 1] - offsets[rows])


def ranges(starts: Int64s, lengths: Int64s) -> tuple[Int64s, Int64s]:
    """Ranges of numbers laid end to end: the offsets of the ranges, and the numbers."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    numbers = np.arange(offsets[-1], dtype=np.int64) + np.repeat(starts - offsets[:-1], lengths)
    return offsets, numbers


def offsets_of(sizes: Any) -> Int64s:
    """The offsets of groups of these sizes that lie end to end: 0, then the end of each group."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def dense_features(values: Any, *, what: str = "features") -> DenseFeatures:
    """Check and adopt a matrix of feature values; float32 stays float32, everything else becomes float64."""
    try:
        if np.ma.isMaskedArray(values):
            raise InputError(f"{what}: got a masked array; fill it first (values.filled(0.0))")
        matrix = np.asarray(values)
        if matrix.dtype.kind in "cmM":
            raise InputError(f"{what}: expected a matrix of real numbers, got {matrix.dtype}")
        dtype = np.float32 if matrix.dtype == np.float32 else np.float64
        matrix = np.asfortranarray(matrix, dtype=dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{what}: expected a matrix of numbers, one row an edge ({error})") from None
    if matrix.ndim != 2:
        raise InputError(f"{what}: expected a matrix (edges by features), got {matrix.ndim} dimension(s)")
    return DenseFeatures(matrix)


def sparse_features(offsets: Any, columns: Any, values: Any, width: int, *, what: str = "features") -> SparseFeatures:
    """Check and adopt compressed sparse rows."""
    offsets = np.ascontiguousarray(offsets, dtype=np.int64)
    columns = np.ascontiguousarray(columns, dtype=np.int32)
    values = np.asarray(values)
    dtype = np.float32 if values.dtype == np.float32 else np.float64
    values = np.ascontiguousarray(values, dtype=dtype)
    if offsets.ndim != 1 or not len(offsets) or offsets[0] != 0 or np.any(np.diff(offsets) < 0):
        raise InputError(f"{what}: expected row offsets that start at 0 and do not decrease")
    if not len(columns) == len(values) == offsets[-1]:
        raise InputError(
            f"{what}: {len(columns)} columns and {len(values)} values, but the row offsets end at {offsets[-1]}"
        )
    if len(columns) and not 0 <= columns.min() <= columns.max() < width:
        raise InputError(f"{what}: columns must lie in 0..{width - 1}, got {columns.min()}..{columns.max()}")
    return SparseFeatures(offsets, columns, values, width)


def check_finite(features: Features, names: Sequence[str], where: Any) -> None:
    """Refuse NaN and infinity; ``where(edge)`` describes the edge in the message."""
    values = features.values
    finite = np.isfinite(values)
    if finite.all():
        return
    bad = np.argwhere(~finite)
    if isinstance(features, SparseFeatures):
        element = int(bad[0][0])
        edge = int(np.searchsorted(features.offsets, element, side="right")) - 1
        column, value = int(features.columns[element]), values[element]
    else:
        edge, column = (int(number) for number in bad[0])
        value = values[edge, column]
    raise InputError(f"{where(edge)}: feature {names[column]!r} is {value}; expected a finite number")


def concatenate_features(parts: Sequence[Features], width: int) -> Features:
    """The rows of all parts as one block: sparse if any part is, float32 only if all parts are."""
    block = room_for_features(parts, width)
    if isinstance(block, DenseFeatures) and parts:
        np.concatenate([part.values for part in parts], out=block.values)
    return block


def room_for_features(parts: Sequence[Features], width: int) -> Features:
    """A matrix with room for the rows of all parts, float32 only if all are; if any part is sparse, all their rows."""
    dtype = np.float32 if parts and all(part.values.dtype == np.float32 for part in parts) else np.float64
    if not any(isinstance(part, SparseFeatures) for part in parts):
        return DenseFeatures(np.empty((sum(len(part.values) for part in parts), width), dtype=dtype, order="F"))
    sparse = [as_sparse(part) for part in parts]
    lengths = np.concatenate([np.diff(part.offsets) for part in sparse])
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    columns = np.concatenate([part.columns for part in sparse])
    values = np.concatenate([part.values for part in sparse]).astype(dtype)
    return SparseFeatures(offsets, columns, values, width)


def with_columns(features: Features, columns: Sequence[NDArray[Any]]) -> Features:
    """Features with further columns after their own."""
    rows, width = features.shape
    if isinstance(features, DenseFeatures):
        matrix = np.empty((rows, width + len(columns)), dtype=features.values.dtype, order="F")
        matrix[:, :width] = features.values
        for number, column in enumerate(columns, start=width):
            matrix[:, number] = column
        return DenseFeatures(matrix)
    places = np.repeat(features.offsets[1:], len(columns))
    numbers = np.tile(np.arange(width, width + len(columns), dtype=np.int32), rows)
    values = np.stack([np.asarray(column) for column in columns], axis=1).ravel().astype(features.values.dtype)
    return SparseFeatures(
        features.offsets + len(columns) * np.arange(rows + 1),
        np.insert(features.columns, places, numbers),
        np.insert(features.values, places, values),
        width + len(columns),
    )


def as_sparse(features: Features) -> SparseFeatures:
    """The features as sparse rows, without the zeros of a matrix."""
    if isinstance(features, SparseFeatures):
        return features
    rows, columns = np.nonzero(features.values)
    counts = np.bincount(rows, minlength=features.shape[0])
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return SparseFeatures(offsets, columns.astype(np.int32), features.values[rows, columns], features.shape[1])


def rows_with_values(features: Features) -> Bools:
    """For each row, whether it has a value other than 0."""
    if isinstance(features, SparseFeatures):
        return np.diff(features.tidy().offsets) > 0
    filled: Bools = np.any(features.values != 0, axis=1)
    return filled


def over_names(features: Features, old: Sequence[str], new: Sequence[str], *, stay_dense: bool = False) -> Features:
    """Features with the columns ``new`` instead of ``old``, matched by name; a column that is not there is 0.

    They are stored as stays_dense says; with ``stay_dense`` a matrix stays a matrix.
    """
    filled = int(np.count_nonzero(features.values))
    dense = stays_dense(len(new), features.shape[0], filled) or (stay_dense and isinstance(features, DenseFeatures))
    return moved(features, places_among(old, new), len(new), dense)


def places_among(old: Sequence[str], new: Sequence[str]) -> Int32s:
    """The column of each old name among the new ones, −1 where it has none."""
    column = {name: k for k, name in enumerate(new)}
    return np.array([column.get(name, -1) for name in old], dtype=np.int32)


def moved(features: Features, place: Int32s, width: int, dense: bool) -> Features:
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
