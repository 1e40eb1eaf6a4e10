"""The envelope of a forest by parametric search: a Viterbi pass at sixteen points of the line at once.

A point of the line is a fraction P/Q (Q > 0) of integers, or a double over 1. The score of a derivation there is
slope * P + intercept * Q; two derivations are compared by (slope difference) * P against (intercept difference) * Q,
in plain doubles first and exactly where these are equal. Equal scores are decided for the larger slope: a pass finds
the winner *just right* of each point.

Slopes and intercepts are grid integers (scores.py), so a pass returns exact lines of whole derivations.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hulltune.kernels._jit import kernel
from hulltune.kernels.exact import FAR, NEAR, compare_products
from hulltune.kernels.simd import (
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

Floats = NDArray[np.float64]
Int64s = NDArray[np.int64]
Int32s = NDArray[np.int32]

END = -1  # closes a derivation in a list of edges


@kernel
def viterbi_pass(
    first: int,
    last: int,
    edge_offsets: Int64s,
    tail_offsets: Int64s,
    tails: Int32s,
    slopes: Floats,
    intercepts: Floats,
    points: Floats,
    best_slopes: Floats,
    best_intercepts: Floats,
    scratch: Floats,
) -> None:
    """The winning line of every node of one sentence (nodes ``first`` to ``last``) at each of LANES points.

    ``points`` holds a row of P and a row of Q. Row i of ``best_slopes`` and ``best_intercepts`` is written for the
    sentence's node i. Among edges with the same line the first one wins. O(edges) SIMD steps.
    """
    p = load(points, 0)
    q = load(points, 1)
    zero = splat(0.0)
    base = edge_offsets[first]
    for node in range(first, last):
        slope = zero
        intercept = zero
        for edge in range(edge_offsets[node], edge_offsets[node + 1]):
            new_slope = splat(slopes[edge - base])
            new_intercept = splat(intercepts[edge - base])
            for slot in range(tail_offsets[edge], tail_offsets[edge + 1]):
                tail = tails[slot]
                new_slope = add(new_slope, load(best_slopes, tail))
                new_intercept = add(new_intercept, load(best_intercepts, tail))
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
                    store(scratch, 0, slope)
                    store(scratch, 1, intercept)
                    store(scratch, 2, new_slope)
                    store(scratch, 3, new_intercept)
                    _decide_exactly(points, scratch)
                    slope = load(scratch, 0)
                    intercept = load(scratch, 1)
                else:
                    slope = choose(better, new_slope, slope)
                    intercept = choose(better, new_intercept, intercept)
        store(best_slopes, node - first, slope)
        store(best_intercepts, node - first, intercept)


@kernel
def _decide_exactly(points: Floats, scratch: Floats) -> None:
    """Per lane, keep in rows 0 and 1 the better of the line there and that in rows 2 and 3."""
    for lane in range(LANES):
        rise = scratch[2 * LANES + lane] - scratch[lane]
        fall = scratch[LANES + lane] - scratch[3 * LANES + lane]
        sign = compare_products(points[lane], rise, points[LANES + lane], fall)
        if sign > 0 or (sign == 0 and rise > 0.0):
            scratch[lane] = scratch[2 * LANES + lane]
            scratch[LANES + lane] = scratch[3 * LANES + lane]


@kernel
def backtrack(
    lane: int,
    first: int,
    last: int,
    edge_offsets: Int64s,
    tail_offsets: Int64s,
    tails: Int32s,
    slopes: Floats,
    intercepts: Floats,
    best_slopes: Floats,
    best_intercepts: Floats,
    edges: Int32s,
    count: int,
) -> tuple[Int32s, int]:
    """Append the winning derivation of one lane to ``edges[:count]``: edge numbers of the sentence, root first, each
    followed by the derivations of its tails in order; END closes it.

    No back-pointers are kept: sums are exact, so the edge of a node is the first whose line equals the node's. That
    line is the same anywhere inside a segment, so every method names the same derivation.
    """
    base = edge_offsets[first]
    stack = np.empty(64, np.int64)
    stack[0] = last - 1 - first
    height = 1
    while height:
        height -= 1
        node = stack[height]
        row = node * LANES + lane
        found = -1
        for edge in range(edge_offsets[first + node], edge_offsets[first + node + 1]):
            slope = slopes[edge - base]
            intercept = intercepts[edge - base]
            for slot in range(tail_offsets[edge], tail_offsets[edge + 1]):
                tail_row = tails[slot] * LANES + lane
                slope += best_slopes[tail_row]
                intercept += best_intercepts[tail_row]
            if slope == best_slopes[row] and intercept == best_intercepts[row]:
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


@kernel
def spread_points(low: float, high: float, points: Floats) -> None:
    """LANES first points from ``low`` to ``high``, denser around 0 on an unbounded line: grid slopes and intercepts
    are of one size, so most crossings lie within a few units of 0.
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


@kernel
def crossing_point(slope: float, intercept: float, next_slope: float, next_intercept: float) -> tuple[float, float]:
    """Where a line meets a steeper one, as a fraction; 0 itself becomes the point just right of it."""
    if intercept == next_intercept:
        return NEAR, 1.0
    return intercept - next_intercept, next_slope - slope


