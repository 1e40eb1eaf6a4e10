"""Max-marginals: for each edge of a forest the score of the best derivation that uses it."""

from __future__ import annotations

import math

import numpy as np

from hulltune.arrays import Floats
from hulltune.kernels.forests.forest import Forests
from hulltune.kernels.load.kernel import kernel


@kernel
def max_marginals(forests: Forests, first: int, last: int, scores: Floats) -> tuple[Floats, Floats]:
    """The max-marginals of the edges of sentences ``first`` to ``last``, and the best score of each sentence (−inf
    where it has no derivation), in grid units (scores.py).

    Viterbi inside and outside; every value is a sum over part of one derivation, so all are exact. O(edges).
    """
    node_offsets, edge_offsets, tail_offsets, tails = forests
    base = edge_offsets[node_offsets[first]]
    marginals = np.empty(scores.size)
    best = np.full(last - first, -math.inf)
    for s in range(first, last):
        first_node, last_node = node_offsets[s], node_offsets[s + 1]
        if edge_offsets[first_node] == edge_offsets[last_node]:
            continue
        inside = np.full(last_node - first_node, -math.inf)
        outside = np.full(last_node - first_node, -math.inf)
        for node in range(first_node, last_node):
            for edge in range(edge_offsets[node], edge_offsets[node + 1]):
                score = scores[edge - base]
                for slot in range(tail_offsets[edge], tail_offsets[edge + 1]):
                    score += inside[tails[slot]]
                marginals[edge - base] = score  # for now the inside score; the outside score is added below
                inside[node - first_node] = max(inside[node - first_node], score)
        outside[-1] = 0.0
        for node in range(last_node - 1, first_node - 1, -1):
            for edge in range(edge_offsets[node], edge_offsets[node + 1]):
                whole = outside[node - first_node] + marginals[edge - base]
                marginals[edge - base] = whole
                for slot in range(tail_offsets[edge], tail_offsets[edge + 1]):
                    tail = tails[slot]
                    outside[tail] = max(outside[tail], whole - inside[tail])
        best[s - first] = inside[-1]
    return marginals, best
