"""Ranges of the features over the derivations of a forest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Floats, Int32s, Int64s
from hulltune.kernels.load.jit import kernel


@kernel
def feature_ranges(
    node_offsets: Int64s,
    edge_offsets: Int64s,
    tail_offsets: Int64s,
    tails: Int32s,
    first: int,
    last: int,
    columns: NDArray[Any],
) -> Floats:
    """The largest minus the smallest sum over a derivation, per sentence from ``first`` to ``last`` and column.

    ``columns`` has the features of the edges of these sentences by column. Inside passes under (max, +) and (min, +);
    O(edges × columns).
    """
    result = np.zeros((last - first, columns.shape[0]))
    most_nodes = 1
    for s in range(first, last):
        most_nodes = max(most_nodes, node_offsets[s + 1] - node_offsets[s])
    largest, smallest = np.empty(most_nodes), np.empty(most_nodes)
    base = edge_offsets[node_offsets[first]]
    for s in range(first, last):
        begin, end = node_offsets[s], node_offsets[s + 1]
        if edge_offsets[begin] == edge_offsets[end]:
            continue
        for k in range(columns.shape[0]):
            for node in range(begin, end):
                most, least = -np.inf, np.inf
                for edge in range(edge_offsets[node], edge_offsets[node + 1]):
                    high = low = np.float64(columns[k, edge - base])
                    for slot in range(tail_offsets[edge], tail_offsets[edge + 1]):
                        high += largest[tails[slot]]
                        low += smallest[tails[slot]]
                    most, least = max(most, high), min(least, low)
                largest[node - begin], smallest[node - begin] = most, least
            result[s - first, k] = largest[end - 1 - begin] - smallest[end - 1 - begin]
    return result
