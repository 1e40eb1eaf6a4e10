"""Translation edit rate (Snover et al., 2006): edit distance with greedy block shifts, over token ids.

Limits, beam and ranking of shifts are those of sacrebleu, which follows tercom, and so are the results. Only the work
is less: of the edit matrix only the beam is stored and looked at, and a candidate shift reuses the rows above the first
word that it moves, and is given up as soon as a whole row costs too much for it to win.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from hulltune.arrays import Floats, Int32s, Int64s
from hulltune.kernels.load.kernel import borrowing, kernel, part
from hulltune.kernels.metrics.packed import Tokens

Int = Any  # a Python int or a NumPy integer: the same thing once compiled

_MOST_WORDS_SHIFTED = 10
_LONGEST_SHIFT = 50
_BEAM = 25
_MOST_CANDIDATES = 1000
_FAR = np.int32(1 << 29)  # outside the beam; still far after any number of additions of 1

Ids = Int32s


class Matrix(NamedTuple):
    """The edit matrix of a hypothesis and a reference, of which only the beam is stored.

    Row i begins at column ``firsts[i]``, with a cell before it and, after it, those that the next row may look at. The
    two rows of ``scratch`` are for the matrix of shifted words.
    """

    cells: Ids
    firsts: Ids
    scratch: Ids


class Errors(NamedTuple):
    """The alignment of a reference to words, and running errors on both sides (see ``_align``)."""

    aligned: Ids
    of_words: Ids
    of_reference: Ids


@part
def _beam(length: Int, reference_length: Int) -> Int:
    """Half of the width of the beam around the diagonal of the (hypothesis, reference) rectangle."""
    ratio = reference_length / length
    return math.ceil(ratio / 2 + _BEAM) if ratio / 2 > _BEAM else _BEAM


@part
def _first_column(at: Int, length: Int, reference_length: Int, beam: Int) -> Int:
    """The first column of row ``at`` that lies in the beam."""
    return max(0, math.floor(at * (reference_length / length)) - beam)


@part
def _fill_row(above: Ids, row: Ids, word: Int, reference: Ids, at: Int, length: Int) -> Int:
    """Write row ``at`` of the edit matrix, from 1 to ``length``, within the beam; returns the minimum of its cells.

    The beam follows the diagonal; the last row reaches to the end. A stored row begins at its first column in the
    beam, with a cell outside before it, and is far outside the beam to its end.
    """
    beam = _beam(length, len(reference))
    first = _first_column(at, length, len(reference), beam)
    columns = len(reference) + 1
    last = columns if at == length else min(columns, math.floor(at * (len(reference) / length)) + beam)
    offset = first - _first_column(at - 1, length, len(reference), beam)  # of a cell of this row in the one above
    smallest = _FAR
    left = _FAR
    row[0] = _FAR
    begin = 0
    if first == 0:
        left = above[1] + np.int32(1)
        row[1] = left
        smallest = left
        begin = 1
    for k in range(begin, last - first):
        cost = above[k + offset] + np.int32(reference[first + k - 1] != word)
        cost = min(cost, above[k + offset + 1] + np.int32(1), left + np.int32(1), _FAR)
        row[k + 1] = cost
        smallest = min(smallest, cost)
        left = cost
    row[last - first + 1 :] = _FAR
    return smallest


@borrowing
def _cell(matrix: Matrix, row: Int, column: Int) -> int:
    """A cell of the edit matrix, far if it lies outside the beam."""
    if row == 0:
        return int(column)
    place = column - matrix.firsts[row] + 1
    return int(matrix.cells[row, place]) if 0 <= place < matrix.cells.shape[1] else int(_FAR)


@part
def _align(matrix: Matrix, words: Ids, reference: Ids, errors: Errors) -> None:
    """Trace the edit matrix back: the word that each reference word belongs to, and running errors.

    ``aligned[j]`` is the last word at or before reference word j, -1 if there is none. ``of_words[k]`` counts the words
    before k that were not matched, ``of_reference`` likewise. Matches and substitutions are preferred to
    deletions, these to insertions.
    """
    aligned, word_errors, reference_errors = errors.aligned, errors.of_words, errors.of_reference
    row, column = len(words), len(reference)
    word_errors[:] = 0
    reference_errors[:] = 0
    while row > 0 or column > 0:
        here = _cell(matrix, row, column)
        if row > 0 and column > 0:
            wrong = np.int32(reference[column - 1] != words[row - 1])
            diagonal = _cell(matrix, row - 1, column - 1) + wrong == here
        else:
            wrong, diagonal = np.int32(1), False
        if diagonal:
            row -= 1
            column -= 1
            aligned[column] = row
            word_errors[row + 1] = wrong
            reference_errors[column + 1] = wrong
        elif column == 0 or (row > 0 and _cell(matrix, row - 1, column) + 1 == here):
            row -= 1
            word_errors[row + 1] = 1
        else:
            column -= 1
            aligned[column] = row - 1
            reference_errors[column + 1] = 1
    for k in range(1, len(words) + 1):
        word_errors[k] += word_errors[k - 1]
    for k in range(1, len(reference) + 1):
        reference_errors[k] += reference_errors[k - 1]


@part
def _shift_into(words: Ids, start: Int, length: Int, target: Int, shifted: Ids) -> tuple[Int, Int]:
    """Move ``words[start:start + length]`` to ``target``; returns the number of first words that surely stay, and the
    place from which on all words stay.
    """
    count = len(words)
    if target < start:
        # words[:target] + block + words[target:start] + rest
        shifted[:target] = words[:target]
        shifted[target : target + length] = words[start : start + length]
        shifted[target + length : start + length] = words[target:start]
        shifted[start + length :] = words[start + length :]
        return target, start + length
    # The words that the block jumps over end at ``target``, or ``length`` later if that is in the block.
    over = min(count, target if target > start + length else target + length)
    moved = over - start - length
    shifted[:start] = words[:start]
    shifted[start : start + moved] = words[start + length : over]
    shifted[start + moved : over] = words[start : start + length]
    shifted[over:] = words[over:]
    return start, over


@borrowing
def _lowest_known(row: Ids) -> int:
    """The first cell of a row that is not far, of a row that has one."""
    place = 0
    while row[place] == _FAR:
        place += 1
    return place


@borrowing
def _is_moved(one: Ids, other: Ids) -> bool:
    """Whether two rows differ by the same number in all cells that are not far, and are far in the same cells."""
    difference = np.int32(0)
    known = False
    for place in range(len(one)):
        if (one[place] == _FAR) != (other[place] == _FAR):
            return False
        if one[place] == _FAR:
            continue
        if known and other[place] - one[place] != difference:
            return False
        difference, known = other[place] - one[place], True
    return known


@part
def _shifted_distance(
    matrix: Matrix, shifted: Ids, unchanged: Int, rejoined: Int, reference: Ids, too_many: Int
) -> Int:
    """The edit distance of the shifted words, or a number of at least ``too_many``.

    From ``rejoined`` on the words are those of the matrix: as soon as a row differs from that of the matrix by the same
    number everywhere, all rows below do, and the last one need not be computed.
    """
    cells = matrix.cells
    length = len(shifted)
    above = cells[unchanged]
    end = len(reference) - matrix.firsts[length] + 1
    for at in range(unchanged + 1, length + 1):
        row = matrix.scratch[at & 1]
        if _fill_row(above, row, shifted[at - 1], reference, at, length) >= too_many:
            return too_many
        if at >= rejoined and _is_moved(cells[at], row):
            return cells[length, end] + row[_lowest_known(row)] - cells[at, _lowest_known(row)]
        above = row
    return above[end]


@part
def _best_shift(
    matrix: Matrix, words: Ids, reference: Ids, errors: Errors, shifted: Ids, best: Ids, candidates: Int
) -> tuple[Int, Int, Int]:
    """Write the words after the best shift into ``best``; returns (gain, first words that stay, candidates so far).

    A block of words is tried if it stands somewhere in the reference, has an error where it is now, would go where the
    reference has an error, and is not shifted into itself. Shifts are ranked by gain, then length, then earlier start,
    then earlier target. A gain of 0 means that no shift is worth doing.
    """
    aligned, word_errors, reference_errors = errors.aligned, errors.of_words, errors.of_reference
    count, reference_count = len(words), len(reference)
    distance = np.int64(_cell(matrix, count, reference_count))
    best_gain: Int = np.int64(0)
    best_unchanged: Int = np.int64(0)
    best_rank = (np.int64(0), np.int64(0), np.int64(0))
    for start in range(count):
        if word_errors[min(count, start + _MOST_WORDS_SHIFTED)] == word_errors[start]:
            continue  # no block from here on has an error
        for match in range(max(0, start - _LONGEST_SHIFT), min(reference_count, start + _LONGEST_SHIFT + 1)):
            longest = min(_MOST_WORDS_SHIFTED, count - start, reference_count - match)
            length = 0
            while length < longest and words[start + length] == reference[match + length]:
                length += 1
                if (
                    word_errors[start + length] == word_errors[start]
                    or reference_errors[match + length] == reference_errors[match]
                    or start <= aligned[match] < start + length
                ):
                    continue
                previous = np.int64(-1)
                for position in range(match - 1, match + length):
                    target = np.int64(aligned[position]) + 1 if position >= 0 else np.int64(0)
                    if target == previous:
                        continue
                    previous = target
                    candidates += 1
                    unchanged, rejoined = _shift_into(words, start, length, target, shifted)
                    # A shift has to gain something; with the same gain as the best it may still win by its rank.
                    too_many = distance - max(best_gain, 1) + 1
                    cost = _shifted_distance(matrix, shifted, unchanged, rejoined, reference, too_many)
                    rank = (np.int64(length), np.int64(-start), -target)
                    gain = distance - cost
                    if cost < too_many and (gain > best_gain or rank > best_rank):
                        best_gain, best_rank, best_unchanged = gain, rank, unchanged
                        best[:] = shifted
                if candidates >= _MOST_CANDIDATES:
                    return best_gain, best_unchanged, candidates
    return best_gain, best_unchanged, candidates


@part
def _edits(hypothesis: Ids, reference: Ids) -> Int:
    """Shifts and edits from one hypothesis to one reference: shift greedily as long as it gains something.

    Once the candidates are used up, the shift found last does not count.
    """
    count, columns = len(hypothesis), len(reference) + 1
    if columns == 1:
        return count
    if count == 0:
        return columns - 1
    words = hypothesis.copy()
    shifted = np.empty_like(words)
    best = np.empty_like(words)
    beam = _beam(count, columns - 1)
    width = 2 * beam + math.ceil((columns - 1) / count) + 4
    cells = np.full((count + 1, width), _FAR, np.int32)
    firsts = np.zeros(count + 1, np.int32)
    for at in range(1, count + 1):
        firsts[at] = _first_column(at, count, columns - 1, beam)
    for column in range(min(columns, width - 1)):
        cells[0, column + 1] = column
    matrix = Matrix(cells, firsts, np.full((2, width), _FAR, np.int32))
    errors = Errors(np.empty(columns - 1, np.int32), np.empty(count + 1, np.int32), np.empty(columns, np.int32))
    shifts, candidates, unchanged = 0, 0, 0
    while True:
        for at in range(unchanged + 1, count + 1):
            _fill_row(cells[at - 1], cells[at], words[at - 1], reference, at, count)
        _align(matrix, words, reference, errors)
        gain, unchanged, candidates = _best_shift(matrix, words, reference, errors, shifted, best, candidates)
        if gain <= 0 or candidates >= _MOST_CANDIDATES:
            return shifts + np.int64(_cell(matrix, count, columns - 1))
        shifts += 1
        words[:] = best


@kernel
def ter_statistics(outputs: Tokens, sentences: Int64s, references: Tokens, groups: Int64s) -> Floats:
    """(fewest edits to any reference of the sentence, mean length of these) of each output.

    The references of sentence s are the lines from groups[s] to groups[s + 1]. Each of at most 1000 candidate shifts of
    n words costs up to 50 n cells of the edit matrix.
    """
    rows = np.empty((len(sentences), 2), np.float64)
    for output in range(len(sentences)):
        hypothesis = outputs.ids[outputs.offsets[output] : outputs.offsets[output + 1]]
        first, last = groups[sentences[output]], groups[sentences[output] + 1]
        fewest = np.int64(-1)
        total_length = 0
        for k in range(first, last):
            reference = references.ids[references.offsets[k] : references.offsets[k + 1]]
            edits = _edits(hypothesis, reference)
            total_length += len(reference)
            if fewest < 0 or edits < fewest:
                fewest = edits
        rows[output, 0] = fewest
        rows[output, 1] = total_length / (last - first)
    return rows
