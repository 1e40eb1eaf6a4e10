"""The intervals of many lines on which the loss may be smallest, from the changes of winner along the lines.

Statistics are summed as by line_surface.py, but only the few sums are kept that may have the smallest loss, which a
rough loss tells on the way. Writing all sums and reading them again took as long as summing.
"""

from __future__ import annotations

import math

import numpy as np

from hulltune.arrays import Floats, Int32s, Int64s
from hulltune.kernels.load.jit import inlined, kernel
from hulltune.kernels.simd.simd import (
    LANES,
    add_counts,
    any_lane,
    counts_differ,
    load_counts,
    prefetch,
    store_counts,
    subtract_counts,
)
from hulltune.kernels.surfaces.line_surface import AHEAD, by_place
from hulltune.kernels.surfaces.rough_kinds import BLEU, LEAST, RATIO, SLACK


@inlined
def _rough_bleu(total: Int32s, order: int, best: float) -> float:
    """BLEU as a share of 1, to the power of ``order``: no logarithm or root is taken. −∞ where it is clearly below
    ``best``, ∞ where smoothing decides.
    """
    matches, ngrams = 1.0, 1.0
    if order == 4:  # a constant, for which the compiler unrolls the loop
        for n in range(4):
            matches *= total[2 + n]
            ngrams *= total[6 + n]
    else:
        for n in range(order):
            matches *= total[2 + n]
            ngrams *= total[2 + order + n]
    if not (matches > 0.0 and 0.0 < ngrams < math.inf):
        return math.inf
    if matches < best * (1.0 - SLACK) * ngrams:  # too low even without the brevity penalty
        return -math.inf
    power = matches / ngrams
    length, reference_length = float(total[0]), float(total[1])
    if length < reference_length:
        power *= math.exp(order * (1.0 - reference_length / length)) if length > 0.0 else 0.0
    return power


@inlined
def _rough_ratio(total: Int32s, width: int, numbers: Floats) -> float:
    """Minus a ratio of linear functions, whose coefficients are ``numbers``; ∞ where it has no denominator."""
    top, bottom = 0.0, 0.0
    for k in range(width):
        top += numbers[k] * total[k]
        bottom += numbers[width + k] * total[k]
    return -top / bottom if bottom > 0.0 else math.inf


