"""The places of a line where the value of an order changes, for orders of documents that some judge as relevant.

The value depends only on the ranks of relevant documents. Another document is above a relevant one on a half-line, or
always, or never: it passes it going up at one place, or going down. A measure of the first k ranks asks about the first
k documents that pass upwards and the last k that pass downwards: beyond either, the relevant document is surely not
among the first k. Two heaps of size k hold these, and one SIMD comparison of sixteen documents tells which of them
enter a heap at all: few do after the first k. So a relevant document costs O(n / 16 + k log k log n) and has at most 2k
places, whatever n; sorting all places where it is passed takes eight times as long for a thousand documents.

Lines that begin at one point share its order: the FRONT best documents there come first, and the others are looked at
only if the largest slope could bring the best of them to the relevant document within the line. On the short lines of a
search that is rare.

Scores are whole numbers on the grid of each query (kernels/scores/scores.py), so their differences are exact, and a
place where two documents change their order is the same quotient for either of them. Documents of equal scores stand in
the order of their numbers. Values are whole multiples of 2^-60 for each query, so that their sums do not depend on the
order of changes, and are rounded to multiples of 2^-42 of the whole query (see ``sums_along``).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from hulltune.arrays import FloatRows, Floats, Int32Rows, Int64Rows, Int64s
from hulltune.kernels.load.kernel import borrowing, inlined, kernel, part
from hulltune.kernels.scores.segments import PLAIN, to_grid
from hulltune.kernels.simd.simd import (
    LANES,
    at_least,
    choose,
    divide,
    greater,
    load_at,
    lowest_bit,
    mask_bits,
    maximum,
    minimum,
    multiply,
    splat,
    store_at,
    subtract,
)

SUM, PRECISION, FIRST = 0, 1, 2
"""Kinds of measures: Σ share · discount of the rank; Σ share · precision at the rank; the discount of the best rank."""
FINE_BITS = 60
"""Bits of the value of one document: sums over a query stay below 2^62."""
COARSE_BITS = 42
"""Bits of the value of a query: sums over a million queries stay below 2^62."""
FRONT = 3 * LANES
"""So many of the best documents at the start of the lines come first."""
LOOSE = 2.0**-50  # far more than a product is rounded by


class Judged(NamedTuple):
    """The documents of queries that are relevant."""

    document_offsets: Int64s
    """The documents of query q are ``document_offsets[q]`` up to ``document_offsets[q + 1]``."""
    offsets: Int64s
    """Its relevant ones are the entries ``offsets[q]`` up to ``offsets[q + 1]`` of ``documents``."""
    documents: Int64s
    """Numbers of documents, increasing."""


class Measure(NamedTuple):
    """A measure of an order, as numbers of the relevant documents."""

    kind: int
    shares: Floats
    """Per entry of Judged, its share of the value, between 0 and 1; its query's share where the kind is FIRST."""
    discounts: Floats
    """By rank, from 1; 0 beyond. Their number is the depth of the measure, also where they do not discount."""


class Passing(NamedTuple):
    """Heaps of places where a relevant document is passed, the largest first, with whether by a relevant one."""

    ups: Floats
    up_marks: Int64s
    downs: Floats
    down_marks: Int64s


class Room(NamedTuple):
    """Arrays of one query's scores, with its best documents first, and of what is found."""

    order: Int64s
    """The document, from 0, at each place."""
    places: Int64s
    """The place of each document."""
    heights: Floats
    slopes: Floats
    is_relevant: Int64s
    passing: Passing


class Found(NamedTuple):
    """Places of lines in the user's units, the query of each, and the change of its value there."""

    places: Any
    queries: Any
    changes: Any


class Piece(NamedTuple):
    """The interval of a line on the grid of a query, and the exponent and unit that lead back from there."""

    low: float
    high: float
    shift: int
    unit: float


class Spread(NamedTuple):
    """What tells whether a document behind the front can matter."""

    front: int
    """The number of documents before them."""
    best: float
    """The largest height among them."""
    slope: float
    """The largest difference of two slopes."""


@inlined
def _sift(keys: Floats, marks: Int64s, size: int, at: int, key: float, mark: int) -> None:
    """Put a key at a place of a heap from which it may have to sink."""
    child = 2 * at + 1
    while child < size:
        if child + 1 < size and keys[child + 1] > keys[child]:
            child += 1
        if keys[child] <= key:
            break
        keys[at], marks[at] = keys[child], marks[child]
        at, child = child, 2 * child + 1
    keys[at], marks[at] = key, mark


