"""Features of edges as kernels take them: a matrix or sparse rows, and what each sentence has of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hulltune.arrays import FloatRows, Floats, Int32s, Int64s, Reals
from hulltune.kernels.load.kernel import kernel

SHORT = 32  # up to this many values of a row, sorting by insertion is faster than a call


class FeatureRows(NamedTuple):
    """The values of features: a matrix laid out by column, for ``length`` edges; or sparse rows, where that is 0, with
    the offsets of rows among the values, and the column of every value.
    """

    values: Reals
    length: int
    offsets: Int64s
    columns: Int32s


class EdgeFeatures(NamedTuple):
    """The features of edges. In sentence s the features ``used[used_offsets[s]:used_offsets[s + 1]]``, in increasing
    order, occur, with the largest sums of absolute values over a derivation in ``magnitudes``, and in ``ranges`` the
    largest differences between the hypotheses of a list. Of forests whose features are sparse rows nothing is known.
    """

    rows: FeatureRows
    """Columns increase within sparse rows."""
    used_offsets: Int64s
    used: Int32s
    magnitudes: Floats
    ranges: Floats


@kernel
def used_features(
    node_offsets: Int64s,
    sentence_edges: Int64s,
    row_offsets: Int64s,
    row_columns: Int32s,
    values: Reals,
    width: int,
) -> tuple[Int64s, Int32s, Floats, Floats]:
    """The features of every list: offsets by sentence, columns in increasing order, and for each of them the largest
    absolute value and the range over the list's hypotheses (0 is the value where a row has none). Forests are left out.

    Rows are sparse, with increasing columns. O(values), and sorting them.
    """
    sentences = node_offsets.size - 1
    offsets = np.zeros(sentences + 1, np.int64)
    met = np.full(width, -1, np.int64)  # the sentence in which a column was seen last
    total = 0
    for s in range(sentences):
        if node_offsets[s + 1] - node_offsets[s] == 1:
            for i in range(row_offsets[sentence_edges[s]], row_offsets[sentence_edges[s + 1]]):
                if met[row_columns[i]] != s:
                    met[row_columns[i]] = s
                    total += 1
        offsets[s + 1] = total
    used, sizes, ranges = np.empty(total, np.int32), np.empty(total), np.empty(total)
    met[:] = -1
    highest, lowest, counts = np.empty(width), np.empty(width), np.empty(width, np.int64)
    for s in range(sentences):
        begin, end = offsets[s], offsets[s + 1]
        if begin == end:
            continue
        place = begin
        for i in range(row_offsets[sentence_edges[s]], row_offsets[sentence_edges[s + 1]]):
            column, value = row_columns[i], np.float64(values[i])
            if met[column] != s:
                met[column] = s
                used[place] = column
                place += 1
                highest[column] = lowest[column] = value
                counts[column] = 0
            highest[column], lowest[column] = max(highest[column], value), min(lowest[column], value)
            counts[column] += 1
        used[begin:end].sort()
        for place in range(begin, end):
            high, low = highest[used[place]], lowest[used[place]]
            sizes[place] = max(abs(high), abs(low))
            if counts[used[place]] < sentence_edges[s + 1] - sentence_edges[s]:
                high, low = max(high, 0.0), min(low, 0.0)
            ranges[place] = high - low
    return offsets, used, sizes, ranges


@kernel
def tidy_rows(row_offsets: Int64s, columns: Int32s, values: Reals) -> tuple[bool, Int64s]:
    """Bring sparse rows into their canonical form, in place: columns increase within a row, a column that stood twice
    has the sum, and no value is 0. Returns whether anything changed, and the new offsets of the rows.
    """
    offsets = np.zeros(row_offsets.size, np.int64)
    changed = False
    at = 0
    for row in range(row_offsets.size - 1):
        begin, end = row_offsets[row], row_offsets[row + 1]
        in_order = True
        for i in range(begin + 1, end):
            in_order = in_order and columns[i - 1] < columns[i]
        if not in_order:
            changed = True
            if end - begin <= SHORT:
                for i in range(begin + 1, end):
                    column, value = columns[i], values[i]
                    j = i
                    while j > begin and columns[j - 1] > column:
                        columns[j], values[j] = columns[j - 1], values[j - 1]
                        j -= 1
                    columns[j], values[j] = column, value
            else:
                order = np.argsort(columns[begin:end], kind="mergesort")
                columns[begin:end], values[begin:end] = columns[begin:end][order], values[begin:end][order]
        i = begin
        while i < end:
            column, value = columns[i], values[i]
            i += 1
            while i < end and columns[i] == column:
                value += values[i]
                i += 1
            if value != 0.0:
                columns[at], values[at] = column, value
                at += 1
        offsets[row + 1] = at
        changed = changed or at != end
    return changed, offsets


@kernel
def sums_of_ranges(columns: FloatRows, offsets: Int64s) -> Floats:
    """The sums of ranges of each row of a matrix, added up from left to right: range i is from ``offsets[i]`` on."""
    sums = np.zeros((columns.shape[0], offsets.size - 1))
    for k in range(columns.shape[0]):
        for i in range(offsets.size - 1):
            for place in range(offsets[i], offsets[i + 1]):
                sums[k, i] += columns[k, place]
    return sums
