"""Bounds on derivation sums and units of count-like features: what the grid of exact arithmetic is chosen by."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hulltune.kernels._jit import kernel

if TYPE_CHECKING:
    from hulltune.forest.corpus import Corpus

COUNT_BITS = 20
"""A feature is count-like if no derivation sums to more than 2^20 of its units: its weight then keeps 31 bits."""

Floats = NDArray[np.float64]
Int64s = NDArray[np.int64]


def magnitudes(corpus: Corpus) -> Floats:
    """Per sentence and feature, the largest sum of absolute values over a derivation; O(edges × features)."""
    values = corpus.features.toarray() if corpus.is_sparse else corpus.features.values
    return _magnitudes(corpus.node_offsets, corpus.edge_offsets, corpus.tail_offsets, corpus.tails, values.T)


def units(corpus: Corpus) -> Floats:
    """Per sentence and feature, the unit of a count-like feature, otherwise 0 (see Corpus.units)."""
    values = corpus.features.toarray() if corpus.is_sparse else corpus.features.values
    return _units(corpus.sentence_edges, values.T, corpus.magnitudes)


@kernel
def _magnitudes(
    node_offsets: Int64s, edge_offsets: Int64s, tail_offsets: Int64s, tails: NDArray[np.int32], columns: NDArray[Any]
) -> Floats:
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
def _units(sentence_edges: Int64s, columns: NDArray[Any], magnitudes: Floats) -> Floats:
    result = np.zeros(magnitudes.shape)
    for s in range(magnitudes.shape[0]):
        for k in range(columns.shape[0]):
            bound = magnitudes[s, k]
            if bound == 0.0 or not 1e-280 < bound < 1e280:
                continue
            # The smallest power of two that could still be the unit; every value must be a multiple of it.
            unit = math.ldexp(1.0, math.frexp(bound)[1] - COUNT_BITS)
            divides = True
            for edge in range(sentence_edges[s], sentence_edges[s + 1]):
                quotient = np.float64(columns[k, edge]) / unit
                if quotient != np.floor(quotient):
                    divides = False
                    break
            if divides:
                result[s, k] = unit
    return result
