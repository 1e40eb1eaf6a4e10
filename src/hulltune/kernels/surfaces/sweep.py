"""The sweep along lines: the sums of statistics on every interval of a line, from the changes of winner.

Places where some sentence changes are sorted, and what changes there is added up from left to right. Only intervals are
kept whose loss may be the smallest, which a rough loss tells on the way: writing all sums and reading them again took
as long as summing.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hulltune.arrays import FloatRows, Floats, Int32s, Int64s
from hulltune.kernels.load.kernel import inlined, kernel, part
from hulltune.kernels.simd.simd import (
    LANES,
    add_counts,
    any_lane,
    counts_differ,
    load_counts,
    prefetch,
    store_counts,
    store_wide,
    subtract_counts,
)
from hulltune.kernels.surfaces.constants import BLEU, LEAST, RATIO, SLACK, UNKNOWN
from hulltune.kernels.surfaces.steps import can_be_entered, end_step, surely_entered

SAMPLE = 63  # places from which the scale of all is estimated
AHEAD = 12  # rows between fetching and using one
MOST_MOVES = 16  # insertion moves per place beyond which a general sort takes over


@part
def by_place(places: Floats, ordered: Floats, order: Int64s, buckets: Int64s, of_place: Int32s) -> None:
    """Write ``places`` by increasing place into ``ordered``, and their numbers into ``order``: O(n) for the places of
    typical line searches.

    Crossings of random lines are distributed like a Cauchy variable x, for which x / (s + |x|) is spread evenly. So the
    places go into buckets by that value, and insertion finishes. For other distributions there is a general sort.
    """
    n = places.size
    step = max(1, n // SAMPLE)
    scale = np.median(np.abs(places[::step])) if n else 0.0
    if not 0.0 < scale < np.inf:
        _by_sorting(places, ordered, order)
        return
    half = n / 2.0
    buckets[:] = 0
    for i in range(n):  # a loop by itself, which is SIMD
        place = places[i]
        of_place[i] = int(half + half * (place / (scale + abs(place))))
    for i in range(n):
        buckets[of_place[i] + 1] += 1
    for bucket in range(buckets.size - 1):
        buckets[bucket + 1] += buckets[bucket]
    for i in range(n):
        at = buckets[of_place[i]]
        order[at], ordered[at] = i, places[i]
        buckets[of_place[i]] = at + 1
    moves = 0
    for i in range(1, n):
        place = ordered[i]
        if place < ordered[i - 1]:
            number = order[i]
            j = i
            while j > 0 and ordered[j - 1] > place:
                order[j], ordered[j] = order[j - 1], ordered[j - 1]
                j -= 1
            order[j], ordered[j] = number, place
            moves += i - j
            if moves > MOST_MOVES * n:
                _by_sorting(places, ordered, order)
                return


@part
def _by_sorting(places: Floats, ordered: Floats, order: Int64s) -> None:
    order[: places.size] = np.argsort(places)
    for i in range(places.size):
        ordered[i] = places[order[i]]


class Segments(NamedTuple):
    """The segments of some sentences along lines, sentence by sentence, and the output that wins on each.

    The first segment of a sentence begins at the lower end of the line; its left ends increase strictly.
    """

    lefts: Floats
    """The left ends of segments; those of line d are ``begins[d]`` to ``ends[d]``."""
    outputs: Int32s
    """The number of every segment's output."""
    begins: Int64s
    ends: Int64s


class OutputRows(NamedTuple):
    """The statistics of outputs: rows of whole numbers whose sums fit into 32 bits."""

    row_of: Int64s
    """The row of each output."""
    others: Int64s
    """The rows of further sentences, which are the same everywhere."""
    table: Int32s
    """The rows end to end, each filled up to whole cache lines (see Memory.compact)."""
    width: int
    """The number of statistics in a row."""


