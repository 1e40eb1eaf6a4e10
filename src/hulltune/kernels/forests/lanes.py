"""The envelope of a forest by parametric search: a Viterbi pass at sixteen points of the line at once.

A point of the line is a fraction P/Q (Q > 0) of integers, or a double over 1. The score of a derivation there is
slope * P + intercept * Q; two derivations are compared by (slope difference) * P against (intercept difference) * Q,
in plain doubles first and exactly where these are equal. Among equal scores the larger slope wins: a pass finds the
winner *just right* of each point.

Slopes and intercepts are grid integers (scores.py), so a pass returns exact lines of whole derivations.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hulltune.arrays import Bools, Floats, Int32s, Int64s
from hulltune.kernels.forests.forest import PassRoom, ScoredForest
from hulltune.kernels.load.kernel import borrowing, inlined, part
from hulltune.kernels.scores.exact import FAR, NEAR, compare_products
from hulltune.kernels.simd.simd import (
    LANES,
    add,
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

END = -1  # closes a derivation in a list of edges


class KnownLines(NamedTuple):
    """The lines found so far, by increasing slope: slope, intercept, and the least and greatest point where the line is
    known to win; the place of each one's derivation; and whether the gap between it and the next is settled.
    """

    lines: Floats
    places: Int64s
    settled: Bools


class FreshLines(NamedTuple):
    """The lines that a round has found, from left to right, with the gaps in which they were found (−1: no gap yet)."""

    lines: Floats
    places: Int64s
    gaps: Int64s


@borrowing
def viterbi_pass(forest: ScoredForest, room: PassRoom) -> None:
    """Write the winning line of every node of one sentence at each of the LANES points of the room.

    Row i of its slopes and intercepts is written for the sentence's node i. Among edges with the same line the first
    one wins. O(edges) SIMD steps.
    """
    edge_offsets, tail_offsets, tails = forest.edge_offsets, forest.tail_offsets, forest.tails
    slopes, intercepts = forest.slopes, forest.intercepts
    p = load(room.points, 0)
    q = load(room.points, 1)
    zero = splat(0.0)
    base = edge_offsets[forest.first]
    for node in range(forest.first, forest.last):
        slope = zero
        intercept = zero
        for edge in range(edge_offsets[node], edge_offsets[node + 1]):
            new_slope = splat(slopes[edge - base])
            new_intercept = splat(intercepts[edge - base])
            for slot in range(tail_offsets[edge], tail_offsets[edge + 1]):
                tail = tails[slot]
                new_slope = add(new_slope, load(room.slopes, tail))
                new_intercept = add(new_intercept, load(room.intercepts, tail))
            if edge == edge_offsets[node]:
                slope = new_slope
                intercept = new_intercept
            else:
                rise = subtract(new_slope, slope)
                fall = subtract(intercept, new_intercept)
                gain = multiply(p, rise)
                loss = multiply(q, fall)
                better = greater(gain, loss)
                doubtful = equal(gain, loss)
                if any_lane(doubtful) and any_lane(both(doubtful, either(unequal(rise, zero), unequal(fall, zero)))):
                    store(room.scratch, 0, slope)
                    store(room.scratch, 1, intercept)
                    store(room.scratch, 2, new_slope)
                    store(room.scratch, 3, new_intercept)
                    _decide_exactly(room.points, room.scratch)
                    slope = load(room.scratch, 0)
                    intercept = load(room.scratch, 1)
                else:
                    slope = choose(better, new_slope, slope)
                    intercept = choose(better, new_intercept, intercept)
        store(room.slopes, node - forest.first, slope)
        store(room.intercepts, node - forest.first, intercept)


@borrowing
def _decide_exactly(points: Floats, scratch: Floats) -> None:
    """Replace the line in rows 0 and 1 by the line in rows 2 and 3 in each lane where the latter is better."""
    for lane in range(LANES):
        rise = scratch[2 * LANES + lane] - scratch[lane]
        fall = scratch[LANES + lane] - scratch[3 * LANES + lane]
        sign = compare_products(points[lane], rise, points[LANES + lane], fall)
        if sign > 0 or (sign == 0 and rise > 0.0):
            scratch[lane] = scratch[2 * LANES + lane]
            scratch[LANES + lane] = scratch[3 * LANES + lane]


@part
def backtrack(forest: ScoredForest, room: PassRoom, lane: int, edges: Int32s, count: int) -> tuple[Int32s, int]:
    """Append the winning derivation of one lane to ``edges[:count]``: edge numbers of the sentence, root first, each
    followed by the derivations of its tails in order; END closes it.

    No back-pointers are kept: sums are exact, so the edge of a node is the first whose line equals the node's. That
    line is the same anywhere inside a segment, so every method names the same derivation.
    """
    first, edge_offsets, tail_offsets, tails = forest.first, forest.edge_offsets, forest.tail_offsets, forest.tails
    base = edge_offsets[first]
    stack = np.empty(64, np.int64)
    stack[0] = forest.last - 1 - first
    height = 1
    while height:
        height -= 1
        node = stack[height]
        row = node * LANES + lane
        found = -1
        for edge in range(edge_offsets[first + node], edge_offsets[first + node + 1]):
            slope = forest.slopes[edge - base]
            intercept = forest.intercepts[edge - base]
            for slot in range(tail_offsets[edge], tail_offsets[edge + 1]):
                tail_row = tails[slot] * LANES + lane
                slope += room.slopes[tail_row]
                intercept += room.intercepts[tail_row]
            if slope == room.slopes[row] and intercept == room.intercepts[row]:
                found = edge
                break
        assert found >= 0
        if count == edges.size:
            edges = np.concatenate((edges, np.empty_like(edges)))
        edges[count] = found - base
        count += 1
        arity = tail_offsets[found + 1] - tail_offsets[found]
        if height + arity > stack.size:
            stack = np.concatenate((stack, np.empty(stack.size + arity, np.int64)))
        for slot in range(tail_offsets[found + 1] - 1, tail_offsets[found] - 1, -1):
            stack[height] = tails[slot]
            height += 1
    if count == edges.size:
        edges = np.concatenate((edges, np.empty_like(edges)))
    edges[count] = END
    return edges, count + 1


@borrowing
def spread_points(low: float, high: float, points: Floats) -> None:
    """Write the first LANES points, from ``low`` to ``high``; on an unbounded line they are denser around 0.

    Grid slopes and intercepts are of one size, so most crossings lie within a few units of 0.
    """
    for lane in range(LANES):
        share = lane / (LANES - 1)
        if low == -FAR and high == FAR:
            point = math.tan(math.pi * (share - 0.5))
        elif high == FAR:
            point = low + (abs(low) + 1.0) * share / (1.0001 - share)
        elif low == -FAR:
            point = high - (abs(high) + 1.0) * (1.0 - share) / (share + 0.0001)
        else:
            point = low + (high - low) * share
        points[lane] = min(max(point, low), high)
        points[LANES + lane] = 1.0
    points[0] = low
    points[LANES - 1] = high


@borrowing
def crossing_point(slope: float, intercept: float, next_slope: float, next_intercept: float) -> tuple[float, float]:
    """The point where a line meets a steeper one, as a fraction; 0 itself becomes the point just right of it."""
    if intercept == next_intercept:
        return NEAR, 1.0
    return intercept - next_intercept, next_slope - slope


@borrowing
def _probe(lines: Floats, gap: int, width: int, points: Floats, lane: int) -> None:
    """Write ``width`` (odd) points for the gap between a line and the next: their crossing in the middle, and on both
    sides points that approach it by factors of four from where each line is known to win.

    The side points cost nothing, because their lanes would be idle. Where lines change on a scale unlike the grid's,
    they find it in one pass instead of many.
    """
    half = width // 2
    p, q = crossing_point(lines[gap, 0], lines[gap, 1], lines[gap + 1, 0], lines[gap + 1, 1])
    middle = p / q
    left = lines[gap, 3] if lines[gap, 3] > -FAR else middle - 64.0 * (1.0 + abs(middle))
    right = lines[gap + 1, 2] if lines[gap + 1, 2] < FAR else middle + 64.0 * (1.0 + abs(middle))
    for i in range(half):
        share = 0.25 ** (i + 1)
        points[lane + i], points[LANES + lane + i] = middle - (middle - left) * share, 1.0
        mirror = lane + width - 1 - i
        points[mirror], points[LANES + mirror] = middle + (right - middle) * share, 1.0
    points[lane + half], points[LANES + lane + half] = p, q


@borrowing
def _fill_lanes(
    known: KnownLines, count: int, gap: int, width: int, points: Floats, gap_of_lane: Int64s
) -> tuple[int, int]:
    """Write points for open gaps from number ``gap`` on, as many as there are lanes for, and the gap of each lane;
    returns the number of lanes, 0 for no more gaps, and the gap to go on with.
    """
    lanes = 0
    while gap < count - 1 and lanes + width <= LANES:
        if not known.settled[gap]:
            _probe(known.lines, gap, width, points, lanes)
            for lane in range(lanes, lanes + width):
                gap_of_lane[lane] = gap
            lanes += width
        gap += 1
    for lane in range(lanes, LANES if lanes else 0):
        points[lane], points[LANES + lane] = points[lanes - 1], points[LANES + lanes - 1]
    return lanes, gap


@borrowing
def _learn(
    known: KnownLines, fresh: FreshLines, found: int, gap: int, line: tuple[float, float, float], is_crossing: bool
) -> tuple[int, bool]:
    """Take note of a line (slope, intercept) that wins at a point looked at for a gap; returns the number of fresh
    lines, and whether it is the last of them.
    """
    slope, intercept, point = line
    lines = known.lines
    if gap >= 0:
        if slope == lines[gap + 1, 0] and intercept == lines[gap + 1, 1]:
            lines[gap + 1, 2] = min(lines[gap + 1, 2], point)
            if is_crossing:
                known.settled[gap] = True
            return found, False
        if slope == lines[gap, 0] and intercept == lines[gap, 1]:
            lines[gap, 3] = max(lines[gap, 3], point)
            return found, False
        # Where lines change within an ulp of the crossing, rounding may put a probe on the wrong side of it, or outside
        # the gap. The crossing itself is exact, and has the last word.
        if not lines[gap, 0] < slope < lines[gap + 1, 0]:
            return found, False
        while is_crossing and found and fresh.gaps[found - 1] == gap and fresh.lines[found - 1, 0] > slope:
            found -= 1
        if found and fresh.gaps[found - 1] == gap and fresh.lines[found - 1, 0] > slope:
            return found, False
    if found and slope == fresh.lines[found - 1, 0] and intercept == fresh.lines[found - 1, 1]:
        fresh.lines[found - 1, 3] = point
        return found, False
    fresh.lines[found, 0], fresh.lines[found, 1] = slope, intercept
    fresh.lines[found, 2] = fresh.lines[found, 3] = point
    fresh.gaps[found] = gap
    return found + 1, True


@part
def lanes_envelope(
    forest: ScoredForest,
    low: float,
    high: float,
    with_derivations: bool,
    room: PassRoom,
    edges: Int32s,
    edge_count: int,
) -> tuple[Floats, Int64s, Int32s, int, int]:
    """The lines of the envelope between ``low`` and ``high`` (see KnownLines), the place of each one's derivation in
    ``edges``, the edges and their number, and the number of passes.

    Passes evaluate at the crossings of neighbouring lines. A crossing at which the steeper neighbour wins is a
    breakpoint; at any other, a new line has been found, which lies strictly above. So h lines need at most 2h − 1
    evaluations (2 for h = 1), besides those of lanes that would be idle.
    """
    points = room.points
    root = (forest.last - 1 - forest.first) * LANES
    known = KnownLines(np.empty((4 * LANES, 4)), np.full(4 * LANES, -1), np.zeros(4 * LANES, np.bool_))
    fresh = FreshLines(np.empty((4 * LANES, 4)), np.empty(4 * LANES, np.int64), np.empty(4 * LANES, np.int64))
    gap_of_lane = np.full(LANES, np.int64(-1))
    count, passes = 0, 0
    while True:
        # Look into all open gaps; at first into the whole line, with points spread over it.
        open_gaps = 0
        for gap in range(count - 1):
            open_gaps += not known.settled[gap]
        if count and not open_gaps:
            return known.lines[:count], known.places[:count], edges, edge_count, passes
        width = max(1, (LANES // max(open_gaps, 1) - 1) // 2 * 2 + 1)
        if fresh.gaps.size < open_gaps * width + LANES:
            size = 2 * open_gaps * width + LANES
            fresh = FreshLines(np.empty((size, 4)), np.empty(size, np.int64), np.empty(size, np.int64))
        found, gap = 0, 0
        while True:
            if count == 0:
                spread_points(low, high, points)
                lanes = LANES
            else:
                lanes, gap = _fill_lanes(known, count, gap, width, points, gap_of_lane)
            if lanes == 0:
                break
            viterbi_pass(forest, room)
            passes += 1
            for lane in range(lanes):
                slope, intercept = room.slopes[root + lane], room.intercepts[root + lane]
                line = (slope, intercept, points[lane] / points[LANES + lane])
                is_crossing = lane % width == width // 2
                found, is_new = _learn(known, fresh, found, gap_of_lane[lane], line, is_crossing)
                if is_new:
                    fresh.places[found - 1] = edge_count if with_derivations else -1
                    if with_derivations:
                        edges, edge_count = backtrack(forest, room, lane, edges, edge_count)
            if count == 0:
                break
        if count + found > known.settled.size:
            extra = max(known.settled.size, found)
            known = KnownLines(
                np.concatenate((known.lines, np.empty((extra, 4)))),
                np.concatenate((known.places, np.full(extra, -1))),
                np.concatenate((known.settled, np.zeros(extra, np.bool_))),
            )
        _insert(known, count, fresh, found)
        count += found


@borrowing
def _insert(known: KnownLines, count: int, fresh: FreshLines, found: int) -> None:
    """Insert each fresh line after the line in whose gap it was found, from the right: nothing is overwritten."""
    target = count + found - 1
    line = count - 1
    while found:
        if fresh.gaps[found - 1] == line:
            found -= 1
            _copy_line(fresh.lines, found, known.lines, target)
            known.places[target], known.settled[target] = fresh.places[found], False
        else:
            _copy_line(known.lines, line, known.lines, target)
            known.places[target], known.settled[target] = known.places[line], known.settled[line]
            line -= 1
        target -= 1


@inlined
def _copy_line(lines: Floats, line: int, others: Floats, target: int) -> None:
    for column in range(4):
        others[target, column] = lines[line, column]
