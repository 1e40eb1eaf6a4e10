"""Moses candidate lists, bytes to numbers: ``id ||| text ||| features [||| score [||| …]]``, one hypothesis a line.

Most lines name the same features in the same order as the line before. So a line is first read against that *layout*
(a sequence of feature names, each with a number of values and a style); only a line that departs from it is taken
apart token by token. Values are stored as they come, and a row remembers the number of its layout, so that a list
with a million rows and one layout stores nothing but its values.

The kernel never decides what Python can decide better: at a new feature name, a new id that is no number, a number
that is not certain, or a line at fault it stops with a code, and is called again where it stopped.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hulltune.kernels._jit import kernel
from hulltune.kernels.decimals import read_decimal

# Why the kernel came back.
DONE, NEW_NAME, NEW_ID, GROW_LAYOUTS, GROW_PENDING = 0, 1, 2, 3, 4
BLANK_LINE, TOO_FEW_FIELDS, NO_ID, NO_NAME, NO_VALUE, STRAY_VALUE = 10, 11, 12, 13, 14, 15
REPEATED_NAME, LACKS_NAME, EXTRA_NAME, WRONG_COUNT, NO_SCORE, EXTRA_SCORE, LONG_SCORE = 16, 17, 18, 19, 20, 21, 22

# What is where in the state, a vector of integers that outlives a call.
POSITION, LINE, ROWS, VALUES, TEXT, PENDING, COMMITTED, LAYOUT, LAYOUTS, POOL, NAMES = range(11)
REQUIRED, STRICT, HAS_SCORE, IMPLICIT_NAME, ID_KEY, ID_LENGTH, SERIAL, FIRST, LAST, COUNT = range(11, 21)
STATE_SIZE = 21

SPACE, TAB, RETURN, NEWLINE, BAR, EQUALS, COLON = 32, 9, 13, 10, 124, 61, 58
LONGEST_ID = 256


class Names(NamedTuple):
    """The feature names seen so far, in a hash table; name n is ``bytes[offsets[n]:offsets[n + 1]]``."""

    bytes: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    slots: NDArray[np.int32]
    width: NDArray[np.int64]
    required: NDArray[np.uint8]
    stamp: NDArray[np.int64]


class Layouts(NamedTuple):
    """The sequences of (name, number of values, style) seen so far, in a hash table."""

    offsets: NDArray[np.int64]
    names: NDArray[np.int32]
    counts: NDArray[np.int32]
    dense: NDArray[np.uint8]
    hashes: NDArray[np.uint64]
    slots: NDArray[np.int32]


class Output(NamedTuple):
    """What a block of lines gives; pending rows are (row, value or −1, start, stop, line, name, number of value)."""

    values: NDArray[np.float64]
    row_layout: NDArray[np.int32]
    row_id: NDArray[np.int64]
    row_score: NDArray[np.float64]
    row_text: NDArray[np.int64]
    text: NDArray[np.uint8]
    pending: NDArray[np.int64]


_SEED, _PRIME = np.uint64(14695981039346656037), np.uint64(1099511628211)


@kernel
def _is_blank(byte):  # type: ignore[no-untyped-def]
    return byte == SPACE or byte == TAB or byte == RETURN


@kernel
def _skip_blanks(data, position):  # type: ignore[no-untyped-def]
    while _is_blank(data[position]):
        position += 1
    return position


@kernel
def _at_bars(data, position):  # type: ignore[no-untyped-def]
    return data[position] == BAR and data[position + 1] == BAR and data[position + 2] == BAR


@kernel
def _field_end(data, position):  # type: ignore[no-untyped-def]
    """The next ``|||`` or line end."""
    while data[position] != NEWLINE and not (data[position] == BAR and _at_bars(data, position)):
        position += 1
    return position


@kernel
def _ends_token(data, position):  # type: ignore[no-untyped-def]
    byte = data[position]
    return _is_blank(byte) or byte == NEWLINE or (byte == BAR and _at_bars(data, position))


@kernel
def name_hash(data, start, stop):  # type: ignore[no-untyped-def]
    """FNV-1a of some bytes."""
    value = _SEED
    for i in range(start, stop):
        value = (value ^ np.uint64(data[i])) * _PRIME
    return value


@kernel
def find_name(names, data, start, stop):  # type: ignore[no-untyped-def]
    """The number of a name, or −1 − (the slot where it belongs)."""
    mask = np.uint64(len(names.slots) - 1)
    slot = np.int64(name_hash(data, start, stop) & mask)
    while names.slots[slot] >= 0:
        name = names.slots[slot]
        first = names.offsets[name]
        length = names.offsets[name + 1] - first
        if length == stop - start:
            same = True
            for i in range(length):
                if data[start + i] != names.bytes[first + i]:
                    same = False
                    break
            if same:
                return np.int64(name)
        slot = (slot + 1) & np.int64(mask)
    return np.int64(-1 - slot)


@kernel
def insert_names(names, count):  # type: ignore[no-untyped-def]
    """Fill the empty hash table with the first ``count`` names."""
    for name in range(count):
        slot = -1 - find_name(names, names.bytes, names.offsets[name], names.offsets[name + 1])
        names.slots[slot] = name


@kernel
def insert_layouts(layouts, count):  # type: ignore[no-untyped-def]
    """Fill the empty hash table with the first ``count`` layouts."""
    mask = len(layouts.slots) - 1
    for layout in range(count):
        slot = np.int64(layouts.hashes[layout] & np.uint64(mask))
        while layouts.slots[slot] >= 0:
            slot = (slot + 1) & mask
        layouts.slots[slot] = layout


@kernel
def _read_by_layout(data, position, layout, used, names, layouts, values):  # type: ignore[no-untyped-def]
    """Read the features as the layout says; the position after them and of the next value, or −1 where it differs."""
    for entry in range(layouts.offsets[layout], layouts.offsets[layout + 1]):
        position = _skip_blanks(data, position)
        name = layouts.names[entry]
        first, last = names.offsets[name], names.offsets[name + 1]
        for i in range(first, last):
            if data[position] != names.bytes[i]:
                return -1, used
            position += 1
        if data[position] != EQUALS:
            return -1, used
        position += 1
        if layouts.dense[entry]:
            if not _is_blank(data[position]):
                return -1, used
            for _ in range(layouts.counts[entry]):
                position = _skip_blanks(data, position)
                value, stop, certain = read_decimal(data, position)
                if not certain or not _ends_token(data, stop):
                    return -1, used
                values[used] = value
                used += 1
                position = stop
        else:
            value, stop, certain = read_decimal(data, position)
            if not certain or not _ends_token(data, stop):
                return -1, used
            values[used] = value
            used += 1
            position = stop
    position = _skip_blanks(data, position)
    if data[position] != NEWLINE and not _at_bars(data, position):
        return -1, used
    return position, used


@kernel
def _value(data, start, stop, row, index, line, name, number, used, output):  # type: ignore[no-untyped-def]
    """Store a value, or leave it to Python where it is not certain; the number of pending values after it."""
    value, end, certain = read_decimal(data, start)
    if certain and end == stop:
        if index >= 0:
            output.values[index] = value
        else:
            output.row_score[row] = value
        return used
    entry = output.pending[used]
    entry[0], entry[1], entry[2], entry[3], entry[4] = row, index, start, stop, line
    entry[5], entry[6] = name, number
    return used + 1


@kernel
def _read_by_token(data, position, state, names, layouts, output):  # type: ignore[no-untyped-def]
    """Read the features token by token and write their layout at the end of the pool.

    Returns a code, the position after the features, the next value, the next pending value, and the end of the layout.
    """
    row, line, index, waiting = state[ROWS], state[LINE], state[VALUES], state[PENDING]
    start_of_layout = state[POOL]
    entry = start_of_layout  # one past the last entry
    open_name = -1  # the name that further values belong to
    state[SERIAL] += 1
    while True:
        position = _skip_blanks(data, position)
        if data[position] == NEWLINE or _at_bars(data, position):
            break
        start = position
        if open_name >= 0:  # most likely a further value
            number, stop, certain = read_decimal(data, position)
            if certain and _ends_token(data, stop):
                output.values[index] = number
                index += 1
                layouts.counts[entry - 1] += 1
                position = stop
                continue
        equals = -1
        known = False  # the value after the = is there, and ends the token
        number = 0.0
        while True:
            byte = data[position]
            if byte == EQUALS:
                equals = position
                number, stop, known = read_decimal(data, position + 1)
                if known and _ends_token(data, stop):
                    position = stop
                    break
                known = False
            elif (byte <= SPACE or byte == BAR) and _ends_token(data, position):
                break
            position += 1
        if waiting + 2 > len(output.pending):
            return GROW_PENDING, position, index, waiting, entry
        if entry + 1 > len(layouts.names):
            return GROW_LAYOUTS, position, index, waiting, entry
        begin, end, dense = start, equals, equals == position - 1
        if equals < 0:
            if data[position - 1] == COLON and position - 1 > start:  # as old versions of Moses write it
                end, dense = position - 1, True
            elif open_name < 0:
                if entry > start_of_layout:
                    state[FIRST], state[LAST] = start, position
                    return STRAY_VALUE, position, index, waiting, entry
                begin, end, dense = -1, -1, True  # values without any name
        if end >= 0 or begin < 0:
            if end == start:
                state[FIRST], state[LAST] = start, position
                return NO_NAME, position, index, waiting, entry
            name = state[IMPLICIT_NAME] if begin < 0 else find_name(names, data, begin, end)
            if name < 0:
                state[FIRST], state[LAST] = begin, end
                return NEW_NAME, position, index, waiting, entry
            if names.stamp[name] == state[SERIAL]:
                state[FIRST] = name
                return REPEATED_NAME, position, index, waiting, entry
            if open_name >= 0 and layouts.counts[entry - 1] == 0:
                state[FIRST] = open_name
                return NO_VALUE, position, index, waiting, entry
            names.stamp[name] = state[SERIAL]
            layouts.names[entry] = name
            layouts.counts[entry] = 0
            layouts.dense[entry] = dense
            entry += 1
            open_name = name
            if begin >= 0 and dense:
                continue
            if not dense:
                start = equals + 1
        if known:
            output.values[index] = number
        else:
            number_in_name = layouts.counts[entry - 1]
            waiting = _value(data, start, position, row, index, line, open_name, number_in_name, waiting, output)
        index += 1
        layouts.counts[entry - 1] += 1
        if not layouts.dense[entry - 1]:
            open_name = -1
    if open_name >= 0 and layouts.counts[entry - 1] == 0:
        state[FIRST] = open_name
        return NO_VALUE, position, index, waiting, entry
    return _check_layout(start_of_layout, entry, state, names, layouts), position, index, waiting, entry


@kernel
def _check_layout(start, stop, state, names, layouts):  # type: ignore[no-untyped-def]
    """In the dense style, every row has the names of the first row with as many values, and no others."""
    if not state[STRICT] or state[COMMITTED] == 0:
        return DONE
    required = 0
    for entry in range(start, stop):
        name = layouts.names[entry]
        required += names.required[name]
        if names.width[name] == 0 and layouts.dense[entry]:
            state[FIRST] = name
            return EXTRA_NAME
        if names.width[name] > 0 and names.width[name] != layouts.counts[entry]:
            state[FIRST], state[COUNT] = name, layouts.counts[entry]
            return WRONG_COUNT
    if required < state[REQUIRED]:
        for name in range(state[NAMES]):
            if names.required[name] and names.stamp[name] != state[SERIAL]:
                state[FIRST] = name
                break
        return LACKS_NAME
    return DONE


@kernel
def _number_layout(stop, state, layouts):  # type: ignore[no-untyped-def]
    """The number of the layout at the end of the pool: an old one, or the next, or −1 where the tables are full."""
    start = state[POOL]
    value = _SEED
    for entry in range(start, stop):
        value = (value ^ np.uint64(layouts.names[entry])) * _PRIME
        value = (value ^ np.uint64(2 * layouts.counts[entry] + layouts.dense[entry])) * _PRIME
    mask = len(layouts.slots) - 1
    slot = np.int64(value & np.uint64(mask))
    while layouts.slots[slot] >= 0:
        layout = layouts.slots[slot]
        first = layouts.offsets[layout]
        if layouts.hashes[layout] == value and layouts.offsets[layout + 1] - first == stop - start:
            same = True
            for i in range(stop - start):
                if (
                    layouts.names[first + i] != layouts.names[start + i]
                    or layouts.counts[first + i] != layouts.counts[start + i]
                    or layouts.dense[first + i] != layouts.dense[start + i]
                ):
                    same = False
                    break
            if same:
                return np.int64(layout)
        slot = (slot + 1) & mask
    layout = state[LAYOUTS]
    if layout + 2 > len(layouts.offsets) or 2 * (layout + 1) > len(layouts.slots):
        return np.int64(-1)
    layouts.offsets[layout + 1] = stop
    layouts.hashes[layout] = value
    layouts.slots[slot] = layout
    state[LAYOUTS] += 1
    state[POOL] = stop
    return np.int64(layout)


@kernel
def _learn_widths(layout, state, names, layouts):  # type: ignore[no-untyped-def]
    """Remember how many values each name has; the first row says which names every row must have."""
    for entry in range(layouts.offsets[layout], layouts.offsets[layout + 1]):
        name = layouts.names[entry]
        names.width[name] = max(names.width[name], layouts.counts[entry])
        if state[COMMITTED] == 0 and layouts.dense[entry]:
            names.required[name] = 1
            state[REQUIRED] += 1


@kernel
def _read_id(data, start, stop, state, last_id):  # type: ignore[no-untyped-def]
    """The key of an id: its number, or what Python gave the id before, or −1 for one to ask Python about.

    Keys of ids that are no numbers are below −1.
    """
    length = stop - start
    if length == state[ID_LENGTH]:
        same = True
        for i in range(length):
            if data[start + i] != last_id[i]:
                same = False
                break
        if same:
            return state[ID_KEY]
    if length > 18:
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


@kernel
def _read_score(data, position, row, line, waiting, state, output):  # type: ignore[no-untyped-def]
    """Read the score field, if there is one: a code, and the number of pending values."""
    if data[position] == NEWLINE:
        return (NO_SCORE if state[HAS_SCORE] == 1 else DONE), waiting
    start = _skip_blanks(data, position + 3)
    stop = start
    while not _ends_token(data, stop):
        stop += 1
    if stop == start:
        return (NO_SCORE if state[HAS_SCORE] == 1 else DONE), waiting
    if state[HAS_SCORE] == 0:
        return EXTRA_SCORE, waiting
    after = _skip_blanks(data, stop)
    if data[after] != NEWLINE and not _at_bars(data, after):
        state[FIRST], state[LAST] = start, stop
        return LONG_SCORE, waiting
    if waiting + 1 > len(output.pending):
        return GROW_PENDING, waiting
    state[COUNT] = 1  # a score is there
    return DONE, _value(data, start, stop, row, -1, line, -1, 0, waiting, output)


@kernel
def parse_lines(data, end, state, names, layouts, output, last_id):  # type: ignore[no-untyped-def]
    """Read lines from ``state[POSITION]`` on, until ``end`` (after a line end) or until Python is needed; linear.

    A code other than DONE leaves ``state[POSITION]`` at the start of the line in question, of which nothing is kept.
    """
    while state[POSITION] < end:
        row, line = state[ROWS], state[LINE]
        position = _skip_blanks(data, state[POSITION])
        if data[position] == NEWLINE:
            return BLANK_LINE
        start = position
        position = _field_end(data, position)
        if data[position] == NEWLINE:
            return TOO_FEW_FIELDS
        stop = position
        while stop > start and _is_blank(data[stop - 1]):
            stop -= 1
        if stop == start:
            return NO_ID
        key = _read_id(data, start, stop, state, last_id)
        if key == -1:
            state[FIRST], state[LAST] = start, stop
            return NEW_ID

        start = _skip_blanks(data, position + 3)
        text = state[TEXT]
        position = start
        while data[position] != NEWLINE and not (data[position] == BAR and _at_bars(data, position)):
            output.text[text] = data[position]
            text += 1
            position += 1
        if data[position] == NEWLINE:
            return TOO_FEW_FIELDS
        while text > state[TEXT] and _is_blank(output.text[text - 1]):
            text -= 1

        features = position + 3
        position, index = -1, state[VALUES]
        waiting = state[PENDING]
        layout = state[LAYOUT]
        if layout >= 0:
            position, index = _read_by_layout(data, features, layout, index, names, layouts, output.values)
        if position < 0:
            code, position, index, waiting, entry = _read_by_token(data, features, state, names, layouts, output)
            if code != DONE:
                return code
            layout = _number_layout(entry, state, layouts)
            if layout < 0:
                return GROW_LAYOUTS
        state[COUNT] = 0
        code, waiting = _read_score(data, position, row, line, waiting, state, output)
        if code != DONE:
            return code
        if layout != state[LAYOUT]:
            _learn_widths(layout, state, names, layouts)
        if state[HAS_SCORE] < 0:
            state[HAS_SCORE] = state[COUNT]

        while data[position] != NEWLINE:
            position += 1
        output.row_layout[row] = layout
        output.row_id[row] = key
        output.row_text[row] = text - state[TEXT]
        state[LAYOUT], state[VALUES], state[TEXT], state[PENDING] = layout, index, text, waiting
        state[ROWS] += 1
        state[COMMITTED] += 1
        state[LINE] += 1
        state[POSITION] = position + 1
    return DONE


@kernel
def scatter(values, row_layout, destination, layouts, column, matrix):  # type: ignore[no-untyped-def]
    """Spread the values of rows over the columns of their names: value k of name n goes to ``column[n] + k``."""
    index = 0
    for row in range(len(row_layout)):
        target = destination[row]
        layout = row_layout[row]
        for entry in range(layouts.offsets[layout], layouts.offsets[layout + 1]):
            first = column[layouts.names[entry]]
            for number in range(layouts.counts[entry]):
                matrix[target, first + number] = values[index]
                index += 1
