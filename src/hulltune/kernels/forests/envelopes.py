"""Envelopes of many forests along many directions in one call: those of the grid, judged (list_envelopes.py: lists)."""

from __future__ import annotations

import numpy as np

from hulltune.arrays import Floats, Int32s, Int64s
from hulltune.kernels.forests.hull import hull_envelope
from hulltune.kernels.forests.lanes import END, backtrack, crossing_point, lanes_envelope, viterbi_pass
from hulltune.kernels.judging.exact_features import ExactFeatures, digit_width, first_digits, most_digits
from hulltune.kernels.judging.judge import Exact, Found, Scores, exact_lines, found_room
from hulltune.kernels.judging.near_ties import Place, near_ties_of_forest, pool_room, walk_room
from hulltune.kernels.judging.pairs import split_rows
from hulltune.kernels.load.jit import kernel
from hulltune.kernels.scores.exact import NEAR, clip
from hulltune.kernels.scores.segments import Units, grid_breakpoints, segments_room, to_grid, with_room, write_segments
from hulltune.kernels.simd.simd import LANES

HULL = 3  # the place of "hull" in lines.compute.METHODS; every other method is "lanes"


@kernel
def _derive_lines(
    first: int,
    last: int,
    edge_offsets: Int64s,
    tail_offsets: Int64s,
    tails: Int32s,
    slopes: Floats,
    intercepts: Floats,
    line_slopes: Floats,
    line_intercepts: Floats,
    low: float,
    best_slopes: Floats,
    best_intercepts: Floats,
    edges: Int32s,
    edge_count: int,
) -> tuple[Int64s, Int32s, int]:
    """A derivation for each line of an envelope that starts at ``low``: Viterbi passes at the breakpoints."""
    count = line_slopes.size
    places = np.empty(count, np.int64)
    points = np.empty(2 * LANES)
    scratch = np.empty(4 * LANES)
    for begin in range(0, count, LANES):
        for lane in range(LANES):
            line = min(begin + lane, count - 1)
            if line == 0:
                points[lane], points[LANES + lane] = low, 1.0
            else:
                points[lane], points[LANES + lane] = crossing_point(
                    line_slopes[line - 1], line_intercepts[line - 1], line_slopes[line], line_intercepts[line]
                )
        viterbi_pass(
            first, last, edge_offsets, tail_offsets, tails,
            slopes, intercepts, points, best_slopes, best_intercepts, scratch,
        )  # fmt: skip
        for lane in range(min(LANES, count - begin)):
            places[begin + lane] = edge_count
            edges, edge_count = backtrack(
                lane, first, last, edge_offsets, tail_offsets, tails,
                slopes, intercepts, best_slopes, best_intercepts, edges, edge_count,
            )  # fmt: skip
    return places, edges, edge_count


@kernel
def forest_lines(
    first: int,
    last: int,
    edge_offsets: Int64s,
    tail_offsets: Int64s,
    tails: Int32s,
    slopes: Floats,
    intercepts: Floats,
    low: float,
    high: float,
    method: int,
    with_derivations: bool,
    best_slopes: Floats,
    best_intercepts: Floats,
    edges: Int32s,
    edge_count: int,
) -> tuple[Floats, Floats, Int64s, Int32s, int, int]:
    """The lines of one forest between ``low`` and ``high``, the places of their derivations, and the passes."""
    if method == HULL:
        line_slopes, line_intercepts = hull_envelope(
            first, last, edge_offsets, tail_offsets, tails, slopes, intercepts, low, high
        )
        places = np.full(line_slopes.size, -1)
        if with_derivations:
            places, edges, edge_count = _derive_lines(
                first, last, edge_offsets, tail_offsets, tails, slopes, intercepts,
                line_slopes, line_intercepts, low, best_slopes, best_intercepts, edges, edge_count,
            )  # fmt: skip
        return line_slopes, line_intercepts, places, edges, edge_count, 0
    lines, places, edges, edge_count, passes = lanes_envelope(
        first, last, edge_offsets, tail_offsets, tails, slopes, intercepts, low, high,
        with_derivations, best_slopes, best_intercepts, edges, edge_count,
    )  # fmt: skip
    line_slopes, line_intercepts = lines[:, 0].copy(), lines[:, 1].copy()
    begin, end = clip(line_slopes, line_intercepts, line_slopes.size, low, high)
    return line_slopes[begin:end], line_intercepts[begin:end], places[begin:end], edges, edge_count, passes


@kernel
def compact_derivations(places: Int64s, edges: Int32s) -> tuple[Int64s, Int32s]:
    """The derivations in the order of their segments, as offsets and edges."""
    offsets = np.zeros(places.size + 1, np.int64)
    for segment in range(places.size):
        length = 0
        if places[segment] >= 0:
            while edges[places[segment] + length] != END:
                length += 1
        offsets[segment + 1] = offsets[segment] + length
    packed = np.empty(offsets[-1], np.int32)
    for segment in range(places.size):
        for i in range(offsets[segment + 1] - offsets[segment]):
            packed[offsets[segment] + i] = edges[places[segment] + i]
    return offsets, packed


