"""HTK's standard lattice format, bytes to numbers: lines of ``key=value``, a node (``I=``) or a link (``J=``) each.

The kernel reads nodes and links only. It stops at a header line, at a key that it has not met, and at a line that it
cannot read, and leaves those to Python; then it is called again where it stopped.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hulltune.arrays import Bytes, FloatRows, Int64Rows, Int64s
from hulltune.kernels.load.kernel import kernel, part
from hulltune.kernels.reading.blanks import is_blank
from hulltune.kernels.reading.decimals import read_decimal, whole_number
from hulltune.kernels.reading.interning import Texts, find_text, intern

# Why the kernel returned.
DONE, HEADER, NEW_KEY, ODD, GROW_PENDING = 0, 1, 2, 3, 4

# Places in the state, a vector of integers that outlives a call.
POSITION, LINE, ROWS, PENDING, COLUMNS, FIRST, LAST = range(7)
STATE_SIZE = 7

# Roles of keys; a role of 0 or more is the number of a feature column.
IGNORED, WORD, START, END, NUMBER, UNKNOWN = -1, -2, -3, -4, -5, -6

_NEWLINE, _EQUALS, _QUOTE, _HASH, _I, _J = 10, 61, 34, 35, 73, 74


class Rows(NamedTuple):
    """Nodes and links in the order of the file. A node has its number in ``source`` and −1 in ``target``; ``word`` is
    −1 where there is none.
    """

    source: Int64s
    target: Int64s
    word: Int64s
    line: Int64s
    values: FloatRows
    """Features by rows; NaN where a field is not there."""


class Keys(NamedTuple):
    """Roles of the keys: those of one byte by that byte, longer ones by their number among the texts."""

    of_byte: Int64s
    texts: Texts
    of_text: Int64s


@part
def _value_end(data: Bytes, position: int) -> int:
    """The end of a value: the next blank, or a closing quote before a blank if it begins with a quote."""
    start = position
    while not is_blank(data[position]) and data[position] != _NEWLINE:
        position += 1
    if data[start] != _QUOTE or (position - start > 1 and data[position - 1] == _QUOTE):
        return position
    ahead = position
    while data[ahead] != _NEWLINE:
        ahead += 1
        after = data[ahead]
        if data[ahead - 1] == _QUOTE and (is_blank(after) or after == _NEWLINE):
            return ahead
    return position


@kernel
def parse_lines(data: Bytes, end: int, state: Int64s, keys: Keys, words: Texts, rows: Rows, pending: Int64Rows) -> int:
    """Read lines from the position in the state on; returns a code. ``data`` ends with a line end; O(bytes)."""
    while state[POSITION] < end:
        position = state[POSITION]
        while is_blank(data[position]):
            position += 1
        if data[position] == _HASH:
            while data[position] != _NEWLINE:
                position += 1
        if data[position] == _NEWLINE:
            state[POSITION] = position + 1
            state[LINE] += 1
            continue
        is_link = data[position] == _J
        if data[position + 1] != _EQUALS or not (is_link or data[position] == _I):
            return HEADER
        row = state[ROWS]
        waiting = state[PENDING]
        source, target, word = -1, -1, -1
        for column in range(state[COLUMNS]):
            rows.values[row, column] = np.nan
        seen = 0
        while True:
            while is_blank(data[position]):
                position += 1
            if data[position] == _NEWLINE:
                break
            first = position
            while data[position] != _EQUALS and not is_blank(data[position]) and data[position] != _NEWLINE:
                position += 1
            if data[position] != _EQUALS:
                return ODD
            if position - first == 1:
                role = keys.of_byte[data[first]]
            else:
                key = find_text(keys.texts, data, first, position)
                role = keys.of_text[key] if key >= 0 else UNKNOWN
            if role == UNKNOWN:
                state[FIRST], state[LAST] = first, position
                return NEW_KEY
            position += 1
            if role >= 0:
                value, stop, certain = read_decimal(data, position)
                if not certain or not (is_blank(data[stop]) or data[stop] == _NEWLINE):
                    stop = _value_end(data, position)
                    if waiting == len(pending):
                        return GROW_PENDING
                    pending[waiting, 0], pending[waiting, 1] = row, role
                    pending[waiting, 2], pending[waiting, 3] = position, stop
                    waiting += 1
                    value = 0.0
                if rows.values[row, role] == rows.values[row, role]:  # not NaN: the field is there twice
                    return ODD
                rows.values[row, role] = value
                position = stop
                continue
            stop = _value_end(data, position)
            if role == WORD:
                if word >= 0 or stop == position:
                    return ODD
                word = intern(words, data, position, stop)
            elif role != IGNORED:
                number = whole_number(data, position, stop)
                bit = 1 << (-role)
                if number < 0 or seen & bit:
                    return ODD
                seen |= bit
                if role == END:
                    target = number
                elif (role == START) == is_link:  # the number of a link is of no use
                    source = number
            position = stop
        if source < 0 or (target >= 0) != is_link:
            return ODD
        rows.source[row], rows.target[row], rows.word[row], rows.line[row] = source, target, word, state[LINE]
        state[ROWS] += 1
        state[PENDING] = waiting
        state[POSITION] = position + 1
        state[LINE] += 1
    return DONE
