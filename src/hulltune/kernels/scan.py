"""The envelope of an n-best list: three SIMD scans that leave little more than the winners to be sorted.

As points (slope, intercept) the winners form the upper hull. The least and the greatest slope are on it; the point
farthest above the segment between them is a third; what lies below the two segments through it is not (the first two
steps of Quickhull). In lists met in practice a dozen points are left of a hundred; they are sorted, and a monotone
chain finishes. A point is dropped only when its rounded height is negative, which is never wrong for grid integers.

Measured on real lists of 100 with 6 winners: a third of the time of walking from winner to winner with a scan each.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hulltune.kernels._jit import kernel
from hulltune.kernels.hull import drop_hidden
from hulltune.kernels.simd import (
    LANES,
    add,
    any_lane,
    at_least,
    choose,
    either,
    greater,
    load,
    multiply,
    splat,
    store,
    subtract,
)

Floats = NDArray[np.float64]
Int64s = NDArray[np.int64]

MANY = 32  # points from which a real sort beats insertion


@kernel
def _extremes(wide_slopes: Floats, wide_intercepts: Floats, n: int, rows: int, scratch: Floats) -> tuple[int, int]:
    """The first of the highest lines with the least slope, and with the greatest."""
    low = load(wide_slopes, 0)
    high = low
    for row in range(1, rows):
        slope = load(wide_slopes, row)
        low = choose(greater(low, slope), slope, low)
        high = choose(greater(slope, high), slope, high)
    store(scratch, 0, low)
    store(scratch, 1, high)
    least_slope, greatest_slope = scratch[0], scratch[LANES]
    for lane in range(1, LANES):
        least_slope = min(least_slope, scratch[lane])
        greatest_slope = max(greatest_slope, scratch[LANES + lane])
    least = -1
    greatest = -1
    for i in range(n):
        if wide_slopes[i] == least_slope and (least < 0 or wide_intercepts[i] > wide_intercepts[least]):
            least = i
        if wide_slopes[i] == greatest_slope and (greatest < 0 or wide_intercepts[i] > wide_intercepts[greatest]):
            greatest = i
    return least, greatest


@kernel
def _farthest(wide_slopes: Floats, wide_intercepts: Floats, rows: int, i: int, j: int, scratch: Floats) -> int:
    """The point farthest above the segment from point i to point j, up to rounding; i if there is none. Row 4 of
    ``scratch`` numbers the lanes.
    """
    x, y = splat(wide_slopes[i]), splat(wide_intercepts[i])
    run = splat(wide_slopes[j] - wide_slopes[i])
    rise = splat(wide_intercepts[j] - wide_intercepts[i])
    number = load(scratch, 4)
    step = splat(float(LANES))
    best = splat(0.0)
    best_number = splat(float(i))
    for row in range(rows):
        height = subtract(
            multiply(subtract(load(wide_intercepts, row), y), run), multiply(rise, subtract(load(wide_slopes, row), x))
        )
        higher = greater(height, best)
        best = choose(higher, height, best)
        best_number = choose(higher, number, best_number)
        number = add(number, step)
    store(scratch, 0, best)
    store(scratch, 1, best_number)
    top = 0
    for lane in range(1, LANES):
        if scratch[lane] > scratch[top]:
            top = lane
    return int(scratch[LANES + top])


@kernel
def _survivors(
    wide_slopes: Floats,
    wide_intercepts: Floats,
    n: int,
    rows: int,
    least: int,
    top: int,
    greatest: int,
    scratch: Floats,
    out: Int64s,
) -> int:
    """Which points do not lie below the segments from ``least`` to ``top`` and on to ``greatest``; their number.

    No point lies above the extension of either segment beyond ``top``, so being above one of the two lines suffices.
    """
    x, y = splat(wide_slopes[top]), splat(wide_intercepts[top])
    left_run = splat(wide_slopes[top] - wide_slopes[least])
    left_rise = splat(wide_intercepts[top] - wide_intercepts[least])
    right_run = splat(wide_slopes[greatest] - wide_slopes[top])
    right_rise = splat(wide_intercepts[greatest] - wide_intercepts[top])
    zero = splat(0.0)
    count = 0
    for row in range(rows):
        run = subtract(load(wide_slopes, row), x)
        rise = subtract(load(wide_intercepts, row), y)
        left = subtract(multiply(rise, left_run), multiply(left_rise, run))
        right = subtract(multiply(rise, right_run), multiply(right_rise, run))
        if any_lane(either(at_least(left, zero), at_least(right, zero))):
            store(scratch, 0, left)
            store(scratch, 1, right)
            for lane in range(LANES):
                if (scratch[lane] >= 0.0 or scratch[LANES + lane] >= 0.0) and row * LANES + lane < n:
                    out[count] = row * LANES + lane
                    count += 1
    return count


@kernel
def scan_envelope(
    slopes: Floats,
    intercepts: Floats,
    begin: int,
    end: int,
    wide_slopes: Floats,
    wide_intercepts: Floats,
    scratch: Floats,
    numbers: Int64s,
    line_slopes: Floats,
    line_intercepts: Floats,
    winners: Int64s,
) -> int:
    """The number of lines in the envelope of the hypotheses ``begin:end``. The lines by increasing slope, and the
    hypothesis of each (the first one that has it, counted from ``begin``) are written to the last three arrays.

    All arrays are the caller's, with room for the list and LANES more, because this runs a million times a second:
    ``scratch`` has five rows. O(n) beside the O(k log k) for the k hypotheses that are left.
    """
    n = end - begin
    rows = (n + LANES - 1) // LANES
    for i in range(n):
        wide_slopes[i], wide_intercepts[i] = slopes[begin + i], intercepts[begin + i]
    for i in range(n, rows * LANES):
        wide_slopes[i], wide_intercepts[i] = slopes[begin], intercepts[begin]
    for lane in range(LANES):
        scratch[4 * LANES + lane] = lane
    least, greatest = _extremes(wide_slopes, wide_intercepts, n, rows, scratch)
    line_slopes[0], line_intercepts[0], winners[0] = wide_slopes[least], wide_intercepts[least], least
    if wide_slopes[least] == wide_slopes[greatest]:
        return 1
    top = _farthest(wide_slopes, wide_intercepts, rows, least, greatest, scratch)
    count = 1
    if top != least:
        top = top if top < n else 0  # the padding repeats the first hypothesis
        left = _survivors(wide_slopes, wide_intercepts, n, rows, least, top, greatest, scratch, numbers)
        _sort_by_slope(wide_slopes, numbers, left)
        i = 0
        while i < left:
            best = numbers[i]
            i += 1
            slope = wide_slopes[best]
            if slope == wide_slopes[least] or slope == wide_slopes[greatest]:
                continue
            while i < left and wide_slopes[numbers[i]] == slope:  # of parallel lines the highest, of equals the first
                other = numbers[i]
                higher = wide_intercepts[other] - wide_intercepts[best]
                if higher > 0.0 or (higher == 0.0 and other < best):
                    best = other
                i += 1
            count = drop_hidden(slope, wide_intercepts[best], line_slopes, line_intercepts, 0, count)
            line_slopes[count], line_intercepts[count], winners[count] = slope, wide_intercepts[best], best
            count += 1
    slope, intercept = wide_slopes[greatest], wide_intercepts[greatest]
    count = drop_hidden(slope, intercept, line_slopes, line_intercepts, 0, count)
    line_slopes[count], line_intercepts[count], winners[count] = slope, intercept, greatest
    return count + 1


@kernel
def _sort_by_slope(slopes: Floats, numbers: Int64s, count: int) -> None:
    """Sort the first ``count`` numbers by the slopes they stand for."""
    if count > MANY:
        keys = np.empty(count)
        for i in range(count):
            keys[i] = slopes[numbers[i]]
        numbers[:count] = numbers[:count][np.argsort(keys)]
        return
    for i in range(1, count):
        number = numbers[i]
        j = i
        while j and slopes[number] < slopes[numbers[j - 1]]:
            numbers[j] = numbers[j - 1]
            j -= 1
        numbers[j] = number
