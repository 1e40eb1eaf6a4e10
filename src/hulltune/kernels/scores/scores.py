"""Edge scores on an integer grid: one matrix product, rounded so that every later sum is exact.

For each sentence and weight vector a power of two, the grid, is chosen such that the score of every derivation, and so
every partial sum, is an integer of magnitude at most 2^52 in its units. Scores are held as integer-valued doubles:
sums and differences are exact, their order does not matter, and nothing over- or underflows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hulltune.arrays import FloatRows, Floats, Int32s, Int64Rows, Int64s, RealRows, Reals
from hulltune.kernels.forests.forest import Forests
from hulltune.kernels.lists.features import ListFeatures
from hulltune.kernels.load.kernel import kernel, part
from hulltune.kernels.scores.magnitudes import sum_bound
from hulltune.kernels.simd.simd import LANES, add, load, multiply, multiply_add, scatter, splat, subtract

GRID_BITS = 51
ROUND = 6755399441055744.0  # 1.5 * 2^52: adding and subtracting it rounds to an integer, for |x| <= 2^51
NO_SHIFT = -9999  # all scores are 0
OVERFLOW = 9999  # an exponent that no score has
MOST_SHIFT = 900  # bits that weights are scaled by before they meet features of 1e±250 and beyond


class SparseRows(NamedTuple):
    """Features of edges as compressed rows: offsets by edge, and the column and the value of every entry."""

    offsets: Int64s
    columns: Int32s
    values: Reals


@part
def normalised(values: Floats, out: Floats) -> int:
    """Write ``values`` divided by the power of two above the largest of them; returns its exponent."""
    top = 0.0
    for value in values:
        top = max(top, abs(value))
    exponent = math.frexp(top)[1]
    for k in range(values.size):
        out[k] = math.ldexp(values[k], -exponent)
    return exponent


@part
def grid_weights(weights: Floats, magnitudes: Floats, exponent: int, scaled: Floats) -> tuple[int, float]:
    """Write ``weights`` in units of the grid into ``scaled``; returns how many bits they were shifted by, and a power
    of two that scores are still to be multiplied by (1 but for extreme features).

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
        scaled[k] = weights[k] * factor
    return shift, 1.0 if shift == now else math.ldexp(1.0, shift - now)


@kernel
def score_dense(
    columns: RealRows,
    sentence_edges: Int64s,
    first: int,
    last: int,
    weights: FloatRows,
    magnitudes: FloatRows,
    scores: FloatRows,
) -> Int64s:
    """Write the grid scores of the edges of sentences ``first`` to ``last`` under each row of ``weights`` into
    ``scores`` (rows, edges of these sentences); returns the exponents (rows, sentences).

    ``columns`` is the feature matrix by column. LANES rows of weights are scored at once, with a SIMD step for each
    feature of an edge: three times as fast as one row after the other. The order of summation is fixed, so a score does
    not depend on what is scored beside it.
    """
    rows, width = weights.shape
    base = sentence_edges[first]
    flat = scores.reshape(-1)
    exponents = np.empty((rows, last - first), np.int64)
    normal_weights, weight_exponents = np.empty((rows, width)), np.empty(rows, np.int64)
    for r in range(rows):
        weight_exponents[r] = normalised(weights[r], normal_weights[r])
    normal_magnitudes = np.empty(width)
    scaled = np.zeros(width)
    lanes = np.zeros((width + 1) * LANES)  # a row of LANES weights for each feature, then the last factors
    used = np.empty(width, np.int64)
    for s in range(first, last):
        exponent = normalised(magnitudes[s], normal_magnitudes)
        count = 0
        for k in range(width):
            if normal_magnitudes[k] != 0.0:
                used[count] = k
                count += 1
        for block in range(0, rows, LANES):
            size = min(LANES, rows - block)
            for lane in range(size):
                shift, later = grid_weights(normal_weights[block + lane], normal_magnitudes, exponent, scaled)
                exponents[block + lane, s - first] = weight_exponents[block + lane] - shift if shift != NO_SHIFT else 0
                for k in range(width):
                    lanes[k * LANES + lane] = scaled[k]
                lanes[width * LANES + lane] = later
            factor = load(lanes, width)
            rounding = splat(ROUND)
            for e in range(sentence_edges[s], sentence_edges[s + 1]):
                total = splat(0.0)
                for i in range(count):
                    total = multiply_add(load(lanes, used[i]), splat(np.float64(columns[used[i], e])), total)
                total = subtract(add(multiply(total, factor), rounding), rounding)
                scatter(flat, block * scores.shape[1] + e - base, scores.shape[1], size, total)
    return exponents


