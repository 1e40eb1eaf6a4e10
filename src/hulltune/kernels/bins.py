"""Changes of statistics along lines, summed over bins of η, fetched from bins, and summed up to points.

Segments ``begins[d]`` to ``ends[d]`` are those of line d, sentence after sentence; the first of a sentence begins at
``low_ends[d]``. A change is a segment after the first whose row of statistics is not that of the segment before. Rows
are 32-bit numbers that fill whole cache lines (see Memory.compact); ``width`` of each are used.
"""

from __future__ import annotations

import numpy as np

from hulltune.arrays import Floats, Int32s, Int64s
from hulltune.kernels._jit import inlined, kernel
from hulltune.kernels.line_surface import AHEAD
from hulltune.kernels.simd import LANES, prefetch


@inlined
def _bin_of(place: float, lows: Floats, highs: Floats, first: int, last: int) -> int:
    """The bin with a place, of the bins ``first`` to before ``last``, which are in order; −1 if none has it."""
    if first == last or place < lows[first] or place >= highs[last - 1]:
        return -1
    begin, end = first, last
    while end - begin > 1:
        middle = (begin + end) // 2
        if lows[middle] <= place:
            begin = middle
        else:
            end = middle
    return begin if place < highs[begin] else -1


@kernel
def binned_changes(
    lefts: Floats,
    outputs: Int32s,
    begins: Int64s,
    ends: Int64s,
    low_ends: Floats,
    row_of: Int64s,
    table: Int32s,
    width: int,
    bin_offsets: Int64s,
    bin_lows: Floats,
    bin_highs: Floats,
) -> tuple[Int64s, Int64s, Int64s]:
    """For each bin the number of changes, and the sums of rises and of falls of each statistic.

    The bins of line d are ``bin_offsets[d]`` to ``bin_offsets[d + 1]``. O(segments · log bins).
    """
    stride = (width + LANES - 1) // LANES * LANES
    counts = np.zeros(bin_lows.size, np.int64)
    rises, falls = np.zeros((bin_lows.size, width), np.int64), np.zeros((bin_lows.size, width), np.int64)
    for d in range(begins.size):
        first, last, low_end = bin_offsets[d], bin_offsets[d + 1], low_ends[d]
        every = last > first and bin_lows[first] == -np.inf and bin_highs[last - 1] == np.inf  # then all are needed
        for i in range(begins[d], ends[d]):
            if every and i + AHEAD < ends[d]:
                prefetch(table, row_of[outputs[i + AHEAD]] * stride)
            if lefts[i] == low_end:
                continue
            place = _bin_of(lefts[i], bin_lows, bin_highs, first, last)
            if place < 0:
                continue
            new, old = row_of[outputs[i]], row_of[outputs[i - 1]]
            if new == old:
                continue
            counts[place] += 1
            for k in range(width):
                change = np.int64(table[new * stride + k]) - np.int64(table[old * stride + k])
                if change > 0:
                    rises[place, k] += change
                else:
                    falls[place, k] += change
    return counts, rises, falls


@kernel
def changes_within(
    lefts: Floats,
    outputs: Int32s,
    begins: Int64s,
    ends: Int64s,
    low_ends: Floats,
    row_of: Int64s,
    table: Int32s,
    width: int,
    bin_offsets: Int64s,
    bin_lows: Floats,
    bin_highs: Floats,
) -> tuple[Int64s, Floats, Int64s]:
    """All changes in bins, in the order of the segments: the bin, the place, and the change of each statistic."""
    stride = (width + LANES - 1) // LANES * LANES
    room = 0
    for d in range(begins.size):
        for i in range(begins[d], ends[d]):
            room += (
                lefts[i] != low_ends[d]
                and _bin_of(lefts[i], bin_lows, bin_highs, bin_offsets[d], bin_offsets[d + 1]) >= 0
            )
    bins, places, changes = np.empty(room, np.int64), np.empty(room), np.empty((room, width), np.int64)
    count = 0
    for d in range(begins.size):
        first, last, low_end = bin_offsets[d], bin_offsets[d + 1], low_ends[d]
        for i in range(begins[d], ends[d]):
            if lefts[i] == low_end:
                continue
            place = _bin_of(lefts[i], bin_lows, bin_highs, first, last)
            if place < 0:
                continue
            new, old = row_of[outputs[i]], row_of[outputs[i - 1]]
            if new == old:
                continue
            bins[count], places[count] = place, lefts[i]
            for k in range(width):
                changes[count, k] = np.int64(table[new * stride + k]) - np.int64(table[old * stride + k])
            count += 1
    return bins[:count], places[:count], changes[:count]


@kernel
def sums_at(
    lefts: Floats,
    outputs: Int32s,
    begins: Int64s,
    ends: Int64s,
    low_ends: Floats,
    row_of: Int64s,
    table: Int32s,
    width: int,
    points: Floats,
) -> tuple[Int64s, Int64s, Int64s]:
    """The number of segments of each line that are not the first of a sentence, the sum of statistics at its beginning,
    and those at its points, which increase. At a change counts what is to its right. O(segments + sentences · points).
    """
    lines, samples = points.shape
    stride = (width + LANES - 1) // LANES * LANES
    counts, first = np.zeros(lines, np.int64), np.zeros((lines, width), np.int64)
    sums = np.zeros((lines, samples, width), np.int64)
    for d in range(lines):
        low_end, end = low_ends[d], ends[d]
        point = 0
        for i in range(begins[d], end):
            if lefts[i] == low_end:
                point = 0
                row = row_of[outputs[i]] * stride
                for k in range(width):
                    first[d, k] += table[row + k]
            else:
                counts[d] += 1
            is_last = i + 1 == end or lefts[i + 1] == low_end
            while point < samples and (is_last or points[d, point] < lefts[i + 1]):
                row = row_of[outputs[i]] * stride
                for k in range(width):
                    sums[d, point, k] += table[row + k]
                point += 1
    return counts, first, sums
