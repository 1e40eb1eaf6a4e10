"""Random derivations of forests, each with a probability in proportion to exp(score · scale).

Inside weights are kept relative to the best: for node v the logarithm of Σ exp((score(d) − best(v)) · scale) over its
derivations d. The differences are exact on the grid (scores.py), so that neither huge scores nor a temperature near 0
cancel digits or overflow.
"""

from __future__ import annotations

import math

import numpy as np

from hulltune.arrays import Floats, Int32s, Int64s
from hulltune.kernels.forests.forest import Forests
from hulltune.kernels.load.kernel import kernel, part

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1, MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
UNIT = 2.0**-53


@part
def _mixed(state: np.uint64) -> np.uint64:
    """The output function of splitmix64 (Steele, Lea & Flood 2014)."""
    state = (state ^ (state >> np.uint64(30))) * MIX_1
    state = (state ^ (state >> np.uint64(27))) * MIX_2
    return state ^ (state >> np.uint64(31))


@part
def edge_choices(
    forests: Forests, first: int, last: int, scores: Floats, scale: float, best: Floats, inside: Floats, choices: Floats
) -> None:
    """Write the running sums of the probabilities of the edges of the nodes ``first`` to ``last`` of one sentence, up
    to a common factor.

    ``scores`` and ``choices`` have an entry for each edge of the sentence; ``best`` and ``inside`` are room for a value
    per node.
    """
    edge_offsets, tail_offsets, tails = forests.edge_offsets, forests.tail_offsets, forests.tails
    base = edge_offsets[first]
    for node in range(first, last):
        begin, end = edge_offsets[node], edge_offsets[node + 1]
        highest = -math.inf
        for edge in range(begin, end):
            score = scores[edge - base]
            for slot in range(tail_offsets[edge], tail_offsets[edge + 1]):
                score += best[tails[slot]]
            choices[edge - base] = score
            highest = max(highest, score)
        best[node - first] = highest
        most = -math.inf
        for edge in range(begin, end):
            loss = highest - choices[edge - base]
            weight = -loss * scale if loss > 0.0 else 0.0  # 0 times an infinite scale is 0 here
            for slot in range(tail_offsets[edge], tail_offsets[edge + 1]):
                weight += inside[tails[slot]]
            choices[edge - base] = weight
            most = max(most, weight)
        total = 0.0
        for edge in range(begin, end):
            total += math.exp(choices[edge - base] - most)
            choices[edge - base] = total
        inside[node - first] = most + math.log(total) if begin < end else 0.0


@part
def _chosen(choices: Floats, begin: int, end: int, point: float) -> int:
    """The place of the first of the running sums ``choices[begin:end]`` above ``point``, by bisection."""
    last = end - 1
    while begin < last:
        middle = (begin + last) // 2
        if choices[middle] > point:
            last = middle
        else:
            begin = middle + 1
    return begin


@kernel
def sample(
    forests: Forests, first: int, last: int, scores: Floats, scales: Floats, draws: int, seed: int
) -> tuple[Int64s, Floats, Int64s, Int32s]:
    """``draws`` derivations of each of the sentences ``first`` to ``last``: the number of each sentence, their grid
    scores, the offsets of their edges, and the edges in preorder.

    The random numbers of a sentence depend only on the seed and on its place in the corpus. O(edges) for a sentence,
    and O(log of the choices) for each edge drawn.
    """
    edge_offsets, tail_offsets, tails = forests.edge_offsets, forests.tail_offsets, forests.tails
    base = edge_offsets[forests.node_offsets[first]]
    counts = np.zeros(last - first, np.int64)
    found_scores = np.empty((last - first) * draws)
    starts = np.zeros((last - first) * draws + 1, np.int64)
    edges = np.empty(4096, np.int32)
    stack = np.empty(64, np.int64)
    choices = np.empty(scores.size)
    found, count = 0, 0
    for s in range(first, last):
        first_node, last_node = forests.node_offsets[s], forests.node_offsets[s + 1]
        if edge_offsets[first_node] == edge_offsets[last_node]:
            continue
        best, inside = np.empty(last_node - first_node), np.empty(last_node - first_node)
        own = slice(edge_offsets[first_node] - base, edge_offsets[last_node] - base)
        edge_choices(forests, first_node, last_node, scores[own], scales[s - first], best, inside, choices[own])
        state = _mixed(_mixed(np.uint64(seed) + GOLDEN) ^ np.uint64(s))
        for _ in range(draws):
            score = 0.0
            stack[0] = last_node - 1 - first_node
            height = 1
            while height:
                height -= 1
                node = first_node + stack[height]
                begin, end = edge_offsets[node] - base, edge_offsets[node + 1] - base
                edge = begin
                if end > begin + 1:
                    state += GOLDEN
                    share = np.float64(_mixed(state) >> np.uint64(11)) * UNIT
                    edge = _chosen(choices, begin, end, share * choices[end - 1])
                score += scores[edge]
                edge += base
                if count == edges.size:
                    edges = np.concatenate((edges, np.empty_like(edges)))
                edges[count] = edge - edge_offsets[first_node]
                count += 1
                arity = tail_offsets[edge + 1] - tail_offsets[edge]
                if height + arity > stack.size:
                    stack = np.concatenate((stack, np.empty(stack.size + arity, np.int64)))
                for slot in range(tail_offsets[edge + 1] - 1, tail_offsets[edge] - 1, -1):
                    stack[height] = tails[slot]
                    height += 1
            found_scores[found] = score
            found += 1
            starts[found] = count
        counts[s - first] = draws
    return counts, found_scores[:found], starts[: found + 1], edges[:count]
