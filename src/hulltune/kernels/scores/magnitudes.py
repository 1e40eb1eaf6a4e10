"""Largest sums over the derivations of forests: bounds that determine the grid, ranges of features, and lengths.

Each is an inside pass under (max, +), O(edges).
"""

from __future__ import annotations

import math

import numpy as np

from hulltune.arrays import Floats, RealRows
from hulltune.kernels.forests.forest import Forests
from hulltune.kernels.load.kernel import borrowing, kernel, part


@borrowing
def _largest_sum(forests: Forests, sentence: int, sizes: Floats, best: Floats) -> float:
    """The largest sum of ``sizes``, which has an entry for each edge of the sentence, over one of its derivations; 0
    where there is none. ``best`` is room for a value for each node.
    """
    first, last = forests.node_offsets[sentence], forests.node_offsets[sentence + 1]
    base = forests.edge_offsets[first]
    if base == forests.edge_offsets[last]:
        return 0.0
    for node in range(first, last):
        top = -math.inf
        for edge in range(forests.edge_offsets[node], forests.edge_offsets[node + 1]):
            total = sizes[edge - base]
            for slot in range(forests.tail_offsets[edge], forests.tail_offsets[edge + 1]):
                total += best[forests.tails[slot]]
            top = max(top, total)
        best[node - first] = top
    return float(best[last - 1 - first])


@part
def _room(forests: Forests, first: int, last: int) -> tuple[Floats, Floats]:
    """Room for a value for each edge, and one for each node, of any of the sentences ``first`` to ``last``."""
    nodes, edges = 1, 1
    for s in range(first, last):
        begin, end = forests.node_offsets[s], forests.node_offsets[s + 1]
        nodes, edges = max(nodes, end - begin), max(edges, forests.edge_offsets[end] - forests.edge_offsets[begin])
    return np.ones(edges), np.empty(nodes)


@part
def sum_bound(forests: Forests, sentence: int, sizes: Floats) -> float:
    """The largest sum of ``sizes``, which has an entry for each edge of the sentence, over one of its derivations."""
    return _largest_sum(forests, sentence, sizes, _room(forests, sentence, sentence + 1)[1])


@kernel
def magnitudes(forests: Forests, columns: RealRows) -> Floats:
    """The largest sum of absolute values over a derivation, per sentence and column."""
    sentences = forests.node_offsets.size - 1
    result = np.zeros((sentences, columns.shape[0]))
    sizes, best = _room(forests, 0, sentences)
    for s in range(sentences):
        begin, end = forests.edge_offsets[forests.node_offsets[s]], forests.edge_offsets[forests.node_offsets[s + 1]]
        is_list = forests.node_offsets[s + 1] - forests.node_offsets[s] == 1
        for k in range(columns.shape[0]):
            largest = 0.0
            for edge in range(begin, end):
                sizes[edge - begin] = abs(np.float64(columns[k, edge]))
                largest = max(largest, sizes[edge - begin])
            result[s, k] = largest if is_list else _largest_sum(forests, s, sizes, best)
    return result


@kernel
def feature_ranges(forests: Forests, first: int, last: int, columns: RealRows) -> Floats:
    """The largest minus the smallest sum over a derivation, per sentence from ``first`` to ``last`` and column.

    ``columns`` has the features of the edges of these sentences by column.
    """
    result = np.zeros((last - first, columns.shape[0]))
    sizes, best = _room(forests, first, last)
    base = forests.edge_offsets[forests.node_offsets[first]]
    for s in range(first, last):
        begin = forests.edge_offsets[forests.node_offsets[s]] - base
        end = forests.edge_offsets[forests.node_offsets[s + 1]] - base
        for k in range(columns.shape[0]):
            for sign in (1.0, -1.0):
                for edge in range(begin, end):
                    sizes[edge - begin] = sign * np.float64(columns[k, edge])
                result[s - first, k] += _largest_sum(forests, s, sizes, best)
    return result


@kernel
def longest_derivations(forests: Forests) -> Floats:
    """The number of edges of each sentence's longest derivation, as a double: in hypergraphs it may be very large."""
    sentences = forests.node_offsets.size - 1
    ones, best = _room(forests, 0, sentences)
    result = np.empty(sentences)
    for s in range(sentences):
        result[s] = _largest_sum(forests, s, ones, best)
    return result
