"""The corpus statistics on every interval of a line, from the changes of winner along it."""

from __future__ import annotations

import numpy as np

from hulltune.arrays import Floats, Int32s, Int64s
from hulltune.kernels.load.jit import kernel
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

SAMPLE = 63  # places from which the scale of all is estimated
AHEAD = 12  # rows between fetching and using one
MOST_MOVES = 16  # insertion moves per place beyond which a general sort takes over


@kernel
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


@kernel
def _by_sorting(places: Floats, ordered: Floats, order: Int64s) -> None:
    order[: places.size] = np.argsort(places)
    for i in range(places.size):
        ordered[i] = places[order[i]]


@kernel
def line_surface(
    lefts: Floats,
    winners: Int32s,
    row_of: Int64s,
    low_end: float,
    other_rows: Int64s,
    table: Int32s,
    width: int,
) -> tuple[Floats, Int64s]:
    """The breakpoints at which the sum over sentences of rows of statistics changes, and its values between them.

    Segments of a sentence follow each other from left to right; the first begins at ``low_end``. From ``lefts[i]`` on
    the sentence has row ``row_of[winners[i]]`` of the table; ``other_rows`` are the rows of further sentences, with one
    segment each. Changes at one place count together, and those that cancel out are left out. The table has ``width``
    columns, filled up to a multiple of LANES; no sum exceeds 31 bits (Memory.compact checks it).

    Rows are fetched ahead of their use: other searches push the table out of the caches, and waiting for it was a
    quarter of the time.
    """
    rows = np.empty(winners.size, np.int64)
    for i in range(winners.size):
        rows[i] = row_of[winners[i]]
    blocks = (width + LANES - 1) // LANES
    total, last = np.zeros(blocks * LANES, np.int32), np.zeros(blocks * LANES, np.int32)
    for row in other_rows:
        for b in range(blocks):
            store_counts(total, b, add_counts(load_counts(total, b), load_counts(table, row * blocks + b)))
    # The change at each place, in the order of the sentences: every row is loaded only once.
    places = np.empty(rows.size)
    changes = np.empty(rows.size * blocks * LANES, np.int32)
    n = 0
    for i in range(rows.size):
        if i + AHEAD < rows.size:
            prefetch(table, rows[i + AHEAD] * blocks * LANES)
        if lefts[i] == low_end:
            for b in range(blocks):
                row = load_counts(table, rows[i] * blocks + b)
                store_counts(total, b, add_counts(load_counts(total, b), row))
        elif rows[i] != rows[i - 1]:
            places[n] = lefts[i]
            for b in range(blocks):
                new, old = load_counts(table, rows[i] * blocks + b), load_counts(table, rows[i - 1] * blocks + b)
                store_counts(changes, n * blocks + b, subtract_counts(new, old))
            n += 1
    places = places[:n]
    order, ordered = np.empty(n, np.int64), np.empty(n)
    by_place(places, ordered, order, np.empty(n + 2, np.int64), np.empty(n, np.int32))
    breakpoints = np.empty(n)
    # Rows are written LANES wide, each over the overhang of the one before it.
    totals = np.empty((n + 1) * width + LANES, np.int64)
    for b in range(blocks):
        store_wide(totals, b * LANES, load_counts(total, b))
        store_counts(last, b, load_counts(total, b))
    count = 0
    i = 0
    while i < n:
        place = ordered[i]
        if i + AHEAD < n:
            prefetch(changes, order[i + AHEAD] * blocks * LANES)
        while i < n and ordered[i] == place:
            for b in range(blocks):
                change = load_counts(changes, order[i] * blocks + b)
                store_counts(total, b, add_counts(load_counts(total, b), change))
            i += 1
        changed = False
        for b in range(blocks):
            changed |= any_lane(counts_differ(load_counts(total, b), load_counts(last, b)))
        if changed:
            breakpoints[count] = place
            count += 1
            for b in range(blocks):
                value = load_counts(total, b)
                store_wide(totals, count * width + b * LANES, value)
                store_counts(last, b, value)
    return breakpoints[:count], totals[: (count + 1) * width].reshape((count + 1, width))
