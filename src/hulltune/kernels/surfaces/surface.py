"""The summed statistics of a corpus: of its winners, and on every interval of a line, swept from their changes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Floats, Int64s
from hulltune.kernels.load.jit import kernel


@kernel
def changes(offsets: Int64s, lefts: Floats, rows: Int64s) -> tuple[Floats, Int64s]:
    """The places where the row of statistics of some sentence changes, and the segments that begin there."""
    places = np.empty(rows.size)
    segments = np.empty(rows.size, np.int64)
    count = 0
    for sentence in range(offsets.size - 1):
        for segment in range(offsets[sentence] + 1, offsets[sentence + 1]):
            if rows[segment] != rows[segment - 1]:
                places[count] = lefts[segment]
                segments[count] = segment
                count += 1
    return places[:count], segments[:count]


@kernel
def sweep(
    offsets: Int64s, rows: Int64s, table: NDArray[Any], places: Floats, segments: Int64s, order: Int64s
) -> tuple[Floats, NDArray[Any], float]:
    """The breakpoints at which the sum over sentences of ``table[rows]`` changes, its values between them, and a bound
    on the magnitude of all sums, by which the caller detects overflow of integers.

    ``order`` sorts ``places``. Changes at one place count together, and those that cancel out are left out.
    """
    width = table.shape[1]
    total = np.zeros(width, table.dtype)
    reached = 0.0
    for sentence in range(offsets.size - 1):
        if offsets[sentence] < offsets[sentence + 1]:
            for k in range(width):
                total[k] += table[rows[offsets[sentence]], k]
                reached += abs(np.float64(table[rows[offsets[sentence]], k]))
    breakpoints = np.empty(places.size)
    totals = np.empty((places.size + 1, width), table.dtype)
    totals[0] = total
    count = 0
    i = 0
    while i < order.size:
        place = places[order[i]]
        while i < order.size and places[order[i]] == place:
            segment = segments[order[i]]
            new, old = rows[segment], rows[segment - 1]
            for k in range(width):
                total[k] += table[new, k] - table[old, k]
                reached += abs(np.float64(table[new, k]) - np.float64(table[old, k]))
            i += 1
        changed = False
        for k in range(width):
            changed |= total[k] != totals[count, k]
        if changed:
            breakpoints[count] = place
            count += 1
            for k in range(width):
                totals[count, k] = total[k]
    return breakpoints[:count], totals[: count + 1], reached


@kernel
def total_of_rows(outputs: Int64s, row_of: Int64s, other_rows: Int64s, table: Int64s) -> Int64s:
    """The sum of ``table[row_of[outputs[i]]]`` over all sentences i; ``other_rows[i]`` is the row if an output is −1.

    Rows are neither gathered nor kept: with a hundred thousand sentences that took longer than decoding.
    """
    total = np.zeros(table.shape[1], np.int64)
    for i in range(outputs.size):
        row = row_of[outputs[i]] if outputs[i] >= 0 else other_rows[i]
        for k in range(total.size):
            total[k] += table[row, k]
    return total