@kernel
def envelopes(
    node_offsets: Int64s, edge_offsets: Int64s, tail_offsets: Int64s, tails: Int32s, first_sentence: int,
    last_sentence: int, scores: Floats, exponents: Int64s, intervals: Floats, method: int, with_derivations: bool,
    judged: bool, features: ExactFeatures, weights: Floats, bounds: Floats, longest: Floats,
) -> tuple[Int64s, Floats, Int64s, Int32s, int]:  # fmt: skip
    """Envelopes of forests along the directions in rows 1, 2, … of ``weights`` from row 0; ``scores``, with
    ``exponents``, are those of the grid. Each direction has its own interval.

    If ``judged`` they are exact, by ``bounds`` on the rounding of scores and the numbers of edges of the ``longest``
    derivations; otherwise features, bounds and these numbers are not read.

    Returns packed arrays: ``offsets`` of the segments of each (direction, sentence), in that order; per segment its
    left end (the interval's own for the first), slope and intercept; offsets and edges of their derivations; and the
    number of Viterbi passes. Segments too thin for a double between their ends are left out.
    """
    sentences = last_sentence - first_sentence
    offsets = np.zeros((scores.shape[0] - 1) * sentences + 1, np.int64)
    segments = segments_room(1024)
    edges = np.empty(1024, np.int32)
    edge_count, passes, most_nodes, most_edges, most_used, digits = 0, 0, 1, 0, 0, 0
    for s in range(first_sentence, last_sentence):
        most_nodes = max(most_nodes, node_offsets[s + 1] - node_offsets[s])
        most_edges = max(most_edges, edge_offsets[node_offsets[s + 1]] - edge_offsets[node_offsets[s]])
    if judged:
        most_used, digits = most_digits(features, first_sentence, last_sentence, longest)
    walk = walk_room(most_nodes, most_edges)
    pool, found = pool_room(256, digits), found_room(256, digits)
    first_digit = np.empty(most_used + 1, np.int64)
    fractions, weight_exponents = split_rows(weights)
    base = edge_offsets[node_offsets[first_sentence]]
    for cell in range(offsets.size - 1):
        direction, s = cell // sentences + 1, first_sentence + cell % sentences
        offsets[cell + 1] = offsets[cell]
        place = Place(
            node_offsets[s], node_offsets[s + 1], edge_offsets[node_offsets[s]], edge_offsets, tail_offsets, tails
        )
        begin, end = place.base - base, edge_offsets[place.last] - base
        if begin == end:  # no derivation, no segment
            continue
        units = Units(
            exponents[direction, s - first_sentence], exponents[0, s - first_sentence],
            intervals[direction - 1, 0], intervals[direction - 1, 1],
        )  # fmt: skip
        low = to_grid(units.low_end, units.slope - units.intercept, NEAR)
        high = to_grid(units.high_end, units.slope - units.intercept, -NEAR)
        width = digit_width(longest[s]) if judged else 0  # 0: derivations too long to be judged
        edges_before = edge_count
        line_slopes, line_intercepts, places, edges, edge_count, more_passes = forest_lines(
            place.first, place.last, edge_offsets, tail_offsets, tails,
            scores[direction, begin:end], scores[0, begin:end], low, high, method,
            with_derivations or width > 0, walk.best_slopes, walk.best_intercepts, edges, edge_count,
        )  # fmt: skip
        passes += more_passes
        lefts = np.empty(line_slopes.size)
        if width:
            grid = Scores(
                scores[direction, begin:end], scores[0, begin:end],
                bounds[direction, s - first_sentence], bounds[0, s - first_sentence],
            )  # fmt: skip
            exact = Exact(
                features, s, place.base, first_digit, first_digits(features, s, width, first_digit), width,
                weights, fractions, weight_exponents, direction,
            )  # fmt: skip
            pool, found, count, edges, edge_count = near_ties_of_forest(
                place, grid, longest[s], exact, low, high, line_slopes, line_intercepts, places,
                walk, pool, found, edges, edge_count,
            )  # fmt: skip
            line_slopes, line_intercepts, places, lefts = _exact_lines(
                exact, grid, found, line_slopes.size, count, edges
            )
        else:
            grid_breakpoints(line_slopes, line_intercepts, 0, line_slopes.size, units, lefts)
        segments = with_room(segments, offsets[cell] + line_slopes.size)
        offsets[cell + 1] = write_segments(
            line_slopes, line_intercepts, places, lefts, 0, line_slopes.size, units, segments, offsets[cell]
        )
        if width and not with_derivations:
            edge_count = edges_before
            segments.places[offsets[cell] : offsets[cell + 1]] = -1
    derivation_offsets, derivation_edges = compact_derivations(segments.places[: offsets[-1]], edges)
    return offsets, segments.rows[: offsets[-1]], derivation_offsets, derivation_edges, passes


@kernel
def _exact_lines(
    exact: Exact, grid: Scores, found: Found, lines: int, count: int, edges: Int32s
) -> tuple[Floats, Floats, Int64s, Floats]:
    """The exact envelope of lines that were found (judge.exact_lines): sums of grid scores, places, breakpoints."""
    kept = exact_lines(exact, found, lines, count, edges)
    slopes, intercepts, places = np.zeros(kept), np.zeros(kept), np.empty(kept, np.int64)
    for i in range(kept):
        places[i] = at = found.places[found.order[i]]
        while edges[at] != END:
            slopes[i] += grid.slopes[edges[at]]
            intercepts[i] += grid.intercepts[edges[at]]
            at += 1
    return slopes, intercepts, places, found.lefts[:kept].copy()
