"""The longest derivations of forests."""

from __future__ import annotations

import numpy as np

from hulltune.arrays import Floats
from hulltune.kernels.forests.forest import Forests
from hulltune.kernels.load.jit import kernel


@kernel
def longest_derivations(forests: Forests) -> Floats:
    """The number of edges of each sentence's longest derivation, as a double: in hypergraphs it may be very large."""
    node_offsets, edge_offsets, tail_offsets, tails = forests
    sentences = node_offsets.size - 1
    most = 1
    for s in range(sentences):
        most = max(most, node_offsets[s + 1] - node_offsets[s])
    sizes, result = np.zeros(most), np.zeros(sentences)
    for s in range(sentences):
        first = node_offsets[s]
        for node in range(first, node_offsets[s + 1]):
            longest = 0.0
            for edge in range(edge_offsets[node], edge_offsets[node + 1]):
                size = 1.0
                for slot in range(tail_offsets[edge], tail_offsets[edge + 1]):
                    size += sizes[tails[slot]]
                longest = max(longest, size)
            sizes[node - first] = longest
        result[s] = sizes[node_offsets[s + 1] - 1 - first]
    return result
