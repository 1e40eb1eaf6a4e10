"""Keys, numbers and sentences of Moses search graphs: what the kernel that reads them is made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from hulltune.kernels._jit import kernel
from hulltune.kernels.moses_fields import is_blank
from hulltune.kernels.moses_tables import EQUALS, NEWLINE, RETURN, SPACE, TAB
from hulltune.kernels.raw_edges import Bytes

OTHER, HYP, OUT, BACK_KEY, SCORES_KEY, FORWARD_KEY, TRANSITION, RECOMBINED = range(8)  # keys of fields
CORE, COSTS = (np.frombuffer(key, dtype=np.uint8) for key in (b"core=(", b", pC="))
_HYP, _BACK, _FORWARD, _RECOMBINED, _TRANSITION, _SCORES, _OUT = (
    np.frombuffer(key, dtype=np.uint8)
    for key in (b"hyp", b"back", b"forward", b"recombined", b"transition", b"scores", b"out")
)
_COMMA, _BRACKET = 44, 91
_HUGE = 10**15
_ONE = np.uint64(1)


@kernel
def is_text(data: Bytes, start: int, stop: int, key: Bytes) -> bool:
    """Whether this stretch is the key."""
    if stop - start != len(key):
        return False
    for i in range(len(key)):  # noqa: SIM110  # Numba has no generators here
        if data[start + i] != key[i]:
            return False
    return True


@kernel
def field_key(data: Bytes, start: int, stop: int) -> int:
    """Which of the keys this stretch is, or OTHER."""
    length = stop - start
    if length == 3:
        if is_text(data, start, stop, _HYP):
            return HYP
        return OUT if is_text(data, start, stop, _OUT) else OTHER
    if length == 4:
        return BACK_KEY if is_text(data, start, stop, _BACK) else OTHER
    if length == 6:
        return SCORES_KEY if is_text(data, start, stop, _SCORES) else OTHER
    if length == 7:
        return FORWARD_KEY if is_text(data, start, stop, _FORWARD) else OTHER
    if length == 10:
        if is_text(data, start, stop, _TRANSITION):
            return TRANSITION
        return RECOMBINED if is_text(data, start, stop, _RECOMBINED) else OTHER
    return OTHER


@kernel
def whole_number(data: Bytes, start: int) -> tuple[Any, int]:
    """Digits up to a blank or the line end, or −1 for anything else; and the place after them."""
    number = np.int64(0)
    position = start
    while data[position] != NEWLINE and not is_blank(data[position]):
        digit = np.int64(data[position]) - 48
        if number >= 0:
            number = min(10 * number + digit, np.int64(_HUGE)) if 0 <= digit <= 9 else np.int64(-1)
        position += 1
    return (number if position > start else np.int64(-1)), position


@kernel
def next_sentence(data: Bytes, position: int, end: int, sentence: int) -> tuple[int, Any]:
    """The first line from ``position`` on that is of another sentence than this one, and the number of that sentence.

    The end and ``sentence``, if there is none. Lines without a number count as sentence −1.
    """
    while position < end:
        number, cursor = whole_number(data, position)
        if number != sentence:
            return position, number
        place: Any = np.uint64(cursor)  # unsigned, because Numba checks signed indices for a minus sign
        while data[place] != NEWLINE:
            place += _ONE
        position = int(place) + 1
    return end, np.int64(sentence)


@kernel
def count_marks(data: Bytes) -> tuple[int, int, int]:
    """Line ends, blanks, and marks that stand before a value or between two."""
    lines, blanks, marks = 0, 0, 0
    for byte in data:
        lines += byte == NEWLINE
        blanks += (byte == SPACE) | (byte == TAB) | (byte == RETURN)
        marks += (byte == _COMMA) | (byte == _BRACKET) | (byte == EQUALS)
    return lines, blanks, marks
