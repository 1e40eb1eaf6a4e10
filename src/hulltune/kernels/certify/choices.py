"""Choices of one candidate per sentence in certified search: equal candidates, and the best of all sums."""

from __future__ import annotations

import numpy as np

from hulltune.arrays import Bools, FloatRows, Floats, Int64s
from hulltune.kernels.certify.winners import Contestants, Undecided
from hulltune.kernels.load.kernel import kernel


@kernel
def first_of_equals(columns: FloatRows, offsets: Int64s) -> Int64s:
    """The first row of the same sentence with equal values, for each row; ``columns`` is the matrix by column.

    O(n²) for a list of n, but most pairs differ in the first value.
    """
    width = columns.shape[0]
    first = np.arange(offsets[-1])
    for s in range(offsets.size - 1):
        for i in range(offsets[s], offsets[s + 1]):
            for j in range(offsets[s], i):
                if first[j] != j:
                    continue
                same = True
                for k in range(width):
                    if columns[k, i] != columns[k, j]:
                        same = False
                        break
                if same:
                    first[i] = j
                    break
    return first


@kernel
def clearly_apart(sums: Floats, errors: Floats, columns: FloatRows, offsets: Int64s) -> Bools:
    """Whether the sums of candidates with different columns differ by more than their rounding, for each sentence."""
    apart = np.ones(offsets.size - 1, np.bool_)
    for s in range(offsets.size - 1):
        for i in range(offsets[s], offsets[s + 1]):
            for j in range(offsets[s], i):
                if abs(sums[i] - sums[j]) <= errors[s]:
                    for k in range(columns.shape[0]):
                        if columns[k, i] != columns[k, j]:
                            apart[s] = False
    return apart


@kernel
def minimisers(
    known: Contestants, left: Undecided, slopes: FloatRows, chosen: Int64s, widths: FloatRows, hopes: FloatRows
) -> Floats:
    """The summed statistics x of one candidate per sentence with the least slopes · x, in each chosen box.

    The best candidate of each sentence is found on its own: O(candidates × columns). Where it is not the winner at the
    centre (the first that is listed), the bound hopes for more than is there. ``hopes`` gets the excess, divided among
    the coordinates by how much each lets the two candidates differ within the box (``widths`` are its sides).
    Candidates that differ in no coordinate that can still be split add nothing.
    """
    features, statistics = known.features, known.statistics
    columns = statistics.shape[1]
    sums = np.empty((chosen.size, columns))
    for c in range(chosen.size):
        box = chosen[c]
        hopes[box] = 0.0
        sums[c] = left.bases[box]
        for place in range(left.ends[box], left.ends[box + 1]):
            winner = left.candidates[left.offsets[place]]
            at_winner = 0.0
            for k in range(columns):
                at_winner += slopes[c, k] * statistics[winner, k]
            best, least = winner, at_winner
            for n in range(left.offsets[place] + 1, left.offsets[place + 1]):
                candidate = left.candidates[n]
                value = 0.0
                for k in range(columns):
                    value += slopes[c, k] * statistics[candidate, k]
                if value < least:
                    best, least = candidate, value
            for k in range(columns):
                sums[c, k] += statistics[best, k]
            if least < at_winner:
                room = 0.0
                for k in range(features.shape[1]):
                    room += abs(features[best, k] - features[winner, k]) * widths[box, k]
                if not room > 0.0:
                    continue
                for k in range(features.shape[1]):
                    part = abs(features[best, k] - features[winner, k]) * widths[box, k]
                    hopes[box, k] += (at_winner - least) * (part / room)
    return sums


@kernel
def all_choices(known: Contestants, left: Undecided, chosen: Int64s, most: int) -> tuple[Int64s, Floats]:
    """The summed statistics of all choices of one candidate per sentence, in each chosen box.

    Returns the offsets of the boxes in the sums, and the sums. A box with more than ``most`` choices has none.
    """
    statistics, classes = known.statistics, known.classes
    columns = statistics.shape[1]
    longest = 1
    for place in range(left.offsets.size - 1):
        longest = max(longest, left.offsets[place + 1] - left.offsets[place])
    distinct = np.empty(longest, np.int32)
    offsets = np.zeros(chosen.size + 1, np.int64)
    sums = np.empty((chosen.size * most, columns))
    total = 0
    for c in range(chosen.size):
        box = chosen[c]
        offsets[c + 1] = total
        sums[total] = left.bases[box]
        count = 1
        for place in range(left.ends[box], left.ends[box + 1]):
            kinds = 0
            for n in range(left.offsets[place], left.offsets[place + 1]):
                seen = False
                for m in range(kinds):
                    seen = seen or classes[distinct[m]] == classes[left.candidates[n]]
                if not seen:
                    distinct[kinds] = left.candidates[n]
                    kinds += 1
            if count * kinds > most:
                count = 0
                break
            for m in range(kinds - 1, -1, -1):  # the first candidate comes last: its sums overwrite their input
                for i in range(count):
                    for k in range(columns):
                        sums[total + m * count + i, k] = sums[total + i, k] + statistics[distinct[m], k]
            count *= kinds
        total += count
        offsets[c + 1] = total
    return offsets, sums[:total]
