"""Moses candidate lists, bytes to numbers: the lines that name the features that the lines before them name.

Nearly all lines of a list have the same features in the same order. So the kernel knows one *layout*, a sequence of
names with their numbers of values and styles, of which names in the sparse style may be absent. It reads lines as long
as they fit, and stops at the start of the first one that does not: an odd line is read by Python, which decides what
is a fault, and gives the kernel another layout. Nothing of an odd line is kept here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hulltune.arrays import Bytes, Floats, Int32s, Int64s, Reals, RealTable
from hulltune.kernels.load.kernel import kernel, part
from hulltune.kernels.reading.blanks import is_blank
from hulltune.kernels.reading.decimals import read_decimal

POSITION, LINE, ROWS, VALUES, TEXT, LAYOUT, HAS_SCORE, ID_KEY, ID_LENGTH, STATE_SIZE = range(10)
"""Places in the state, a vector of integers that outlives a call, and their number."""
LONGEST_ID = 256
MORE_LEFT_OUT = 8
"""The number of values that a line may leave out beyond those that it gives."""
LONGEST_NUMBER = 18
_NEWLINE, _BAR = 10, 124


class Layout(NamedTuple):
    """The features of a line in their order, each with its number of values.

    ``names[ends[k - 1]:ends[k]]`` is the name of feature k with its ``=`` or ``:``, or nothing for values without one.
    Dense values stand after blanks, and a sparse one stands at the name. ``skipped`` is room for a line, and ``absent``
    counts the lines that have left a feature out.
    """

    names: Bytes
    ends: Int64s
    counts: Int64s
    dense: Bytes
    optional: Bytes
    skipped: Bytes
    absent: Int64s


class Output(NamedTuple):
    """The rows of a block of lines. Features that are left out have the value 0."""

    values: Floats
    row_layout: Int32s
    row_id: Int64s
    row_score: Floats
    row_text: Int64s
    text: Bytes


@part
def _skip_blanks(data: Bytes, position: int) -> int:
    """The position of the next byte that is no white space."""
    while is_blank(data[position]):
        position += 1
    return position


@part
def _at_bars(data: Bytes, position: int) -> bool:
    """Whether ``|||`` stands at this position. A search for it stops at the line end, which all data have."""
    return bool(data[position] == _BAR and data[position + 1] == _BAR and data[position + 2] == _BAR)


@part
def _ends_token(data: Bytes, position: int) -> bool:
    """Whether a token that reaches up to this position ends there."""
    byte = data[position]
    return is_blank(byte) or byte == _NEWLINE or (byte == _BAR and _at_bars(data, position))


@part
def _read_id(data: Bytes, start: int, stop: int, state: Int64s, last_id: Bytes) -> Any:
    """The key of an id: its number, or the key below −1 that Python gave it in the line before; −1 for others."""
    length = stop - start
    if length == state[ID_LENGTH]:
        same = True
        for i in range(length):
            if data[start + i] != last_id[i]:
                same = False
                break
        if same:
            return state[ID_KEY]
    if length == 0 or length > LONGEST_NUMBER:
        return np.int64(-1)
    number = np.int64(0)
    for i in range(start, stop):
        digit = np.int64(data[i]) - 48
        if digit < 0 or digit > 9:
            return np.int64(-1)
        number = 10 * number + digit
    for i in range(length):
        last_id[i] = data[start + i]
    state[ID_LENGTH], state[ID_KEY] = length, number
    return number


@part
def _read_features(data: Bytes, position: int, used: int, layout: Layout, values: Floats) -> tuple[int, int]:
    """Read the features of a line into ``values``: the position after them, and the next value; −1 if they do not fit.

    A number whose nearest double is not certain does not fit, nor does a line that leaves out far more than it gives:
    the zeros in its place would take more memory than the file.
    """
    left_out = 0
    begin = used
    for entry in range(len(layout.counts)):
        start = position = _skip_blanks(data, position)
        first, last = layout.ends[entry - 1] if entry > 0 else 0, layout.ends[entry]
        dense = layout.dense[entry]
        same = True
        for i in range(first, last):
            if data[position] != layout.names[i]:
                same = False
                break
            position += 1
        layout.skipped[entry] = not same or (last > first and is_blank(data[position]) != dense)
        if layout.skipped[entry]:
            if not layout.optional[entry]:
                return -1, used
            position = start
            left_out += layout.counts[entry]
            for _ in range(layout.counts[entry]):
                values[used] = 0.0
                used += 1
            continue
        for _ in range(layout.counts[entry]):
            if dense:
                position = _skip_blanks(data, position)
            value, stop, certain = read_decimal(data, position)
            if not certain or not _ends_token(data, stop):
                return -1, used
            values[used] = value
            used += 1
            position = stop
    if 2 * left_out > used - begin + MORE_LEFT_OUT:
        return -1, used
    position = _skip_blanks(data, position)
    return (position if data[position] == _NEWLINE or _at_bars(data, position) else -1), used


@part
def _read_score(data: Bytes, position: int, has_score: int) -> tuple[bool, float]:
    """Whether the score field at the position fits, and the score: one number, or nothing where lists have none."""
    if data[position] == _NEWLINE:
        return has_score == 0, 0.0
    position = _skip_blanks(data, position + 3)
    if data[position] == _NEWLINE or _at_bars(data, position):
        return has_score == 0, 0.0
    score, stop, certain = read_decimal(data, position)
    if not certain or not _ends_token(data, stop) or has_score == 0:
        return False, 0.0
    stop = _skip_blanks(data, stop)
    return data[stop] == _NEWLINE or _at_bars(data, stop), score


@kernel
def parse_lines(data: Bytes, end: int, state: Int64s, layout: Layout, output: Output, last_id: Bytes) -> None:
    """Read lines from ``state[POSITION]`` on, until ``end`` (after a line end) or the first odd line; linear."""
    while state[POSITION] < end:
        row = state[ROWS]
        start = position = _skip_blanks(data, state[POSITION])
        while data[position] != _NEWLINE and not (data[position] == _BAR and _at_bars(data, position)):
            position += 1
        if data[position] == _NEWLINE:
            return
        stop = position
        while stop > start and is_blank(data[stop - 1]):
            stop -= 1
        key = _read_id(data, start, stop, state, last_id)
        if key == -1:
            return

        position = _skip_blanks(data, position + 3)
        text = state[TEXT]
        while data[position] != _NEWLINE and not (data[position] == _BAR and _at_bars(data, position)):
            output.text[text] = data[position]
            text += 1
            position += 1
        if data[position] == _NEWLINE:
            return
        while text > state[TEXT] and is_blank(output.text[text - 1]):
            text -= 1

        position, used = _read_features(data, position + 3, state[VALUES], layout, output.values)
        if position < 0:
            return
        fits, score = _read_score(data, position, state[HAS_SCORE])
        if not fits:
            return
        for entry in range(len(layout.counts)):
            layout.absent[entry] += layout.skipped[entry]

        while data[position] != _NEWLINE:
            position += 1
        output.row_layout[row] = state[LAYOUT]
        output.row_id[row] = key
        output.row_score[row] = score
        output.row_text[row] = text - state[TEXT]
        state[VALUES], state[TEXT] = used, text
        state[ROWS] += 1
        state[LINE] += 1
        state[POSITION] = position + 1


@kernel
def scatter(
    values: Reals,
    row_layout: Int32s,
    destination: Int64s,
    starts: Int64s,
    columns: Int32s,
    matrix: RealTable,
) -> None:
    """Spread the values of rows over a matrix: those of layout k go to ``columns[starts[k]:starts[k + 1]]``."""
    index = 0
    for row in range(len(row_layout)):
        target = destination[row]
        layout = row_layout[row]
        for place in range(starts[layout], starts[layout + 1]):
            matrix[target, columns[place]] = values[index]
            index += 1
