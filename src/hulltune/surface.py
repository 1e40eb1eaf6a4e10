"""The corpus error surface: the statistics of the whole corpus on every interval of the line, exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Floats, Int32s, Int64s
from hulltune.data.features import offsets_of
from hulltune.errors import InputError
from hulltune.kernels.surfaces.constants import UNKNOWN
from hulltune.kernels.surfaces.sweep import OutputRows, Segments, Wanted, sweep
from hulltune.wording import counted

LARGEST_SUM = 2.0**62
SLIVER = 2.0**-40
"""An interval narrower than this share of its place on the line is what rounding leaves where several sentences change
at one point: no weights lie in it.
"""
Loss = Callable[[NDArray[Any]], Floats]
"""A function from statistics (…, columns) to losses (…): smaller is better."""


@dataclass(frozen=True, eq=False, repr=False)
class ErrorSurface:
    """Piecewise constant statistics along a line: ``statistics[i]`` holds between breakpoints i − 1 and i.

    ``breakpoints`` strictly increase; they are the places where the statistics of some sentence change. Integer
    statistics stay integers. Real statistics are rounded once, per column, to a power-of-two grid of 2^-52 of their
    total: their sums are then exact too, and do not depend on the order of the sentences or of the breakpoints.

    >>> import numpy as np
    >>> from hulltune import ErrorSurface
    >>> breakpoints = [np.array([0.0, 2.0]), np.array([1.0])]                # of two sentences
    >>> errors = [np.array([[3], [1], [2]]), np.array([[0], [4]])]           # of the winners between them
    >>> surface = ErrorSurface.from_sentences(breakpoints, errors)
    >>> surface.breakpoints.tolist(), surface.statistics.ravel().tolist()
    ([0.0, 1.0, 2.0], [3, 1, 5, 6])
    """

    breakpoints: Floats
    statistics: NDArray[Any]

    def __post_init__(self) -> None:
        assert len(self.statistics) == len(self.breakpoints) + 1

    def __len__(self) -> int:
        return len(self.statistics)

    def __repr__(self) -> str:
        columns = counted(self.statistics.shape[1], "statistic")
        return f"ErrorSurface({counted(len(self), 'interval')}, {columns})"

    @staticmethod
    def from_sentences(breakpoints: Sequence[Any], statistics: Sequence[Any]) -> ErrorSurface:
        """Build a surface from the breakpoints of each sentence and the statistics of its segments, a row each.

        A sentence has one segment more than breakpoints. A sentence without segments (no derivation) adds nothing.
        """
        if len(breakpoints) != len(statistics):
            raise InputError(
                f"statistics: expected one entry for each of {len(breakpoints)} sentences, got {len(statistics)}"
            )
        tables = [np.asarray(table) for table in statistics]
        for sentence, (points, table) in enumerate(zip(breakpoints, tables, strict=True)):
            if table.ndim != 2 or (len(table) != len(points) + 1 and len(table) + len(points) > 0):
                raise InputError(
                    f"sentence {sentence}: expected a row of statistics for each of its {len(points) + 1} segments, "
                    f"got an array of shape {table.shape}"
                )
            if np.any(np.diff(points) <= 0) or not np.all(np.isfinite(points)):
                raise InputError(f"sentence {sentence}: breakpoints must be finite and strictly increase")
            if table.shape[1] != tables[0].shape[1]:
                raise InputError(
                    f"sentence {sentence} has {table.shape[1]} statistics, but sentence 0 has {tables[0].shape[1]}"
                )
        if not tables:
            raise InputError("statistics: expected at least one sentence, got none")
        offsets = offsets_of([len(table) for table in tables])
        lefts = [
            np.concatenate([[-np.inf], points]) for points, table in zip(breakpoints, tables, strict=True) if len(table)
        ]
        rows = np.arange(offsets[-1], dtype=np.int64)
        return ErrorSurface.from_rows(offsets, np.concatenate([*lefts, []]), rows, np.concatenate(tables))

    @staticmethod
    def from_rows(offsets: Int64s, lefts: Floats, rows: Int64s, table: NDArray[Any]) -> ErrorSurface:
        """Build a surface from packed segments: those of sentence i are ``offsets[i]`` up to ``offsets[i + 1]``, and
        segment j has the statistics ``table[rows[j]]`` from ``lefts[j]`` on.

        The readable statement of kernels/surfaces/sweep.py, for statistics of any type. O(n log n) for n segments.
        """
        rows, table = _exactly_summable(offsets, rows, table)
        firsts = offsets[:-1][np.diff(offsets) > 0]
        changing = np.append(False, rows[1:] != rows[:-1])[: len(rows)]
        changing[firsts] = False
        segments = np.flatnonzero(changing)
        segments = segments[np.argsort(lefts[segments], kind="stable")]
        changes = table[rows[segments]] - table[rows[segments - 1]]
        if table.dtype == np.int64:
            reached = np.abs(table[rows[firsts]].astype(np.float64)).sum() + np.abs(changes.astype(np.float64)).sum()
            if reached > LARGEST_SUM:
                raise InputError("statistics: sums exceed 2^62 and would not stay exact integers; use smaller units")
        totals = np.cumsum(np.concatenate([table[rows[firsts]].sum(axis=0)[None], changes]), axis=0)
        places = lefts[segments]
        # Changes at one place count together, and those that cancel out are left out.
        last = np.append(places[1:] != places[:-1], True)[: len(places)]
        breakpoints, totals = places[last], totals[np.append(True, last)]
        kept = np.any(totals[1:] != totals[:-1], axis=1)
        return ErrorSurface(breakpoints=breakpoints[kept], statistics=totals[np.append(True, kept)])

    @staticmethod
    def along(low: float, lefts: Floats, outputs: Int32s, rows: OutputRows, table: NDArray[Any]) -> ErrorSurface:
        """Build a surface from packed segments, where the first segment of each sentence begins at ``low``.

        Segment j has the statistics ``table[rows.row_of[outputs[j]]]`` from ``lefts[j]`` on. If sums fit into 32 bits
        (then ``rows`` have a table, too), it takes O(n) for the n segments of a typical line search.
        """
        if rows.table.size:
            everything = Wanted(UNKNOWN, np.empty(0), np.full(1, -np.inf), False)
            segments = Segments(lefts, outputs, np.zeros(1, dtype=np.int64), np.array([len(lefts)]))
            ends, no_points = np.array([[low, np.inf]]), np.empty((1, 0))
            _, starts, *_, statistics, _ = sweep(segments, rows, ends, np.zeros(1), everything, no_points)
            return ErrorSurface(starts[1:], statistics)
        others = rows.others
        offsets = np.append(np.flatnonzero(lefts == low), len(lefts) + np.arange(len(others) + 1))
        of_segments = np.concatenate([rows.row_of[outputs], others])
        return ErrorSurface.from_rows(offsets, np.concatenate([lefts, np.full(len(others), low)]), of_segments, table)

    def at(self, eta: float) -> NDArray[Any]:
        """The corpus statistics at η; at a breakpoint, the statistics to its right."""
        row: NDArray[Any] = self.statistics[np.searchsorted(self.breakpoints, eta, side="right")]
        return row

    def losses(self, loss: Loss) -> Floats:
        """The loss on every interval."""
        losses = np.asarray(loss(self.statistics), dtype=np.float64)
        if losses.shape != (len(self),):
            raise InputError(
                f"loss: expected {len(self)} values for as many rows of statistics, got shape {losses.shape}"
            )
        if np.any(np.isnan(losses)):
            row = self.statistics[int(np.argmax(np.isnan(losses)))]
            raise InputError(f"loss: got NaN for the statistics {row.tolist()}")
        return losses


def _exactly_summable(offsets: Int64s, rows: Int64s, table: NDArray[Any]) -> tuple[Int64s, NDArray[Any]]:
    """Rows and a table whose sums over one segment per sentence are exact in any order."""
    if table.dtype.kind not in "biuf":
        raise InputError(f"statistics: expected integers that fit 64 bits, or real numbers, got {table.dtype}")
    if table.dtype == np.uint64 and len(table) and table.max() > LARGEST_SUM:
        raise InputError("statistics: integers above 2^62 do not sum exactly; use smaller units")
    if table.dtype.kind in "biu":
        return rows, np.ascontiguousarray(table, dtype=np.int64)
    starts = offsets[:-1][np.diff(offsets) > 0]
    values = table[rows].astype(np.float64)
    if not np.all(np.isfinite(values)):
        bad = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])
        sentence = int(np.searchsorted(offsets, bad, side="right")) - 1
        raise InputError(f"statistics: sentence {sentence} has {values[bad].tolist()}; expected finite numbers")
    if len(starts):
        totals = np.maximum.reduceat(np.abs(values), starts, axis=0).sum(axis=0)
        # Two bits of room: for rounding, and for differences. No finer than the smallest double.
        grid = np.ldexp(1.0, np.maximum(np.frexp(totals)[1] - 52, -1074))
        values = np.rint(values / grid) * grid
    return np.arange(len(rows), dtype=np.int64), values
