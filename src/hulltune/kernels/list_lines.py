"""Line searches over n-best lists, from the feature matrix to the changes of winner, for 16 directions at once.

All directions start from one point, so each list is sorted by its scores there once. Down that order a hypothesis can
win somewhere ahead only if its slope exceeds all slopes before it, and somewhere behind only if it is below them all
(otherwise one before it is at least as high and as steep). Those few records are told with a comparison for each
hypothesis, a SIMD step for LANES directions; a monotone chain over the records of each side is the envelope.

Measured on lists of 100 with 14 features: a fourth of the time of scoring all directions and then finding each
envelope by itself (list_envelopes.py), whose answers these are to the bit.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.kernels._jit import kernel
from hulltune.kernels.exact import NEAR, clip, compare_products
from hulltune.kernels.scores import GRID_BITS, ROUND, normalised
from hulltune.kernels.segments import to_grid
from hulltune.kernels.simd import (
    LANES,
    add,
    greater,
    load,
    load_at,
    lowest_bit,
    mask_bits,
    maximum,
    minimum,
    multiply,
    multiply_add,
    multiply_add_one,
    splat,
    store,
    subtract,
)

Floats = NDArray[np.float64]
Int64s = NDArray[np.int64]
Int32s = NDArray[np.int32]

MOST_SHIFT = 500  # with shifts up to this, scaling a sum is scaling its terms; beyond, scores.py is more careful
CROWDED = 24  # hypotheses in one of n buckets from which on a merge sort takes over


@kernel
def _scores(
    columns: NDArray[Any],
    begin: int,
    n: int,
    used: Int64s,
    weights: Floats,
    weight_exponent: int,
    magnitudes: Floats,
    exponent: int,
    scores: Floats,
) -> tuple[bool, int]:
    """The grid scores of a list under one weight vector, as scores.score_dense has them; whether all numbers were of
    ordinary size, and the exponent of the scores. Weights and magnitudes are normalised by 2^(their exponent).
    """
    bound = 0.0
    for k in range(weights.size):
        bound += abs(weights[k]) * magnitudes[k]
    if bound == 0.0:
        scores[:n] = 0.0
        return True, 0
    shift = GRID_BITS - math.frexp(bound)[1] - exponent
    if abs(shift) > MOST_SHIFT or abs(exponent) > MOST_SHIFT:
        return False, 0
    factor = math.ldexp(1.0, shift)
    flat, length = columns.reshape(-1), columns.shape[1]
    e = 0
    while e + LANES <= n:
        lanes = splat(0.0)
        for k in used:
            lanes = multiply_add(splat(weights[k]), load_at(flat, k * length + begin + e), lanes)
        rounding = splat(ROUND)
        store(scores[e:], 0, subtract(add(multiply(lanes, splat(factor)), rounding), rounding))
        e += LANES
    while e < n:
        total = 0.0
        for k in used:
            total = multiply_add_one(weights[k], np.float64(columns[k, begin + e]), total)
        scores[e] = (total * factor + ROUND) - ROUND
        e += 1
    return True, weight_exponent - shift


@kernel
def list_winners(
    columns: NDArray[Any], sentence_edges: Int64s, weights: Floats, magnitudes: Floats
) -> tuple[bool, Int64s]:
    """The hypothesis with the highest score in each list, of equals the first, numbered over the corpus; −1 where there
    is none. Before it: whether all numbers were of ordinary size (if not, it means nothing).
    """
    sentences, width = magnitudes.shape
    normal, normal_magnitudes = np.empty(width), np.empty(width)
    weight_exponent = normalised(weights, normal)
    most = 1
    for s in range(sentences):
        most = max(most, sentence_edges[s + 1] - sentence_edges[s])
    scores = np.empty(most)
    used = np.arange(width)
    winners = np.full(sentences, -1, np.int64)
    for s in range(sentences):
        begin, n = sentence_edges[s], sentence_edges[s + 1] - sentence_edges[s]
        if n == 0:
            continue
        exponent = normalised(magnitudes[s], normal_magnitudes)
        ordinary, _ = _scores(
            columns, begin, n, used, normal, weight_exponent, normal_magnitudes, exponent, scores
        )  # fmt: skip
        if not ordinary:
            return False, winners
        best = 0
        for e in range(1, n):
            if scores[e] > scores[best]:
                best = e
        winners[s] = begin + best
    return True, winners


@kernel
def _descending(keys: Floats, n: int, order: Int64s, places: Int64s) -> None:
    """Write the numbers 0 to n − 1 by descending key into ``order``, equals in their order.

    Buckets of equal width, then insertion: three times as fast as a merge sort of a hundred keys.
    """
    low, high = keys[0], keys[0]
    for i in range(1, n):
        low, high = min(low, keys[i]), max(high, keys[i])
    if low == high:
        for i in range(n):
            order[i] = i
        return
    scale = (n - 1) / (high - low)
    places[: n + 1] = 0
    crowd = 0
    for i in range(n):
        bucket = int((high - keys[i]) * scale)
        places[bucket + 1] += 1
        crowd = max(crowd, places[bucket + 1])
    if crowd > CROWDED:
        order[:n] = np.argsort(-keys[:n], kind="mergesort")
        return
    for bucket in range(n):
        places[bucket + 1] += places[bucket]
    for i in range(n):
        bucket = int((high - keys[i]) * scale)
        order[places[bucket]] = i
        places[bucket] += 1
    for i in range(1, n):
        number = order[i]
        key = keys[number]
        j = i
        while j > 0 and keys[order[j - 1]] < key:
            order[j] = order[j - 1]
            j -= 1
        order[j] = number


@kernel
def _slopes(
    columns: NDArray[Any],
    begin: int,
    n: int,
    used: Int64s,
    weights: Floats,
    sizes: Floats,
    row: int,
    magnitudes: Floats,
    exponent: int,
    scale: Floats,
    slopes: Floats,
) -> bool:
    """The grid scores of a list under LANES directions, whose weights (and absolute weights) begin at ``row``, into
    ``slopes`` by hypothesis; their factors and exponents, but for those of the weights, into ``scale``. Whether all
    numbers were of ordinary size.
    """
    total = splat(0.0)
    for k in range(magnitudes.size):
        total = add(total, multiply(load(sizes, row + k), splat(magnitudes[k])))
    store(scale, 0, total)
    for lane in range(LANES):
        bound = scale[lane]
        shift = 0
        if bound > 0.0:
            shift = GRID_BITS - math.frexp(bound)[1] - exponent
            if abs(shift) > MOST_SHIFT:
                return False
            scale[lane] = math.ldexp(1.0, shift)
        scale[LANES + lane] = -shift
    factors, rounding = load(scale, 0), splat(ROUND)
    e = 0
    while e + 4 <= n:  # four at a time: each row of weights is loaded once for all
        a, b, c, d = splat(0.0), splat(0.0), splat(0.0), splat(0.0)
        for k in used:
            weight = load(weights, row + k)
            a = multiply_add(weight, splat(np.float64(columns[k, begin + e])), a)
            b = multiply_add(weight, splat(np.float64(columns[k, begin + e + 1])), b)
            c = multiply_add(weight, splat(np.float64(columns[k, begin + e + 2])), c)
            d = multiply_add(weight, splat(np.float64(columns[k, begin + e + 3])), d)
        store(slopes, e, subtract(add(multiply(a, factors), rounding), rounding))
        store(slopes, e + 1, subtract(add(multiply(b, factors), rounding), rounding))
        store(slopes, e + 2, subtract(add(multiply(c, factors), rounding), rounding))
        store(slopes, e + 3, subtract(add(multiply(d, factors), rounding), rounding))
        e += 4
    while e < n:
        a = splat(0.0)
        for k in used:
            a = multiply_add(load(weights, row + k), splat(np.float64(columns[k, begin + e])), a)
        store(slopes, e, subtract(add(multiply(a, factors), rounding), rounding))
        e += 1
    return True


@kernel
def _records(
    slopes: Floats,
    order: Int64s,
    lanes: int,
    room: int,
    ahead: Int32s,
    ahead_ends: Int64s,
    behind: Int32s,
    behind_ends: Int64s,
) -> None:
    """Down the order, which hypotheses are steeper than all before them, and which are flatter, in the first ``lanes``
    lanes. Those of lane i are written from place ``i * room`` on; the arrays of ends say how far.
    """
    highest = load(slopes, order[0])
    lowest = highest
    for lane in range(lanes):
        ahead[lane * room], behind[lane * room] = order[0], order[0]
        ahead_ends[lane], behind_ends[lane] = lane * room + 1, lane * room + 1
    in_use = (1 << lanes) - 1
    for i in range(1, order.size):
        e = order[i]
        slope = load(slopes, e)
        steeper = mask_bits(greater(slope, highest)) & in_use
        flatter = mask_bits(greater(lowest, slope)) & in_use
        highest, lowest = maximum(slope, highest), minimum(slope, lowest)
        while steeper:
            lane = lowest_bit(steeper)
            steeper &= steeper - 1
            ahead[ahead_ends[lane]] = e
            ahead_ends[lane] += 1
        while flatter:
            lane = lowest_bit(flatter)
            flatter &= flatter - 1
            behind[behind_ends[lane]] = e
            behind_ends[lane] += 1


@kernel
def _chain(
    records: Int32s,
    begin: int,
    end: int,
    lane: int,
    slopes: Floats,
    intercepts: Floats,
    base: int,
    step: int,
    xs: Floats,
    ys: Floats,
    numbers: Int32s,
) -> int:
    """The upper hull of the records ``begin:end``, each of them no higher than those before it and further in the
    direction of ``step`` (1 or −1): written from place ``base`` in that direction; returns its last place.

    What is not strictly above the segment between its neighbours goes, as do those as high as the first but the last.
    """
    sign = float(step)
    number = records[begin]
    xs[base], ys[base], numbers[base] = slopes[number * LANES + lane], intercepts[number], number
    top = base
    for i in range(begin + 1, end):
        number = records[i]
        x, y = slopes[number * LANES + lane], intercepts[number]
        while top != base:
            x0, y0 = xs[top - step], ys[top - step]
            fall, run, top_fall, top_run = y0 - y, sign * (x - x0), y0 - ys[top], sign * (xs[top] - x0)
            hidden, seen = fall * top_run, top_fall * run
            if hidden > seen or (hidden == seen and compare_products(fall, top_run, top_fall, run) > 0):
                break
            top -= step
        if top != base or ys[base] > y:
            top += step
        xs[top], ys[top], numbers[top] = x, y, number
    return top


@kernel
def _last_at_the_top(records: Int32s, begin: int, end: int, intercepts: Floats) -> int:
    """The last of the records that is as high as the first."""
    last = begin
    while last + 1 < end and intercepts[records[last + 1]] == intercepts[records[begin]]:
        last += 1
    return last


@kernel
def list_lines(
    columns: NDArray[Any],
    sentence_edges: Int64s,
    first_sentence: int,
    last_sentence: int,
    weights: Floats,
    magnitudes: Floats,
    intervals: Floats,
    lefts: Floats,
    winners: Int32s,
) -> tuple[bool, Int64s, Floats, Int32s]:
    """The winners in sentences ``first_sentence`` to ``last_sentence`` along the line from the first row of ``weights``
    in the direction of each other row, within its interval.

    ``columns`` is the feature matrix by column. Returns whether all numbers were of ordinary size (if not, the rest
    means nothing), the number of segments of each direction, and in its row the segments of all sentences: where
    each begins, and which hypothesis (numbered over the corpus) wins there. The first segment of a sentence begins
    with the interval, the others later and later. The last two arrays are room for that, replaced where it is short:
    fresh memory costs as much as the search. O(width) for each hypothesis and direction, in SIMD steps of LANES
    directions.
    """
    directions, width = weights.shape[0] - 1, weights.shape[1]
    sentences = last_sentence - first_sentence
    blocks = (directions + LANES - 1) // LANES
    most = 1
    for s in range(first_sentence, last_sentence):
        most = max(most, sentence_edges[s + 1] - sentence_edges[s])

    normal_origin, normal = np.empty(width), np.empty(width)
    origin_exponent = normalised(weights[0], normal_origin)
    direction_exponents = np.zeros(blocks * LANES, np.int64)
    lanes = np.zeros(blocks * width * LANES)  # for each block a row of LANES weights for each feature
    sizes = np.zeros(blocks * width * LANES)
    for d in range(directions):
        direction_exponents[d] = normalised(weights[d + 1], normal)
        for k in range(width):
            place = (d // LANES * width + k) * LANES + d % LANES
            lanes[place], sizes[place] = normal[k], abs(normal[k])

    room = lefts.shape[1]
    if lefts.shape[0] < directions:
        room = max(room, 8 * sentences)
        lefts, winners = np.empty((directions, room)), np.empty((directions, room), np.int32)
    counts = np.zeros(directions, np.int64)

    normal_magnitudes = np.empty(width)
    used = np.empty(width, np.int64)
    intercepts = np.empty(most)
    order, buckets = np.empty(most, np.int64), np.empty(most + 1, np.int64)
    slopes = np.empty(most * LANES)
    scale = np.empty(2 * LANES)  # of the slopes in each lane: a factor, then an exponent
    # Records ahead and behind for each lane, and the envelope of one lane.
    ahead, behind = np.empty(LANES * most, np.int32), np.empty(LANES * most, np.int32)
    ahead_ends, behind_ends = np.empty(LANES, np.int64), np.empty(LANES, np.int64)
    line_x, line_y = np.empty(2 * most), np.empty(2 * most)
    line_numbers = np.empty(2 * most, np.int32)

    for s in range(first_sentence, last_sentence):
        begin, n = sentence_edges[s], sentence_edges[s + 1] - sentence_edges[s]
        if n == 0:
            continue
        exponent = normalised(magnitudes[s], normal_magnitudes)
        use = 0
        for k in range(width):
            if normal_magnitudes[k] != 0.0:
                used[use] = k
                use += 1

        ordinary, intercept_exponent = _scores(
            columns, begin, n, used[:use], normal_origin, origin_exponent, normal_magnitudes, exponent, intercepts
        )
        if not ordinary:
            return False, counts, lefts, winners
        _descending(intercepts, n, order, buckets)

        for block in range(blocks):
            size = min(LANES, directions - block * LANES)
            if not _slopes(
                columns, begin, n, used[:use], lanes, sizes, block * width, normal_magnitudes, exponent, scale, slopes
            ):
                return False, counts, lefts, winners
            _records(slopes, order[:n], size, most, ahead, ahead_ends, behind, behind_ends)
            for lane in range(size):
                d = block * LANES + lane
                # Both hulls grow from the middle, where they share their top unless several lines are as high.
                start, ahead_end, behind_end = lane * most, ahead_ends[lane], behind_ends[lane]
                ahead_start = _last_at_the_top(ahead, start, ahead_end, intercepts)
                behind_start = _last_at_the_top(behind, start, behind_end, intercepts)
                base = most if ahead[ahead_start] == behind[behind_start] else most - 1
                first = _chain(
                    behind, behind_start, behind_end, lane, slopes, intercepts, base, -1, line_x, line_y, line_numbers
                )
                last = _chain(
                    ahead, ahead_start, ahead_end, lane, slopes, intercepts, most, 1, line_x, line_y, line_numbers
                )
                slope_exponent = direction_exponents[d] + int(scale[LANES + lane])
                low_end, high_end = intervals[d, 0], intervals[d, 1]
                if low_end > -math.inf or high_end < math.inf:
                    low = to_grid(low_end, slope_exponent - intercept_exponent, NEAR)
                    high = to_grid(high_end, slope_exponent - intercept_exponent, -NEAR)
                    clipped = clip(line_x[first:], line_y[first:], last + 1 - first, low, high)
                    first, last = first + clipped[0], first + clipped[1] - 1
                if counts[d] + last + 1 - first > room:
                    extra = max(room, last + 1 - first)
                    lefts = np.concatenate((lefts, np.empty((lefts.shape[0], extra))), axis=1)
                    winners = np.concatenate((winners, np.empty((lefts.shape[0], extra), np.int32)), axis=1)
                    room += extra
                counts[d] = _segments(
                    line_x, line_y, line_numbers, first, last, intercept_exponent - slope_exponent, low_end, high_end,
                    begin, lefts[d], winners[d], counts[d],
                )  # fmt: skip
    return True, counts, lefts, winners


@kernel
def _segments(
    xs: Floats,
    ys: Floats,
    numbers: Int32s,
    first: int,
    last: int,
    shift: int,
    low_end: float,
    high_end: float,
    begin: int,
    lefts: Floats,
    winners: Int32s,
    total: int,
) -> int:
    """Append where each line from ``first`` to ``last`` begins to win, and its hypothesis (counted from ``begin``);
    returns the new total. As segments.write_segments.
    """
    unit = math.ldexp(1.0, shift)
    plain = abs(shift) < 900
    lefts[total], winners[total] = low_end, begin + numbers[first]
    last_left = low_end
    total += 1
    for line in range(first + 1, last + 1):
        left = np.divide(ys[line - 1] - ys[line], xs[line] - xs[line - 1])
        left = left * unit if plain else math.ldexp(left, shift)
        if left >= high_end:
            break
        # A line that starts where the one before it does leaves that one no double: it takes its place.
        if left <= last_left:
            total -= 1
            left = lefts[total]
        lefts[total], winners[total] = left, begin + numbers[line]
        last_left = left
        total += 1
    return total
