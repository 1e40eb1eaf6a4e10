"""Rows of statistics by output: those that are missing, sums over sentences, segments copied or renumbered."""

from __future__ import annotations

import numpy as np

from hulltune.arrays import Bools, Floats, Int32s, Int64Rows, Int64s
from hulltune.kernels.load.kernel import kernel
from hulltune.kernels.surfaces.sweep import Segments

MARKED = 16
"""From one in so many numbers on, they are marked among all rather than sorted."""


@kernel
def have_rows(numbers: Int64s, row_of: Int64s) -> bool:
    """Whether all numbers have a row."""
    for i in range(numbers.size):  # noqa: SIM110  # a kernel has no generators
        if row_of[numbers[i]] < 0:
            return False
    return True


@kernel
def give_rows(new: Int64s, rows: Int64s, missing: Int64s, firsts: Int64s, row_of: Int64s) -> None:
    """Write the rows of the ``new`` numbers; then each that was missing gets the row of the first of its equals."""
    for i in range(new.size):
        row_of[new[i]] = rows[i]
    for i in range(missing.size):
        row_of[missing[i]] = row_of[firsts[i]]


@kernel
def mark_numbers(numbers: Int64s, row_of: Int64s, marked: Bools) -> None:
    """Mark the numbers that have no row. Threads may mark at once."""
    for i in range(numbers.size):
        if row_of[numbers[i]] < 0:
            marked[numbers[i]] = True


@kernel
def without_row(numbers: Int64s, row_of: Int64s) -> Int64s:
    """The numbers that have no row, in increasing order, once each.

    Other threads may write rows meanwhile: a second pass may find fewer than the first, never more.
    """
    most = 0
    for i in range(numbers.size):
        most += row_of[numbers[i]] < 0
    if most * MARKED < row_of.size:
        found = np.empty(most, np.int64)
        count = 0
        for i in range(numbers.size if most else 0):
            if count < most and row_of[numbers[i]] < 0:
                found[count] = numbers[i]
                count += 1
        return np.unique(found[:count])
    marked = np.zeros(row_of.size, np.bool_)
    mark_numbers(numbers, row_of, marked)
    return np.flatnonzero(marked)


@kernel
def mark_without_row(outputs: Int32s, begins: Int64s, ends: Int64s, row_of: Int64s, marked: Bools) -> None:
    """Mark the outputs of all lines that have no row of statistics yet. Threads may mark at once."""
    for d in range(begins.size):
        for i in range(begins[d], ends[d]):
            if row_of[outputs[i]] < 0:
                marked[outputs[i]] = True


@kernel
def total_of_rows(outputs: Int64s, row_of: Int64s, other_rows: Int64s, table: Int64Rows) -> Int64s:
    """The sum of ``table[row_of[outputs[i]]]`` over all sentences i; ``other_rows[i]`` is the row if an output is −1.

    Rows are neither gathered nor kept: with a hundred thousand sentences that took longer than decoding.
    """
    total = np.zeros(table.shape[1], np.int64)
    for i in range(outputs.size):
        row = row_of[outputs[i]] if outputs[i] >= 0 else other_rows[i]
        for k in range(total.size):
            total[k] += table[row, k]
    return total


@kernel
def copy_segments(segments: Segments, places: Int64s, all_lefts: Floats, all_outputs: Int32s) -> None:
    """Copy the segments of every line d to place ``places[d]`` and those after it."""
    lefts, outputs, begins, ends = segments
    for d in range(begins.size):
        place, count = places[d], ends[d] - begins[d]
        all_lefts[place : place + count] = lefts[begins[d] : ends[d]]
        all_outputs[place : place + count] = outputs[begins[d] : ends[d]]


@kernel
def renumber(outputs: Int32s, begins: Int64s, ends: Int64s, numbers: Int32s) -> None:
    """Replace the outputs of every line's segments by their numbers."""
    for d in range(begins.size):
        for i in range(begins[d], ends[d]):
            outputs[i] = numbers[outputs[i]]