@inlined
def _rough(kind: int, numbers: Floats, total: Int32s, width: int, best: float) -> float:
    """The rough value of summed statistics, the larger the better; ∞ where it is unknown."""
    if kind == BLEU:
        return _rough_bleu(total, (width - 2) // 2, best)
    return _rough_ratio(total, width, numbers) if kind == RATIO else math.inf


@inlined
def _still_best(value: float, best: float) -> bool:
    return value == math.inf or value >= best - SLACK * (abs(best) + LEAST)


@kernel
def line_minima(
    lefts: Floats,
    outputs: Int32s,
    begins: Int64s,
    ends: Int64s,
    low_ends: Floats,
    row_of: Int64s,
    other_rows: Int64s,
    table: Int32s,
    width: int,
    kind: int,
    numbers: Floats,
    least: Floats,
    only_best: bool,
    points: Floats,
    breakpoints: Floats,
    counts: Int64s,
    sampled: Int64s,
) -> tuple[bool, Int64s, Int64s, Int64s]:
    """The intervals of each line whose rough value may be the best, if it is not below the line's ``least``; or, unless
    ``only_best``, all whose value is not below it.

    Segments ``begins[d]`` to ``ends[d]`` are those of line d, sentence after sentence (see line_surface); the first of
    a sentence begins at ``low_ends[d]``. Rows of ``breakpoints``, and ``counts``, get the places where the sum of
    statistics changes; ``sampled`` the sums at the ``points`` of each line, which increase.

    Returns whether all outputs have a row of statistics (if not, the rest means nothing), the offsets by line among the
    intervals, their numbers on their lines, and the statistics there, a row each. O(segments).
    """
    lines, samples = points.shape
    blocks = (width + LANES - 1) // LANES
    most, room = 0, lines
    for d in range(lines):
        most = max(most, ends[d] - begins[d])
        room += ends[d] - begins[d]
    rows, places, changes = np.empty(most, np.int64), np.empty(most), np.empty(most * blocks * LANES, np.int32)
    ordered = np.empty(most)
    order, buckets, of_place = np.empty(most, np.int64), np.empty(most + 2, np.int64), np.empty(most, np.int32)
    others, total, last = (
        np.zeros(blocks * LANES, np.int32), np.zeros(blocks * LANES, np.int32), np.zeros(blocks * LANES, np.int32),
    )  # fmt: skip
    for row in other_rows:
        for b in range(blocks):
            store_counts(others, b, add_counts(load_counts(others, b), load_counts(table, row * blocks + b)))

    offsets = np.zeros(lines + 1, np.int64)
    # Room for every interval, of which next to nothing is touched. Arrays that grow would cost more in the loop.
    found, values, statistics = np.empty(room, np.int64), np.empty(room), np.empty((room, width), np.int64)
    size = 0
    for d in range(lines):
        begin, segments, low_end = begins[d], ends[d] - begins[d], low_ends[d]
        for i in range(segments):
            rows[i] = row_of[outputs[begin + i]]
            if rows[i] < 0:
                return False, offsets, found, statistics
        for b in range(blocks):
            store_counts(total, b, load_counts(others, b))
        # The change at each place, in the order of the sentences: every row is loaded only once.
        n = 0
        for i in range(segments):
            if i + AHEAD < segments:
                prefetch(table, rows[i + AHEAD] * blocks * LANES)
            if lefts[begin + i] == low_end:
                for b in range(blocks):
                    row = load_counts(table, rows[i] * blocks + b)
                    store_counts(total, b, add_counts(load_counts(total, b), row))
            elif rows[i] != rows[i - 1]:
                places[n] = lefts[begin + i]
                for b in range(blocks):
                    new, old = load_counts(table, rows[i] * blocks + b), load_counts(table, rows[i - 1] * blocks + b)
                    store_counts(changes, n * blocks + b, subtract_counts(new, old))
                n += 1
        by_place(places[:n], ordered, order, buckets[: n + 2], of_place)

        first, best = size, least[d]
        count, point, i = 0, 0, 0
        ends_here = breakpoints[d]
        while True:
            value = _rough(kind, numbers, total, width, best)
            if _still_best(value, best):
                found[size], values[size] = count, value
                for k in range(width):
                    statistics[size, k] = total[k]
                size += 1
                if only_best and best < value < math.inf:
                    best = value
            for b in range(blocks):
                store_counts(last, b, load_counts(total, b))
            changed = False
            while i < n and not changed:
                place = ordered[i]
                while point < samples and points[d, point] < place:
                    for k in range(width):
                        sampled[(d * samples + point) * width + k] = total[k]
                    point += 1
                if i + AHEAD < n:
                    prefetch(changes, order[i + AHEAD] * blocks * LANES)
                while i < n and ordered[i] == place:
                    for b in range(blocks):
                        change = load_counts(changes, order[i] * blocks + b)
                        store_counts(total, b, add_counts(load_counts(total, b), change))
                    i += 1
                for b in range(blocks):
                    changed |= any_lane(counts_differ(load_counts(total, b), load_counts(last, b)))
                if changed:
                    ends_here[count] = place
                    count += 1
            if not changed:
                break
        counts[d] = count
        while point < samples:
            for k in range(width):
                sampled[(d * samples + point) * width + k] = total[k]
            point += 1
        kept = first
        for c in range(first, size):
            if _still_best(values[c], best):
                found[kept] = found[c]
                statistics[kept] = statistics[c]
                kept += 1
        size = kept
        offsets[d + 1] = size
    return True, offsets, found[:size].copy(), statistics[:size].copy()  # the room is given back by this thread
