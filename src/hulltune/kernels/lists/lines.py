"""Line searches over n-best lists, from the features to the changes of winner, for 16 directions at once.

All directions start from one point, so each list is ranked by its scores there once. Down the ranks a hypothesis can
win somewhere ahead only if its slope exceeds all slopes before it, and somewhere behind only if it is below them all
(otherwise one before it is at least as high and as steep). A SIMD comparison for each hypothesis finds these few
records for LANES directions, and the envelopes of all directions are then walked at once: from the winner at the start,
the record that is met first, again and again. Where rounding hides which is met first, chains.py decides.

The results equal those of the kernels of forests to the bit. Measured on lists of 100 with 14 features and 16
directions, this takes a sixth of the time of scoring all directions and then finding each envelope by itself. Three
tenths go into ranking, two into slopes and records, and the rest in about equal parts into gathering records, the walk,
and writing segments. Where all intervals are bounded, hypotheses that are too far below the winner at the start to win
within them are dropped before ranking.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import FloatRows, Floats, Int32s, Int64s
from hulltune.kernels.lists.chains import ChainRoom, Ranked, Records, chain_segments
from hulltune.kernels.lists.features import EdgeFeatures
from hulltune.kernels.lists.scores import BLOCK, MOST_SHIFT, Scaled, rank, score_list, sum_block
from hulltune.kernels.load.kernel import inlined, kernel, part
from hulltune.kernels.scores.scores import ROUND, grid_shift, normalised
from hulltune.kernels.scores.segments import PLAIN
from hulltune.kernels.simd.simd import (
    LANES,
    MASKS,
    Lanes,
    add,
    at_least,
    both,
    choose,
    divide,
    equal,
    greater,
    lane_of_masks,
    load,
    lowest_bit,
    mask_bits,
    maximum,
    minimum,
    multiply,
    multiply_add,
    splat,
    store,
    store_mask,
    subtract,
)

Masks = NDArray[np.uint16]

MOST_RECORDS = 48
"""The most records of a lane and side for the walk, which looks at all at every step; beyond, a chain is faster."""
ALL_LANES = (1 << LANES) - 1
OUTSIDE = -(2.0**60)  # further behind than any slope
SLACK = 2.0**-30  # far more than sums of a million products are rounded by
HAIR = 2.0**-48  # share of an interval end by which walks keep away from it: crossings are rounded by less


class Side(NamedTuple):
    """Arrays for the records ahead of the start, or behind it with slopes negated, by rows of LANES."""

    xs: Floats
    ys: Floats
    numbers: Int32s
    """The records of each lane: slope, height, hypothesis."""
    met_at: Floats
    met: Floats
    """The steps of the walk: the point where a line begins to win, and its record."""
    steps: Floats
    """The number of steps of each lane."""
    filled: Int64s
    """The number of rows with records."""


class Directions(NamedTuple):
    """Directions and their intervals, prepared for the walks, in blocks of LANES; the last is filled up with zeros."""

    intervals: Floats
    exponents: Int64s
    """Exponents of the powers of two by which each direction is normalised."""
    weights: Floats
    sizes: Floats
    """Rows of LANES weights, and of their absolute values, by block and feature."""
    low_ends: Floats
    high_ends: Floats
    """Ends of the walks behind and ahead, each in its own direction: points before them are inside the interval."""
    reaches: Floats
    """The distance from the start of the farther end of each interval."""
    elsewhere: Int64s
    """The lanes (as bits) of each block whose interval does not have the start inside: the walk is not for them."""


class Scale(NamedTuple):
    """Powers of two of each direction for one list, in blocks of LANES: ``factors`` bring sums of features to the grid
    of its slopes, and 2^shifts, which are ``units``, lead from crossings on the grid to points of the line.
    """

    factors: Floats
    shifts: Int64s
    units: Floats


class Walks(NamedTuple):
    """Room for the walks of LANES directions."""

    records: Records
    ahead: Side
    behind: Side
    chains: ChainRoom


class LineSegments(NamedTuple):
    """The segments found: ``room`` places for each direction, of which ``counts`` are taken."""

    counts: Int64s
    lefts: Floats
    winners: Int32s
    room: int


@part
def _directions(directions: Floats, intervals: Floats) -> Directions:
    count, width = directions.shape
    blocks = (count + LANES - 1) // LANES
    lines = Directions(
        intervals,
        np.zeros(blocks * LANES, np.int64), np.zeros(blocks * width * LANES), np.zeros(blocks * width * LANES),
        np.zeros(blocks * LANES), np.zeros(blocks * LANES), np.zeros(blocks * LANES), np.zeros(blocks, np.int64),
    )  # fmt: skip
    normal = np.empty(width)
    for d in range(count):
        lines.exponents[d] = normalised(directions[d], normal)
        for k in range(width):
            place = (d // LANES * width + k) * LANES + d % LANES
            lines.weights[place], lines.sizes[place] = normal[k], abs(normal[k])
        low, high = intervals[d, 0], intervals[d, 1]
        lines.low_ends[d] = -low - abs(low) * HAIR if low > -math.inf else math.inf
        lines.high_ends[d] = high - abs(high) * HAIR if high < math.inf else math.inf
        lines.reaches[d] = max(abs(low), abs(high))
        if not low < 0.0 < high:
            lines.elsewhere[d // LANES] |= 1 << d % LANES
    return lines


@part
def _side(most: int) -> Side:
    rows = min(most, MOST_RECORDS) * LANES
    return Side(
        np.full(rows, OUTSIDE), np.zeros(rows), np.zeros(rows, np.int32),
        np.empty(rows), np.empty(rows), np.zeros(LANES), np.zeros(1, np.int64),
    )  # fmt: skip


@part
def _walks(most: int) -> Walks:
    """Room for lists of at most so many hypotheses."""
    masks = most + MASKS
    records = Records(np.empty(most * LANES), np.zeros(masks, np.uint16), np.zeros(masks, np.uint16))
    chains = ChainRoom(np.empty(2 * most), np.empty(2 * most), np.empty(2 * most, np.int64))
    return Walks(records, _side(most), _side(most), chains)


@part
def _set_scale(lines: Directions, used: Int32s, magnitudes: Scaled, height_exponent: int, scale: Scale) -> bool:
    """Write the scale of a list. Returns whether all numbers were of ordinary size."""
    blocks = lines.elsewhere.size
    width = lines.sizes.size // max(blocks * LANES, 1)
    for block in range(blocks):
        bounds = splat(0.0)
        for i in range(used.size):
            size = load(lines.sizes, block * width + used[i])
            bounds = add(bounds, multiply(size, splat(magnitudes.values[i])))
        store(scale.factors, block, bounds)
    for d in range(blocks * LANES):
        shift = 0
        if scale.factors[d] > 0.0:
            shift = grid_shift(scale.factors[d], magnitudes.exponent)
            if abs(shift) > MOST_SHIFT:
                return False
            scale.factors[d] = math.ldexp(1.0, shift)
        scale.shifts[d] = shift + height_exponent - lines.exponents[d]
        scale.units[d] = math.ldexp(1.0, min(max(scale.shifts[d], -PLAIN), PLAIN))
    return True


@part
def _least_height(lines: Directions, used: Int32s, ranges: Floats, scale: Scale, best: float) -> float:
    """The height at the start below which no hypothesis of a list can win within the intervals; ``best`` is the top.

    From the start to the farther end of an interval a score gains on another at most the sum of the features' ranges,
    each times its weight.
    """
    factors, shifts = scale.factors, scale.shifts
    width = lines.sizes.size // max(lines.exponents.size, 1)
    most = 0.0
    for d in range(lines.exponents.size):
        if lines.reaches[d] == math.inf or abs(shifts[d]) >= PLAIN:
            return -math.inf
        gain = 0.0
        row = (d // LANES * width) * LANES + d % LANES
        for i in range(used.size):
            gain += lines.sizes[row + used[i] * LANES] * ranges[i]
        # The slopes are rounded to the grid by half a unit each, and this sum by far less.
        most = max(most, (gain * factors[d] + 2.0) * math.ldexp(lines.reaches[d], -shifts[d]))
    return best - most * (1.0 + SLACK)


@part
def _keep(scores: Floats, n: int, least: float, kept: Int32s) -> int:
    """Move the scores of at least ``least`` to the front, and write their numbers; returns how many there are."""
    count = 0
    for i in range(n):
        if scores[i] >= least:
            scores[count], kept[count] = scores[i], i
            count += 1
    return count


@inlined
def _record(
    i: int,
    sums: Lanes,
    scale: Lanes,
    highest: Lanes,
    lowest: Lanes,
    slopes: Floats,
    ahead: Masks,
    behind: Masks,
) -> tuple[Lanes, Lanes]:
    """Round the slopes of rank ``i`` to the grid and mark the records; returns the highest and lowest slopes so far."""
    rounding = splat(ROUND)
    slope = subtract(add(multiply(sums, scale), rounding), rounding)
    store(slopes, i, slope)
    store_mask(ahead, i, greater(slope, highest))
    store_mask(behind, i, greater(lowest, slope))
    return maximum(slope, highest), minimum(slope, lowest)


@part
def _mark_records(
    lists: EdgeFeatures, ranked: Ranked, used: Int32s, weights: Floats, row: int, scale: Lanes, records: Records
) -> None:
    """Write the grid scores of a list, by rank, under LANES directions whose weights begin at ``row``, and mark the
    records: the scores above, and below, all before them. Rank 0, which is both, is left out.
    """
    (begin, n, order, _), (slopes, ahead, behind) = ranked, records
    highest, lowest = splat(-math.inf), splat(math.inf)
    columns, length, row_offsets, row_columns = lists.rows
    i = 0
    while length == 0 and i < n:
        sums = splat(0.0)
        for j in range(row_offsets[begin + order[i]], row_offsets[begin + order[i] + 1]):
            sums = multiply_add(load(weights, row + row_columns[j]), splat(np.float64(columns[j])), sums)
        highest, lowest = _record(i, sums, scale, highest, lowest, slopes, ahead, behind)
        i += 1
    while i + 4 <= n:  # four at a time: each row of weights is loaded once for all
        a, b, c, d = splat(0.0), splat(0.0), splat(0.0), splat(0.0)
        # Unsigned places: of signed ones it would be asked whether they count from the end.
        at_a, at_b = np.uint64(begin + order[i]), np.uint64(begin + order[i + 1])
        at_c, at_d = np.uint64(begin + order[i + 2]), np.uint64(begin + order[i + 3])
        for k in used:
            weight, column = load(weights, row + k), np.uint64(k) * np.uint64(length)
            a = multiply_add(weight, splat(np.float64(columns[column + at_a])), a)
            b = multiply_add(weight, splat(np.float64(columns[column + at_b])), b)
            c = multiply_add(weight, splat(np.float64(columns[column + at_c])), c)
            d = multiply_add(weight, splat(np.float64(columns[column + at_d])), d)
        highest, lowest = _record(i, a, scale, highest, lowest, slopes, ahead, behind)
        highest, lowest = _record(i + 1, b, scale, highest, lowest, slopes, ahead, behind)
        highest, lowest = _record(i + 2, c, scale, highest, lowest, slopes, ahead, behind)
        highest, lowest = _record(i + 3, d, scale, highest, lowest, slopes, ahead, behind)
        i += 4
    while i < n:
        sums = splat(0.0)
        for k in used:
            sums = multiply_add(load(weights, row + k), splat(np.float64(columns[k * length + begin + order[i]])), sums)
        highest, lowest = _record(i, sums, scale, highest, lowest, slopes, ahead, behind)
        i += 1
    ahead[0], behind[0] = 0, 0
    while i % MASKS != 0:
        ahead[i], behind[i] = 0, 0
        i += 1


@part
def _gather(side: Side, sign: float, masks: Masks, slopes: Floats, lanes: int, ranked: Ranked) -> bool:
    """Write the records of each lane one below the other, over those written before; returns whether there was room."""
    for row in range(side.filled[0]):
        store(side.xs, row, splat(OUTSIDE))
    most = 0
    for lane in range(lanes):
        row = 0
        for word in range(0, ranked.n, MASKS):
            bits = lane_of_masks(masks, word, lane)
            while bits != 0:
                i = word + lowest_bit(bits)
                bits &= bits - 1
                if row == MOST_RECORDS:
                    side.filled[0] = MOST_RECORDS
                    return False
                place = row * LANES + lane
                side.xs[place], side.ys[place] = sign * slopes[i * LANES + lane], ranked.heights[i]
                side.numbers[place] = ranked.begin + ranked.order[i]
                row += 1
        most = max(most, row)
    side.filled[0] = most
    return True


@part
def _walk(side: Side, x: Lanes, y: Lanes, units: Lanes, ends: Lanes) -> int:
    """Walk the envelopes of all lanes from the line (x, y) on, as far as records are met before the end; returns the
    lanes in doubt, as bits.

    In doubt are lanes that meet two records at once up to rounding, or one too near to the last one or to the end.
    """
    zero, one = splat(0.0), splat(1.0)
    beyond = add(ends, multiply(maximum(ends, subtract(zero, ends)), splat(3.0 * HAIR)))
    doubt = 0
    steps, before = zero, splat(-math.inf)
    rows = side.filled[0]
    for step in range(rows):
        fall, run, met = one, zero, zero
        for row in range(rows):
            # A record steeper than the current winner is met at fall / run. Differences are exact, and rounding keeps
            # the order of products; where these are equal, the order is in doubt.
            new_fall, new_run = subtract(y, load(side.ys, row)), subtract(load(side.xs, row), x)
            later, now = multiply(fall, new_run), multiply(new_fall, run)
            steeper = greater(new_run, zero)
            doubt |= mask_bits(both(steeper, equal(later, now)))
            sooner = both(steeper, greater(later, now))
            fall, run = choose(sooner, new_fall, fall), choose(sooner, new_run, run)
            met = choose(sooner, splat(np.float64(row)), met)
        place = multiply(divide(fall, run), units)
        found = both(greater(run, zero), at_least(beyond, place))
        if mask_bits(found) == 0:
            break
        doubt |= mask_bits(found) & ~mask_bits(both(greater(place, before), greater(ends, place)))
        store(side.met_at, step, place)
        store(side.met, step, met)
        steps, before = choose(found, add(steps, one), steps), place
        x, y = choose(found, add(x, run), x), choose(found, subtract(y, fall), y)
    store(side.steps, 0, steps)
    return doubt


@inlined
def _write(walks: Walks, lane: int, low_end: float, start: int, lefts: Floats, winners: Int32s, at: int) -> int:
    """Write the segments of a lane, from place ``at`` on; returns their number. ``start`` is the winner at the start of
    the search.
    """
    ahead, behind = walks.ahead, walks.behind
    lefts[at] = low_end
    for step in range(int(behind.steps[lane]) - 1, -1, -1):
        winners[at] = behind.numbers[int(behind.met[step * LANES + lane]) * LANES + lane]
        at += 1
        lefts[at] = -behind.met_at[step * LANES + lane]
    winners[at] = start
    for step in range(int(ahead.steps[lane])):
        at += 1
        lefts[at] = ahead.met_at[step * LANES + lane]
        winners[at] = ahead.numbers[int(ahead.met[step * LANES + lane]) * LANES + lane]
    return 1 + int(behind.steps[lane]) + int(ahead.steps[lane])


@inlined
def _search_directions(
    lists: EdgeFeatures,
    ranked: Ranked,
    used: Int32s,
    lines: Directions,
    block: int,
    scale: Scale,
    walks: Walks,
    found: LineSegments,
) -> None:
    """Append the segments of a list along the LANES directions of a block."""
    first, records, heights = block * LANES, walks.records, ranked.heights
    size = min(LANES, found.counts.size - first)
    row = block * (lines.weights.size // lines.exponents.size)
    _mark_records(lists, ranked, used, lines.weights, row, load(scale.factors, block), records)
    doubt = lines.elsewhere[block]
    for lane in range(LANES):
        doubt |= int(abs(scale.shifts[first + lane]) >= PLAIN) << lane
    fit_ahead = _gather(walks.ahead, 1.0, records.ahead, records.slopes, size, ranked)
    fit_behind = _gather(walks.behind, -1.0, records.behind, records.slopes, size, ranked)
    if not (fit_ahead and fit_behind) or (ranked.n > 1 and heights[1] == heights[0]):
        doubt = ALL_LANES
    else:
        x, y, unit = load(records.slopes, 0), splat(heights[0]), load(scale.units, block)
        doubt |= _walk(walks.ahead, x, y, unit, load(lines.high_ends, block))
        doubt |= _walk(walks.behind, subtract(splat(0.0), x), y, unit, load(lines.low_ends, block))
    for lane in range(size):
        d = first + lane
        at = d * found.room + found.counts[d]
        low_end = lines.intervals[d, 0]
        if doubt >> lane & 1:
            found.counts[d] += chain_segments(
                records, ranked, lane, scale.shifts[d], (low_end, lines.intervals[d, 1]), walks.chains,
                found.lefts[at:], found.winners[at:],
            )  # fmt: skip
        else:
            start = ranked.begin + ranked.order[0]
            found.counts[d] += _write(walks, lane, low_end, start, found.lefts, found.winners, at)


@kernel
def list_lines(
    lists: EdgeFeatures,
    sentence_edges: Int64s,
    first_sentence: int,
    last_sentence: int,
    weights: FloatRows,
    intervals: FloatRows,
) -> tuple[bool, Int64s, Floats, Int32s]:
    """The winners in sentences ``first_sentence`` to ``last_sentence`` along the line from the first row of ``weights``
    in the direction of each other row, within its interval. Where all directions are 0, that is decoding.

    Returns whether all numbers were of ordinary size (if not, the rest means nothing), the number of segments of each
    direction, and two arrays with a row for each direction: the left ends of the segments of all sentences, and the
    hypotheses (numbered over the corpus) that win there. The first segment of a sentence begins with the interval; the
    others follow from left to right. O(its features) for each hypothesis and direction, in SIMD steps of LANES
    directions.
    """
    directions, width = weights.shape[0] - 1, weights.shape[1]
    most = 1
    for s in range(first_sentence, last_sentence):
        most = max(most, sentence_edges[s + 1] - sentence_edges[s])
    room = max(8 * (last_sentence - first_sentence), most)
    lefts, winners = np.empty((directions, room)), np.empty((directions, room), np.int32)
    counts = np.zeros(directions, np.int64)

    normal_origin, normal_magnitudes = np.empty(width), np.empty(width)
    origin = Scaled(normal_origin, normalised(weights[0], normal_origin))
    lines = _directions(weights[1:], intervals)
    lanes = lines.exponents.size
    scale = Scale(np.empty(lanes), np.empty(lanes, np.int64), np.empty(lanes))
    scores, sums = np.empty(most), np.empty(max(most, BLOCK))
    bounded = directions > 0 and bool(np.all(np.isfinite(intervals)))
    is_decoding = not np.any(weights[1:])
    if is_decoding:  # without ranks and walks, and without room for them
        most = 0
    walks = _walks(most)
    heights, kept = np.empty(most), np.empty(most, np.int32)
    order, packed = np.empty(most, np.int64), np.empty(most, np.int64)
    buckets, places = np.empty(most, np.int32), np.empty(2 * most + 1, np.int32)

    block_begin, block_end = 0, first_sentence
    for s in range(first_sentence, last_sentence):
        begin, n = sentence_edges[s], sentence_edges[s + 1] - sentence_edges[s]
        if s == block_end:
            block_begin, block_end = begin, sum_block(lists, sentence_edges, s, last_sentence, normal_origin, sums)
        if n == 0:
            continue
        own = slice(lists.used_offsets[s], lists.used_offsets[s + 1])
        used = lists.used[own]
        magnitudes = Scaled(normal_magnitudes, normalised(lists.magnitudes[own], normal_magnitudes))
        ordinary, height_exponent = score_list(
            lists, begin, n, used, origin, magnitudes, sums[begin - block_begin :], scores
        )
        if not ordinary:
            return False, counts, lefts, winners
        if is_decoding:
            best = 0
            for i in range(1, n):
                if scores[i] > scores[best]:
                    best = i
            for d in range(directions):
                lefts[d, counts[d]], winners[d, counts[d]] = intervals[d, 0], begin + best
                counts[d] += 1
            continue
        if not _set_scale(lines, used, magnitudes, height_exponent, scale):
            return False, counts, lefts, winners
        if bounded:
            highest = scores[0]
            for i in range(1, n):
                highest = max(highest, scores[i])
            n = _keep(scores, n, _least_height(lines, used, lists.ranges[own], scale, highest), kept)
        rank(scores, n, packed, buckets, places, order, heights)
        for i in range(n if bounded else 0):
            order[i] = kept[order[i]]
        longest = 0
        for d in range(directions):
            longest = max(longest, counts[d])
        if longest + n > room:
            lefts = np.concatenate((lefts, np.empty((lefts.shape[0], room))), axis=1)
            winners = np.concatenate((winners, np.empty((lefts.shape[0], room), np.int32)), axis=1)
            room *= 2
        ranked = Ranked(begin, n, order, heights)
        found = LineSegments(counts, lefts.reshape(-1), winners.reshape(-1), room)
        for block in range(lines.elsewhere.size):
            _search_directions(lists, ranked, used, lines, block, scale, walks, found)
    return True, counts, lefts, winners
