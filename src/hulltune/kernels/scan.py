"""The envelope of an n-best list: from winner to winner, one SIMD scan over the hypotheses each.

With N hypotheses and K winners this costs N · K multiply-compares and no sort. Coordinates are grid integers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hulltune.kernels._jit import kernel
from hulltune.kernels.exact import compare_products
from hulltune.kernels.simd import (
    LANES,
    any_lane,
    both,
    choose,
    either,
    equal,
    greater,
    load,
    multiply,
    splat,
    store,
    subtract,
    unequal,
)

Floats = NDArray[np.float64]
Int64s = NDArray[np.int64]


@kernel
def _first_winner(slopes: Floats, intercepts: Floats, low: float) -> int:
    """The first of the hypotheses that win just right of ``low``."""
    best = 0
    for i in range(1, slopes.size):
        rise = slopes[i] - slopes[best]
        fall = intercepts[best] - intercepts[i]
        sign = compare_products(low, rise, 1.0, fall)
        if sign > 0 or (sign == 0 and rise > 0.0):
            best = i
    return best


@kernel
def _next_line(
    slopes: Floats, intercepts: Floats, rows: int, slope: float, intercept: float, scratch: Floats
) -> tuple[float, float]:
    """Run and fall from a line to that which overtakes it first, the steepest such; (0, 1) if none does.

    Each lane keeps the candidate that is met first: the smallest fall / run, compared by cross multiplication.
    """
    one_slope = splat(slope)
    one_intercept = splat(intercept)
    zero = splat(0.0)
    best_run = zero
    best_fall = splat(1.0)  # 1 / 0: never met
    for row in range(rows):
        run = subtract(load(slopes, row), one_slope)
        fall = subtract(one_intercept, load(intercepts, row))
        left = multiply(fall, best_run)
        right = multiply(best_fall, run)
        steeper = greater(run, zero)
        sooner = both(greater(right, left), steeper)
        doubtful = both(equal(right, left), steeper)
        if any_lane(doubtful) and any_lane(both(doubtful, either(unequal(run, best_run), unequal(fall, best_fall)))):
            store(scratch, 0, best_run)
            store(scratch, 1, best_fall)
            store(scratch, 2, run)
            store(scratch, 3, fall)
            for lane in range(LANES):
                _keep_sooner(scratch, lane, scratch[2 * LANES + lane], scratch[3 * LANES + lane])
            best_run = load(scratch, 0)
            best_fall = load(scratch, 1)
        else:
            best_run = choose(sooner, run, best_run)
            best_fall = choose(sooner, fall, best_fall)
    store(scratch, 0, best_run)
    store(scratch, 1, best_fall)
    for lane in range(1, LANES):
        _keep_sooner(scratch, 0, scratch[lane], scratch[LANES + lane])
    return scratch[0], scratch[LANES]


@kernel
def _keep_sooner(scratch: Floats, lane: int, run: float, fall: float) -> None:
    """Keep in ``lane`` of rows 0 and 1 what is met first, or the steeper of two that are met together."""
    if run > 0.0:
        sign = compare_products(fall, scratch[lane], scratch[LANES + lane], run)
        if sign < 0 or (sign == 0 and run > scratch[lane]):
            scratch[lane], scratch[LANES + lane] = run, fall


@kernel
def scan_envelope(
    slopes: Floats, intercepts: Floats, low: float, high: float, padded: Floats
) -> tuple[Floats, Floats, Int64s]:
    """The lines of a list's envelope from ``low`` to ``high`` by increasing slope, and the hypothesis of each (the
    first one that has this line). ``padded`` is room for two copies of the list rounded up to whole rows of LANES.
    """
    n = slopes.size
    rows = (n + LANES - 1) // LANES
    wide_slopes = padded[: rows * LANES]
    wide_intercepts = padded[rows * LANES : 2 * rows * LANES]
    wide_slopes[:n] = slopes
    wide_intercepts[:n] = intercepts
    wide_slopes[n:] = slopes[0]
    wide_intercepts[n:] = intercepts[0]
    scratch = np.empty(4 * LANES)
    capacity = 16
    out_slopes, out_intercepts, winners = np.empty(capacity), np.empty(capacity), np.empty(capacity, np.int64)
    winner = _first_winner(slopes, intercepts, low)
    count = 0
    while True:
        slope, intercept = slopes[winner], intercepts[winner]
        if count == capacity:
            out_slopes = np.concatenate((out_slopes, np.empty(capacity)))
            out_intercepts = np.concatenate((out_intercepts, np.empty(capacity)))
            winners = np.concatenate((winners, np.empty(capacity, np.int64)))
            capacity *= 2
        out_slopes[count], out_intercepts[count], winners[count] = slope, intercept, winner
        count += 1
        run, fall = _next_line(wide_slopes, wide_intercepts, rows, slope, intercept, scratch)
        if run == 0.0 or compare_products(high, run, 1.0, fall) <= 0:
            break
        slope, intercept = slope + run, intercept - fall
        winner = 0
        while slopes[winner] != slope or intercepts[winner] != intercept:
            winner += 1
    return out_slopes[:count], out_intercepts[:count], winners[:count]
