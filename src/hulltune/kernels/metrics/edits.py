"""Substitutions, deletions and insertions between token ids, on the alignment that rapidfuzz would pick.

Bit-parallel edit distance (Hyyrö 2003), one machine word per row, with the rows kept for the trace. Of
several best alignments this takes rapidfuzz's: common ends are matched first, then from the end a deletion is
preferred, then an insertion. A pair that does not fit into 64 bits is left to rapidfuzz itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Bools, Int32s, Int64s
from hulltune.kernels.load.kernel import borrowing, kernel
from hulltune.kernels.metrics.packed import Tokens

Int = Any  # a Python int or a NumPy integer: the same thing once compiled

WORD_BITS = 64

Ids = Int32s


@borrowing
def _count_edits(
    reference: Ids,
    hypothesis: Ids,
    masks: NDArray[np.uint64],
    positive: NDArray[np.uint64],
    negative: NDArray[np.uint64],
) -> tuple[Int, Int, Int]:
    """(substitutions, deletions, insertions), or -1s if the reference without common ends is too long."""
    first = 0
    last, last_hypothesis = len(reference), len(hypothesis)
    while first < min(last, last_hypothesis) and reference[first] == hypothesis[first]:
        first += 1
    while first < min(last, last_hypothesis) and reference[last - 1] == hypothesis[last_hypothesis - 1]:
        last -= 1
        last_hypothesis -= 1
    columns, rows = last - first, last_hypothesis - first
    if columns == 0 or rows == 0:
        return 0, columns, rows
    if columns > WORD_BITS:
        return -1, -1, -1
    one = np.uint64(1)
    for column in range(columns):
        masks[reference[first + column]] |= one << np.uint64(column)
    # Bit c of positive[r] (negative[r]): the distance grows (falls) by 1 from column c to c + 1 after row r.
    up, down = ~np.uint64(0), np.uint64(0)
    for row in range(rows):
        symbol = hypothesis[first + row]
        match = masks[symbol] if symbol >= 0 else np.uint64(0)
        diagonal = (((match & up) + up) ^ up) | match | down
        right_up = down | ~(diagonal | up)
        right_down = diagonal & up
        right_up = (right_up << one) | one
        right_down = right_down << one
        up = right_down | ~(diagonal | right_up)
        down = right_up & diagonal
        positive[row] = up
        negative[row] = down
    for column in range(columns):
        masks[reference[first + column]] = np.uint64(0)
    substitutions, deletions, insertions = 0, 0, 0
    row, column = rows, columns
    while row > 0 and column > 0:
        bit = one << np.uint64(column - 1)
        if positive[row - 1] & bit:
            column -= 1
            deletions += 1
        elif row > 1 and negative[row - 2] & bit:
            row -= 1
            insertions += 1
        else:
            row -= 1
            column -= 1
            substitutions += reference[first + column] != hypothesis[first + row]
    return substitutions, deletions + column, insertions + row


@kernel
def edit_statistics(
    outputs: Tokens, sentences: Int64s, references: Tokens, groups: Int64s, vocabulary_size: int
) -> tuple[Int64s, Bools]:
    """(hits, substitutions, deletions, insertions) of each output against the nearest reference of its sentence.

    The references of sentence s are the lines from groups[s] to groups[s + 1]. Among references with equally few edits
    the first counts. Outputs with a pair too long for the kernel are flagged instead. O(output length) for each pair.
    """
    statistics = np.zeros((len(sentences), 4), np.int64)
    too_long = np.zeros(len(sentences), np.bool_)
    longest = 1
    for output in range(len(sentences)):
        longest = max(longest, outputs.offsets[output + 1] - outputs.offsets[output])
    masks = np.zeros(max(1, vocabulary_size), np.uint64)
    positive = np.empty(longest, np.uint64)
    negative = np.empty(longest, np.uint64)
    for output in range(len(sentences)):
        hypothesis = outputs.ids[outputs.offsets[output] : outputs.offsets[output + 1]]
        fewest = np.int64(-1)
        for k in range(groups[sentences[output]], groups[sentences[output] + 1]):
            reference = references.ids[references.offsets[k] : references.offsets[k + 1]]
            substitutions, deletions, insertions = _count_edits(reference, hypothesis, masks, positive, negative)
            if substitutions < 0:
                too_long[output] = True
                break
            edits = substitutions + deletions + insertions
            if fewest < 0 or edits < fewest:
                fewest = edits
                statistics[output, 0] = len(reference) - substitutions - deletions
                statistics[output, 1] = substitutions
                statistics[output, 2] = deletions
                statistics[output, 3] = insertions
    return statistics, too_long
