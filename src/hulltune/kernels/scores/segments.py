"""Conversion of lines on the grid to segments in the user's units, and of points to the grid, for all envelopes."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hulltune.arrays import Floats, Int64s
from hulltune.kernels.load.kernel import borrowing, part
from hulltune.kernels.scores.exact import FAR, NEAR

PLAIN = 900  # exponents up to which a product with a power of two is exact


@borrowing
def to_grid(eta: float, shift: int, at_zero: float) -> float:
    """A point of the line in grid units: eta * 2^shift, kept where it can be told apart from infinity and from 0.

    All crossings of lines are 0 or lie between 2^-53 and 2^53 in magnitude, so no winner is lost. Zero itself becomes
    ``at_zero``, the point just right of it (for a lower end) or left of it (for an upper end).
    """
    if eta == 0.0:
        return at_zero
    magnitude = abs(eta)
    exponent = math.frexp(magnitude)[1] + shift if magnitude < math.inf else 2000
    if exponent > 54:
        magnitude = FAR
    elif exponent < -53:
        magnitude = NEAR
    else:
        magnitude = math.ldexp(magnitude, shift)
    return math.copysign(magnitude, eta)


class Units(NamedTuple):
    """The exponents of the units of slopes and intercepts on the grid, and the interval in the user's units."""

    slope: int
    intercept: int
    low_end: float
    high_end: float


class SegmentRoom(NamedTuple):
    """Room for segments (left, slope, intercept) in the user's units, and for the places of their derivations."""

    rows: Floats
    places: Int64s


@part
def segments_room(size: int) -> SegmentRoom:
    """Room for so many segments."""
    return SegmentRoom(np.empty((size, 3)), np.empty(size, np.int64))


@part
def with_room(segments: SegmentRoom, size: int) -> SegmentRoom:
    """The segments, with room for at least ``size`` of them."""
    if size <= segments.places.size:
        return segments
    extra = max(segments.places.size, size)
    return SegmentRoom(
        np.concatenate((segments.rows, np.empty((extra, 3)))),
        np.concatenate((segments.places, np.empty(extra, np.int64))),
    )


@borrowing
def write_segments(
    slopes: Floats, intercepts: Floats, places: Int64s, units: Units, segments: SegmentRoom, total: int
) -> int:
    """Append the lines of an envelope on the grid as segments; returns the new total. SegmentRoom too thin for a double
    between their ends are left out.
    """
    start = total
    shift = units.intercept - units.slope
    unit = math.ldexp(1.0, shift) if abs(shift) < PLAIN else 0.0
    plain = abs(units.slope) < PLAIN and abs(units.intercept) < PLAIN
    slope_unit = math.ldexp(1.0, units.slope) if plain else 0.0
    intercept_unit = math.ldexp(1.0, units.intercept) if plain else 0.0
    rows = segments.rows
    for line in range(slopes.size):
        left = units.low_end
        if line > 0:
            left = (intercepts[line - 1] - intercepts[line]) / (slopes[line] - slopes[line - 1])
            left = left * unit if unit else math.ldexp(left, shift)
            if left >= units.high_end:
                break
        # A line that starts where the line before it starts leaves no double to that line, and replaces it.
        if total > start and left <= rows[total - 1, 0]:
            total -= 1
            left = rows[total, 0]
        rows[total, 0] = left
        rows[total, 1] = slopes[line] * slope_unit if plain else math.ldexp(slopes[line], units.slope)
        rows[total, 2] = intercepts[line] * intercept_unit if plain else math.ldexp(intercepts[line], units.intercept)
        segments.places[total] = places[line]
        total += 1
    return total
