"""Bounds on the sums of derivations: they determine the grid of exact arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Floats, Int32s, Int64s
from hulltune.kernels.load.jit import kernel


@kernel
def magnitudes(
    node_offsets: Int64s, edge_offsets: Int64s, tail_offsets: Int64s, tails: Int32s, columns: NDArray[Any]
) -> Floats:
    """The largest sum of absolute values over a derivation, per sentence and column; O(edges × columns)."""
    sentences = node_offsets.size - 1
    result = np.zeros((sentences, columns.shape[0]))
    largest = 0
    for s in range(sentences):
        largest = max(largest, node_offsets[s + 1] - node_offsets[s])
    best = np.empty(largest)
    for s in range(sentences):
        first = node_offsets[s]
        for k in range(columns.shape[0]):
            for node in range(first, node_offsets[s + 1]):
                top = 0.0
                for edge in range(edge_offsets[node], edge_offsets[node + 1]):
                    total = abs(np.float64(columns[k, edge]))
                    for slot in range(tail_offsets[edge], tail_offsets[edge + 1]):
                        total += best[tails[slot]]
                    top = max(top, total)
                best[node - first] = top
            result[s, k] = best[node_offsets[s + 1] - first - 1]
    return result


@kernel
def sum_bound(
    first_node: int, last_node: int, edge_offsets: Int64s, tail_offsets: Int64s, tails: Int32s, sizes: Floats, base: int
) -> float:
    """The largest sum of ``sizes``, whose first entry is edge ``base``, over a derivation of one sentence."""
    best = np.zeros(last_node - first_node)
    for node in range(first_node, last_node):
        top = 0.0
        for edge in range(edge_offsets[node], edge_offsets[node + 1]):
            total = sizes[edge - base]
            for slot in range(tail_offsets[edge], tail_offsets[edge + 1]):
                total += best[tails[slot]]
            top = max(top, total)
        best[node - first_node] = top
    return float(best[-1])
