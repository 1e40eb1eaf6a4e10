"""Envelopes of many n-best lists along many directions in one call.

They are apart from those of forests (envelopes.py), so that tuning lists never waits for other methods to compile.
"""

from __future__ import annotations

import numpy as np

from hulltune.arrays import Floats, Int32s, Int64s
from hulltune.kernels._jit import kernel
from hulltune.kernels.exact import NEAR, clip
from hulltune.kernels.scan import scan_envelope, short_list_envelope
from hulltune.kernels.segments import to_grid, write_segments
from hulltune.kernels.simd import LANES


@kernel
def list_envelopes(
    sentence_edges: Int64s,
    first_sentence: int,
    last_sentence: int,
    scores: Floats,
    exponents: Int64s,
    intervals: Floats,
) -> tuple[Int64s, Floats, Int64s, Int32s, int]:
    """Envelopes of lists, whose edges are their derivations, along the directions in rows 1, 2, … of ``scores``; row 0
    holds the intercepts. Returns the packed arrays that envelopes.envelopes returns.
    """
    directions = scores.shape[0] - 1
    sentences = last_sentence - first_sentence
    offsets = np.zeros(directions * sentences + 1, np.int64)
    segments = np.empty((1024, 3))
    places = np.empty(1024, np.int64)
    total = 0
    most = LANES
    for s in range(first_sentence, last_sentence):
        most = max(most, sentence_edges[s + 1] - sentence_edges[s] + LANES)
    line_slopes, line_intercepts = np.empty(most), np.empty(most)
    numbers, winners = np.empty(most, np.int64), np.empty(most, np.int64)
    scratch = np.empty(7 * LANES)
    base = sentence_edges[first_sentence]
    intercepts = scores[0]
    for direction in range(directions):
        low_end, high_end = intervals[direction, 0], intervals[direction, 1]
        slopes = scores[direction + 1]
        for s in range(first_sentence, last_sentence):
            cell = direction * sentences + s - first_sentence
            offsets[cell + 1] = total
            begin, end = sentence_edges[s] - base, sentence_edges[s + 1] - base
            if begin == end:  # no candidate, no segment
                continue
            if end - begin >= LANES:
                count = scan_envelope(
                    slopes, intercepts, begin, end, scratch, numbers, line_slopes, line_intercepts, winners
                )
            else:
                count = short_list_envelope(
                    slopes, intercepts, begin, end, scratch, numbers, line_slopes, line_intercepts, winners
                )
            slope_exponent = exponents[direction + 1, s - first_sentence]
            intercept_exponent = exponents[0, s - first_sentence]
            low = to_grid(low_end, slope_exponent - intercept_exponent, NEAR)
            high = to_grid(high_end, slope_exponent - intercept_exponent, -NEAR)
            line_begin, line_end = clip(line_slopes, line_intercepts, count, low, high)
            if total + line_end > places.size:
                extra = max(places.size, line_end)
                segments = np.concatenate((segments, np.empty((extra, 3))))
                places = np.concatenate((places, np.empty(extra, np.int64)))
            total = write_segments(
                line_slopes, line_intercepts, winners, line_begin, line_end, slope_exponent, intercept_exponent,
                low_end, high_end, segments, places, total,
            )  # fmt: skip
            offsets[cell + 1] = total
    return offsets, segments[:total], np.arange(total + 1), places[:total].astype(np.int32), 0
