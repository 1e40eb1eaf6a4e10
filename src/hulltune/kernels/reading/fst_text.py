"""OpenFst's text format, bytes to numbers: ``from to label [label] [weight]`` an arc, ``state [weight]`` a final state.

One line does not tell whether four fields are an acceptor's arc with a weight or a transducer's arc without one. So a
first kernel surveys the lines, Python decides, and a second kernel reads them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hulltune.arrays import Bytes, FloatRows, Floats, Int64Rows, Int64s
from hulltune.kernels.load.kernel import kernel, part
from hulltune.kernels.reading.blanks import is_blank
from hulltune.kernels.reading.decimals import read_decimal, whole_number
from hulltune.kernels.reading.interning import Texts, intern

# Why the kernel returned.
DONE, ODD, GROW_PENDING = 0, 1, 2

# Places in the state, a vector of integers that outlives a call.
POSITION, LINE, ROWS, PAIRS, PENDING = range(5)
STATE_SIZE = 5

# How weights are written: numbers; two numbers, then whole numbers joined by '_'; or 0 and pairs of key and value.
NUMBERS, KALDI, TUPLE = 0, 1, 2

# Counts of the survey: lines with 0 to 5 fields and with more; lines with four fields of which the last is no weight
# (or, for Kaldi, has no comma); the most numbers in the last of 2, 4 and 5 fields.
NO_WEIGHT, MOST_IN_TWO, MOST_IN_FOUR, MOST_IN_FIVE = 7, 8, 9, 10
SURVEY_SIZE = 11

_NEWLINE, _COMMA, _UNDERSCORE = 10, 44, 95
_SPELLED = (b"infinity", b"inf", b"nan", b"badnumber")
_NAMES = np.array([list(name.ljust(9)) for name in _SPELLED], dtype=np.uint8)
_NAME_LENGTHS = np.array([len(name) for name in _SPELLED])


class Rows(NamedTuple):
    """Arcs and final states in the order of the file; a final state has −1 as target and as label."""

    source: Int64s
    target: Int64s
    label: Int64s
    line: Int64s
    values: FloatRows


class Pairs(NamedTuple):
    """The values of sparse tuples, each with its row and key."""

    row: Int64s
    key: Int64s
    value: Floats


@part
def _ends(byte: int) -> bool:
    return is_blank(byte) or byte == _NEWLINE


@part
def _split(data: Bytes, position: int, fields: Int64s) -> tuple[int, int]:
    """Write the fields of a line, at most six, as starts and stops; returns their number and the end of the line."""
    count = 0
    while True:
        while is_blank(data[position]):
            position += 1
        if data[position] == _NEWLINE:
            return count, position
        start = position
        while not _ends(data[position]):
            position += 1
        if count < 6:
            fields[2 * count], fields[2 * count + 1] = start, position
            count += 1


@part
def _is_no_number(data: Bytes, start: int, stop: int) -> bool:
    """Whether a piece of a weight is Infinity, inf, nan or BadNumber, in any case and with any sign."""
    if stop > start and (data[start] == 45 or data[start] == 43):
        start += 1
    for name in range(len(_NAMES)):
        if _NAME_LENGTHS[name] == stop - start:
            same = True
            for i in range(stop - start):
                same &= (data[start + i] | 32) == _NAMES[name, i]
            if same:
                return True
    return False


@part
def _is_weight(data: Bytes, start: int, stop: int) -> bool:
    """Whether a field is made of numbers and commas."""
    position = start
    while position < stop:
        _, after, _ = read_decimal(data, position)
        if after == position:
            after = position
            while after < stop and data[after] != _COMMA:
                after += 1
            if not _is_no_number(data, position, after):
                return False
        if after == stop:
            return True
        if data[after] != _COMMA:
            return False
        position = after + 1
    return False


@part
def _is_pair(data: Bytes, start: int, stop: int) -> bool:
    """Whether a field is a weight with a comma in it."""
    for i in range(start, stop):
        if data[i] == _COMMA:
            return _is_weight(data, start, stop)
    return False


@kernel
def survey(data: Bytes, start: int, end: int, kaldi: bool) -> Int64s:
    """Count the lines by their numbers of fields; see SURVEY_SIZE. ``data`` ends with a line end; O(bytes)."""
    counts = np.zeros(SURVEY_SIZE, dtype=np.int64)
    fields = np.empty(12, dtype=np.int64)
    position = start
    while position < end:
        count, position = _split(data, position, fields)
        position += 1
        counts[count] += 1
        if count in (2, 4, 5):
            first, last = fields[2 * count - 2], fields[2 * count - 1]
            commas = 0
            for i in range(first, last):
                commas += data[i] == _COMMA
            most = MOST_IN_TWO if count == 2 else MOST_IN_FOUR if count == 4 else MOST_IN_FIVE
            counts[most] = max(counts[most], commas + 1)
            if count == 4 and ((kaldi and commas == 0) or (not kaldi and not _is_weight(data, first, last))):
                counts[NO_WEIGHT] += 1
    return counts


@part
def _read_weight(
    data: Bytes, position: int, stop: int, row: int, style: int, rows: Rows, pairs: Pairs, pending: Int64s,
    counts: Int64s,
) -> int:  # fmt: skip
    """Read a weight into the row, or into pairs; ``counts`` are the numbers of pairs and of pending values so far.

    A pending value is stored as its row, its column (or −1 − its pair), and the start and stop of its text.
    """
    width = rows.values.shape[1]
    number = 0
    key = np.int64(0)
    while True:
        if style == KALDI and number == 2:
            while position < stop and (48 <= data[position] <= 57 or data[position] == _UNDERSCORE):
                position += 1
            return DONE if position == stop else ODD
        if style == TUPLE and number % 2 == 1:
            after = position
            while after < stop and data[after] != _COMMA:
                after += 1
            key = whole_number(data, position, after)
            if key < 1 or after == stop:
                return ODD
        else:
            value, after, certain = read_decimal(data, position)
            is_pair = style == TUPLE and number > 0
            if not is_pair and number == width:
                return ODD
            if not certain or not (after == stop or data[after] == _COMMA):
                after = position
                while after < stop and data[after] != _COMMA:
                    after += 1
                if counts[1] == len(pending):
                    return GROW_PENDING
                pending[counts[1], 0], pending[counts[1], 1] = row, -1 - counts[0] if is_pair else number
                pending[counts[1], 2], pending[counts[1], 3] = position, after
                counts[1] += 1
                value = 0.0
            if is_pair:
                pairs.row[counts[0]], pairs.key[counts[0]], pairs.value[counts[0]] = row, key, value
                counts[0] += 1
            else:
                rows.values[row, number] = value
        number += 1
        if after == stop:
            return DONE if style == TUPLE or number == width else ODD
        position = after + 1


@part
def _read_numbers(data: Bytes, position: int, stop: int, style: int, values: Floats, row: int) -> bool:
    """Read a weight of the usual form, which most have; False where ``_read_weight`` must read it."""
    width = values.shape[1]
    for column in range(width):
        value, position, certain = read_decimal(data, position)
        if not certain:
            return False
        values[row, column] = value
        if column + 1 < width:
            if data[position] != _COMMA:
                return False
            position += 1
    if style == KALDI and data[position] == _COMMA:
        position += 1
        while 48 <= data[position] <= 57 or data[position] == _UNDERSCORE:
            position += 1
    return position == stop


@kernel
def parse_lines(
    data: Bytes, end: int, state: Int64s, transducer: bool, style: int, labels: Texts, rows: Rows, pairs: Pairs,
    pending: Int64Rows,
) -> int:  # fmt: skip
    """Read lines from the position in the state on; returns a code. ``data`` ends with a line end; O(bytes)."""
    fields = np.empty(12, dtype=np.int64)
    counts = np.empty(2, dtype=np.int64)
    arc_fields = 4 if transducer else 3
    while state[POSITION] < end:
        count, position = _split(data, state[POSITION], fields)
        row = state[ROWS]
        if count > 0:
            is_arc = count == arc_fields or count == arc_fields + 1
            if not is_arc and count > 2:
                return ODD
            source = whole_number(data, fields[0], fields[1])
            target = whole_number(data, fields[2], fields[3]) if is_arc else np.int64(-1)
            if source < 0 or (is_arc and target < 0):
                return ODD
            if style == KALDI and transducer and count == 4 and _is_pair(data, fields[6], fields[7]):
                return ODD  # a label is missing, not the weight
            for column in range(rows.values.shape[1]):
                rows.values[row, column] = 0.0
            counts[0], counts[1] = state[PAIRS], state[PENDING]
            if (is_arc and count > arc_fields) or count == 2:
                start, stop = fields[2 * count - 2], fields[2 * count - 1]
                if style == TUPLE or not _read_numbers(data, start, stop, style, rows.values, row):
                    code = _read_weight(data, start, stop, row, style, rows, pairs, pending, counts)
                    if code != DONE:
                        return code
            rows.source[row], rows.target[row], rows.line[row] = source, target, state[LINE]
            rows.label[row] = -1
            if is_arc:
                rows.label[row] = intern(labels, data, fields[2 * arc_fields - 2], fields[2 * arc_fields - 1])
            state[PAIRS], state[PENDING] = counts[0], counts[1]
            state[ROWS] += 1
        state[POSITION] = position + 1
        state[LINE] += 1
    return DONE
