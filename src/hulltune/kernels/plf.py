"""PLF, bytes to numbers: one lattice, nested tuples of nodes, arcs, and a word with its scores and a distance."""

from __future__ import annotations

from typing import Any

import numpy as np

from hulltune.kernels._jit import kernel
from hulltune.kernels.blanks import is_blank
from hulltune.kernels.decimals import read_decimal
from hulltune.kernels.moses_fields import skip_blanks
from hulltune.kernels.moses_tables import EQUALS, NEWLINE, SPACE
from hulltune.kernels.raw_edges import Bytes, Floats, Integers, Numbers, no_strings, number_of, room_for

# Why the kernel came back.
DONE, NO_OPENING, NO_COMMA, NO_QUOTE, OPEN_QUOTE, NO_SCORE, BAD_DISTANCE, NO_NAME, LATE_SCORE, MORE = range(10)
_OPEN, _CLOSE, _COMMA, _QUOTE, _DOUBLE_QUOTE, _BACKSLASH, _U = 40, 41, 44, 39, 34, 92, 117

POSITION, ARCS, NODES, VALUES, PENDING, WORDS, NAMES = range(7)
STATE_SIZE = 7
TAIL, HEAD, WORD, VALUE = range(4)


@kernel
def _token_end(data: Bytes, position: int) -> int:
    while data[position] > SPACE and data[position] != _COMMA and data[position] != _CLOSE:
        position += 1
    return position


@kernel
def _read_value(
    data: Bytes, start: int, stop: int, dense: int, state: Integers, name_slots: Numbers, names: Integers,
    columns: Numbers, values: Floats, pending: Integers,
) -> int:  # fmt: skip
    """Store a score: the next one by position (column ``dense``), or a named one (column −1 − name).

    Returns DONE for one by position, MORE for a named one, or what is wrong with it.
    """
    column = np.int64(dense)
    equals = start
    while equals < stop and data[equals] != EQUALS:
        equals += 1
    number = start
    if equals < stop:
        if equals == start:
            return NO_NAME
        name = number_of(data, start, equals, name_slots, names, state[NAMES])
        state[NAMES] = max(state[NAMES], name + 1)
        column = -1 - name
        number = equals + 1
    value, after, certain = read_decimal(data, number)
    if not certain or after != stop:
        entry = pending[state[PENDING]]
        entry[0], entry[1], entry[2], entry[3] = state[VALUES], number, stop, column
        state[PENDING] += 1
    columns[state[VALUES]], values[state[VALUES]] = column, value
    state[VALUES] += 1
    return DONE if column >= 0 else MORE


