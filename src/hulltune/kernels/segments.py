"""Conversion of lines on the grid to segments in the user's units, and of points to the grid, for all envelopes."""

from __future__ import annotations

import math

from hulltune.arrays import Floats, Int64s
from hulltune.kernels._jit import kernel
from hulltune.kernels.exact import FAR, NEAR

PLAIN = 900  # exponents up to which a product with a power of two is exact


@kernel
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


@kernel
def write_segments(
    line_slopes: Floats,
    line_intercepts: Floats,
    line_places: Int64s,
    first: int,
    last: int,
    slope_exponent: int,
    intercept_exponent: int,
    low_end: float,
    high_end: float,
    segments: Floats,
    places: Int64s,
    total: int,
) -> int:
    """Append lines ``first`` to ``last`` as segments (left, slope, intercept) in user units; returns the new total."""
    start = total
    shift = intercept_exponent - slope_exponent
    eta_unit, slope_unit = math.ldexp(1.0, shift), math.ldexp(1.0, slope_exponent)
    intercept_unit = math.ldexp(1.0, intercept_exponent)
    plain = abs(shift) < PLAIN and abs(slope_exponent) < PLAIN and abs(intercept_exponent) < PLAIN
    for line in range(first, last):
        slope, intercept = line_slopes[line], line_intercepts[line]
        left = low_end
        if line > first:
            left = (line_intercepts[line - 1] - intercept) / (slope - line_slopes[line - 1])
            left = left * eta_unit if plain else math.ldexp(left, shift)
            if left >= high_end:
                break
        # A line that starts where the line before it starts leaves no double to that line, and replaces it.
        if total > start and left <= segments[total - 1, 0]:
            total -= 1
            left = segments[total, 0]
        segments[total, 0] = left
        segments[total, 1] = slope * slope_unit if plain else math.ldexp(slope, slope_exponent)
        segments[total, 2] = intercept * intercept_unit if plain else math.ldexp(intercept, intercept_exponent)
        places[total] = line_places[line]
        total += 1
    return total
