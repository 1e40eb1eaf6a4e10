"""The envelope of an n-best list: three SIMD scans that leave little more than the winners to be sorted.

As points (slope, intercept) the winners form the upper hull. The points of least and of greatest slope are on it, and
so is the point farthest above the segment between them. Points below the two segments through it are not (the first two
steps of Quickhull). In practice a dozen points of a hundred are left; they are sorted, and a monotone chain finishes. A
point is dropped only when its rounded height is negative, which is never wrong for grid integers.

Measured on real lists of 100 with 6 winners: a third of the time of walking from winner to winner with a scan each.
"""

from __future__ import annotations

import numpy as np

from hulltune.arrays import Floats, Int64s
from hulltune.kernels.load.jit import borrowing, kernel
from hulltune.kernels.scores.exact import compare_products
from hulltune.kernels.simd.simd import (
    LANES,
    add,
    at_least,
    choose,
    divide,
    either,
    equal,
    greater,
    load,
    load_at,
    lowest_bit,
    mask_bits,
    multiply,
    smallest,
    splat,
    store,
    subtract,
)

MANY = 32  # points from which a real sort beats insertion


@borrowing
def _extremes(slopes: Floats, intercepts: Floats, begin: int, n: int) -> tuple[int, int]:
    """The first of the highest lines with the least slope, and with the greatest."""
    low = load_at(slopes, begin)
    high = low
    for row in range(1, (n + LANES - 1) // LANES):
        slope = load_at(slopes, begin + min(row * LANES, n - LANES))
        low = choose(greater(low, slope), slope, low)
        high = choose(greater(slope, high), slope, high)
    least_slope = smallest(low)
    greatest_slope = -smallest(subtract(splat(0.0), high))
    least_everywhere, greatest_everywhere = splat(least_slope), splat(greatest_slope)
    least, greatest = -1, -1
    for row in range((n + LANES - 1) // LANES):
        start = min(row * LANES, n - LANES)
        slope = load_at(slopes, begin + start)
        bits = mask_bits(either(equal(slope, least_everywhere), equal(slope, greatest_everywhere)))
        while bits:
            i = start + lowest_bit(bits)
            bits &= bits - 1
            if slopes[begin + i] == least_slope:
                if least < 0 or intercepts[begin + i] > intercepts[begin + least]:
                    least = i
            elif greatest < 0 or intercepts[begin + i] > intercepts[begin + greatest]:
                greatest = i
    return least, greatest if greatest >= 0 else least


@borrowing
def _farthest(slopes: Floats, intercepts: Floats, begin: int, n: int, i: int, j: int, scratch: Floats) -> int:
    """The point farthest above the segment from point i to point j, up to rounding; i if there is none. Row 4 of
    ``scratch`` numbers the lanes.
    """
    x, y = splat(slopes[begin + i]), splat(intercepts[begin + i])
    run = splat(slopes[begin + j] - slopes[begin + i])
    rise = splat(intercepts[begin + j] - intercepts[begin + i])
    lane_numbers = load(scratch, 4)
    best = splat(0.0)
    best_number = splat(float(i))
    for row in range((n + LANES - 1) // LANES):
        start = min(row * LANES, n - LANES)
        height = subtract(
            multiply(subtract(load_at(intercepts, begin + start), y), run),
            multiply(rise, subtract(load_at(slopes, begin + start), x)),
        )
        higher = greater(height, best)
        best = choose(higher, height, best)
        best_number = choose(higher, add(lane_numbers, splat(float(start))), best_number)
    store(scratch, 0, best_number)
    top = -smallest(subtract(splat(0.0), best))
    return int(scratch[lowest_bit(mask_bits(equal(best, splat(top))))])


@borrowing
def _survivors(
    slopes: Floats, intercepts: Floats, begin: int, n: int, least: int, top: int, greatest: int, out: Int64s
) -> int:
    """Write the points not below the segments from ``least`` to ``top`` and on to ``greatest``; returns their number.

    No point lies above the extension of either segment beyond ``top``, so being above one of the two lines suffices.
    Rows overlap at the end of the list: a point may come twice.
    """
    x, y = slopes[begin + top], intercepts[begin + top]
    left_run, left_rise = splat(x - slopes[begin + least]), splat(y - intercepts[begin + least])
    right_run, right_rise = splat(slopes[begin + greatest] - x), splat(intercepts[begin + greatest] - y)
    all_x, all_y = splat(x), splat(y)
    zero = splat(0.0)
    count = 0
    for row in range((n + LANES - 1) // LANES):
        start = min(row * LANES, n - LANES)
        run = subtract(load_at(slopes, begin + start), all_x)
        rise = subtract(load_at(intercepts, begin + start), all_y)
        left = subtract(multiply(rise, left_run), multiply(left_rise, run))
        right = subtract(multiply(rise, right_run), multiply(right_rise, run))
        bits = mask_bits(either(at_least(left, zero), at_least(right, zero)))
        while bits:
            out[count] = begin + start + lowest_bit(bits)
            count += 1
            bits &= bits - 1
    return count


@borrowing
def _not_below(slopes: Floats, intercepts: Floats, begin: int, n: int, i: int, j: int, out: Int64s) -> int:
    """Write the points not below the segment from point i to point j; returns their number.

    Rows overlap at the end of the list: a point may come twice.
    """
    x, y = splat(slopes[begin + i]), splat(intercepts[begin + i])
    run = splat(slopes[begin + j] - slopes[begin + i])
    rise = splat(intercepts[begin + j] - intercepts[begin + i])
    count = 0
    for row in range((n + LANES - 1) // LANES):
        start = min(row * LANES, n - LANES)
        height = subtract(
            multiply(subtract(load_at(intercepts, begin + start), y), run),
            multiply(rise, subtract(load_at(slopes, begin + start), x)),
        )
        bits = mask_bits(at_least(height, splat(0.0)))
        while bits:
            out[count] = begin + start + lowest_bit(bits)
            count += 1
            bits &= bits - 1
    return count


@borrowing
def scan_envelope(
    slopes: Floats,
    intercepts: Floats,
    begin: int,
    end: int,
    scratch: Floats,
    numbers: Int64s,
    xs: Floats,
    ys: Floats,
    winners: Int64s,
) -> int:
    """Write the lines of the envelope of the hypotheses ``begin:end``, at least LANES of them; returns their number.

    ``xs`` and ``ys`` get the lines by increasing slope, ``winners`` the first hypothesis with each line, counted from
    ``begin``. All arrays are the caller's, with room for the list and LANES more, because this runs a million times a
    second; ``scratch`` has five rows. O(n) beside the O(k log k) for the k hypotheses that are left.
    """
    n = end - begin
    for lane in range(LANES):
        scratch[4 * LANES + lane] = lane
    least, greatest = _extremes(slopes, intercepts, begin, n)
    low, high = slopes[begin + least], slopes[begin + greatest]
    xs[0], ys[0], winners[0] = low, intercepts[begin + least], least
    if low == high:
        return 1
    top = _farthest(slopes, intercepts, begin, n, least, greatest, scratch)
    if top == least:  # nothing is above the segment, unless rounding has hidden it
        left = _not_below(slopes, intercepts, begin, n, least, greatest, numbers)
    else:
        left = _survivors(slopes, intercepts, begin, n, least, top, greatest, numbers)
    if left <= LANES:
        count = _walk(slopes, intercepts, numbers, left, high, scratch, xs, ys, winners)
    else:
        size = _gather_sorted(slopes, intercepts, numbers, left, low, high, xs, ys, winners)
        xs[size], ys[size], winners[size] = high, intercepts[begin + greatest], begin + greatest
        count = _chain(xs, ys, winners, size + 1)
    for i in range(1, count):
        winners[i] -= begin
    return count


@borrowing
def short_list_envelope(
    slopes: Floats,
    intercepts: Floats,
    begin: int,
    end: int,
    scratch: Floats,
    numbers: Int64s,
    xs: Floats,
    ys: Floats,
    winners: Int64s,
) -> int:
    """Write the lines of the envelope of a list shorter than LANES, as ``scan_envelope`` does; returns their number.

    The list is filled up with copies of its first hypothesis, in rows 5 and 6 of ``scratch``. Copies come later in the
    list, so none of them is named as a winner.
    """
    padded = scratch[5 * LANES :]
    for i in range(LANES):
        source = begin + i if begin + i < end else begin
        padded[i], padded[LANES + i] = slopes[source], intercepts[source]
    return scan_envelope(padded, padded[LANES:], 0, LANES, scratch, numbers, xs, ys, winners)


@borrowing
def _walk(
    slopes: Floats,
    intercepts: Floats,
    numbers: Int64s,
    left: int,
    high: float,
    scratch: Floats,
    xs: Floats,
    ys: Floats,
    winners: Int64s,
) -> int:
    """Walk from winner to winner over at most LANES points, without unpredictable branches: half the time of sorting.

    The next winner is the line that is met first. Division rounds, but keeps the order, so only lanes that share the
    least quotient are compared exactly.
    """
    for i in range(LANES):
        number = numbers[min(i, left - 1)]
        scratch[i], scratch[LANES + i] = slopes[number], intercepts[number]
    all_x, all_y = load(scratch, 0), load(scratch, 1)
    never = splat(np.inf)
    zero = splat(0.0)
    count = 1
    while xs[count - 1] < high:
        x, y = xs[count - 1], ys[count - 1]
        run = subtract(all_x, splat(x))
        met = choose(greater(run, zero), divide(subtract(splat(y), all_y), run), never)
        bits = mask_bits(equal(met, splat(smallest(met))))
        best = lowest_bit(bits)
        bits &= bits - 1
        while bits:  # met together, up to rounding: the sooner, then the steeper, then the first
            other = lowest_bit(bits)
            bits &= bits - 1
            best_run, other_run = scratch[best] - x, scratch[other] - x
            sign = compare_products(y - scratch[LANES + other], best_run, y - scratch[LANES + best], other_run)
            if sign < 0 or (sign == 0 and other_run > best_run):
                best = other
        xs[count], ys[count] = scratch[best], scratch[LANES + best]
        winners[count] = numbers[min(best, left - 1)]
        count += 1
    return count


@borrowing
def _chain(xs: Floats, ys: Floats, winners: Int64s, size: int) -> int:
    """Reduce points sorted by slope to a monotone chain in place, as hull.drop_hidden does; returns its size."""
    count = 1
    for i in range(1, size):
        x, y = xs[i], ys[i]
        while count >= 2:
            x0, y0 = xs[count - 2], ys[count - 2]
            fall, run, top_fall, top_run = y0 - y, x - x0, y0 - ys[count - 1], xs[count - 1] - x0
            hidden, seen = fall * top_run, top_fall * run
            if hidden > seen or (hidden == seen and compare_products(fall, top_run, top_fall, run) > 0):
                break
            count -= 1
        xs[count], ys[count], winners[count] = x, y, winners[i]
        count += 1
    return count


@kernel
def _gather_sorted(
    slopes: Floats,
    intercepts: Floats,
    numbers: Int64s,
    left: int,
    low: float,
    high: float,
    xs: Floats,
    ys: Floats,
    winners: Int64s,
) -> int:
    """Write the points that are left, strictly between the extreme slopes, by slope from place 1 on; returns the end.

    Of parallel lines only the highest is kept, of equal lines the first.
    """
    if left > MANY:
        keys = np.empty(left)
        for i in range(left):
            keys[i] = slopes[numbers[i]]
        numbers[:left] = numbers[:left][np.argsort(keys)]
    size = 1
    for i in range(left):
        number = numbers[i]
        x, y = slopes[number], intercepts[number]
        if x in (low, high):
            continue
        j = size  # insertion: a dozen points, or sorted ones
        while j > 1 and x < xs[j - 1]:
            xs[j], ys[j], winners[j] = xs[j - 1], ys[j - 1], winners[j - 1]
            j -= 1
        if j > 1 and x == xs[j - 1]:
            if y > ys[j - 1] or (y == ys[j - 1] and number < winners[j - 1]):
                ys[j - 1], winners[j - 1] = y, number
            for k in range(j, size):  # nothing was added after all
                xs[k], ys[k], winners[k] = xs[k + 1], ys[k + 1], winners[k + 1]
            continue
        xs[j], ys[j], winners[j] = x, y, number
        size += 1
    return size