@kernel
def _read_arc(
    data: Bytes, position: int, node: int, state: Integers, word_slots: Numbers, words: Integers,
    name_slots: Numbers, names: Integers, arcs: Integers, columns: Numbers, values: Floats, pending: Integers,
) -> tuple[int, int]:  # fmt: skip
    """Read an arc after its parenthesis: a code, and the place after it (or of the fault)."""
    position = skip_blanks(data, position)
    if data[position] == _U:  # as Python 2 spells texts
        position += 1
    quote = data[position]
    if quote != _QUOTE and quote != _DOUBLE_QUOTE:  # Numba has no such sets of numbers
        return NO_QUOTE, position
    start = position + 1
    position = start
    while data[position] != quote:
        if data[position] == _BACKSLASH and data[position + 1] != NEWLINE:
            position += 1
        if data[position] == NEWLINE:
            return OPEN_QUOTE, start - 1
        position += 1
    arc = state[ARCS]
    word = number_of(data, start, position, word_slots, words, state[WORDS])
    state[WORDS] = max(state[WORDS], word + 1)
    position = skip_blanks(data, position + 1)
    tokens, dense, named = 0, 0, False
    first, last = position, position
    value, plain = 0.0, False  # what the last token is, if it is just a number
    while data[position] == _COMMA:
        position = skip_blanks(data, position + 1)
        if data[position] == _CLOSE:
            break
        if tokens > 0:  # the last one is the distance, so that each waits for the next
            if plain and not named:
                columns[state[VALUES]], values[state[VALUES]] = dense, value
                state[VALUES] += 1
                dense += 1
            else:
                code = _read_value(data, first, last, dense, state, name_slots, names, columns, values, pending)
                if code == NO_NAME or (code == DONE and named):
                    return (NO_NAME if code == NO_NAME else LATE_SCORE), first
                named = code == MORE
                dense += code == DONE
        first = position
        value, last, plain = read_decimal(data, position)
        plain = plain and (data[last] == _COMMA or data[last] == _CLOSE or is_blank(data[last]))
        if not plain:
            last = _token_end(data, position)
        position = skip_blanks(data, last)
        tokens += 1
    if data[position] != _CLOSE:
        return NO_COMMA, position
    if tokens == 0:
        return NO_SCORE, position
    distance = np.int64(0)
    if tokens == 1:  # a confusion network: every arc leads to the next node
        distance = np.int64(1)
        if _read_value(data, first, last, dense, state, name_slots, names, columns, values, pending) == NO_NAME:
            return NO_NAME, first
    else:
        for i in range(first, last):
            digit = np.int64(data[i]) - 48
            if digit < 0 or digit > 9:
                return BAD_DISTANCE, first
            distance = min(10 * distance + digit, np.int64(10**15))
    if distance == 0:
        return BAD_DISTANCE, first
    arcs[TAIL, arc], arcs[HEAD, arc], arcs[WORD, arc], arcs[VALUE, arc + 1] = node, node + distance, word, state[VALUES]
    state[ARCS] = arc + 1
    return DONE, position + 1


@kernel
def parse_lattice(data: Bytes) -> Any:
    """Read the lattice of one line. Linear.

    Returns a code; the state, whose POSITION is where the lattice ends or the fault is; for every arc its TAIL, HEAD,
    WORD and the end of its values (rows of ``arcs``); columns and values; words, names, and pending values. Scores have
    their position as column, named ones −1 − the number of their name.
    """
    state = np.zeros(STATE_SIZE, dtype=np.int64)
    arcs_room, values_room, names_room = 0, 1, 0
    for byte in data:
        arcs_room += byte == _OPEN
        values_room += byte == _COMMA
        names_room += byte == EQUALS
    arcs = np.zeros((4, arcs_room + 1), dtype=np.int64)
    columns = np.empty(values_room, dtype=np.int32)
    values = np.empty(values_room, dtype=np.float64)
    pending = np.empty((values_room, 4), dtype=np.int64)
    word_slots, words = no_strings(room_for(arcs_room))
    name_slots, names = no_strings(room_for(names_room))
    code = DONE
    position = skip_blanks(data, 0)
    if data[position] != _OPEN:
        code = NO_OPENING
    else:
        position = skip_blanks(data, position + 1)
    while code == DONE and data[position] != _CLOSE:  # a node
        if data[position] != _OPEN:
            code = NO_OPENING
            break
        position = skip_blanks(data, position + 1)
        while code == DONE and data[position] != _CLOSE:  # an arc
            if data[position] != _OPEN:
                code = NO_OPENING
                break
            code, position = _read_arc(
                data, position + 1, state[NODES], state, word_slots, words, name_slots, names,
                arcs, columns, values, pending,
            )  # fmt: skip
            if code == DONE:
                position = skip_blanks(data, position)
                if data[position] == _COMMA:
                    position = skip_blanks(data, position + 1)
                elif data[position] != _CLOSE:
                    code = NO_COMMA
        if code != DONE:
            break
        state[NODES] += 1
        position = skip_blanks(data, position + 1)
        if data[position] == _COMMA:
            position = skip_blanks(data, position + 1)
        elif data[position] != _CLOSE:
            code = NO_COMMA
    if code == DONE:
        position = skip_blanks(data, position + 1)
        if data[position] != NEWLINE:
            code = MORE
    state[POSITION] = position
    return (
        code,
        state,
        arcs[:, : state[ARCS] + 1],
        columns[: state[VALUES]],
        values[: state[VALUES]],
        words[: state[WORDS]],
        names[: state[NAMES]],
        pending[: state[PENDING]],
    )
