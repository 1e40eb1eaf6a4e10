"""Changes of statistics along lines in order of place, summed over bins of η, and fetched from bins.

A change is a segment after the first of its sentence whose row of statistics is not that of the segment before. Rows
are 32-bit numbers that fill whole cache lines (see Memory.compact); ``width`` of each are used.
"""

from __future__ import annotations

import numpy as np

from hulltune.arrays import Floats, Int32s, Int64s
from hulltune.kernels.load.jit import kernel
from hulltune.kernels.simd.simd import LANES, prefetch
from hulltune.kernels.surfaces.line_surface import AHEAD, by_place


@kernel
def changes_in_order(
    lefts: Floats,
    outputs: Int32s,
    begins: Int64s,
    ends: Int64s,
    low_ends: Floats,
    row_of: Int64s,
    table: Int32s,
    width: int,
) -> tuple[Int64s, Floats, Int32s, Int32s, Int64s]:
    """The offsets of lines among all changes; the place, the old and the new row of each change, by line and place; and
    the sum of statistics at the beginning of each line.

    Segments ``begins[d]`` to ``ends[d]`` are those of line d, sentence after sentence; the first of a sentence begins
    at ``low_ends[d]``. O(segments) for typical places (see by_place).
    """
    stride = (width + LANES - 1) // LANES * LANES
    most, room = 0, 0
    for d in range(begins.size):
        most = max(most, ends[d] - begins[d])
        room += ends[d] - begins[d]
    offsets, first = np.zeros(begins.size + 1, np.int64), np.zeros((begins.size, width), np.int64)
    places, olds, news = np.empty(room), np.empty(room, np.int32), np.empty(room, np.int32)
    found, found_olds, found_news = np.empty(most), np.empty(most, np.int32), np.empty(most, np.int32)
    first_rows = np.empty(most, np.int32)
    order, buckets, of_place = np.empty(most, np.int64), np.empty(most + 2, np.int64), np.empty(most, np.int32)
    for d in range(begins.size):
        n, sentences, old, low_end = 0, 0, 0, low_ends[d]
        # Every segment is written, and kept if it counts: no processor guesses which do, and a wrong guess costs more.
        for i in range(begins[d], ends[d]):
            new = row_of[outputs[i]]
            found[n], found_olds[n], found_news[n], first_rows[sentences] = lefts[i], old, new, new
            is_first = lefts[i] == low_end
            sentences += is_first
            n += (new != old) & (not is_first)
            old = new
        for i in range(sentences):
            if i + AHEAD < sentences:
                prefetch(table, first_rows[i + AHEAD] * stride)
            for k in range(width):
                first[d, k] += table[first_rows[i] * stride + k]
        begin = offsets[d]
        by_place(found[:n], places[begin : begin + n], order, buckets[: n + 2], of_place)
        for i in range(n):
            olds[begin + i], news[begin + i] = found_olds[order[i]], found_news[order[i]]
        offsets[d + 1] = begin + n
    return offsets, places[: offsets[-1]], olds[: offsets[-1]], news[: offsets[-1]], first


@kernel
def sums_over_bins(
    offsets: Int64s,
    places: Floats,
    olds: Int32s,
    news: Int32s,
    table: Int32s,
    width: int,
    bin_offsets: Int64s,
    bin_lows: Floats,
    bin_highs: Floats,
) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    """For each bin the number of changes; and for each statistic their sum, and the least and the most of all sums of
    the bin's first changes. Changes at one place count together; the sum of none is 0.

    Changes are those that changes_in_order gives; the bins of line d are ``bin_offsets[d]`` to ``bin_offsets[d + 1]``.
    O(changes in bins + bins · log changes).
    """
    stride = (width + LANES - 1) // LANES * LANES
    counts, sums = np.zeros(bin_lows.size, np.int64), np.zeros((bin_lows.size, width), np.int64)
    least, most = np.zeros((bin_lows.size, width), np.int64), np.zeros((bin_lows.size, width), np.int64)
    total, low, high = np.empty(width, np.int64), np.empty(width, np.int64), np.empty(width, np.int64)
    for d in range(offsets.size - 1):
        line = places[offsets[d] : offsets[d + 1]]
        for b in range(bin_offsets[d], bin_offsets[d + 1]):
            begin = offsets[d] + np.searchsorted(line, bin_lows[b])
            end = offsets[d] + np.searchsorted(line, bin_highs[b])
            counts[b] = max(end - begin, 0)
            total[:], low[:], high[:] = 0, 0, 0
            for i in range(begin, end):
                if i + AHEAD < places.size:  # of the next bins, too: they follow each other
                    prefetch(table, news[i + AHEAD] * stride)
                    prefetch(table, olds[i + AHEAD] * stride)
                new, old = news[i] * stride, olds[i] * stride
                for k in range(width):
                    total[k] += table[new + k] - table[old + k]
                if i + 1 == end or places[i + 1] != places[i]:
                    for k in range(width):
                        low[k] = min(low[k], total[k])
                        high[k] = max(high[k], total[k])
            for k in range(width):
                sums[b, k], least[b, k], most[b, k] = total[k], low[k], high[k]
    return counts, sums, least, most


@kernel
def changes_within(
    offsets: Int64s,
    places: Floats,
    olds: Int32s,
    news: Int32s,
    table: Int32s,
    width: int,
    bin_offsets: Int64s,
    bin_lows: Floats,
    bin_highs: Floats,
) -> tuple[Int64s, Floats, Int64s]:
    """The changes in bins, by bin and place: the bin, the place, and the change of each statistic. Changes at one place
    are one; those that cancel out are left out. Arguments are those of sums_over_bins.
    """
    stride = (width + LANES - 1) // LANES * LANES
    begins, ends = np.empty(bin_lows.size, np.int64), np.empty(bin_lows.size, np.int64)
    room = 0
    for d in range(offsets.size - 1):
        line = places[offsets[d] : offsets[d + 1]]
        for b in range(bin_offsets[d], bin_offsets[d + 1]):
            begins[b] = offsets[d] + np.searchsorted(line, bin_lows[b])
            ends[b] = offsets[d] + np.searchsorted(line, bin_highs[b])
            room += max(ends[b] - begins[b], 0)
    bins, at, changes = np.empty(room, np.int64), np.empty(room), np.zeros((room, width), np.int64)
    count = 0
    for b in range(bin_lows.size):
        for i in range(begins[b], ends[b]):
            for k in range(width):
                changes[count, k] += table[news[i] * stride + k] - table[olds[i] * stride + k]
            if i + 1 == ends[b] or places[i + 1] != places[i]:
                is_change = False
                for k in range(width):
                    is_change |= changes[count, k] != 0
                if is_change:
                    bins[count], at[count] = b, places[i]
                    count += 1
    return bins[:count], at[:count], changes[:count]


@kernel
def running_sums(changes: Int64s, firsts: Int64s, starts: Int64s) -> Int64s:
    """The sums of statistics after each change, a row each, for groups of changes that begin at ``firsts`` and from
    ``starts``. O(changes).

    NumPy takes four passes, and fresh memory for each: seven times as long.
    """
    running = np.empty_like(changes)
    for group in range(firsts.size):
        end = firsts[group + 1] if group + 1 < firsts.size else len(changes)
        for i in range(firsts[group], end):
            for k in range(changes.shape[1]):
                before = starts[group, k] if i == firsts[group] else running[i - 1, k]
                running[i, k] = before + changes[i, k]
    return running
