"""Bounds on the sums of derivations: they determine the grid of exact arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Floats
from hulltune.kernels.forests.forest import Forests
from hulltune.kernels.load.jit import kernel


@kernel
def magnitudes(forests: Forests, columns: NDArray[Any]) -> Floats:
    """The largest sum of absolute values over a derivation, per sentence and column; O(edges × columns)."""
    node_offsets, edge_offsets, tail_offsets, tails = forests
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
def sum_bound(forests: Forests, sentence: int, sizes: Floats) -> float:
    """The largest sum of ``sizes``, which has an entry for each edge of the sentence, over one of its derivations."""
    node_offsets, edge_offsets, tail_offsets, tails = forests
    first_node, last_node = node_offsets[sentence], node_offsets[sentence + 1]
    base = edge_offsets[first_node]
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
