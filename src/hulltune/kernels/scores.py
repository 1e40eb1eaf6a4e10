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
NO_SHIFT = -9999  # all scores are 0
MOST_SHIFT = 900  # bits that weights are scaled by before they meet features of 1e±250 and beyond
BLOCK = 1024  # edges scored at a time: a column block stays in the L1 cache

Floats = NDArray[np.float64]
Int64s = NDArray[np.int64]


@kernel
def _normalised(values: Floats, out: Floats) -> int:
    """Write ``values`` over the power of two above the largest of them; returns its exponent."""
    top = 0.0
    for value in values:
        top = max(top, abs(value))
    exponent = math.frexp(top)[1]
    for k in range(values.size):
        out[k] = math.ldexp(values[k], -exponent)
    return exponent


@kernel
def _grid_weights(
    weights: Floats, magnitudes: Floats, exponent: int, units: Floats, scaled: Floats
) -> tuple[int, float]:
    """Write ``weights`` in units of the grid into ``scaled``; returns how many bits they were shifted by, and a power
    of two that the scores of features without a unit are still to be multiplied by (1 but for extreme features).

    Weights and magnitudes are normalised, the latter by 2^exponent, so that nothing over- or underflows.
    """
    bound = 0.0
    for k in range(weights.size):
        bound += abs(weights[k]) * magnitudes[k]
    if bound == 0.0:
        scaled[:] = 0.0
        return NO_SHIFT, 1.0
    shift = min(GRID_BITS - math.frexp(bound)[1] - exponent, 2 * MOST_SHIFT)
    now = min(max(shift, -MOST_SHIFT), MOST_SHIFT)
    factor = math.ldexp(1.0, now)
    for k in range(weights.size):
        value = weights[k] * factor
        if units[k] > 0.0:
            # |value * unit| <= 2^51 because the unit divides some sum that the bound counts.
            value = ((value * units[k] + ROUND) - ROUND) / units[k]
        scaled[k] = value
    return shift, 1.0 if shift == now else math.ldexp(1.0, shift - now)


@kernel
def _add_columns(
    columns: NDArray[Any],
    which: Int64s,
    count: int,
    weights: Floats,
    begin: int,
    end: int,
    out: Floats,
) -> None:
    """Add some columns, from edge ``begin`` to ``end``, times their weights to ``out``: in order, four at a time.

    Written with slices, because only then does the compiler know that no index is negative, and use SIMD.
    """
    i = 0
    while i + 4 <= count:
        w0, w1, w2, w3 = weights[which[i]], weights[which[i + 1]], weights[which[i + 2]], weights[which[i + 3]]
        c0, c1 = columns[which[i], begin:end], columns[which[i + 1], begin:end]
        c2, c3 = columns[which[i + 2], begin:end], columns[which[i + 3], begin:end]
        for e in range(out.size):
            total = out[e] + w0 * np.float64(c0[e])
            total += w1 * np.float64(c1[e])
            total += w2 * np.float64(c2[e])
            out[e] = total + w3 * np.float64(c3[e])
        i += 4
    while i < count:
        w0 = weights[which[i]]
        c0 = columns[which[i], begin:end]
        for e in range(out.size):
            out[e] += w0 * np.float64(c0[e])
        i += 1


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
    real_columns, counted_columns = np.empty(width, np.int64), np.empty(width, np.int64)
    normal_weights, weight_exponents = np.empty((rows, width)), np.empty(rows, np.int64)
    for r in range(rows):
        weight_exponents[r] = _normalised(weights[r], normal_weights[r])
    normal_magnitudes = np.empty(width)
    for s in range(first, last):
        exponent = _normalised(magnitudes[s], normal_magnitudes)
        for r in range(rows):
            shift, later[r] = _grid_weights(normal_weights[r], normal_magnitudes, exponent, units[s], scaled[r])
            exponents[r, s - first] = weight_exponents[r] - shift if shift != NO_SHIFT else 0
        real, counted = 0, 0
        for k in range(width):
            if units[s, k] == 0.0:
                real_columns[real] = k
                real += 1
            else:
                counted_columns[counted] = k
                counted += 1
        for begin in range(sentence_edges[s], sentence_edges[s + 1], BLOCK):
            end = min(begin + BLOCK, sentence_edges[s + 1])
            for r in range(rows):
                out = scores[r, begin - base : end - base]
                _add_columns(columns, real_columns, real, scaled[r], begin, end, out)
                factor = later[r]
                for e in range(out.size):
                    out[e] = (out[e] * factor + ROUND) - ROUND
                _add_columns(columns, counted_columns, counted, scaled[r], begin, end, out)
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
