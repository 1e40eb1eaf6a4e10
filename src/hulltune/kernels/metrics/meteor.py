"""METEOR's matches and chunks for many outputs at once, where words match by form or stem.

Words and positions then fall into classes, and within a class everything may match everything: the number of matches is
known, and the fewest chunks are the matches less the most *adjacencies*, pairs of consecutive words on consecutive
positions. ``hulltune.metrics._meteor_alignment`` solves the general problem and is the readable oracle of this one.

Positions are bits of an int64, so references have at most ``LONGEST`` words.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hulltune.arrays import Int64s
from hulltune.kernels.load.jit import kernel

LONGEST = 62
BUDGET = 20_000
"""States that the search may visit for one output before it gives up."""
_STACK = 4096


@kernel
def _bits(mask: int) -> int:
    """The number of bits that are set; O(that number)."""
    count = 0
    while mask:
        mask &= mask - 1
        count += 1
    return count


@kernel
def _lowest(mask: int) -> int:
    """The place of the lowest bit that is set, of a mask that has one."""
    place = 0
    while not mask >> place & 1:
        place += 1
    return place


@kernel
def _count_matches(own: Any, exact: Any, alike_modules: bool, row: Any) -> bool:
    """Fill in row[0] exact matches and row[1] stem matches; False if the choice of matches is not free.

    own[i] are the positions of the class of word i, exact[i] those of the same form. As many exact matches as
    possible are counted. If modules weigh differently, a class with both kinds of match is left to the
    oracle.
    """
    words_of_class = np.zeros(LONGEST, dtype=np.int64)
    words_of_form = np.zeros(LONGEST, dtype=np.int64)
    kind_of_class = np.zeros(LONGEST, dtype=np.int64)  # 0: not seen, 1: all exact, 2: all by stem
    matches, same_form = 0, 0
    for word in range(len(own)):
        if own[word] == 0:
            continue
        if not alike_modules and exact[word] != 0 and exact[word] != own[word]:
            return False
        kind = 1 if exact[word] else 2
        place = _lowest(own[word])
        if not alike_modules and kind_of_class[place] not in (0, kind):
            return False
        kind_of_class[place] = kind
        words_of_class[place] += 1
        if words_of_class[place] <= _bits(own[word]):
            matches += 1
        if exact[word]:
            form = _lowest(exact[word])
            words_of_form[form] += 1
            if words_of_form[form] <= _bits(exact[word]):
                same_form += 1
    row[0] = same_form
    row[1] = matches - same_form
    return True


@kernel
def _solve_relaxed(own: Any, most: Any, after: Any) -> None:
    """Write upper bounds on adjacencies, without the one-to-one rule.

    most[i] bounds those from word i on, after[i, j] those from word i on if it takes position j.
    """
    count = len(own)
    most[count] = 0
    if count:
        most[count - 1] = 0
        after[count - 1, :] = 0
    for word in range(count - 2, -1, -1):
        best = most[word + 1]
        opens = own[word] & (own[word + 1] >> 1)
        after[word, :] = most[word + 1]
        while opens:
            place = _lowest(opens)
            opens &= opens - 1
            value = max(most[word + 1], 1 + after[word + 1, place + 1])
            after[word, place] = value
            best = max(best, value)
        most[word] = best


@kernel
def _most_adjacencies(own: Any, most: Any, after: Any, stack: Any, budget: int) -> int:
    """The most adjacencies of a one-to-one alignment, or −1 if the search needs more than ``budget`` states.

    Depth first: at each word continue the run, or open one (of two words at least), or leave the word to be
    matched alone. The best bound goes first; the others wait on the stack, and are dropped where they cannot
    beat the best.
    """
    count = len(own)
    best, visited, height = -1, 0, 1
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, 0, -1, 0
    while height:
        height -= 1
        word, used, previous, gained = stack[height, 0], stack[height, 1], stack[height, 2], stack[height, 3]
        while True:
            bound = most[word]
            following = previous + 1
            continues = previous >= 0 and word < count and own[word] >> following & 1
            continues = continues and not used >> following & 1
            if continues:
                bound = max(bound, 1 + after[word, following])
            if gained + bound <= best:
                break
            if word == count:
                best = gained
                if best == most[0]:
                    return int(best)
                break
            visited += 1
            if visited > budget or height + LONGEST >= _STACK:
                return -1
            # The best choice so far; the value of a choice is a bound of all adjacencies from this word on.
            value, next_word, next_used, next_previous, next_gained = (
                most[word + 1],
                word + 1,
                used,
                -1,
                gained,
            )
            if continues:
                other = 1 + after[word, following]
                if other >= value:
                    if gained + value > best:
                        stack[height, 0], stack[height, 1], stack[height, 2] = (
                            next_word,
                            next_used,
                            next_previous,
                        )
                        stack[height, 3] = next_gained
                        height += 1
                    value, next_used, next_previous = other, used | 1 << following, following
                    next_gained = gained + 1
                elif gained + other > best:
                    stack[height, 0], stack[height, 1] = word + 1, used | 1 << following
                    stack[height, 2], stack[height, 3] = following, gained + 1
                    height += 1
            if word + 1 < count:
                opens = own[word] & (own[word + 1] >> 1) & ~used & ~(used >> 1)
                while opens:
                    place = _lowest(opens)
                    opens &= opens - 1
                    if continues and place == following:
                        continue  # continuing the run here is better
                    other = 1 + after[word + 1, place + 1]
                    if other > value:
                        if gained + value > best:
                            stack[height, 0], stack[height, 1] = next_word, next_used
                            stack[height, 2], stack[height, 3] = next_previous, next_gained
                            height += 1
                        value, next_word, next_used = other, word + 2, used | 3 << place
                        next_previous, next_gained = place + 1, gained + 1
                    elif gained + other > best:
                        stack[height, 0], stack[height, 1] = word + 2, used | 3 << place
                        stack[height, 2], stack[height, 3] = place + 1, gained + 1
                        height += 1
            word, used, previous, gained = next_word, next_used, next_previous, next_gained
    return int(best)


@kernel
def match_rows(
    types: Int64s,
    offsets: Int64s,
    class_of_type: Int64s,
    form_of_type: Int64s,
    alike_modules: bool,
    budget: int,
) -> Int64s:
    """(exact matches, stem matches, chunks) of each output; −1 chunks where the oracle has to be asked.

    The words of output k are types[offsets[k] : offsets[k + 1]]; a type has the reference positions of its class and of
    its form as bits.
    """
    count = len(offsets) - 1
    rows = np.zeros((count, 3), dtype=np.int64)
    longest = 0
    for k in range(count):
        longest = max(longest, offsets[k + 1] - offsets[k])
    most = np.zeros(longest + 1, dtype=np.int64)
    after = np.zeros((longest + 1, LONGEST + 1), dtype=np.int64)
    stack = np.zeros((_STACK, 4), dtype=np.int64)
    for k in range(count):
        chosen = types[offsets[k] : offsets[k + 1]]
        own, exact = class_of_type[chosen], form_of_type[chosen]
        if not _count_matches(own, exact, alike_modules, rows[k]):
            rows[k, 2] = -1
            continue
        _solve_relaxed(own, most, after)
        adjacencies = _most_adjacencies(own, most, after, stack, budget)
        rows[k, 2] = -1 if adjacencies < 0 else rows[k, 0] + rows[k, 1] - adjacencies
    return rows
