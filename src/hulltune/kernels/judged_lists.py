"""Exact envelopes of many n-best lists along many directions: those of the grid (scan.py), judged (judge.py)."""

from __future__ import annotations

import numpy as np

from hulltune.arrays import Floats, Int32s, Int64s
from hulltune.kernels._jit import kernel
from hulltune.kernels.envelopes import compact_derivations
from hulltune.kernels.exact import NEAR, clip
from hulltune.kernels.exact_features import ExactFeatures, digit_width, first_digits
from hulltune.kernels.judge import Exact, Scores, end_scores, exact_lines, near_ties_of_list
from hulltune.kernels.judged_envelopes import write_exact_segments
from hulltune.kernels.scan import scan_envelope, short_list_envelope
from hulltune.kernels.segments import to_grid
from hulltune.kernels.simd import LANES


@kernel
def judged_lists(
    sentence_edges: Int64s,
    first_sentence: int,
    last_sentence: int,
    scores: Floats,
    exponents: Int64s,
    intervals: Floats,
    features: ExactFeatures,
    weights: Floats,
    bounds: Floats,
) -> tuple[Int64s, Floats, Int64s, Int32s, int]:
    """Exact envelopes of lists along the directions in rows 1, 2, … of ``weights`` from row 0; ``scores``, with
    ``exponents`` and ``bounds`` on their rounding, are those of the grid. Returns what envelopes.envelopes returns.
    """
    directions = scores.shape[0] - 1
    sentences = last_sentence - first_sentence
    offsets = np.zeros(directions * sentences + 1, np.int64)
    segments = np.empty((1024, 3))
    places = np.empty(1024, np.int64)
    edges = np.empty(1024, np.int32)
    edge_count, total, most = 0, 0, LANES
    for s in range(first_sentence, last_sentence):
        most = max(most, sentence_edges[s + 1] - sentence_edges[s] + LANES)
    line_slopes, line_intercepts = np.empty(most), np.empty(most)
    numbers, winners = np.empty(most, np.int64), np.empty(most, np.int64)
    scratch = np.empty(7 * LANES)
    end_slopes = np.empty(most)
    base = sentence_edges[first_sentence]
    for direction in range(directions):
        low_end, high_end = intervals[direction, 0], intervals[direction, 1]
        for s in range(first_sentence, last_sentence):
            cell = direction * sentences + s - first_sentence
            offsets[cell + 1] = total
            begin, end = sentence_edges[s] - base, sentence_edges[s + 1] - base
            if begin == end:  # no candidate, no segment
                continue
            if end - begin >= LANES:
                count = scan_envelope(
                    scores[direction + 1], scores[0], begin, end, scratch, numbers,
                    line_slopes, line_intercepts, winners,
                )  # fmt: skip
            else:
                count = short_list_envelope(
                    scores[direction + 1], scores[0], begin, end, scratch, numbers,
                    line_slopes, line_intercepts, winners,
                )  # fmt: skip
            slope_exponent = exponents[direction + 1, s - first_sentence]
            intercept_exponent = exponents[0, s - first_sentence]
            low = to_grid(low_end, slope_exponent - intercept_exponent, NEAR)
            high = to_grid(high_end, slope_exponent - intercept_exponent, -NEAR)
            line_begin, line_end = clip(line_slopes, line_intercepts, count, low, high)
            grid = Scores(
                scores[direction + 1, begin:end], scores[0, begin:end],
                bounds[direction + 1, s - first_sentence], bounds[0, s - first_sentence],
            )  # fmt: skip
            width = digit_width(1.0)
            exact = Exact(
                features, s, sentence_edges[s], first_digits(features, s, width), width, weights[0],
                weights[direction + 1],
            )  # fmt: skip
            ends = end_scores(grid, features, s, sentence_edges[s], 1.0, weights[direction + 1], end_slopes)
            found, edges, edge_count = near_ties_of_list(
                grid, ends, exact, low, high, line_slopes[line_begin:line_end], line_intercepts[line_begin:line_end],
                winners[line_begin:line_end], edges, edge_count,
            )  # fmt: skip
            order, lefts = exact_lines(exact, found, line_end - line_begin, edges)
            if total + order.size > places.size:
                extra = max(places.size, order.size)
                segments = np.concatenate((segments, np.empty((extra, 3))))
                places = np.concatenate((places, np.empty(extra, np.int64)))
            total = write_exact_segments(
                found, order, lefts, grid, slope_exponent, intercept_exponent, low_end, high_end, edges,
                segments, places, total,
            )  # fmt: skip
            offsets[cell + 1] = total
    derivation_offsets, derivation_edges = compact_derivations(places[:total], edges)
    return offsets, segments[:total], derivation_offsets, derivation_edges, 0
