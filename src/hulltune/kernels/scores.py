"""Edge scores on an integer grid: one matrix product, rounded so that every later sum is exact.

For each sentence and weight vector a power of two, the grid, is chosen such that the score of every derivation, and so
every partial sum, is an integer of magnitude at most 2^52 in its units. Scores are held as integer-valued doubles:
sums and differences are exact, their order does not matter, and nothing over- or underflows.

A count-like feature (magnitudes.units) has its weight rounded instead of its products, so that the products are exact
too: derivations with equal sums of counts get equal scores however the counts are spread over their edges.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.kernels._jit import kernel
from hulltune.kernels.magnitudes import sum_bound

GRID_BITS = 51
ROUND = 6755399441055744.0  # 1.5 * 2^52: adding and subtracting it rounds to an integer, for |x| <= 2^51
MOST_SHIFT = 900  # bits that weights are scaled by before they meet features of 1e±250 and beyond
BLOCK = 1024  # edges scored at a time: a column block stays in the L1 cache

Floats = NDArray[np.float64]
Int64s = NDArray[np.int64]


@kernel
def _grid_weights(weights: Floats, magnitudes: Floats, units: Floats, scaled: Floats) -> tuple[int, float]:
    """Write ``weights`` in units of the grid into ``scaled``; returns the grid's exponent, and a power of two that the
    scores of features without a unit are still to be multiplied by (1 but for extreme features).

    Exponents are taken apart first, so that tiny and huge features and weights do not over- or underflow.
    """
    top_weight = 0.0
    top_magnitude = 0.0
    for k in range(weights.size):
        top_weight = max(top_weight, abs(weights[k]))
        top_magnitude = max(top_magnitude, magnitudes[k])
    weight_exponent = math.frexp(top_weight)[1]
    magnitude_exponent = math.frexp(top_magnitude)[1]
    bound = 0.0
    for k in range(weights.size):
        bound += math.ldexp(abs(weights[k]), -weight_exponent) * math.ldexp(magnitudes[k], -magnitude_exponent)
    if bound == 0.0:
        scaled[:] = 0.0
        return 0, 1.0
    shift = min(GRID_BITS - math.frexp(bound)[1] - magnitude_exponent, 2 * MOST_SHIFT)
    now = min(max(shift, -MOST_SHIFT), MOST_SHIFT)
    for k in range(weights.size):
        value = math.ldexp(math.ldexp(weights[k], -weight_exponent), now)
        if units[k] > 0.0:
            # |value * unit| <= 2^51 because the unit divides some sum that the bound counts.
            value = ((value * units[k] + ROUND) - ROUND) / units[k]
        scaled[k] = value
    return weight_exponent - shift, math.ldexp(1.0, shift - now)


@kernel
def score_dense(
    columns: NDArray[Any],
    sentence_edges: Int64s,
    first: int,
    last: int,
    weights: Floats,
    magnitudes: Floats,
    units: Floats,
) -> tuple[Floats, Int64s]:
    """Grid scores of the edges of sentences ``first`` to ``last`` under each row of ``weights``, and the exponents.

    ``columns`` is the feature matrix by column. The result is (rows, edges of these sentences), and exponents
    (rows, sentences). The order of summation is fixed: a score does not depend on what is scored beside it.
    """
    rows, width = weights.shape
    base = sentence_edges[first]
    scores = np.zeros((rows, sentence_edges[last] - base))
    exponents = np.empty((rows, last - first), np.int64)
    scaled = np.empty((rows, width))
    later = np.empty(rows)
    for s in range(first, last):
        for r in range(rows):
            exponents[r, s - first], later[r] = _grid_weights(weights[r], magnitudes[s], units[s], scaled[r])
        for begin in range(sentence_edges[s], sentence_edges[s + 1], BLOCK):
            end = min(begin + BLOCK, sentence_edges[s + 1])
            for r in range(rows):
                out = scores[r, begin - base : end - base]
                for k in range(width):
                    if units[s, k] == 0.0 and scaled[r, k] != 0.0:
                        weight = scaled[r, k]
                        column = columns[k, begin:end]
                        for e in range(out.size):
                            out[e] += weight * np.float64(column[e])
                for e in range(out.size):
                    out[e] = (out[e] * later[r] + ROUND) - ROUND
                for k in range(width):
                    if units[s, k] != 0.0 and scaled[r, k] != 0.0:
                        weight = scaled[r, k]
                        column = columns[k, begin:end]
                        for e in range(out.size):
                            out[e] += weight * np.float64(column[e])
    return scores, exponents


@kernel
def score_sparse(
    node_offsets: Int64s,
    edge_offsets: Int64s,
    tail_offsets: Int64s,
    tails: NDArray[np.int32],
    row_offsets: Int64s,
    columns: NDArray[np.int32],
    values: NDArray[Any],
    first: int,
    last: int,
    weights: Floats,
    units: Floats,
) -> tuple[Floats, Int64s]:
    """The same for compressed sparse rows, whose bound is computed anew for each row of weights: a table of sentences
    by features would not be sparse. ``units`` are per column.
    """
    rows = weights.shape[0]
    base = edge_offsets[node_offsets[first]]
    scores = np.zeros((rows, edge_offsets[node_offsets[last]] - base))
    exponents = np.zeros((rows, last - first), np.int64)
    for r in range(rows):
        top_weight = 0.0
        for weight in weights[r]:
            top_weight = max(top_weight, abs(weight))
        weight_exponent = math.frexp(top_weight)[1]
        for s in range(first, last):
            begin = edge_offsets[node_offsets[s]]
            end = edge_offsets[node_offsets[s + 1]]
            top_value = 0.0
            for i in range(row_offsets[begin], row_offsets[end]):
                top_value = max(top_value, abs(np.float64(values[i])))
            value_exponent = math.frexp(top_value)[1]
            for e in range(begin, end):
                for i in range(row_offsets[e], row_offsets[e + 1]):
                    weight = math.ldexp(weights[r, columns[i]], -weight_exponent)
                    scores[r, e - base] += abs(weight * math.ldexp(np.float64(values[i]), -value_exponent))
            sizes = scores[r, begin - base : end - base]
            bound = sum_bound(node_offsets[s], node_offsets[s + 1], edge_offsets, tail_offsets, tails, sizes, begin)
            if bound == 0.0:
                continue
            shift = min(GRID_BITS - math.frexp(bound)[1] - value_exponent, 2 * MOST_SHIFT)
            now = min(max(shift, -MOST_SHIFT), MOST_SHIFT)
            later = math.ldexp(1.0, shift - now)
            exponents[r, s - first] = weight_exponent - shift
            for e in range(begin, end):
                real = 0.0
                counted = 0.0
                for i in range(row_offsets[e], row_offsets[e + 1]):
                    column = columns[i]
                    weight = math.ldexp(math.ldexp(weights[r, column], -weight_exponent), now)
                    if units[column] == 0.0:
                        real += weight * np.float64(values[i])
                    else:
                        weight = ((weight * units[column] + ROUND) - ROUND) / units[column]
                        counted += weight * np.float64(values[i])
                scores[r, e - base] = ((real * later + ROUND) - ROUND) + counted
    return scores, exponents
