"""Exact envelopes of many forests along many directions: those of the grid (envelopes.py), judged (judge.py)."""

from __future__ import annotations

import math

import numpy as np

from hulltune.arrays import Floats, Int32s, Int64s
from hulltune.kernels._jit import inlined, kernel
from hulltune.kernels.envelopes import compact_derivations, forest_lines
from hulltune.kernels.exact import NEAR
from hulltune.kernels.exact_features import ExactFeatures, digit_width, first_digits
from hulltune.kernels.judge import (
    Exact,
    Found,
    Place,
    Scores,
    end_scores,
    exact_lines,
    near_ties_of_forest,
    pool_room,
    walk_room,
)
from hulltune.kernels.lanes import END
from hulltune.kernels.segments import to_grid, write_segments
from hulltune.kernels.simd import LANES


@inlined
def write_exact_segments(
    found: Found,
    order: Int64s,
    lefts: Floats,
    scores: Scores,
    slope_exponent: int,
    intercept_exponent: int,
    low_end: float,
    high_end: float,
    edges: Int32s,
    segments: Floats,
    places: Int64s,
    total: int,
) -> int:
    """Append the lines of an exact envelope as segments (left, slope, intercept) in user units; returns the new total.

    Slopes and intercepts are sums of grid scores. Segments too thin for a double between their ends are left out.
    """
    start = total
    for i in range(order.size):
        left = low_end
        if i:
            left = lefts[i]
            if left >= high_end:
                break
        # A line that starts where the line before it starts leaves no double to that line, and replaces it.
        if total > start and left <= segments[total - 1, 0]:
            total -= 1
            left = segments[total, 0]
        slope, intercept = 0.0, 0.0
        at = found.places[order[i]]
        places[total] = at
        while edges[at] != END:
            slope += scores.slopes[edges[at]]
            intercept += scores.intercepts[edges[at]]
            at += 1
        segments[total, 0] = left
        segments[total, 1] = math.ldexp(slope, slope_exponent)
        segments[total, 2] = math.ldexp(intercept, intercept_exponent)
        total += 1
    return total


@kernel
def judged_envelopes(
    node_offsets: Int64s,
    edge_offsets: Int64s,
    tail_offsets: Int64s,
    tails: Int32s,
    first_sentence: int,
    last_sentence: int,
    scores: Floats,
    exponents: Int64s,
    intervals: Floats,
    method: int,
    with_derivations: bool,
    features: ExactFeatures,
    weights: Floats,
    bounds: Floats,
    longest: Floats,
) -> tuple[Int64s, Floats, Int64s, Int32s, int]:
    """Exact envelopes of forests along the directions in rows 1, 2, … of ``weights`` from row 0; ``scores``, with
    ``exponents`` and ``bounds`` on their rounding, are those of the grid. Returns what envelopes.envelopes returns.
    """
    directions = scores.shape[0] - 1
    sentences = last_sentence - first_sentence
    offsets = np.zeros(directions * sentences + 1, np.int64)
    segments = np.empty((1024, 3))
    places = np.empty(1024, np.int64)
    edges = np.empty(1024, np.int32)
    edge_count, total, passes, most_nodes = 0, 0, 0, 1
    for s in range(first_sentence, last_sentence):
        most_nodes = max(most_nodes, node_offsets[s + 1] - node_offsets[s])
    best_slopes, best_intercepts = np.empty(most_nodes * LANES), np.empty(most_nodes * LANES)
    walk, pool, digits = walk_room(most_nodes), pool_room(0), 0
    end_slopes = np.empty(scores.shape[1])
    base = edge_offsets[node_offsets[first_sentence]]
    for direction in range(directions):
        low_end, high_end = intervals[direction, 0], intervals[direction, 1]
        for s in range(first_sentence, last_sentence):
            cell = direction * sentences + s - first_sentence
            offsets[cell + 1] = total
            first, last = node_offsets[s], node_offsets[s + 1]
            begin, end = edge_offsets[first] - base, edge_offsets[last] - base
            if begin == end:  # no derivation, no segment
                continue
            slope_exponent = exponents[direction + 1, s - first_sentence]
            intercept_exponent = exponents[0, s - first_sentence]
            low = to_grid(low_end, slope_exponent - intercept_exponent, NEAR)
            high = to_grid(high_end, slope_exponent - intercept_exponent, -NEAR)
            edges_before = edge_count
            grid = Scores(
                scores[direction + 1, begin:end], scores[0, begin:end],
                bounds[direction + 1, s - first_sentence], bounds[0, s - first_sentence],
            )  # fmt: skip
            line_slopes, line_intercepts, line_places, edges, edge_count, more_passes = forest_lines(
                first, last, edge_offsets, tail_offsets, tails, grid.slopes, grid.intercepts, low, high, method,
                with_derivations or digit_width(longest[s]) > 0, best_slopes, best_intercepts, edges, edge_count,
            )  # fmt: skip
            passes += more_passes
            width = digit_width(longest[s])
            if total + line_slopes.size > places.size:
                extra = max(places.size, line_slopes.size)
                segments = np.concatenate((segments, np.empty((extra, 3))))
                places = np.concatenate((places, np.empty(extra, np.int64)))
            if width == 0:  # derivations too long to be summed up: those of the grid must do
                total = write_segments(
                    line_slopes, line_intercepts, line_places, 0, line_slopes.size, slope_exponent,
                    intercept_exponent, low_end, high_end, segments, places, total,
                )  # fmt: skip
                offsets[cell + 1] = total
                continue
            first_digit = first_digits(features, s, width)
            if first_digit[-1] != digits:
                digits = first_digit[-1]
                pool = pool_room(digits)
            exact = Exact(
                features, s, edge_offsets[first], first_digit, width, weights[0], weights[direction + 1]
            )  # fmt: skip
            place = Place(s, first, last, edge_offsets[first], edge_offsets, tail_offsets, tails)
            ends = end_scores(grid, features, s, edge_offsets[first], longest[s], weights[direction + 1], end_slopes)
            found, pool, edges, edge_count = near_ties_of_forest(
                place, grid, ends, exact, low, high, line_slopes, line_intercepts, line_places,
                best_slopes, best_intercepts, walk, pool, edges, edge_count,
            )  # fmt: skip
            order, lefts = exact_lines(exact, found, line_slopes.size, edges)
            if total + order.size > places.size:
                extra = max(places.size, order.size)
                segments = np.concatenate((segments, np.empty((extra, 3))))
                places = np.concatenate((places, np.empty(extra, np.int64)))
            total = write_exact_segments(
                found, order, lefts, grid, slope_exponent, intercept_exponent, low_end, high_end, edges,
                segments, places, total,
            )  # fmt: skip
            offsets[cell + 1] = total
            if not with_derivations:
                edge_count = edges_before
                places[:total] = -1
    derivation_offsets, derivation_edges = compact_derivations(places[:total], edges)
    return offsets, segments[:total], derivation_offsets, derivation_edges, passes
