"""The target side of a rule of cdec: words and numbers of tails."""

from __future__ import annotations

from typing import Any

import numpy as np

from hulltune.kernels._jit import kernel
from hulltune.kernels.raw_bytes import byte_at
from hulltune.kernels.raw_edges import Bytes, Integers, Numbers, number_of

_OPEN, _CLOSE, _COMMA, _BAR, _SPACE = 91, 93, 44, 124, 32
_LONGEST_NUMBER = 9
NO_ROOM, TAIL_ZERO = np.int64(-1), np.int64(-2)


@kernel
def _field_end(text: int, position: int, stop: int) -> int:
    """The next ``|||``, or ``stop``."""
    while position + 2 < stop:
        if byte_at(text, position) == byte_at(text, position + 1) == byte_at(text, position + 2) == _BAR:
            return position
        position += 1
    return stop


@kernel
def _in_brackets(text: int, start: int, stop: int) -> bool:
    """Whether a field, white space at its ends aside, is something in square brackets."""
    while start < stop and byte_at(text, start) <= _SPACE:
        start += 1
    while start < stop and byte_at(text, stop - 1) <= _SPACE:
        stop -= 1
    return bool(start < stop and byte_at(text, start) == _OPEN and byte_at(text, stop - 1) == _CLOSE)


@kernel
def target_side(text: int, start: int, stop: int) -> tuple[int, int]:
    """Which part of ``[X] ||| source ||| target ||| …`` is the target; all but it and the source may be missing."""
    first = _field_end(text, start, stop)
    if first == stop:
        return start, stop
    second = _field_end(text, first + 3, stop)
    if second == stop or not _in_brackets(text, start, first):
        return first + 3, second
    return second + 3, _field_end(text, second + 3, stop)


@kernel
def tail_number(text: int, start: int, stop: int) -> Any:
    """The number in ``[1]`` or ``[X,1]``; −1 for a word."""
    if stop - start < 3 or byte_at(text, start) != _OPEN or byte_at(text, stop - 1) != _CLOSE:
        return np.int64(-1)
    number, unit = np.int64(0), np.int64(1)
    place = stop - 2
    while 48 <= byte_at(text, place) <= 57:  # the bracket stops it
        number += unit * (np.int64(byte_at(text, place)) - 48)
        unit *= 10
        place -= 1
        if stop - 2 - place > _LONGEST_NUMBER:
            return np.int64(-1)
    if place == stop - 2 or not (place == start or byte_at(text, place) == _COMMA):
        return np.int64(-1)
    while place > start:
        if byte_at(text, place) == _CLOSE:
            return np.int64(-1)
        place -= 1
    return number


@kernel
def read_target(
    data: Bytes, text: int, start: int, stop: int, word_slots: Numbers, words: Integers, word_count: int,
    labels: Numbers, count: int,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Write the labels of a rule from place ``count`` on: the end, the last tail that it names, and the new number of
    words. The end may be NO_ROOM, or TAIL_ZERO where the rule names tail 0. Words end at any byte up to a space.
    """
    place, stop = target_side(text, start, stop)
    last_tail = np.int64(0)
    while True:
        while place < stop and byte_at(text, place) <= _SPACE:
            place += 1
        if place == stop:
            return count, last_tail, word_count
        if count == len(labels) or word_count == len(words):
            return NO_ROOM, last_tail, word_count
        first = place
        while place < stop and byte_at(text, place) > _SPACE:
            place += 1
        tail = tail_number(text, first, place)
        if tail == 0:
            return TAIL_ZERO, last_tail, word_count
        if tail > 0:
            labels[count] = -tail
            last_tail = max(last_tail, tail)
        else:
            word = number_of(data, first, place, word_slots, words, word_count)
            word_count = max(word_count, word + 1)
            labels[count] = word
        count += 1


@kernel
def spread_rules(rows: Integers, ends: Integers, labels: Numbers) -> tuple[Integers, Numbers]:
    """The labels of edges from those of their rules: where those of each edge end, and all of them. Linear in these."""
    offsets = np.zeros(len(rows) + 1, dtype=np.int64)
    for edge in range(len(rows)):
        offsets[edge + 1] = offsets[edge] + ends[rows[edge] + 1] - ends[rows[edge]]
    spread = np.empty(offsets[-1], dtype=np.int32)
    for edge in range(len(rows)):
        start, place = ends[rows[edge]], offsets[edge]
        for i in range(offsets[edge + 1] - place):
            spread[place + i] = labels[start + i]
    return offsets, spread
