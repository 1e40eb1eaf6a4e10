"""Moses candidate lists, bytes to numbers: ``id ||| text ||| features [||| score [||| …]]``, one hypothesis a line.

Most lines name the same features in the same order as the line before. So a line is first read against that *layout*
(a sequence of feature names, each with a number of values and a style); only a line that departs from it is taken
apart token by token. Values are stored as they come, and a row remembers the number of its layout, so that a list
with a million rows and one layout stores nothing but its values.

The kernel never decides what Python can decide better: at a new feature name, a new id that is no number, a number
that is not certain, or a line at fault it stops with a code, and is called again where it stopped.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hulltune.arrays import Bytes, Floats, Int64s
from hulltune.kernels.load.jit import kernel
from hulltune.kernels.reading.blanks import is_blank
from hulltune.kernels.reading.decimals import read_decimal
from hulltune.kernels.reading.moses_fields import at_bars, ends_token, field_end, skip_blanks
from hulltune.kernels.reading.moses_tables import (
    BAR,
    BLANK_LINE,
    COLON,
    COMMITTED,
    COUNT,
    DONE,
    EQUALS,
    EXTRA_SCORE,
    FIRST,
    GROW_LAYOUTS,
    GROW_PENDING,
    HAS_SCORE,
    ID_KEY,
    ID_LENGTH,
    IMPLICIT_NAME,
    LAST,
    LAYOUT,
    LINE,
    LONG_SCORE,
    NEW_ID,
    NEW_NAME,
    NEWLINE,
    NO_ID,
    NO_NAME,
    NO_SCORE,
    NO_VALUE,
    PENDING,
    POOL,
    POSITION,
    REPEATED_NAME,
    ROWS,
    SERIAL,
    SPACE,
    STRAY_VALUE,
    TEXT,
    TOO_FEW_FIELDS,
    VALUES,
    Layouts,
    Names,
    Output,
    check_layout,
    find_name,
    learn_widths,
    number_layout,
)


@kernel
def _read_by_layout(
    data: Bytes, position: int, layout: int, used: int, names: Names, layouts: Layouts, values: Floats
) -> tuple[bool, int, int, int]:
    """Read the features as the layout says.

    Returns whether they fit the layout to the end; the number of entries that fit; and the position and the next value
    after those.
    """
    begin = layouts.offsets[layout]
    for entry in range(begin, layouts.offsets[layout + 1]):
        start, index = position, used
        position = skip_blanks(data, position)
        name = layouts.names[entry]
        first, last = names.offsets[name], names.offsets[name + 1]
        same = True
        for i in range(first, last):
            if data[position] != names.bytes[i]:
                same = False
                break
            position += 1
        dense = layouts.dense[entry]
        if not same or data[position] != EQUALS or is_blank(data[position + 1]) != dense:
            return False, entry - begin, start, index
        position += 1
        for _ in range(layouts.counts[entry]):
            if dense:
                position = skip_blanks(data, position)
            value, stop, certain = read_decimal(data, position)
            if not certain or not ends_token(data, stop):
                return False, entry - begin, start, index
            values[used] = value
            used += 1
            position = stop
    stop = skip_blanks(data, position)
    whole = data[stop] == NEWLINE or at_bars(data, stop)
    return whole, layouts.offsets[layout + 1] - begin, stop if whole else position, used


@kernel
def _value(
    data: Bytes,
    start: int,
    stop: int,
    row: int,
    index: int,
    line: int,
    name: int,
    number: int,
    used: int,
    output: Output,
) -> int:
    """Store a value, or leave it to Python where it is not certain; returns the new number of pending values."""
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
def _read_by_token(
    data: Bytes,
    position: int,
    index: int,
    matched: int,
    state: Int64s,
    names: Names,
    layouts: Layouts,
    output: Output,
) -> tuple[int, int, int, int, int]:
    """Read the features token by token and write their layout at the end of the pool.

    The first ``matched`` entries of the current layout have been read already, up to ``position``.

    Returns a code, the position after the features, the next value, the next pending value, and the end of the layout.
    """
    row, line, waiting = state[ROWS], state[LINE], state[PENDING]
    start_of_layout = state[POOL]
    entry = start_of_layout  # one past the last entry
    open_name = -1  # the name that further values belong to
    state[SERIAL] += 1
    if entry + matched > len(layouts.names):
        return GROW_LAYOUTS, position, index, waiting, entry
    for old in range(matched):
        source = layouts.offsets[state[LAYOUT]] + old
        name = layouts.names[source]
        layouts.names[entry], layouts.counts[entry] = name, layouts.counts[source]
        layouts.dense[entry] = layouts.dense[source]
        names.stamp[name] = state[SERIAL]
        open_name = -1
        if layouts.dense[source]:
            open_name = name
        entry += 1
    while True:
        position = skip_blanks(data, position)
        if data[position] == NEWLINE or at_bars(data, position):
            break
        start = position
        if open_name >= 0:  # most likely a further value
            number, stop, certain = read_decimal(data, position)
            if certain and ends_token(data, stop):
                output.values[index] = number
                index += 1
                layouts.counts[entry - 1] += 1
                position = stop
                continue
        equals = -1
        known = False  # the value after the = is certain, and ends the token
        number = 0.0
        while True:
            byte = data[position]
            if byte == EQUALS:
                equals = position
                number, stop, known = read_decimal(data, position + 1)
                if known and ends_token(data, stop):
                    position = stop
                    break
                known = False
            elif (byte <= SPACE or byte == BAR) and ends_token(data, position):
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
    return check_layout(start_of_layout, entry, state, names, layouts), position, index, waiting, entry


@kernel
def _read_id(data: Bytes, start: int, stop: int, state: Int64s, last_id: Bytes) -> Any:
    """The key of an id: its number, or the key that Python gave it before, or −1 where Python must give one.

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
def _read_score(
    data: Bytes, position: int, row: int, line: int, waiting: int, state: Int64s, output: Output
) -> tuple[int, int]:
    """Read the score field, if there is one: a code, and the number of pending values."""
    if data[position] == NEWLINE:
        return (NO_SCORE if state[HAS_SCORE] == 1 else DONE), waiting
    start = skip_blanks(data, position + 3)
    stop = start
    while not ends_token(data, stop):
        stop += 1
    if stop == start:
        return (NO_SCORE if state[HAS_SCORE] == 1 else DONE), waiting
    if state[HAS_SCORE] == 0:
        return EXTRA_SCORE, waiting
    after = skip_blanks(data, stop)
    if data[after] != NEWLINE and not at_bars(data, after):
        state[FIRST], state[LAST] = start, stop
        return LONG_SCORE, waiting
    if waiting + 1 > len(output.pending):
        return GROW_PENDING, waiting
    state[COUNT] = 1  # a score is there
    return DONE, _value(data, start, stop, row, -1, line, -1, 0, waiting, output)


