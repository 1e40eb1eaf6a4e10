"""Keys, numbers and sentences of Moses search graphs, and what can be wrong with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from hulltune.kernels._jit import inlined, kernel
from hulltune.kernels.blanks import is_blank
from hulltune.kernels.eight_bytes import eight, eight_at, first_bytes, line_end
from hulltune.kernels.moses_tables import EQUALS, NEWLINE, SPACE
from hulltune.kernels.raw_edges import Bytes

# Why the kernel came back.
DONE, NO_SENTENCE, BAD_FIELD, BAD_NUMBER, BAD_SCORES, NO_HYPOTHESIS, NO_BACK, NO_OUT, NO_TRANSITION = range(9)
NO_SOURCE, FACTORED, NO_NAME, SCORES_DIFFER, REPEATED_NAME = range(9, 14)
MORE_STRINGS, MORE_LABELS, MORE_VALUES, MORE_PENDING = range(14, 18)  # room for them

# Keys of fields; a token without one has NO_KEY.
NO_KEY, OTHER, HYP, OUT, BACK_KEY, SCORES_KEY, FORWARD_KEY, TRANSITION, RECOMBINED = range(-1, 8)
CORE, COSTS = (np.frombuffer(key, dtype=np.uint8) for key in (b"core=(", b", pC="))
_TEXTS = (b"hyp", b"out", b"back", b"scores", b"forward", b"transition", b"recombined")
_KEYS = tuple(np.frombuffer(text, dtype=np.uint8) for text in _TEXTS)
_HYP_8, _OUT_8, _BACK_8, _SCORES_8, _FORWARD_8, _TRANSITION_8, _ = (eight(text + b"=") for text in _TEXTS)
_STACK_8, _SCORE_8, _FSCORE_8, _COVERED_8 = (eight(key) for key in (b"stack=", b"score=", b"fscore=", b"covered="))
_TO_FOUR, _TO_FIVE, _TO_SIX, _TO_SEVEN = (first_bytes(count) for count in (4, 5, 6, 7))
_ONE, _THREE, _FOUR, _FIVE, _SIX, _SEVEN, _EIGHT, _LONGEST = (np.uint64(n) for n in (1, 3, 4, 5, 6, 7, 8, 11))
_ITS_END, _FORTY = eight(b"on="), np.uint64(40)
_ZERO, _NINE = np.uint64(48), np.uint64(9)
_HUGE = 10**15


@inlined
def skip_blanks(data: Bytes, place: np.uint64) -> Any:
    """The next byte that is no white space."""
    while is_blank(data[place]):
        place += _ONE
    return place


@kernel
def is_text(data: Bytes, place: np.uint64, text: Bytes) -> bool:
    """Whether this text stands here."""
    if place + np.uint64(len(text)) > np.uint64(len(data)):
        return False
    for i in range(np.uint64(len(text))):  # noqa: SIM110  # Numba has no generators here
        if data[place + i] != text[i]:
            return False
    return True


@inlined
def field_key(data: Bytes, place: np.uint64) -> tuple[int, Any]:
    """Which key stands here, and the place after its ``=``; or NO_KEY, and the end of what stands here.

    The fields that Moses writes are told by eight bytes at once, others and the last ones of a text byte by byte.
    """
    key, after = NO_KEY, place
    if place + _LONGEST <= np.uint64(len(data)):
        word = eight_at(data, place)
        if word & _TO_FOUR == _HYP_8:
            key, after = HYP, place + _FOUR
        elif word & _TO_SIX == _STACK_8 or word & _TO_SIX == _SCORE_8:
            key, after = OTHER, place + _SIX
        elif word & _TO_FIVE == _BACK_8:
            key, after = BACK_KEY, place + _FIVE
        elif word == _TRANSITION_8 and eight_at(data, place + _THREE) >> _FORTY == _ITS_END:
            key, after = TRANSITION, place + _LONGEST
        elif word == _FORWARD_8:
            key, after = FORWARD_KEY, place + _EIGHT
        elif word & _TO_SEVEN == _FSCORE_8:
            key, after = OTHER, place + _SEVEN
        elif word == _COVERED_8:
            key, after = OTHER, place + _EIGHT
        elif word & _TO_SEVEN == _SCORES_8:
            key, after = SCORES_KEY, place + _SEVEN
        elif word & _TO_FOUR == _OUT_8:
            key, after = OUT, place + _FOUR
    if key == NO_KEY:
        key, after = _other_key(data, place)
    return key, after


@kernel
def _other_key(data: Bytes, start: np.uint64) -> tuple[int, Any]:
    """The same, byte by byte."""
    stop = start
    while data[stop] > SPACE and data[stop] != EQUALS:
        stop += _ONE
    if data[stop] != EQUALS or stop == start:
        return NO_KEY, stop
    length = np.int64(stop - start)
    for key in range(len(_KEYS)):
        if length == len(_KEYS[key]) and is_text(data, start, _KEYS[key]):
            return HYP + key, stop + _ONE
    return OTHER, stop + _ONE


@inlined
def whole_number(data: Bytes, start: np.uint64) -> tuple[Any, Any]:
    """Digits up to a blank or the line end, or −1 for anything else; and the place after them."""
    number = np.int64(0)
    place = start
    digit: Any = np.uint64(data[place]) - _ZERO
    while digit <= _NINE:  # what comes before 0 has become huge
        number = min(10 * number + np.int64(digit), np.int64(_HUGE))
        place += _ONE
        digit = np.uint64(data[place]) - _ZERO
    if place == start or not (is_blank(data[place]) or data[place] == NEWLINE):
        number = np.int64(-1)
        while not (is_blank(data[place]) or data[place] == NEWLINE):
            place += _ONE
    return number, place


@kernel
def next_sentence(data: Bytes, position: int, end: int, sentence: int) -> tuple[Any, Any, int]:
    """The first line from ``position`` on that is of another sentence than this one, the number of that sentence, and
    how many lines come before it.

    The end and ``sentence``, if there is none. Lines without a number count as sentence −1.
    """
    lines = 0
    place: Any = np.uint64(position)
    while place < np.uint64(end):
        number, cursor = whole_number(data, place)
        if number != sentence:
            return np.int64(place), number, lines
        place = line_end(data, cursor) + _ONE
        lines += 1
    return end, np.int64(sentence), lines
