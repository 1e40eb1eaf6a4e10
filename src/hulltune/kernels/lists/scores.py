"""Scores of n-best lists under one weight vector, and the order of the hypotheses.

The scores equal those of scores.score_edges to the bit, for numbers of ordinary size. The kernels report other numbers,
and the callers then go the general way.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hulltune.arrays import Floats, Int32s, Int64s
from hulltune.kernels.lists.features import EdgeFeatures
from hulltune.kernels.load.kernel import inlined, part
from hulltune.kernels.scores.scores import ROUND, grid_shift
from hulltune.kernels.simd.simd import (
    LANES,
    load_at,
    multiply_add,
    multiply_add_one,
    splat,
    store_at,
)

MOST_SHIFT = 500  # up to this shift, scaling a sum equals scaling its terms; beyond, use scores.py
BLOCK = 2048  # hypotheses that are summed together: their sums stay in the fastest cache
CROWDED = 24  # hypotheses in one bucket from which on a merge sort takes over
PLACE_BITS = 10  # bits for the place of a hypothesis, beside the 53 bits of a score difference


@part
def sum_block(
    lists: EdgeFeatures, sentence_edges: Int64s, sentence: int, last_sentence: int, weights: Floats, sums: Floats
) -> int:
    """Write the weighted sums of features of the hypotheses from ``sentence`` on, BLOCK of them or one list; returns
    the sentence after the last one summed. Sparse rows are not summed: score_list does it.

    Four columns at a time are read from top to bottom: list by list, every column would be another page of memory,
    which took twice as long with 100 features. A term of 0 changes no sum.
    """
    begin, end = sentence_edges[sentence], sentence_edges[sentence + 1]
    sentence += 1
    while sentence < last_sentence and sentence_edges[sentence + 1] - begin <= BLOCK:
        end = sentence_edges[sentence + 1]
        sentence += 1
    flat, length, _, _ = lists.rows
    if length == 0:
        return sentence
    n = end - begin
    whole = n - n % LANES
    sums[:n] = 0.0
    k, width = 0, weights.size
    while k + 4 <= width:
        at_a, at_b, at_c, at_d = k * length, (k + 1) * length, (k + 2) * length, (k + 3) * length
        a, b, c, d = splat(weights[k]), splat(weights[k + 1]), splat(weights[k + 2]), splat(weights[k + 3])
        for e in range(0, whole, LANES):
            lanes = multiply_add(a, load_at(flat, at_a + begin + e), load_at(sums, e))
            lanes = multiply_add(b, load_at(flat, at_b + begin + e), lanes)
            lanes = multiply_add(c, load_at(flat, at_c + begin + e), lanes)
            store_at(sums, e, multiply_add(d, load_at(flat, at_d + begin + e), lanes))
        k += 4
    while k < width:
        for e in range(0, whole, LANES):
            store_at(sums, e, multiply_add(splat(weights[k]), load_at(flat, k * length + begin + e), load_at(sums, e)))
        k += 1
    for e in range(whole, n):
        total = 0.0
        for k in range(width):
            total = multiply_add_one(weights[k], np.float64(flat[k * length + begin + e]), total)
        sums[e] = total
    return sentence


class Scaled(NamedTuple):
    """Numbers divided by 2^exponent, so that the largest is below 1 (scores.normalised)."""

    values: Floats
    exponent: int


@inlined
def score_list(
    lists: EdgeFeatures, begin: int, n: int, used: Int32s, weights: Scaled, magnitudes: Scaled, sums: Floats,
    scores: Floats,
) -> tuple[bool, int]:  # fmt: skip
    """Write the grid scores of the list of ``n`` hypotheses from ``begin`` on; returns whether all numbers were of
    ordinary size, and the exponent of the scores. Magnitudes are those of the features ``used``; ``sums`` are those of
    the list that sum_block wrote.

    A term of 0 changes no sum, so that sparse rows, whose columns increase, have the scores of a matrix to the bit.
    """
    bound = 0.0
    for i in range(used.size):
        bound += abs(weights.values[used[i]]) * magnitudes.values[i]
    if bound == 0.0:
        scores[:n] = 0.0
        return True, 0
    shift = grid_shift(bound, magnitudes.exponent)
    if abs(shift) > MOST_SHIFT or abs(magnitudes.exponent) > MOST_SHIFT:
        return False, 0
    factor = math.ldexp(1.0, shift)
    values, length, offsets, columns = lists.rows
    if length == 0:
        for e in range(n):
            total = 0.0
            for i in range(offsets[begin + e], offsets[begin + e + 1]):
                total = multiply_add_one(weights.values[columns[i]], np.float64(values[i]), total)
            scores[e] = (total * factor + ROUND) - ROUND
        return True, weights.exponent - shift
    for e in range(n):
        scores[e] = (sums[e] * factor + ROUND) - ROUND
    return True, weights.exponent - shift


@part
def rank(
    scores: Floats, n: int, packed: Int64s, buckets: Int32s, places: Int32s, order: Int64s, heights: Floats
) -> None:
    """Write the numbers 0 to n − 1 by descending score into ``order``, equal scores in their order, and the sorted
    scores into ``heights``.

    2n buckets of equal width, then insertion. The sorted integers hold both a score (itself an integer) and its place:
    five times as fast as a merge sort of a hundred scores. The other arrays are room: n long, ``places`` 2n + 1.
    """
    low, high = scores[0], scores[0]
    for i in range(1, n):
        low, high = min(low, scores[i]), max(high, scores[i])
    if low == high:
        for i in range(n):
            order[i], heights[i] = i, high
        return
    places[: 2 * n + 1] = 0
    scale = (2 * n - 1) / (high - low)
    crowd = 0
    for i in range(n):
        bucket = int((high - scores[i]) * scale)
        buckets[i] = bucket
        places[bucket + 1] += 1
        crowd = max(crowd, places[bucket + 1])
    if crowd > CROWDED or n > 1 << PLACE_BITS:
        order[:n] = np.argsort(-scores[:n], kind="mergesort")
        for i in range(n):
            heights[i] = scores[order[i]]
        return
    for bucket in range(2 * n):
        places[bucket + 1] += places[bucket]
    for i in range(n):
        place = places[buckets[i]]
        places[buckets[i]] = place + 1
        packed[place] = (int(high - scores[i]) << PLACE_BITS) | i
    for i in range(1, n):
        entry = packed[i]
        j = i
        while j > 0 and packed[j - 1] > entry:
            packed[j] = packed[j - 1]
            j -= 1
        packed[j] = entry
    for i in range(n):
        order[i] = packed[i] & ((1 << PLACE_BITS) - 1)
        heights[i] = high - float(packed[i] >> PLACE_BITS)
