"""The word alignment of METEOR: stage by stage (forms, stems, synonyms), and in each stage the longest runs first.

METEOR wants few *chunks*, runs of words that are consecutive on both sides. The fewest are hard to find where words
repeat (minimum common string partition is a special case), so this takes the longest run of words without a partner,
again and again, as greedy string tiling does (Wise 1993). It finds the fewest chunks wherever no word has a choice, and
seldom more than the fewest elsewhere.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hulltune.arrays import Bools, Int32Rows, Int64s
from hulltune.kernels.load.kernel import borrowing, kernel
from hulltune.kernels.metrics.packed import KeyedLines

Int = Any  # a Python int or a NumPy integer: the same thing once compiled

STAGES = 3
_NOBODY = np.int64(-2)  # one less than any position, and than the position before the first


class Alignment(NamedTuple):
    """The matches so far: the position of each output word that has one, and the positions that are taken."""

    partner: Int64s
    taken: Bools


@borrowing
def _may_match(words: Int32Rows, reference: Int32Rows, stage: Int, alignment: Alignment, word: Int, place: Int) -> bool:
    """Whether a match is made already, or is possible between two words without a partner."""
    if alignment.partner[word] != _NOBODY or alignment.taken[place]:
        return bool(alignment.partner[word] == place)
    if stage < 2:
        return bool(words[word, stage] == reference[place, stage] and words[word, stage] >= 0)
    for group in words[word, 2:]:
        for other in reference[place, 2:]:
            if group == other and group >= 0:
                return True
    return False


@borrowing
def _match_runs(
    words: Int32Rows, reference: Int32Rows, stage: Int, alignment: Alignment, length: Int
) -> tuple[Int, Int]:
    """Match all runs of this length, of which none is longer; returns the new matches, and the next length to try.

    The run of the first output word goes first, and of several that of the first position. A run goes on through the
    matches of earlier stages.
    """
    matched, shorter = 0, 0
    for word in range(len(words)):
        for place in range(len(reference)):
            if not _may_match(words, reference, stage, alignment, word, place) or (
                word > 0 and place > 0 and _may_match(words, reference, stage, alignment, word - 1, place - 1)
            ):
                continue
            end, new = 0, 0
            while (
                word + end < len(words)
                and place + end < len(reference)
                and _may_match(words, reference, stage, alignment, word + end, place + end)
            ):
                new += alignment.partner[word + end] == _NOBODY
                end += 1
            if new > 0 and end < length:  # others may cut it before its turn comes
                shorter = max(shorter, end)
            elif new > 0:
                for k in range(end):
                    alignment.partner[word + k] = place + k
                    alignment.taken[place + k] = True
                matched += new
    return matched, shorter


@kernel
def meteor_statistics(outputs: KeyedLines, lines: Int64s, references: KeyedLines, reference_lines: Int64s) -> Int64s:
    """(new matches of each stage, chunks, words of the output, words of the reference) of pairs of lines.

    One-to-one. O(words of the output · words of the reference) for each length of run.
    """
    rows = np.zeros((len(lines), STAGES + 3), np.int64)
    for pair in range(len(lines)):
        line, reference_line = lines[pair], reference_lines[pair]
        words = outputs.keys[outputs.offsets[line] : outputs.offsets[line + 1]]
        reference = references.keys[references.offsets[reference_line] : references.offsets[reference_line + 1]]
        alignment = Alignment(np.full(len(words), _NOBODY), np.zeros(len(reference), np.bool_))
        for stage in range(STAGES):
            length = min(len(words), len(reference)) + 1
            while length > 0:
                matched, length = _match_runs(words, reference, stage, alignment, length)
                rows[pair, stage] += matched
        before = _NOBODY
        for place in alignment.partner:
            rows[pair, STAGES] += place != _NOBODY and place != before + 1
            before = place
        rows[pair, STAGES + 1] = len(words)
        rows[pair, STAGES + 2] = len(reference)
    return rows
