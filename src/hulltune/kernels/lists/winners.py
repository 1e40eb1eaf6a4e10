"""The best hypotheses of n-best lists under one weight vector."""

from __future__ import annotations

import numpy as np

from hulltune.arrays import Floats, Int64s
from hulltune.kernels.lists.features import ListFeatures
from hulltune.kernels.lists.scores import BLOCK, Scaled, score_list, sum_block
from hulltune.kernels.load.jit import kernel
from hulltune.kernels.scores.scores import normalised


@kernel
def list_winners(
    lists: ListFeatures, sentence_edges: Int64s, first_sentence: int, last_sentence: int, weights: Floats
) -> tuple[bool, Int64s]:
    """Whether all numbers were of ordinary size, and the hypothesis with the highest score in each list.

    Hypotheses are numbered over the corpus. Among equal scores the first wins; an empty list has −1. The winners mean
    nothing where numbers were not of ordinary size.
    """
    normal, normal_magnitudes = np.empty(weights.size), np.empty(weights.size)
    scaled = Scaled(normal, normalised(weights, normal))
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
        magnitudes = Scaled(normal_magnitudes, exponent)
        ordinary, _ = score_list(lists, begin, n, used, scaled, magnitudes, sums[begin - block_begin :], scores)
        if not ordinary:
            return False, winners
        best = 0
        for e in range(1, n):
            if scores[e] > scores[best]:
                best = e
        winners[s - first_sentence] = begin + best
    return True, winners