class Wanted(NamedTuple):
    """The intervals to keep, by their rough values (see metrics.base.Rough); all of them if its kind is UNKNOWN."""

    kind: int
    numbers: Floats
    least: Floats
    """The least value for each line."""
    only_best: bool
    """Whether an interval is kept only if no other one of its line is clearly better."""


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
def sweep(
    segments: Segments, rows: OutputRows, bounds: FloatRows, scales: Floats, wanted: Wanted, points: FloatRows
) -> tuple[Int64s, Floats, Floats, Int64s, Floats, Int64s, Int64s]:
    """The wanted intervals of lines between their ``bounds``, as the fields of Intervals; their statistics, a row each;
    and the statistics at the ``points`` of each line, which increase. All outputs have a row. O(segments).

    A sliver, which no step can enter (see steps.can_be_entered), is never the best; it is kept only where all are.
    Rows are fetched ahead of their use: other searches push the table out of the caches, and waiting for it was a
    quarter of the time.
    """
    lines, samples = points.shape
    # Taken out of the tuples once: each time counts references.
    segment_lefts, outputs, begins, ends = segments
    row_of, other_rows, table, width = rows
    kind, coefficients, least, only_best = wanted
    blocks = (width + LANES - 1) // LANES
    most, room = 0, lines
    for d in range(lines):
        most = max(most, ends[d] - begins[d])
        room += ends[d] - begins[d]
    row_of_segment, changes = np.empty(most, np.int64), np.empty(most * blocks * LANES, np.int32)
    places, ordered = np.empty(most), np.empty(most)
    order, buckets, of_place = np.empty(most, np.int64), np.empty(most + 2, np.int64), np.empty(most, np.int32)
    others, total, last = (
        np.zeros(blocks * LANES, np.int32), np.zeros(blocks * LANES, np.int32), np.zeros(blocks * LANES, np.int32),
    )  # fmt: skip
    for row in other_rows:
        for b in range(blocks):
            store_counts(others, b, add_counts(load_counts(others, b), load_counts(table, row * blocks + b)))

    offsets, steps, sampled = (
        np.zeros(lines + 1, np.int64),
        np.empty(lines),
        np.empty(lines * samples * width, np.int64),
    )
    # Room for every interval, of which next to nothing is touched. Arrays that grow would cost more in the loop.
    lefts, rights, numbers, values = np.empty(room), np.empty(room), np.empty(room, np.int64), np.empty(room)
    # Rows are written LANES wide, each over the overhang of the one before it.
    statistics = np.empty(room * width + blocks * LANES, np.int64)
    size = 0
    for d in range(lines):
        begin, count = begins[d], ends[d] - begins[d]
        low_end, high_end, scale = bounds[d, 0], bounds[d, 1], scales[d]
        for i in range(count):
            row_of_segment[i] = row_of[outputs[begin + i]]
        for b in range(blocks):
            store_counts(total, b, load_counts(others, b))
        # The change at each place, in the order of the sentences: every row is loaded only once.
        n = 0
        for i in range(count):
            if i + AHEAD < count:
                prefetch(table, row_of_segment[i + AHEAD] * blocks * LANES)
            if segment_lefts[begin + i] == low_end:
                for b in range(blocks):
                    row = load_counts(table, row_of_segment[i] * blocks + b)
                    store_counts(total, b, add_counts(load_counts(total, b), row))
            elif row_of_segment[i] != row_of_segment[i - 1]:
                places[n] = segment_lefts[begin + i]
                for b in range(blocks):
                    new = load_counts(table, row_of_segment[i] * blocks + b)
                    old = load_counts(table, row_of_segment[i - 1] * blocks + b)
                    store_counts(changes, n * blocks + b, subtract_counts(new, old))
                n += 1
        by_place(places[:n], ordered, order, buckets[: n + 2], of_place)

        first, best = size, least[d]
        left, first_place, breakpoints, number, point, i = low_end, low_end, 0, 0, 0, 0
        changed = True
        while changed:
            value = _rough(kind, coefficients, total, width, best)
            is_wanted = _still_best(value, best)
            for b in range(blocks if is_wanted else 0):
                store_wide(statistics, size * width + b * LANES, load_counts(total, b))
            for b in range(blocks):
                store_counts(last, b, load_counts(total, b))
            changed, right = False, high_end
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
                right = place if changed else high_end
            is_unbounded = left == -math.inf or right == math.inf
            is_wide = is_unbounded or can_be_entered(left, right, left, right, scale)
            if is_wanted and (is_wide or kind == UNKNOWN):
                lefts[size], rights[size], numbers[size], values[size] = left, right, number, value
                size += 1
                if only_best and best < value < math.inf and (not is_unbounded or surely_entered(left, right)):
                    best = value
            number += is_wide
            if changed:
                first_place = right if breakpoints == 0 else first_place
                breakpoints += 1
                left = right
        steps[d] = end_step(breakpoints, first_place, left, scale)
        while point < samples:
            for k in range(width):
                sampled[(d * samples + point) * width + k] = total[k]
            point += 1
        kept = first
        for c in range(first, size):
            if _still_best(values[c], best):
                lefts[kept], rights[kept], numbers[kept] = lefts[c], rights[c], numbers[c]
                for k in range(width):
                    statistics[kept * width + k] = statistics[c * width + k]
                kept += 1
        size = kept
        offsets[d + 1] = size
    # Copies: the room is given back by this thread.
    return (
        offsets, lefts[:size].copy(), rights[:size].copy(), numbers[:size].copy(), steps,
        statistics[: size * width].copy().reshape((size, width)), sampled.reshape((lines * samples, width)),
    )  # fmt: skip
