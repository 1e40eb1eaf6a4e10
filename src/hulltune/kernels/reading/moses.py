"""Moses candidate lists, bytes to numbers: the lines whose features are all known by name.

Nearly all lines of a list name the features of the line before, in their order, or some of them: so the kernel expects
each next, and looks other names up. It reads lines as long as it knows all of their features, and stops at the start
of an odd line, of which nothing is kept here: Python reads it, decides what is a fault, and adds the new features.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hulltune.arrays import Bytes, Floats, Int32s, Int64s
from hulltune.kernels.load.kernel import borrowing, kernel, part
from hulltune.kernels.reading.blanks import is_blank
from hulltune.kernels.reading.decimals import read_decimal
from hulltune.kernels.reading.interning import Texts, empty_texts, find_text

POSITION, LINE, ROWS, VALUES, TEXT, LAYOUTS, SLOTS = range(7)
"""Places in the state, a vector of integers that outlives a call: what has been read, and written to the output."""
LAYOUT, WIDTH, REQUIRED, HAS_SCORE, ID_KEY, ID_LENGTH, STATE_SIZE = range(7, 14)
"""Further places: what is known from the lines before; and the number of all places."""
LONGEST_ID = LONGEST_NAME = 256
LONGEST_NUMBER = 18
_NEWLINE, _BAR, _EQUALS = 10, 124, 61


class Known(NamedTuple):
    """The features of all lines so far, each as it was written last, and those of the line before.

    ``names[texts.starts[f]:texts.stops[f]]`` is the name of feature f; ``names`` ends with room for one more. After a
    name stands its mark, ``=`` or ``:``, and after the mark of a dense feature a blank before each of its values.
    Without a mark (0) are values without a name, which come first in a line.
    """

    names: Bytes
    texts: Texts
    marks: Bytes
    dense: Bytes
    counts: Int64s
    """The number of values of each feature."""
    slots: Int32s
    """The number by which layouts refer to the first of these values; those of the others follow."""
    required: Bytes
    """Whether every line must have the feature; ``state[REQUIRED]`` of them must be there."""
    met: Int64s
    """The last line with each feature."""
    places: Int64s
    """The place of each feature in the line before, if it is there."""
    before: Int64s
    """The features of the line before, ``state[WIDTH]`` of them, which is the layout ``state[LAYOUT]``."""
    line: Int64s
    """Room for those of the next line."""


def nothing_known(capacity: int, size: int) -> Known:
    """Room for so many features, and so many bytes of names."""
    numbers = (np.zeros(capacity, dtype=np.int64) for _ in range(5))
    marks, dense, required = (np.zeros(capacity, dtype=np.uint8) for _ in range(3))
    names = np.zeros(size + LONGEST_NAME, dtype=np.uint8)
    slots = np.zeros(capacity, dtype=np.int32)
    return Known(names, empty_texts(capacity), marks, dense, next(numbers), slots, required, *numbers)


class Output(NamedTuple):
    """The rows of a block of lines, and the layouts that are new with them: the slots of one after the other."""

    values: Floats
    row_layout: Int32s
    row_id: Int64s
    row_score: Floats
    row_text: Int64s
    text: Bytes
    slots: Int32s
    layout_sizes: Int64s


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


@borrowing
def _next_feature(data: Bytes, position: int, expected: int, state: Int64s, known: Known) -> tuple[int, int]:
    """The feature whose name stands at the position, and the position after its mark; −1 for one that is not known.

    ``expected`` is the place in the line before of the feature that is tried first.
    """
    if expected < state[WIDTH]:
        feature = known.before[expected]
        if known.marks[feature] == 0:
            return feature, position
        at, last = position, position + known.texts.stops[feature] - known.texts.starts[feature]
        first = known.texts.starts[feature] - position
        while at < last and data[at] == known.names[first + at]:  # stops at the line end: no name has one
            at += 1
        if at == last and data[at] == known.marks[feature] and is_blank(data[at + 1]) == known.dense[feature]:
            return feature, at + 1
    mark = -1
    at = position
    while not _ends_token(data, at):
        if data[at] == _EQUALS:
            mark = at
        at += 1
    length = mark - position
    if length <= 0 or length > LONGEST_NAME:
        return -1, position
    start = len(known.names) - LONGEST_NAME
    for i in range(length):
        known.names[start + i] = data[position + i]
    feature = find_text(known.texts, known.names, start, start + length)
    fits = feature >= 0 and known.marks[feature] == _EQUALS and (mark + 1 == at) == known.dense[feature]
    return (feature if fits else -1), mark + 1


@borrowing
def _read_features(data: Bytes, position: int, state: Int64s, known: Known, values: Floats) -> tuple[int, int, int]:
    """Read the features of a line: the position after them, their number, and the place for the next value.

    The position is −1 if a feature is not known, is there twice or has a value whose nearest double is not certain, or
    if a required one is not there.
    """
    used, count, expected, required = state[VALUES], 0, 0, 0
    while True:
        position = _skip_blanks(data, position)
        if data[position] == _NEWLINE or _at_bars(data, position):
            break
        feature, position = _next_feature(data, position, expected, state, known)
        if feature < 0 or known.met[feature] == state[LINE]:
            return -1, count, used
        known.met[feature] = state[LINE]
        known.line[count] = feature
        count += 1
        place = known.places[feature]
        if place < state[WIDTH] and known.before[place] == feature:
            expected = place + 1
        required += known.required[feature]
        for _ in range(known.counts[feature]):
            if known.dense[feature]:
                position = _skip_blanks(data, position)
            value, stop, certain = read_decimal(data, position)
            if not certain or not _ends_token(data, stop):
                return -1, count, used
            values[used] = value
            used += 1
            position = stop
    return (position if required == state[REQUIRED] else -1), count, used


@kernel
def follow(count: int, state: Int64s, known: Known, output: Output) -> None:
    """Make the features of this line those of the line before; if these are others, as a new layout."""
    same = count == state[WIDTH]
    place = 0
    while same and place < count:
        same = known.line[place] == known.before[place]
        place += 1
    if same:
        return
    start, size = state[SLOTS], 0
    for place in range(count):
        feature = known.line[place]
        known.before[place] = feature
        known.places[feature] = place
        for number in range(known.counts[feature]):
            output.slots[start + size] = known.slots[feature] + number
            size += 1
    output.layout_sizes[state[LAYOUTS]] = size
    state[WIDTH] = count
    state[SLOTS] += size
    state[LAYOUTS] += 1
    state[LAYOUT] += 1


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
def parse_lines(data: Bytes, end: int, state: Int64s, known: Known, output: Output, last_id: Bytes) -> None:
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

        position, count, used = _read_features(data, position + 3, state, known, output.values)
        if position < 0:
            return
        fits, score = _read_score(data, position, state[HAS_SCORE])
        if not fits:
            return
        follow(count, state, known, output)
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
