"""Envelopes of many n-best lists along many directions in one call: those of the grid (scan.py), judged (judge.py).

They are apart from those of forests (envelopes.py), so that tuning lists never waits for other methods to compile.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hulltune.arrays import Floats, Int32s, Int64s
from hulltune.kernels.judging.exact_features import ExactFeatures, digit_width, first_digits, most_digits
from hulltune.kernels.judging.judge import Exact, Found, Scores, end_scores, exact_lines, found_room, near_ties_of_list
from hulltune.kernels.judging.pairs import split_rows
from hulltune.kernels.lists.scan import scan_envelope, short_list_envelope
from hulltune.kernels.load.jit import borrowing, kernel
from hulltune.kernels.scores.exact import NEAR, clip
from hulltune.kernels.scores.segments import (
    Segments,
    Units,
    grid_breakpoints,
    segments_room,
    to_grid,
    with_room,
    write_segments,
)
from hulltune.kernels.simd.simd import LANES


class _Room(NamedTuple):
    """Room for the lines of one list: the grid's, with their winners, then those found by the judge."""

    slopes: Floats
    intercepts: Floats
    winners: Int64s
    numbers: Int64s
    scratch: Floats
    met: Int64s
    end_slopes: Floats
    no_edges: Int32s


@kernel
def list_envelopes(
    sentence_edges: Int64s,
    first_sentence: int,
    last_sentence: int,
    scores: Floats,
    exponents: Int64s,
    intervals: Floats,
    judged: bool,
    features: ExactFeatures,
    weights: Floats,
    bounds: Floats,
) -> tuple[Int64s, Floats, Int64s, Int32s, int]:
    """Envelopes of lists, whose edges are their derivations, along the directions in rows 1, 2, … of ``weights`` from
    row 0; ``scores``, with ``exponents``, are those of the grid. Returns what envelopes.envelopes returns.

    If ``judged`` they are exact, by ``bounds`` on the rounding of scores; otherwise features and bounds are not read.
    """
    sentences = last_sentence - first_sentence
    offsets = np.zeros((scores.shape[0] - 1) * sentences + 1, np.int64)
    segments = segments_room(1024)
    most, most_used, digits = LANES, 0, 0
    for s in range(first_sentence, last_sentence):
        most = max(most, sentence_edges[s + 1] - sentence_edges[s] + LANES)
    if judged:
        most_used, digits = most_digits(features, first_sentence, last_sentence, np.ones(last_sentence))
    room = _Room(
        np.empty(most), np.empty(most), np.empty(most, np.int64), np.empty(most, np.int64), np.empty(7 * LANES),
        np.zeros(most, np.int64), np.empty(most), np.empty(0, np.int32),
    )  # fmt: skip
    found = found_room(2 * most, digits)  # the lines of the grid, and every hypothesis once
    fractions, weight_exponents = split_rows(weights)
    exact = Exact(
        features, 0, 0, np.empty(most_used + 1, np.int64), 0, digit_width(1.0), weights, fractions, weight_exponents, 0
    )
    cell = 0
    while cell < offsets.size - 1:
        cell = _fill(
            sentence_edges, first_sentence, sentences, scores, exponents, intervals, judged, bounds, exact, room, found,
            offsets, segments, cell,
        )  # fmt: skip
        segments = with_room(segments, offsets[cell] + most)
    total = offsets[-1]
    return offsets, segments.rows[:total], np.arange(total + 1), segments.places[:total].astype(np.int32), 0


@borrowing
def _fill(
    sentence_edges: Int64s, first_sentence: int, sentences: int, scores: Floats, exponents: Int64s, intervals: Floats,
    judged: bool, bounds: Floats, exact: Exact, room: _Room, found: Found,
    offsets: Int64s, segments: Segments, cell: int,
) -> int:  # fmt: skip
    """Write the envelopes from number ``cell`` on, by direction and sentence, until all are written or there is no room
    for the next one; returns the number of those written.
    """
    base = sentence_edges[first_sentence]
    while cell < offsets.size - 1:
        direction, s = cell // sentences, cell % sentences
        begin, end = sentence_edges[first_sentence + s] - base, sentence_edges[first_sentence + s + 1] - base
        offsets[cell + 1] = offsets[cell]
        if offsets[cell] + end - begin > segments.places.size:
            return cell
        if begin < end:  # without a candidate there is no segment
            units = Units(
                exponents[direction + 1, s], exponents[0, s], intervals[direction, 0], intervals[direction, 1]
            )
            grid = Scores(
                scores[direction + 1, begin:end], scores[0, begin:end],
                bounds[direction + 1, s] if judged else 0.0, bounds[0, s] if judged else 0.0,
            )  # fmt: skip
            first, last = _lines(
                grid, units, judged, exact, first_sentence + s, base + begin, direction + 1, room, found, cell
            )
            offsets[cell + 1] = write_segments(
                room.slopes, room.intercepts, room.winners, found.lefts, first, last, units, segments, offsets[cell]
            )
        cell += 1
    return cell


@borrowing
def _lines(
    grid: Scores, units: Units, judged: bool, exact: Exact, sentence: int, first_edge: int, direction: int,
    room: _Room, found: Found, cell: int,
) -> tuple[int, int]:  # fmt: skip
    """Write the lines of one list, with their winners and breakpoints; returns the range of those in the interval."""
    if grid.slopes.size >= LANES:
        count = scan_envelope(
            grid.slopes, grid.intercepts, 0, grid.slopes.size, room.scratch, room.numbers,
            room.slopes, room.intercepts, room.winners,
        )  # fmt: skip
    else:
        count = short_list_envelope(
            grid.slopes, grid.intercepts, 0, grid.slopes.size, room.scratch, room.numbers,
            room.slopes, room.intercepts, room.winners,
        )  # fmt: skip
    low = to_grid(units.low_end, units.slope - units.intercept, NEAR)
    high = to_grid(units.high_end, units.slope - units.intercept, -NEAR)
    begin, end = clip(room.slopes, room.intercepts, count, low, high)
    if not judged:
        grid_breakpoints(room.slopes, room.intercepts, begin, end, units, found.lefts)
        return begin, end
    digits = first_digits(exact.features, sentence, exact.width, exact.first)
    here = Exact(
        exact.features, sentence, first_edge, exact.first, digits, exact.width,
        exact.weights, exact.fractions, exact.exponents, direction,
    )  # fmt: skip
    ends = end_scores(grid, here, 1.0, room.end_slopes)
    total = near_ties_of_list(
        grid, ends, here, low, high, room.slopes, room.intercepts, room.winners, begin, end, found, room.met, cell + 1
    )
    kept = exact_lines(here, found, end - begin, total, room.no_edges)
    for i in range(kept):
        winner = found.places[found.order[i]]
        room.slopes[i], room.intercepts[i], room.winners[i] = grid.slopes[winner], grid.intercepts[winner], winner
    return 0, kept