@kernel
def score_sparse_lists(
    node_offsets: Int64s,
    sentence_edges: Int64s,
    lists: ListFeatures,
    first: int,
    last: int,
    weights: FloatRows,
    scores: FloatRows,
    exponents: Int64Rows,
) -> None:
    """Write the grid scores and exponents of the lists among sentences ``first`` to ``last``, whose features are sparse
    rows; forests are left as they are. Scores are those of ``score_dense`` to the bit: they differ by terms of 0.
    """
    rows, width = weights.shape
    base = sentence_edges[first]
    flat = scores.reshape(-1)
    normal_weights, weight_exponents = np.empty((rows, width)), np.empty(rows, np.int64)
    for r in range(rows):
        weight_exponents[r] = normalised(weights[r], normal_weights[r])
    most = 0
    for s in range(first, last):
        most = max(most, lists.used_offsets[s + 1] - lists.used_offsets[s])
    some_weights, magnitudes, scaled = np.empty(most), np.empty(most), np.empty(most)
    lanes = np.empty((width + 1) * LANES)
    lanes[width * LANES :] = 0.0
    for s in range(first, last):
        if node_offsets[s + 1] - node_offsets[s] != 1:
            continue
        used = lists.used[lists.used_offsets[s] : lists.used_offsets[s + 1]]
        exponent = normalised(lists.magnitudes[lists.used_offsets[s] : lists.used_offsets[s + 1]], magnitudes)
        for block in range(0, rows, LANES):
            size = min(LANES, rows - block)
            for i in range(used.size):
                for lane in range(size, LANES):
                    lanes[used[i] * LANES + lane] = 0.0
            for lane in range(size):
                for i in range(used.size):
                    some_weights[i] = normal_weights[block + lane, used[i]]
                shift, later = grid_weights(some_weights[: used.size], magnitudes, exponent, scaled[: used.size])
                exponents[block + lane, s - first] = weight_exponents[block + lane] - shift if shift != NO_SHIFT else 0
                for i in range(used.size):
                    lanes[used[i] * LANES + lane] = scaled[i]
                lanes[width * LANES + lane] = later
            factor, rounding = load(lanes, width), splat(ROUND)
            for e in range(sentence_edges[s], sentence_edges[s + 1]):
                total = splat(0.0)
                for i in range(lists.row_offsets[e], lists.row_offsets[e + 1]):
                    total = multiply_add(load(lanes, lists.row_columns[i]), splat(np.float64(lists.values[i])), total)
                total = subtract(add(multiply(total, factor), rounding), rounding)
                scatter(flat, block * scores.shape[1] + e - base, scores.shape[1], size, total)


@kernel
def score_sparse(
    forests: Forests, features: SparseRows, first: int, last: int, weights: FloatRows, scores: FloatRows
) -> Int64s:
    """Write the grid scores of edges of forests with sparse features, as ``score_dense`` does for dense; returns the
    exponents. Lists are left out: see ``score_sparse_lists``.

    The bound of a sentence is computed anew for each row of weights, because a table of sentences by features would not
    be sparse.
    """
    rows = weights.shape[0]
    node_offsets, edge_offsets = forests.node_offsets, forests.edge_offsets
    row_offsets, columns, values = features
    base = edge_offsets[node_offsets[first]]
    scores[:] = 0.0
    exponents = np.zeros((rows, last - first), np.int64)
    for r in range(rows):
        top_weight = 0.0
        for weight in weights[r]:
            top_weight = max(top_weight, abs(weight))
        weight_exponent = math.frexp(top_weight)[1]
        for s in range(first, last):
            if node_offsets[s + 1] - node_offsets[s] == 1:
                continue
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
            bound = sum_bound(forests, s, scores[r, begin - base : end - base])
            if bound == 0.0:
                continue
            if not bound < math.inf:
                exponents[r, s - first] = OVERFLOW
                continue
            shift = min(GRID_BITS - math.frexp(bound)[1] - value_exponent, 2 * MOST_SHIFT)
            now = min(max(shift, -MOST_SHIFT), MOST_SHIFT)
            later = math.ldexp(1.0, shift - now)
            exponents[r, s - first] = weight_exponent - shift
            for e in range(begin, end):
                total = 0.0
                for i in range(row_offsets[e], row_offsets[e + 1]):
                    weight = math.ldexp(math.ldexp(weights[r, columns[i]], -weight_exponent), now)
                    total += weight * np.float64(values[i])
                scores[r, e - base] = (total * later + ROUND) - ROUND
    return exponents
