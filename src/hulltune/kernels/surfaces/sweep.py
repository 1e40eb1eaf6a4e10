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


class Sums(NamedTuple):
    """Sums of statistics, in whole cache lines: those on the present interval and on the one before it."""

    now: Int32s
    before: Int32s


class Changes(NamedTuple):
    """Room for the changes of statistics along one line."""

    rows: Int64s
    """The row of each segment."""
    places: Floats
    numbers: Int32s
    """The place of each change, and the change, in whole cache lines."""
    ordered: Floats
    order: Int64s
    """The places in order, and their numbers; see by_place."""
    buckets: Int64s
    of_place: Int32s


class KeptIntervals(NamedTuple):
    """Room for every interval, of which next to nothing is touched. Arrays that grow would cost more in the loop.

    Rows of statistics are written LANES wide, each over the overhang of the one before it.
    """

    lefts: Floats
    rights: Floats
    numbers: Int64s
    values: Floats
    statistics: Int64s


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


@inlined
def _add(sums: Int32s, table: Int32s, row: int, blocks: int) -> None:
    """Add a row of a table to sums."""
    for b in range(blocks):
        store_counts(sums, b, add_counts(load_counts(sums, b), load_counts(table, row * blocks + b)))


@inlined
def _write_changes(
    lefts: Floats, outputs: Int32s, low_end: float, row_of: Int64s, table: Int32s, blocks: int, total: Int32s,
    changes: Changes,
) -> int:  # fmt: skip
    """Add the statistics at the lower end of a line to ``total``, and write its changes, in the order of the sentences:
    every row is loaded only once. Returns the number of changes.
    """
    rows, places, numbers = changes.rows, changes.places, changes.numbers
    for i in range(lefts.size):
        rows[i] = row_of[outputs[i]]
    n = 0
    for i in range(lefts.size):
        if i + AHEAD < lefts.size:
            prefetch(table, rows[i + AHEAD] * blocks * LANES)
        if lefts[i] == low_end:
            _add(total, table, rows[i], blocks)
        elif rows[i] != rows[i - 1]:
            places[n] = lefts[i]
            for b in range(blocks):
                new, old = load_counts(table, rows[i] * blocks + b), load_counts(table, rows[i - 1] * blocks + b)
                store_counts(numbers, n * blocks + b, subtract_counts(new, old))
            n += 1
    return n


@inlined
def _next_breakpoint(
    changes: Changes, i: int, n: int, sums: Sums, blocks: int, points: Floats, sampled: Int64s, sample: int, width: int
) -> tuple[int, int, bool]:
    """Add up changes from number ``i`` on, in order, until the sums differ, and write the sums at the points on the
    way; returns the number of the next change, that of the next point, and whether the sums differ.
    """
    order, ordered, numbers, (total, last) = changes.order, changes.ordered, changes.numbers, sums
    for b in range(blocks):
        store_counts(last, b, load_counts(total, b))
    changed = False
    while i < n and not changed:
        place = ordered[i]
        sample = _sample(points, place, total, sampled, sample, width)
        if i + AHEAD < n:
            prefetch(numbers, order[i + AHEAD] * blocks * LANES)
        while i < n and ordered[i] == place:
            _add(total, numbers, order[i], blocks)
            i += 1
        for b in range(blocks):
            changed |= any_lane(counts_differ(load_counts(total, b), load_counts(last, b)))
    return i, sample, changed


@inlined
def _sample(points: Floats, end: float, total: Int32s, sampled: Int64s, sample: int, width: int) -> int:
    """Write the sums at the points before ``end`` (all, if it is NaN), from number ``sample`` on; returns the number of
    the next one.
    """
    while sample < points.size and not points[sample] >= end:
        for k in range(width):
            sampled[sample * width + k] = total[k]
        sample += 1
    return sample


@inlined
def _without_worse(kept: KeptIntervals, first: int, size: int, best: float, width: int) -> int:
    """Close the gaps that intervals from ``first`` on leave that are clearly worse than the best; returns the size."""
    lefts, rights, numbers, values, statistics = kept
    at = first
    for c in range(first, size):
        if _still_best(values[c], best):
            lefts[at], rights[at], numbers[at] = lefts[c], rights[c], numbers[c]
            for k in range(width):
                statistics[at * width + k] = statistics[c * width + k]
            at += 1
    return at


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
    sizes = ends - begins
    most, room = max(0, sizes.max()) if lines else 0, lines + sizes.sum()
    changes = Changes(
        np.empty(most, np.int64), np.empty(most), np.empty(most * blocks * LANES, np.int32), np.empty(most),
        np.empty(most, np.int64), np.empty(most + 2, np.int64), np.empty(most, np.int32),
    )  # fmt: skip
    others, total = np.zeros(blocks * LANES, np.int32), np.zeros(blocks * LANES, np.int32)
    sums = Sums(total, np.zeros(blocks * LANES, np.int32))
    for row in other_rows:
        _add(others, table, row, blocks)
    offsets, steps = np.zeros(lines + 1, np.int64), np.empty(lines)
    sampled = np.empty(lines * samples * width, np.int64)
    lefts, rights, numbers, values = np.empty(room), np.empty(room), np.empty(room, np.int64), np.empty(room)
    statistics = np.empty(room * width + blocks * LANES, np.int64)
    kept = KeptIntervals(lefts, rights, numbers, values, statistics)
    size = 0
    for d in range(lines):
        low_end, high_end, scale, own = bounds[d, 0], bounds[d, 1], scales[d], slice(begins[d], ends[d])
        total[:] = others
        n = _write_changes(segment_lefts[own], outputs[own], low_end, row_of, table, blocks, total, changes)
        by_place(changes.places[:n], changes.ordered, changes.order, changes.buckets[: n + 2], changes.of_place)
        first, best, own_samples = size, least[d], sampled[d * samples * width : (d + 1) * samples * width]
        left, first_place, breakpoints, number, sample, i = low_end, low_end, 0, 0, 0, 0
        changed = True
        while changed:
            value = _rough(kind, coefficients, total, width, best)
            is_wanted = _still_best(value, best)
            for b in range(blocks if is_wanted else 0):
                store_wide(statistics, size * width + b * LANES, load_counts(total, b))
            i, sample, changed = _next_breakpoint(changes, i, n, sums, blocks, points[d], own_samples, sample, width)
            right = changes.ordered[i - 1] if changed else high_end
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
        _sample(points[d], math.nan, total, own_samples, sample, width)
        size = _without_worse(kept, first, size, best, width)
        offsets[d + 1] = size
    # Copies: the room is given back by this thread.
    return (
        offsets, lefts[:size].copy(), rights[:size].copy(), numbers[:size].copy(), steps,
        statistics[: size * width].copy().reshape((size, width)), sampled.reshape((lines * samples, width)),
    )  # fmt: skip