@inlined
def offer(keys: Floats, marks: Int64s, size: int, most: int, key: float, mark: int) -> int:
    """Keep the ``most`` smallest keys in a heap; returns its size."""
    if size == most:
        if key < keys[0]:
            _sift(keys, marks, size, 0, key, mark)
        return size
    at = size
    while at > 0 and keys[(at - 1) // 2] < key:
        keys[at], marks[at] = keys[(at - 1) // 2], marks[(at - 1) // 2]
        at = (at - 1) // 2
    keys[at], marks[at] = key, mark
    return size + 1


@inlined
def sort(keys: Floats, marks: Int64s, size: int) -> None:
    """Sort a heap, the smallest key first."""
    for last in range(size - 1, 0, -1):
        key, mark = keys[last], marks[last]
        keys[last], marks[last] = keys[0], marks[0]
        _sift(keys, marks, last, 0, key, mark)


@inlined
def worth(measure: Measure, entry: int, rank: int, relevant: int) -> int:
    """The value of a document at a rank, where so many of the documents down to it are relevant."""
    if rank > measure.discounts.size:
        return 0
    factor = relevant / rank if measure.kind == PRECISION else measure.discounts[rank - 1]
    return int(np.rint(measure.shares[entry] * factor * 2.0**FINE_BITS))


@inlined
def _append(found: Found, piece: Piece, place: float, query: int, change: int, total: int) -> int:
    """Append a change of value at a place of the grid, unless it is none; returns the new number of changes."""
    if change == 0:
        return total
    found.places[total] = place * piece.unit if abs(piece.shift) < PLAIN else math.ldexp(place, piece.shift)
    found.queries[total], found.changes[total] = query, change
    return total + 1


@borrowing
def _one_document(
    room: Room, n: int, i: int, entry: int, measure: Measure, piece: Piece, spread: Spread, query: int, found: Found,
    total: int,
) -> tuple[int, int]:  # fmt: skip
    """Append the changes of value of the relevant document at place ``i``, in order; returns their new number, and its
    value at the lower end of the line.
    """
    order, _, heights, slopes, is_relevant, (ups, up_marks, downs, down_marks) = room
    most = min(measure.discounts.size, n)
    height, slope = heights[i], slopes[i]
    # Passings upwards count before the one limit, passings downwards after the other.
    up_limit, down_limit = piece.high + abs(piece.high) * LOOSE, piece.low - abs(piece.low) * LOOSE
    always = always_relevant = up_count = down_count = 0
    behind = height - spread.best
    for begin in range(0, n, LANES):
        if begin == spread.front and behind > max(up_limit, -down_limit, 0.0) * spread.slope * (1.0 + LOOSE):
            break
        gap = subtract(splat(height), load_at(heights, begin))
        run = subtract(load_at(slopes, begin), splat(slope))
        limits = choose(greater(run, splat(0.0)), splat(up_limit), splat(down_limit))
        bits = mask_bits(at_least(multiply(limits, run), gap))
        if n - begin < LANES:
            bits &= (1 << (n - begin)) - 1
        while bits != 0:
            j = begin + lowest_bit(bits)
            bits &= bits - 1
            if j == i:
                continue
            above, along = height - heights[j], slopes[j] - slope
            if along == 0.0:
                passes_always = above < 0.0 or order[j] < order[i]
            else:
                place = above / along
                passes_always = place <= piece.low if along > 0.0 else place >= piece.high
            if passes_always:
                always += 1
                always_relevant += is_relevant[j]
                if always >= most:
                    return total, 0
            elif along > 0.0 and place < piece.high:
                up_count = offer(ups, up_marks, up_count, most, place, is_relevant[j])
                if up_count == most:
                    up_limit = ups[0] + abs(ups[0]) * LOOSE
            elif along < 0.0 and place > piece.low:
                down_count = offer(downs, down_marks, down_count, most, -place, is_relevant[j])
                if down_count == most:
                    down_limit = -downs[0] - abs(downs[0]) * LOOSE
    sort(ups, up_marks, up_count)
    sort(downs, down_marks, down_count)
    # Where a heap of downs is full, more documents may be above at first: the rank is then beyond the depth anyway.
    rank, relevant = 1 + always + down_count, 1 + always_relevant
    for down in range(down_count):
        relevant += down_marks[down]
    start = value = worth(measure, entry, rank, relevant)
    up, down = 0, down_count - 1
    while (up < up_count or down >= 0) and up < most:
        place = math.inf if up == up_count else ups[up]
        if down >= 0 and -downs[down] < place:
            place = -downs[down]
        while up < up_count and ups[up] == place:
            rank, relevant, up = rank + 1, relevant + up_marks[up], up + 1
        while down >= 0 and -downs[down] == place:
            rank, relevant, down = rank - 1, relevant - down_marks[down], down - 1
        # Behind the last of a full heap of ups there may be others: the document has left the first ranks for good.
        now = 0 if up == most else worth(measure, entry, rank, relevant)
        total, value = _append(found, piece, place, query, now - value, total), now
    return total, start


@borrowing
def _best_document(
    room: Room, n: int, relevant: Int64s, entry: int, measure: Measure, piece: Piece, query: int, found: Found,
    total: int,
) -> tuple[int, int]:  # fmt: skip
    """Append the changes of value of the best of the relevant documents; returns as ``_one_document`` does.

    Their upper envelope is convex, so every other document is above all of them on one interval: between the last place
    where it passes one of them upwards, and the first where it passes one downwards. That takes a division for each
    pair, sixteen at once, and no envelope.
    """
    _, _, heights, slopes, is_relevant, (keys, marks, ends, _) = room
    count, above_at_first = 0, 0
    for begin in range(0, n, LANES):
        low, high = splat(-math.inf), splat(math.inf)
        own_height, own_slope = load_at(heights, begin), load_at(slopes, begin)
        for document in relevant:
            gap = subtract(splat(heights[document]), own_height)
            run = subtract(own_slope, splat(slopes[document]))
            rises, falls = greater(run, splat(0.0)), greater(splat(0.0), run)
            place = divide(gap, run)  # NaN or infinite for parallel lines, which are looked at below
            low = maximum(low, choose(rises, place, splat(-math.inf)))
            high = minimum(high, choose(falls, place, splat(math.inf)))
        store_at(ends, 0, low)
        store_at(ends, LANES, high)
        for j in range(begin, min(begin + LANES, n)):
            first, last = max(ends[j - begin], piece.low), min(ends[LANES + j - begin], piece.high)
            if is_relevant[j] or not first < last or _below_a_parallel(room, relevant, j):
                continue
            if first == piece.low:
                above_at_first += 1
            else:
                count = offer(keys, marks, count, 2 * n, first, 1)
            if last < piece.high:
                count = offer(keys, marks, count, 2 * n, last, -1)
    sort(keys, marks, count)
    rank = 1 + above_at_first
    start = value = worth(measure, entry, rank, 1)
    event = 0
    while event < count:
        place = keys[event]
        while event < count and keys[event] == place:
            rank, event = rank + marks[event], event + 1
        now = worth(measure, entry, rank, 1)
        total, value = _append(found, piece, place, query, now - value, total), now
    return total, start


@borrowing
def _below_a_parallel(room: Room, relevant: Int64s, j: int) -> bool:
    """Whether a document is nowhere above some relevant document of the same slope."""
    for document in relevant:
        if room.slopes[document] == room.slopes[j]:
            gap = room.heights[document] - room.heights[j]
            if gap > 0.0 or (gap == 0.0 and room.order[document] < room.order[j]):
                return True
    return False


@part
def _room(n: int) -> Room:
    """Room for a query of at most ``n`` documents."""
    keys = max(2 * n + 2 * LANES, 1)
    heap = Passing(np.empty(keys), np.empty(keys, np.int64), np.empty(keys), np.empty(keys, np.int64))
    return Room(
        np.empty(n, np.int64), np.empty(n, np.int64), np.zeros(n + LANES), np.zeros(n + LANES),
        np.zeros(n + LANES, np.int64), heap,
    )  # fmt: skip


@part
def _bring_forward(room: Room, heights: Floats, n: int) -> tuple[int, float]:
    """Order the documents of a query with its FRONT best first; returns their number, and the best height behind."""
    front = min(n, FRONT)
    least = np.partition(heights, n - front)[n - front] if n > front else -math.inf
    above = 0
    for j in range(n):
        above += heights[j] > least
    first, behind, best, ties = 0, front, -math.inf, front - above
    for j in range(n):
        ahead = heights[j] > least
        if heights[j] == least and ties > 0:
            ahead, ties = True, ties - 1
        place = first if ahead else behind
        first, behind = first + ahead, behind + (not ahead)
        if not ahead:
            best = max(best, heights[j])
        room.order[place], room.places[j] = j, place
        room.heights[place], room.is_relevant[place] = heights[j], 0
    return front, best


@part
def _most_changes(judged: Judged, first: int, last: int, measure: Measure) -> int:
    """At most so many changes have these queries on a line."""
    total = 0
    for query in range(first, last):
        n = judged.document_offsets[query + 1] - judged.document_offsets[query]
        entries = judged.offsets[query + 1] - judged.offsets[query]
        total += 2 * n if measure.kind == FIRST else entries * min(n, 2 * measure.discounts.size)
    return total


@kernel
def order_changes(
    judged: Judged,
    measure: Measure,
    first: int,
    last: int,
    scores: FloatRows,
    exponents: Int64Rows,
    intervals: FloatRows,
) -> tuple[Int64s, FloatRows, Int32Rows, Int64Rows, Int64Rows]:
    """The places on some open lines from one point where the value of a query from ``first`` to ``last`` changes, in
    any order: how many there are on each line, and in a row of each the places, the query (counted from ``first``) and
    the change; and the value of each query at the lower end of each line.

    ``scores`` are grid scores of the documents of these queries, the heights at the start and then the slopes of each
    line, and ``exponents`` those of each query. ``intervals`` are the ends of the lines. O(R · n / 16) for R relevant
    of n documents, and the changes.
    """
    base, widest, lines = judged.document_offsets[first], 0, intervals.shape[0]
    for query in range(first, last):
        widest = max(widest, judged.document_offsets[query + 1] - judged.document_offsets[query])
    room, most = _room(widest), _most_changes(judged, first, last, measure)
    found = Found(np.empty((lines, most)), np.empty((lines, most), np.int32), np.empty((lines, most), np.int64))
    counts, starts = np.zeros(lines, np.int64), np.zeros((lines, last - first), np.int64)
    for query in range(first, last):
        begin, end = judged.offsets[query], judged.offsets[query + 1]
        if begin == end:
            continue
        document = judged.document_offsets[query]
        n, at = judged.document_offsets[query + 1] - document, document - base
        front, best = _bring_forward(room, scores[0, at : at + n], n)
        relevant = room.places[judged.documents[begin:end] - document]
        for i in relevant:
            room.is_relevant[i] = 1
        for line in range(lines):
            lowest, highest = math.inf, -math.inf
            for j in range(n):
                slope = scores[line + 1, at + room.order[j]]
                room.slopes[j] = slope
                lowest, highest = min(lowest, slope), max(highest, slope)
            shift = exponents[0, query - first] - exponents[line + 1, query - first]
            piece = Piece(
                to_grid(intervals[line, 0], -shift, 0.0), to_grid(intervals[line, 1], -shift, 0.0),
                shift, math.ldexp(1.0, shift) if abs(shift) < PLAIN else 0.0,
            )  # fmt: skip
            of_line = Found(found.places[line], found.queries[line], found.changes[line])
            total, start = counts[line], 0
            if measure.kind == FIRST:
                total, start = _best_document(room, n, relevant, begin, measure, piece, query - first, of_line, total)
            else:
                spread = Spread(front, best, highest - lowest)
                for k in range(relevant.size):
                    total, value = _one_document(
                        room, n, relevant[k], begin + k, measure, piece, spread, query - first, of_line, total
                    )
                    start += value
            counts[line], starts[line, query - first] = total, start
    return counts, found.places, found.queries, found.changes, starts


@inlined
def _rounded(value: int) -> int:
    """The value of a query in units of 2^-42."""
    return (value + (1 << (FINE_BITS - COARSE_BITS - 1))) >> (FINE_BITS - COARSE_BITS)


@kernel
def sums_along(
    places: Floats, order: Int64s, cells: Int64s, changes: Int64s, starts: Int64Rows
) -> tuple[Floats, Int64Rows]:
    """The sums over queries of values, rounded query by query, on all intervals of a line, and their breakpoints.

    ``starts`` are the values (columns, queries) at the lower end, and ``cells`` numbers of its entries. ``order`` sorts
    the changes by place. Places at which sums do not change are left out.
    """
    columns, queries = starts.shape
    values = starts.copy().reshape(-1)
    sums = np.empty((places.size + 1, columns), np.int64)
    now = np.zeros(columns, np.int64)
    for cell in range(values.size):
        now[cell // queries] += _rounded(values[cell])
    sums[0] = now
    breakpoints, count, event = np.empty(places.size), 0, 0
    while event < order.size:
        place = places[order[event]]
        while event < order.size and places[order[event]] == place:
            cell = cells[order[event]]
            now[cell // queries] -= _rounded(values[cell])
            values[cell] += changes[order[event]]
            now[cell // queries] += _rounded(values[cell])
            event += 1
        changed = False
        for column in range(columns):
            changed |= now[column] != sums[count, column]
        if changed:
            breakpoints[count] = place
            count += 1
            sums[count] = now
    return breakpoints[:count], sums[: count + 1]