@kernel
def parse_lines(
    data: Bytes, end: int, state: Int64s, names: Names, layouts: Layouts, output: Output, last_id: Bytes
) -> int:
    """Read lines from ``state[POSITION]`` on, until ``end`` (after a line end) or until Python is needed; linear.

    A code other than DONE leaves ``state[POSITION]`` at the start of the line in question, of which nothing is kept.
    """
    while state[POSITION] < end:
        row, line = state[ROWS], state[LINE]
        position = skip_blanks(data, state[POSITION])
        if data[position] == NEWLINE:
            return BLANK_LINE
        start = position
        position = field_end(data, position)
        if data[position] == NEWLINE:
            return TOO_FEW_FIELDS
        stop = position
        while stop > start and is_blank(data[stop - 1]):
            stop -= 1
        if stop == start:
            return NO_ID
        key = _read_id(data, start, stop, state, last_id)
        if key == -1:
            state[FIRST], state[LAST] = start, stop
            return NEW_ID

        start = skip_blanks(data, position + 3)
        text = state[TEXT]
        position = start
        while data[position] != NEWLINE and not (data[position] == BAR and at_bars(data, position)):
            output.text[text] = data[position]
            text += 1
            position += 1
        if data[position] == NEWLINE:
            return TOO_FEW_FIELDS
        while text > state[TEXT] and is_blank(output.text[text - 1]):
            text -= 1

        features = position + 3
        whole, matched, position, index = False, 0, features, state[VALUES]
        waiting = state[PENDING]
        layout = state[LAYOUT]
        if layout >= 0:
            whole, matched, position, index = _read_by_layout(
                data, features, layout, index, names, layouts, output.values
            )
        if not whole:
            code, position, index, waiting, entry = _read_by_token(
                data, position, index, matched, state, names, layouts, output
            )
            if code != DONE:
                return code
            layout = number_layout(entry, state, layouts)
            if layout < 0:
                return GROW_LAYOUTS
        state[COUNT] = 0
        code, waiting = _read_score(data, position, row, line, waiting, state, output)
        if code != DONE:
            return code
        if layout != state[LAYOUT]:
            learn_widths(layout, state, names, layouts)
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