@kernel
def lanes_envelope(
    first: int,
    last: int,
    edge_offsets: Int64s,
    tail_offsets: Int64s,
    tails: Int32s,
    slopes: Floats,
    intercepts: Floats,
    low: float,
    high: float,
    with_derivations: bool,
    best_slopes: Floats,
    best_intercepts: Floats,
    edges: Int32s,
    edge_count: int,
) -> tuple[Floats, Floats, Int64s, Int32s, int, int]:
    """The lines of the envelope between ``low`` and ``high`` by increasing slope, the place of each one's derivation
    in ``edges``, and the number of passes.

    Evaluate at the crossings of neighbouring lines; a crossing at which the steeper neighbour wins is a breakpoint, at
    any other a new line has been found, which lies strictly above. At most 2h − 1 evaluations for h lines, beside the
    first LANES that are spread over the line.
    """
    points = np.empty(2 * LANES)
    scratch = np.empty(4 * LANES)
    root = (last - 1 - first) * LANES
    capacity = 4 * LANES
    line_slopes = np.empty(capacity)
    line_intercepts = np.empty(capacity)
    places = np.full(capacity, -1)
    settled = np.zeros(capacity, np.bool_)  # between this line and the next

    spread_points(low, high, points)
    viterbi_pass(
        first,
        last,
        edge_offsets,
        tail_offsets,
        tails,
        slopes,
        intercepts,
        points,
        best_slopes,
        best_intercepts,
        scratch,
    )
    passes = 1
    count = 0
    for lane in range(LANES):
        slope, intercept = best_slopes[root + lane], best_intercepts[root + lane]
        if count and slope == line_slopes[count - 1] and intercept == line_intercepts[count - 1]:
            continue
        line_slopes[count], line_intercepts[count] = slope, intercept
        if with_derivations:
            places[count] = edge_count
            edges, edge_count = backtrack(
                lane, first, last, edge_offsets, tail_offsets, tails,
                slopes, intercepts, best_slopes, best_intercepts, edges, edge_count,
            )  # fmt: skip
        count += 1

    gaps = np.empty(LANES, np.int64)
    while True:
        found = 0  # new lines of this round; each lies between its two neighbours, so its place is known
        found_gaps = np.empty(count, np.int64)
        found_slopes = np.empty(count)
        found_intercepts = np.empty(count)
        found_places = np.full(count, -1)
        gap = 0
        any_open = False
        while gap < count - 1:
            lanes = 0
            while gap < count - 1 and lanes < LANES:
                if not settled[gap]:
                    points[lanes], points[LANES + lanes] = crossing_point(
                        line_slopes[gap], line_intercepts[gap], line_slopes[gap + 1], line_intercepts[gap + 1]
                    )
                    gaps[lanes] = gap
                    lanes += 1
                gap += 1
            if lanes == 0:
                break
            any_open = True
            for lane in range(lanes, LANES):
                points[lane], points[LANES + lane] = points[lanes - 1], points[LANES + lanes - 1]
            viterbi_pass(
                first, last, edge_offsets, tail_offsets, tails,
                slopes, intercepts, points, best_slopes, best_intercepts, scratch,
            )  # fmt: skip
            passes += 1
            for lane in range(lanes):
                slope, intercept = best_slopes[root + lane], best_intercepts[root + lane]
                right = gaps[lane] + 1
                if slope == line_slopes[right] and intercept == line_intercepts[right]:
                    settled[gaps[lane]] = True
                    continue
                found_gaps[found] = gaps[lane]
                found_slopes[found], found_intercepts[found] = slope, intercept
                if with_derivations:
                    found_places[found] = edge_count
                    edges, edge_count = backtrack(
                        lane, first, last, edge_offsets, tail_offsets, tails,
                        slopes, intercepts, best_slopes, best_intercepts, edges, edge_count,
                    )  # fmt: skip
                found += 1
        if not any_open:
            break
        if count + found > capacity:
            extra = np.empty(count + found)
            line_slopes = np.concatenate((line_slopes, extra))
            line_intercepts = np.concatenate((line_intercepts, extra))
            places = np.concatenate((places, np.full(count + found, -1)))
            settled = np.concatenate((settled, np.zeros(count + found, np.bool_)))
            capacity = line_slopes.size
        target = count + found - 1
        count += found
        for line in range(count - found - 1, -1, -1):  # from the right, so that nothing is overwritten
            line_slopes[target], line_intercepts[target] = line_slopes[line], line_intercepts[line]
            places[target], settled[target] = places[line], settled[line]
            target -= 1
            if found and found_gaps[found - 1] == line - 1:
                found -= 1
                line_slopes[target], line_intercepts[target] = found_slopes[found], found_intercepts[found]
                places[target], settled[target] = found_places[found], False
                settled[line - 1] = False
                target -= 1
    return line_slopes[:count], line_intercepts[:count], places[:count], edges, edge_count, passes
