"""Edge scores on an integer grid: one matrix product, rounded so that every later sum is exact.

For each sentence and weight vector a power of two, the grid, is chosen such that the score of every derivation, and so
every partial sum, is an integer of magnitude at most 2^52 in its units. Scores are held as integer-valued doubles:
sums and differences are exact, their order does not matter, and nothing over- or underflows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hulltune.arrays import FloatRows, Floats, Int64Rows
from hulltune.kernels.forests.forest import Forests
from hulltune.kernels.lists.features import EdgeFeatures, FeatureRows
from hulltune.kernels.load.kernel import inlined, kernel, part
from hulltune.kernels.scores.magnitudes import sum_bound
from hulltune.kernels.simd.simd import LANES, add, load, multiply, multiply_add, scatter, splat, subtract

GRID_BITS = 51
ROUND = 6755399441055744.0  # 1.5 * 2^52: adding and subtracting it rounds to an integer, for |x| <= 2^51
NO_SHIFT = -9999  # all scores are 0
OVERFLOW = 9999  # an exponent that no score has
MOST_SHIFT = 900  # bits that weights are scaled by before they meet features of 1e±250 and beyond


class GridScores(NamedTuple):
    """Scores of the edges of some sentences in units of the grid (rows of weights, edges), and the exponents of the
    units (rows, sentences).
    """

    numbers: FloatRows
    exponents: Int64Rows


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


@inlined
def grid_shift(bound: float, exponent: int) -> int:
    """The bits to shift sums by, of magnitude at most bound · 2^exponent, so that they are in units of the grid."""
    return GRID_BITS - math.frexp(bound)[1] - exponent


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
    shift = min(grid_shift(bound, exponent), 2 * MOST_SHIFT)
    now = min(max(shift, -MOST_SHIFT), MOST_SHIFT)
    factor = math.ldexp(1.0, now)
    for k in range(weights.size):
        scaled[k] = weights[k] * factor
    return shift, 1.0 if shift == now else math.ldexp(1.0, shift - now)


@kernel
def score_edges(
    forests: Forests, features: EdgeFeatures, first: int, last: int, weights: FloatRows, found: GridScores
) -> None:
    """Write the scores of the edges of sentences ``first`` to ``last`` under each row of ``weights``. Forests whose
    features are sparse rows are left out: see ``score_sparse_forests``.

    LANES rows of weights are scored at once, with a SIMD step for each feature of an edge: three times as fast as one
    row after the other. The order of summation is fixed, so a score does not depend on what is scored beside it, and
    sparse rows, whose sums differ by terms of 0, have the scores of a matrix to the bit.
    """
    rows, width = weights.shape
    node_offsets, edge_offsets = forests.node_offsets, forests.edge_offsets
    values, length, row_offsets, row_columns = features.rows
    base, edges = edge_offsets[node_offsets[first]], found.numbers.shape[1]
    flat, exponents = found.numbers.reshape(-1), found.exponents
    normal_weights, weight_exponents = np.empty((rows, width)), np.empty(rows, np.int64)
    for r in range(rows):
        weight_exponents[r] = normalised(weights[r], normal_weights[r])
    some_weights, magnitudes, scaled = np.empty(width), np.empty(width), np.empty(width)
    lanes = np.zeros((width + 1) * LANES)  # a row of LANES weights for each feature, then the last factors
    for s in range(first, last):
        if length == 0 and node_offsets[s + 1] - node_offsets[s] != 1:
            continue
        own = slice(features.used_offsets[s], features.used_offsets[s + 1])
        used = features.used[own]
        exponent = normalised(features.magnitudes[own], magnitudes)
        for block in range(0, rows, LANES):
            size = min(LANES, rows - block)
            for lane in range(size):
                for i in range(used.size):
                    some_weights[i] = normal_weights[block + lane, used[i]]
                shift, later = grid_weights(
                    some_weights[: used.size], magnitudes[: used.size], exponent, scaled[: used.size]
                )
                exponents[block + lane, s - first] = weight_exponents[block + lane] - shift if shift != NO_SHIFT else 0
                for i in range(used.size):
                    lanes[used[i] * LANES + lane] = scaled[i]
                lanes[width * LANES + lane] = later
            factor, rounding = load(lanes, width), splat(ROUND)
            for e in range(edge_offsets[node_offsets[s]], edge_offsets[node_offsets[s + 1]]):
                total = splat(0.0)
                if length == 0:
                    for i in range(row_offsets[e], row_offsets[e + 1]):
                        total = multiply_add(load(lanes, row_columns[i]), splat(np.float64(values[i])), total)
                else:
                    for i in range(used.size):  # not "for k in used", which counts a reference for each edge
                        # Unsigned places: of signed ones it would be asked whether they count from the end.
                        place = np.uint64(used[i]) * np.uint64(length) + np.uint64(e)
                        total = multiply_add(load(lanes, used[i]), splat(np.float64(values[place])), total)
                total = subtract(add(multiply(total, factor), rounding), rounding)
                scatter(flat, block * edges + e - base, edges, size, total)


@kernel
def score_sparse_forests(
    forests: Forests, features: FeatureRows, first: int, last: int, weights: FloatRows, found: GridScores
) -> None:
    """Write the scores of the edges of forests whose features are sparse rows, as ``score_edges`` does for others.

    The bound of a sentence is computed anew for each row of weights, because a table of sentences by features would not
    be sparse.
    """
    rows = weights.shape[0]
    node_offsets, edge_offsets = forests.node_offsets, forests.edge_offsets
    values, _, row_offsets, columns = features
    scores, exponents = found
    base = edge_offsets[node_offsets[first]]
    scores[:] = 0.0
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
            shift = min(grid_shift(bound, value_exponent), 2 * MOST_SHIFT)
            now = min(max(shift, -MOST_SHIFT), MOST_SHIFT)
            later = math.ldexp(1.0, shift - now)
            exponents[r, s - first] = weight_exponent - shift
            for e in range(begin, end):
                total = 0.0
                for i in range(row_offsets[e], row_offsets[e + 1]):
                    weight = math.ldexp(math.ldexp(weights[r, columns[i]], -weight_exponent), now)
                    total += weight * np.float64(values[i])
                scores[r, e - base] = (total * later + ROUND) - ROUND
