"""Outputs whose statistics have no row in the table of a memory yet."""

from __future__ import annotations

import numpy as np

from hulltune.arrays import Bools, Int32s, Int64s
from hulltune.kernels.load.jit import kernel

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
