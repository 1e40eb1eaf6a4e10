"""Envelopes of many n-best lists along many directions in one call.

They are apart from those of forests (forests/envelopes.py), so that tuning lists never waits for other methods to
compile.
"""

from __future__ import annotations

import numpy as np

from hulltune.arrays import Floats, Int32s, Int64s
from hulltune.kernels.lists.scan import scan_envelope, short_list_envelope
from hulltune.kernels.load.jit import kernel
from hulltune.kernels.scores.exact import NEAR, clip
from hulltune.kernels.scores.segments import (
    Units,
    grid_breakpoints,
    segments_room,
    to_grid,
    with_room,
    write_segments,
)
from hulltune.kernels.simd.simd import LANES


@kernel
def list_envelopes(
    sentence_edges: Int64s,
    first_sentence: int,
    last_sentence: int,
    scores: Floats,
    exponents: Int64s,
    intervals: Floats,
) -> tuple[Int64s, Floats, Int64s, Int32s, int]:
    """Envelopes of lists, whose edges are their derivations, along several directions: ``scores``, with ``exponents``,
    are those of the origin in row 0 and of the directions in rows 1, 2, … Returns what forests/envelopes.py returns.
    """
    sentences = last_sentence - first_sentence
    offsets = np.zeros((scores.shape[0] - 1) * sentences + 1, np.int64)
    segments = segments_room(1024)
    most = LANES
    for s in range(first_sentence, last_sentence):
        most = max(most, sentence_edges[s + 1] - sentence_edges[s] + LANES)
    slopes, intercepts, lefts = np.empty(most), np.empty(most), np.empty(most)
    winners, numbers, scratch = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(7 * LANES)
    base = sentence_edges[first_sentence]
    for cell in range(offsets.size - 1):
        direction, s = cell // sentences, cell % sentences
        begin, end = sentence_edges[first_sentence + s] - base, sentence_edges[first_sentence + s + 1] - base
        offsets[cell + 1] = offsets[cell]
        if begin == end:  # without a candidate there is no segment
            continue
        units = Units(exponents[direction + 1, s], exponents[0, s], intervals[direction, 0], intervals[direction, 1])
        if end - begin >= LANES:
            count = scan_envelope(
                scores[direction + 1], scores[0], begin, end, scratch, numbers, slopes, intercepts, winners
            )
        else:
            count = short_list_envelope(
                scores[direction + 1], scores[0], begin, end, scratch, numbers, slopes, intercepts, winners
            )
        low = to_grid(units.low_end, units.slope - units.intercept, NEAR)
        high = to_grid(units.high_end, units.slope - units.intercept, -NEAR)
        first, last = clip(slopes, intercepts, count, low, high)
        grid_breakpoints(slopes, intercepts, first, last, units, lefts)
        segments = with_room(segments, offsets[cell] + last - first)
        offsets[cell + 1] = write_segments(
            slopes, intercepts, winners, lefts, first, last, units, segments, offsets[cell]
        )
    total = offsets[-1]
    return offsets, segments.rows[:total], np.arange(total + 1), segments.places[:total].astype(np.int32), 0
