"""Sums of features over the edges of derivations."""

from __future__ import annotations

import numpy as np

from hulltune.arrays import Floats, Int32s, Int64s, RealRows
from hulltune.kernels.load.kernel import kernel


@kernel
def sum_dense(starts: Int64s, edge_offsets: Int64s, edges: Int32s, columns: RealRows) -> Floats:
    """The sums of each feature over the edges of each derivation, in their order: a matrix (features, derivations).

    ``columns`` is the feature matrix by column; the edges of derivation d are numbered from ``starts[d]``.
    """
    sums = np.zeros((columns.shape[0], starts.size))
    for k in range(columns.shape[0]):
        for d in range(starts.size):
            total = 0.0
            for i in range(edge_offsets[d], edge_offsets[d + 1]):
                total += np.float64(columns[k, starts[d] + edges[i]])
            sums[k, d] = total
    return sums


@kernel
def sum_sparse(row_offsets: Int64s, columns: Int32s, values: Floats) -> tuple[Int64s, Int32s, Floats]:
    """Rows with each column once, by increasing column, from rows that may have it several times.

    Values of one column are added in the order in which they stand. O(n log n) for the n entries of a row.
    """
    rows = row_offsets.size - 1
    offsets = np.zeros(rows + 1, np.int64)
    out_columns = np.empty(columns.size, np.int32)
    out_values = np.empty(columns.size)
    count = 0
    for r in range(rows):
        begin, end = row_offsets[r], row_offsets[r + 1]
        order = np.argsort(columns[begin:end], kind="mergesort")  # stable
        for i in range(order.size):
            entry = begin + order[i]
            if i and columns[entry] == out_columns[count - 1]:
                out_values[count - 1] += np.float64(values[entry])
            else:
                out_columns[count] = columns[entry]
                out_values[count] = np.float64(values[entry])
                count += 1
        offsets[r + 1] = count
    return offsets, out_columns[:count], out_values[:count]
