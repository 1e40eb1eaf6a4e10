"""Bounds on derivation sums and units of count-like features: they determine the grid of exact arithmetic."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Floats, Int32s, Int64s
from hulltune.kernels._jit import kernel

COUNT_BITS = 12
"""A feature is count-like if no derivation sums to more than 2^12 of its units: its weight then keeps 39 bits."""


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
def units(node_offsets: Int64s, sentence_edges: Int64s, columns: NDArray[Any], magnitudes: Floats) -> Floats:
    """The unit of each column per sentence: the largest power of two that divides all values, if it is at least 2^-12
    of the column's magnitude; otherwise 0: the column is not count-like.

    In a list no column is count-like: a derivation is one edge, so that no sum is spread over several edges.
    """
    result = np.zeros(magnitudes.shape)
    for s in range(magnitudes.shape[0]):
        if node_offsets[s + 1] - node_offsets[s] == 1:
            continue
        for k in range(columns.shape[0]):
            unit = _least_unit(magnitudes[s, k], COUNT_BITS)
            bits = 0
            for edge in range(sentence_edges[s], sentence_edges[s + 1]):
                bits = _join(bits, np.float64(columns[k, edge]), unit)
            result[s, k] = _largest_unit(unit, bits)
    return result


@kernel
def sparse_units(columns: Int32s, values: NDArray[Any], width: int) -> Floats:
    """The unit of each column of sparse rows over the whole corpus; 0 for a column that is not count-like.

    A unit is at least 2^-6 of the largest value, which leaves half of COUNT_BITS for the number of edges.
    """
    largest = np.zeros(width)
    for i in range(columns.size):
        largest[columns[i]] = max(largest[columns[i]], abs(np.float64(values[i])))
    result = np.empty(width)
    bits = np.zeros(width, np.int64)
    for k in range(width):
        result[k] = _least_unit(largest[k], COUNT_BITS // 2)
    for i in range(columns.size):
        bits[columns[i]] = _join(bits[columns[i]], np.float64(values[i]), result[columns[i]])
    for k in range(width):
        result[k] = _largest_unit(result[k], bits[k])
    return result


@kernel
def _least_unit(magnitude: float, bits: int) -> float:
    """The smallest unit for a count-like column: ``magnitude`` / 2^bits, rounded up to a power of two. 0 for a
    magnitude that is too extreme to scale safely.
    """
    if not 1e-250 < magnitude < 1e250:
        return 0.0
    return math.ldexp(1.0, math.frexp(magnitude)[1] - bits)


@kernel
def _join(bits: int, value: float, unit: float) -> int:
    """The union of ``bits`` and the bits of ``value`` in units; −1 for good once a value is no multiple of the unit."""
    if bits < 0 or unit == 0.0:
        return -1
    quotient = abs(value / unit)
    return bits | int(quotient) if quotient == np.floor(quotient) else -1


@kernel
def _largest_unit(unit: float, bits: int) -> float:
    """The unit times the largest power of two that divides all the numbers whose bits were joined."""
    return unit * float(bits & -bits) if bits > 0 else 0.0


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
