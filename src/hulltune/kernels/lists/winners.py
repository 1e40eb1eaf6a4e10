"""The best hypotheses of n-best lists under one weight vector, exactly."""

from __future__ import annotations

import numpy as np

from hulltune.arrays import Floats, Int64s
from hulltune.kernels.judging.exact_features import (
    ExactFeatures,
    add_edge,
    dense_meanings,
    digit_width,
    first_digits,
    sparse_meanings,
)
from hulltune.kernels.judging.rounding import bound_of_sums
from hulltune.kernels.judging.wholes import sign_of_vector
from hulltune.kernels.lists.features import ListFeatures
from hulltune.kernels.lists.scores import BLOCK, score_list, sum_block
from hulltune.kernels.load.jit import kernel
from hulltune.kernels.scores.scores import normalised


@kernel
def list_winners(
    lists: ListFeatures, sentence_edges: Int64s, first_sentence: int, last_sentence: int, weights: Floats
) -> tuple[bool, Int64s]:
    """Whether all numbers were of ordinary size, and the hypothesis with the highest score in each list.

    Hypotheses are numbered over the corpus. Among equal scores the first wins; an empty list has −1. Scores on the grid
    that are as close as its rounding are judged exactly. The winners mean nothing where numbers were not of ordinary
    size.
    """
    normal, normal_magnitudes = np.empty(weights.size), np.empty(weights.size)
    weight_exponent = normalised(weights, normal)
    most = 1
    for s in range(first_sentence, last_sentence):
        most = max(most, sentence_edges[s + 1] - sentence_edges[s])
    scores, sums = np.empty(most), np.empty(max(most, BLOCK))
    winners = np.full(last_sentence - first_sentence, -1, np.int64)
    block_begin, block_end = 0, first_sentence
    for s in range(first_sentence, last_sentence):
        begin, n = sentence_edges[s], sentence_edges[s + 1] - sentence_edges[s]
        if s == block_end:
            block_begin, block_end = begin, sum_block(lists, sentence_edges, s, last_sentence, normal, sums)
        if n == 0:
            continue
        used = lists.used[lists.used_offsets[s] : lists.used_offsets[s + 1]]
        exponent = normalised(lists.magnitudes[lists.used_offsets[s] : lists.used_offsets[s + 1]], normal_magnitudes)
        ordinary, _ = score_list(
            lists, begin, n, used, normal, weight_exponent, normal_magnitudes, exponent,
            sums, begin - block_begin, scores,
        )  # fmt: skip
        if not ordinary:
            return False, winners
        best = 0
        for e in range(1, n):
            if scores[e] > scores[best]:
                best = e
        least = scores[best] - 2.0 * bound_of_sums(used.size, 1.0)
        for e in range(n):
            if e != best and scores[e] >= least and not _are_alike(lists, begin + e, begin + best):
                best = _exact_winner(lists, sentence_edges, s, weights, scores, least)
                break
        winners[s - first_sentence] = begin + best
    return True, winners


@kernel
def _are_alike(lists: ListFeatures, a: int, b: int) -> bool:
    """Whether two hypotheses have the same features. Sparse rows are in canonical form."""
    if lists.length > 0:
        alike = True
        for at in range(0, lists.values.size, lists.length):
            alike = alike and lists.values[at + a] == lists.values[at + b]
        return alike
    first, other = lists.row_offsets[a], lists.row_offsets[b]
    size = lists.row_offsets[a + 1] - first
    if lists.row_offsets[b + 1] - other != size:
        return False
    for i in range(size):
        if lists.row_columns[first + i] != lists.row_columns[other + i]:
            return False
        if lists.values[first + i] != lists.values[other + i]:
            return False
    return True


@kernel
def _exact_winner(
    lists: ListFeatures, sentence_edges: Int64s, sentence: int, weights: Floats, scores: Floats, least: float
) -> int:
    """The first of the best hypotheses of a list among those whose grid scores are at least ``least``.

    What the features mean is found anew, because it is hardly ever asked for.
    """
    begin, end = sentence_edges[sentence], sentence_edges[sentence + 1]
    edges = np.array([0, end - begin])
    if lists.length > 0:
        width = lists.values.size // lists.length
        columns = np.empty((width, end - begin))
        for k in range(width):
            for e in range(end - begin):
                columns[k, e] = lists.values[k * lists.length + begin + e]
        values, length = columns.reshape(-1), end - begin
        rows, row_columns = edges[:0], np.empty(0, np.int32)
        offsets, used, places, scales, lows, tops = dense_meanings(columns, edges)
    else:
        rows = lists.row_offsets[begin : end + 1] - lists.row_offsets[begin]
        row_columns = lists.row_columns[lists.row_offsets[begin] : lists.row_offsets[end]]
        values, length = lists.values[lists.row_offsets[begin] : lists.row_offsets[end]].astype(np.float64), 0
        offsets, used, places, scales, lows, tops = sparse_meanings(rows, row_columns, values, edges)
    features = ExactFeatures(
        np.empty(0, np.float32), values, length, rows, row_columns, offsets, used, places, scales, lows, tops
    )
    width = digit_width(1.0)
    first = np.empty(used.size + 1, np.int64)
    vectors = np.zeros((1, first_digits(features, 0, width, first)), np.int64)
    best = -1
    for e in range(end - begin):
        if scores[e] < least:
            continue
        if best < 0:
            best = e
            continue
        vectors[0, :] = 0
        add_edge(features, 0, e, first, width, 1, vectors, 0)
        add_edge(features, 0, best, first, width, -1, vectors, 0)
        if sign_of_vector(features, 0, first, width, weights, vectors) > 0:
            best = e
    return best
