"""The corpus error surface: the statistics of the whole corpus on every interval of the line, exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.errors import InputError

Floats = NDArray[np.float64]
Loss = Callable[[NDArray[Any]], Floats]
"""From statistics (…, columns) to losses (…): smaller is better."""


@dataclass(frozen=True, eq=False, repr=False)
class ErrorSurface:
    """Piecewise constant statistics along a line: ``statistics[i]`` holds between breakpoints i − 1 and i.

    ``breakpoints`` strictly increase; they are the places where the statistics of some sentence change. Integer
    statistics stay integers. Real ones are rounded once to a power-of-two grid 2^-52 of their total, per column: their
    sums are then exact too, and do not depend on the order of the sentences or of the breakpoints.
    """

    breakpoints: Floats
    statistics: NDArray[Any]

    def __post_init__(self) -> None:
        assert len(self.statistics) == len(self.breakpoints) + 1
        assert np.all(np.diff(self.breakpoints) > 0)

    def __len__(self) -> int:
        return len(self.statistics)

    def __repr__(self) -> str:
        return f"ErrorSurface({len(self)} intervals, {self.statistics.shape[1]} statistics)"

    @staticmethod
    def from_sentences(breakpoints: Sequence[Any], statistics: Sequence[Any]) -> ErrorSurface:
        """From each sentence's breakpoints and, for its segments (one more), rows of statistics.

        A sentence without segments (no derivation) adds nothing.
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
            if np.any(np.diff(points) <= 0):
                raise InputError(f"sentence {sentence}: breakpoints must strictly increase")
        offsets = np.concatenate([[0], np.cumsum([len(table) for table in tables])]).astype(np.int64)
        lefts = [
            np.concatenate([[-np.inf], points]) for points, table in zip(breakpoints, tables, strict=True) if len(table)
        ]
        if not tables:
            raise InputError("statistics: expected at least one sentence, got none")
        return ErrorSurface.from_packed(offsets, np.concatenate([*lefts, []]), np.concatenate(tables))

    @staticmethod
    def from_packed(offsets: NDArray[np.int64], lefts: Floats, statistics: NDArray[Any]) -> ErrorSurface:
        """The same from segments laid end to end: those of sentence i are ``offsets[i]`` up to ``offsets[i + 1]``.

        One sort of the breakpoints at which anything changes, then running sums: O(n log n) for n segments.
        """
        statistics = _exactly_summable(statistics, offsets)
        is_first = np.zeros(len(statistics), dtype=bool)
        is_first[offsets[:-1][np.diff(offsets) > 0]] = True
        changes = np.diff(statistics, axis=0, prepend=statistics[:1])
        moved = np.flatnonzero(~is_first & np.any(changes != 0, axis=1))
        order = moved[np.argsort(lefts[moved], kind="stable")]
        start = statistics[is_first].sum(axis=0, dtype=statistics.dtype)[None]
        totals = np.concatenate([start, start + np.cumsum(changes[order], axis=0)])
        points = lefts[order]
        last_of_equals = np.ones(len(points), dtype=bool)
        last_of_equals[:-1] = points[1:] != points[:-1]
        return ErrorSurface(breakpoints=points[last_of_equals], statistics=totals[np.append(True, last_of_equals)])

    def at(self, eta: float) -> NDArray[Any]:
        """The corpus statistics at η (at a breakpoint, those to its right)."""
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


def _exactly_summable(statistics: NDArray[Any], offsets: NDArray[np.int64]) -> NDArray[Any]:
    """Statistics whose sums over one segment a sentence are exact, in any order."""
    if statistics.dtype.kind in "biu":
        return statistics.astype(np.int64)
    values = statistics.astype(np.float64)
    if not np.all(np.isfinite(values)):
        bad = int(np.flatnonzero(~np.isfinite(values).all(axis=1))[0])
        sentence = int(np.searchsorted(offsets, bad, side="right")) - 1
        raise InputError(f"statistics: sentence {sentence} has {values[bad].tolist()}; expected finite numbers")
    starts = offsets[:-1][np.diff(offsets) > 0]
    if not len(starts):
        return values
    totals = np.maximum.reduceat(np.abs(values), starts, axis=0).sum(axis=0)
    # Two bits of room: for rounding, and for differences. No finer than the smallest double.
    grid = np.ldexp(1.0, np.maximum(np.frexp(totals)[1] - 52, -1074))
    snapped: Floats = np.rint(values / grid) * grid
    return snapped
