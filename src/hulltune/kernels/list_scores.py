"""Scores of n-best lists under one weight vector: the winners, and the order of the other hypotheses.

The scores equal those of scores.score_dense to the bit, for numbers of ordinary size. The kernels report other numbers,
and the callers then go the general way.
"""

from __future__ import annotations

import math

import numpy as np

from hulltune.arrays import Floats, Int32s, Int64s
from hulltune.kernels._jit import inlined, kernel
from hulltune.kernels.list_features import ListFeatures
from hulltune.kernels.scores import GRID_BITS, ROUND, normalised
from hulltune.kernels.simd import (
    LANES,
    add,
    load_at,
    multiply,
    multiply_add,
    multiply_add_one,
    splat,
    store_at,
    subtract,
)

MOST_SHIFT = 500  # up to this shift, scaling a sum equals scaling its terms; beyond, use scores.py
CROWDED = 24  # hypotheses in one bucket from which on a merge sort takes over
PLACE_BITS = 10  # bits for the place of a hypothesis, beside the 53 bits of a score difference


@inlined
def score_list(
    lists: ListFeatures,
    begin: int,
    n: int,
    used: Int32s,
    weights: Floats,
    weight_exponent: int,
    magnitudes: Floats,
    exponent: int,
    scores: Floats,
) -> tuple[bool, int]:
    """Write the grid scores of the list of ``n`` hypotheses from ``begin`` on; returns whether all numbers were of
    ordinary size, and the exponent of the scores. Weights, and the magnitudes of the features ``used``, are normalised
    by 2^(their exponent).

    A term of 0 changes no sum, so that sparse rows, whose columns increase, have the scores of a matrix to the bit.
    """
    bound = 0.0
    for i in range(used.size):
        bound += abs(weights[used[i]]) * magnitudes[i]
    if bound == 0.0:
        scores[:n] = 0.0
        return True, 0
    shift = GRID_BITS - math.frexp(bound)[1] - exponent
    if abs(shift) > MOST_SHIFT or abs(exponent) > MOST_SHIFT:
        return False, 0
    factor = math.ldexp(1.0, shift)
    flat, length = lists.values, lists.length
    if length == 0:
        for e in range(n):
            total = 0.0
            for i in range(lists.row_offsets[begin + e], lists.row_offsets[begin + e + 1]):
                total = multiply_add_one(weights[lists.row_columns[i]], np.float64(flat[i]), total)
            scores[e] = (total * factor + ROUND) - ROUND
        return True, weight_exponent - shift
    if n < LANES:
        for e in range(n):
            total = 0.0
            for k in used:
                total = multiply_add_one(weights[k], np.float64(flat[k * length + begin + e]), total)
            scores[e] = (total * factor + ROUND) - ROUND
        return True, weight_exponent - shift
    rounding = splat(ROUND)
    for first in range(0, n, LANES):
        e = min(first, n - LANES)  # the last step overlaps the one before it
        lanes = splat(0.0)
        for k in used:
            lanes = multiply_add(splat(weights[k]), load_at(flat, k * length + begin + e), lanes)
        store_at(scores, e, subtract(add(multiply(lanes, splat(factor)), rounding), rounding))
    return True, weight_exponent - shift


@kernel
def list_winners(
    lists: ListFeatures, sentence_edges: Int64s, first_sentence: int, last_sentence: int, weights: Floats
) -> tuple[bool, Int64s]:
    """Whether all numbers were of ordinary size, and the hypothesis with the highest score in each list.

    Hypotheses are numbered over the corpus. Among equal scores the first wins; an empty list has −1. The winners mean
    nothing where numbers were not of ordinary size.
    """
    normal, normal_magnitudes = np.empty(weights.size), np.empty(weights.size)
    weight_exponent = normalised(weights, normal)
    most = 1
    for s in range(first_sentence, last_sentence):
        most = max(most, sentence_edges[s + 1] - sentence_edges[s])
    scores = np.empty(most)
    winners = np.full(last_sentence - first_sentence, -1, np.int64)
    for s in range(first_sentence, last_sentence):
        begin, n = sentence_edges[s], sentence_edges[s + 1] - sentence_edges[s]
        if n == 0:
            continue
        used = lists.used[lists.used_offsets[s] : lists.used_offsets[s + 1]]
        exponent = normalised(lists.magnitudes[lists.used_offsets[s] : lists.used_offsets[s + 1]], normal_magnitudes)
        ordinary, _ = score_list(
            lists, begin, n, used, normal, weight_exponent, normal_magnitudes, exponent, scores
        )  # fmt: skip
        if not ordinary:
            return False, winners
        best = 0
        for e in range(1, n):
            if scores[e] > scores[best]:
                best = e
        winners[s - first_sentence] = begin + best
    return True, winners


@kernel
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
