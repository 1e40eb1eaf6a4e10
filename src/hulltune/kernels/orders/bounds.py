"""Bounds of the value of an order along a line through a box of weights.

The weights of a box are a line, and a range for each other coordinate around it. A document is surely above another one
if it is for all of them: that holds from the place on where their lines cross, moved by what the box can change of
their difference. So along the line the least rank of each relevant document is known, one more than the number of those
surely above it. No order is worth more than the best assignment of relevant documents to distinct ranks that are not
less; without distinct ranks two relevant documents that cross would both get the better one, and no box would close.
The best assignment goes rank by rank to the available document with the largest share (an exchange argument).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hulltune.arrays import FloatRows, Floats, Int32s, Int64s
from hulltune.kernels.load.kernel import borrowing, kernel, part
from hulltune.kernels.orders.changes import FIRST, LOOSE, Found, Judged, Measure, offer, sort, worth
from hulltune.kernels.simd.simd import (
    LANES,
    add,
    at_least,
    choose,
    greater,
    load_at,
    lowest_bit,
    mask_bits,
    maximum,
    multiply,
    multiply_add,
    splat,
    subtract,
)


class Boxed(NamedTuple):
    """Documents over a line through a box; every array is longer by LANES than there are documents."""

    heights: Floats
    """Scores at the centre of the box, where the line is at 0."""
    slopes: Floats
    columns: FloatRows
    """The features of the other coordinates, a row for each."""
    radii: Floats
    """How far these go from the centre."""
    safeties: Floats
    """Per query, more than a difference of scores is rounded by."""


class Releases(NamedTuple):
    """The least ranks of the relevant documents of a query, places where they change, and room to assign ranks."""

    ranks: Int64s
    entries: Int64s
    places: Floats
    marks: Int64s
    """Twice the number of the document, and 1 more where its rank falls."""
    ups: Floats
    downs: Floats
    nothing: Int64s
    taken: Int64s


@borrowing
def _margin(boxed: Boxed, i: int, j: int) -> float:
    """What the box can change of the difference of two documents."""
    total = 0.0
    for c in range(boxed.radii.size):
        total += boxed.radii[c] * abs(boxed.columns[c, j] - boxed.columns[c, i])
    return total


@borrowing
def _release(
    boxed: Boxed, begin: int, end: int, i: int, safety: float, depth: int, low: float, high: float, number: int,
    releases: Releases, total: int,
) -> int:  # fmt: skip
    """Write the least rank of the relevant document ``i`` at the lower end, and append the places where it changes;
    returns their new number, or −1 for a document that is nowhere among the first ``depth``.
    """
    heights, slopes, columns, radii, _ = boxed
    height, slope = heights[i], slopes[i]
    up_limit, down_limit = high + abs(high) * LOOSE, low - abs(low) * LOOSE
    always = up_count = down_count = 0
    for first in range(begin, end, LANES):
        gap = add(subtract(splat(height), load_at(heights, first)), splat(safety))
        for c in range(radii.size):
            other = subtract(load_at(columns[c], first), splat(columns[c, i]))
            gap = multiply_add(splat(radii[c]), maximum(other, subtract(splat(0.0), other)), gap)
        run = subtract(load_at(slopes, first), splat(slope))
        limits = choose(greater(run, splat(0.0)), splat(up_limit), splat(down_limit))
        # Equal documents have no gap but the safety, which is looked at below.
        bits = mask_bits(at_least(multiply(limits, run), subtract(gap, splat(2.0 * safety))))
        if end - first < LANES:
            bits &= (1 << (end - first)) - 1
        while bits != 0:
            j = first + lowest_bit(bits)
            bits &= bits - 1
            if j == i:
                continue
            margin, above, along = _margin(boxed, i, j), height - heights[j], slopes[j] - slope
            place = 0.0
            if along == 0.0:
                surely = above + margin + safety < 0.0 or (above == 0.0 and margin == 0.0 and j < i)
            else:
                place = (above + margin + safety) / along
                surely = place <= low if along > 0.0 else place >= high
            if surely:
                always += 1
                if always >= depth:
                    return -1
            elif along > 0.0 and place < high:
                up_count = offer(releases.ups, releases.nothing, up_count, depth, place, 0)
                if up_count == depth:
                    up_limit = releases.ups[0] + abs(releases.ups[0]) * LOOSE
            elif along < 0.0 and place > low:
                down_count = offer(releases.downs, releases.nothing, down_count, depth, -place, 0)
                if down_count == depth:
                    down_limit = -releases.downs[0] - abs(releases.downs[0]) * LOOSE
    releases.ranks[number] = 1 + always + down_count
    for k in range(up_count):
        releases.places[total], releases.marks[total] = releases.ups[k], 2 * number
        total += 1
    for k in range(down_count):
        releases.places[total], releases.marks[total] = -releases.downs[k], 2 * number + 1
        total += 1
    return total


@borrowing
def _most_worth(measure: Measure, releases: Releases, count: int) -> int:
    """The most that an order is worth whose relevant documents have at least these ranks."""
    ranks, entries, taken, depth = releases.ranks, releases.entries, releases.taken, measure.discounts.size
    total = 0
    if measure.kind == FIRST:
        least = depth + 1
        for t in range(count):
            least = min(least, ranks[t])
        return worth(measure, entries[0], least, 1)
    for t in range(count):
        taken[t] = 0
    assigned = 0
    for rank in range(1, depth + 1):
        best = -1
        for t in range(count):
            if (
                taken[t] == 0
                and ranks[t] <= rank
                and (best < 0 or measure.shares[entries[t]] > measure.shares[entries[best]])
            ):
                best = t
        if best >= 0:
            taken[best] = 1
            assigned += 1
            total += worth(measure, entries[best], rank, assigned)
            if assigned == count:
                break
    return total


@part
def _releases(documents: int, relevant: int, depth: int) -> Releases:
    events = relevant * 2 * min(documents, depth) + 1
    return Releases(
        np.empty(relevant + 1, np.int64), np.empty(relevant + 1, np.int64),
        np.empty(events), np.empty(events, np.int64),
        np.empty(depth + 1), np.empty(depth + 1), np.empty(depth + 1, np.int64), np.empty(relevant + 1, np.int64),
    )  # fmt: skip


@kernel
def order_bounds(
    judged: Judged, measure: Measure, boxed: Boxed, low: float, high: float
) -> tuple[Floats, Int32s, Int64s, Int64s]:
    """Places on the open line (low, high) where the bound of a query changes, in any order, the query and the change of
    each, and the bound of each query at the lower end: nothing that ``order_changes`` finds in the box is above it.

    O(R · n · coordinates / 16) for R relevant of n documents, and the places.
    """
    queries = judged.offsets.size - 1
    widest = most_relevant = most = 0
    for query in range(queries):
        n = judged.document_offsets[query + 1] - judged.document_offsets[query]
        entries = judged.offsets[query + 1] - judged.offsets[query]
        widest, most_relevant = max(widest, n), max(most_relevant, entries)
        most += entries * 2 * min(n, measure.discounts.size)
    depth = min(measure.discounts.size, widest)
    releases = _releases(widest, most_relevant, depth)
    found = Found(np.empty(most), np.empty(most, np.int32), np.empty(most, np.int64))
    starts = np.zeros(queries, np.int64)
    total = 0
    for query in range(queries):
        begin, end = judged.document_offsets[query], judged.document_offsets[query + 1]
        count = events = 0
        for entry in range(judged.offsets[query], judged.offsets[query + 1]):
            more = _release(
                boxed, begin, end, judged.documents[entry], boxed.safeties[query], depth, low, high, count, releases,
                events,
            )  # fmt: skip
            if more >= 0:
                releases.entries[count] = entry
                events, count = more, count + 1
        if count == 0:
            continue
        # As many units more as the values of documents can be rounded by, so that no assignment is worth more.
        start = value = _most_worth(measure, releases, count)
        starts[query] = start + count + 1 if start else 0
        total = _walk(measure, releases, count, events, query, value, found, total)
    return found.places[:total], found.queries[:total], found.changes[:total], starts


@borrowing
def _walk(
    measure: Measure, releases: Releases, count: int, events: int, query: int, value: int, found: Found, total: int
) -> int:
    """Append the changes of a query's bound along the line; returns their new number."""
    ranks, places, marks, depth = releases.ranks, releases.places, releases.marks, measure.discounts.size
    for k in range(events):  # a heap in place, then sorted
        offer(places, marks, k, events, places[k], marks[k])
    sort(places, marks, events)
    slack = count + 1 if value else 0
    k = 0
    while k < events:
        place, matters = places[k], False
        while k < events and places[k] == place:
            number = marks[k] // 2
            matters |= ranks[number] <= depth
            ranks[number] += 1 if marks[k] % 2 == 0 else -1
            matters |= ranks[number] <= depth
            k += 1
        if matters:
            now = _most_worth(measure, releases, count)
            now_slack = count + 1 if now else 0
            if now != value:
                found.places[total], found.queries[total] = place, query
                found.changes[total] = now + now_slack - value - slack
                total, value, slack = total + 1, now, now_slack
    return total
