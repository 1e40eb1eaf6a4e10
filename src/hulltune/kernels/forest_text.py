"""Forest text, bytes to numbers: the nodes of one forest, each a count of edges and a line per edge.

Joshua writes the number of a node in the place of its count of edges; "numbered" below means that.

The kernel reads what is right; at the first thing that is not it stops with a code and the place, and Python words the
complaint. Feature names mostly follow each other as they did before, so the name that came after the last one is tried
first, and a hash table only where that fails.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hulltune.kernels._jit import kernel
from hulltune.kernels.blanks import is_blank
from hulltune.kernels.decimals import read_decimal
from hulltune.kernels.moses_fields import at_bars, ends_token, skip_blanks
from hulltune.kernels.moses_tables import BAR, EQUALS, NEWLINE, SPACE
from hulltune.kernels.raw_edges import (
    START,
    STOP,
    Bytes,
    Floats,
    Integers,
    Numbers,
    grown,
    no_strings,
    number_of,
    same_bytes,
    with_more_room,
)

# Why the kernel came back.
DONE, ENDS_EARLY, BAD_COUNT, TOO_MANY_EDGES, TOO_FEW_EDGES, NO_BARS = 0, 1, 2, 3, 4, 5
TAIL_OUT_OF_RANGE, NO_EQUALS, NO_NAME, REPEATED_NAME, NOT_ASCENDING, TOO_MANY_NODES = range(6, 12)
MORE_STRINGS, MORE_LABELS, MORE_VALUES, MORE_PENDING = range(12, 16)  # room for them

# What is where in the state.
POSITION, FIRST, LAST, NODE, LEFT, EDGES, TAILS, LABELS, VALUES, PENDING, WORDS, NAMES, ATTEMPT = range(13)
STATE_SIZE = 13
HEAD, LINE, TAIL, LABEL, VALUE = range(5)

_OPEN, _CLOSE, _HASH = 91, 93, 35
_HUGE = 10**15


@kernel
def _digits(data: Bytes, start: int, stop: int) -> Any:
    """The number spelt by these bytes (or _HUGE, if that is less), or −1 where they are not digits."""
    number: Any = np.int64(0 if start < stop else -1)
    for i in range(start, stop):
        digit = np.int64(data[i]) - 48
        if digit < 0 or digit > 9:
            return np.int64(-1)
        number = min(10 * number + digit, _HUGE)
    return number


@kernel
def _next_line(data: Bytes, position: int) -> int:
    while data[position] != NEWLINE:
        position += 1
    return position + 1


@kernel
def _token_end(data: Bytes, position: int) -> int:
    while True:
        byte = data[position]
        if (byte <= SPACE or byte == BAR) and ends_token(data, position):
            return position
        position += 1


@kernel
def _read_number(data: Bytes, position: int, state: Integers) -> tuple[int, int, int]:
    """Read a line that is a number: a code, the next line, and the number."""
    first = skip_blanks(data, position)
    last = first
    while data[last] != NEWLINE and not is_blank(data[last]):
        last += 1
    state[FIRST], state[LAST] = first, last
    count = _digits(data, first, last)
    if count < 0 or data[skip_blanks(data, last)] != NEWLINE:
        return BAD_COUNT, position, 0
    return DONE, _next_line(data, last), count


@kernel
def _read_lines(
    data: Bytes, end: int, nodes: int, numbered: bool, state: Integers, word_slots: Numbers, words: Integers,
    name_slots: Numbers, names: Integers, memory: Integers,
    offsets: Integers, tails: Integers, labels: Numbers, columns: Numbers, values: Floats, pending: Integers,
) -> int:  # fmt: skip
    """Read on from ``state[POSITION]``, until all nodes are there or something stops it.

    A code other than DONE leaves the state at the line in question, of which nothing is kept. ``state[LEFT]`` is the
    number of edges that the current node still wants or, if nodes are numbered, the number of nodes so far.
    ``memory[0]`` has for every name the attempt at a line that named it last; ``memory[1]``, shifted by one so that the
    start of a line counts as a name, the name that came after it then.

    One long function: to pass a dozen arrays to others for every line takes a quarter of the time, in counting
    references.
    """
    edges = offsets.shape[1] - 1
    limit = end if numbered else nodes  # of the numbers of tails
    while True:
        if numbered:
            if state[POSITION] >= end:
                return DONE if state[EDGES] == edges and state[LEFT] == nodes else ENDS_EARLY
            code, position, number = _read_number(data, state[POSITION], state)
            if code == DONE:
                if number <= state[NODE]:
                    return NOT_ASCENDING
                if state[LEFT] == nodes:
                    return TOO_MANY_NODES
                state[POSITION], state[NODE] = position, number
                state[LEFT] += 1
                continue
            if state[LEFT] == 0:
                return BAD_COUNT
            if state[EDGES] == edges:
                return TOO_MANY_EDGES
        elif state[LEFT] == 0:
            if state[NODE] + 1 == nodes:
                return DONE if state[EDGES] == edges else TOO_FEW_EDGES
            while state[POSITION] < end and data[state[POSITION]] == _HASH:  # comments stand only before counts
                state[POSITION] = _next_line(data, state[POSITION])
            if state[POSITION] >= end:
                return ENDS_EARLY
            code, position, count = _read_number(data, state[POSITION], state)
            if code != DONE:
                return code
            if state[EDGES] + count > edges:
                return TOO_MANY_EDGES
            state[POSITION], state[LEFT] = position, count
            state[NODE] += 1
            continue
        position = state[POSITION]
        if position >= end:
            return ENDS_EARLY
        # The output: words and tails up to the bars.
        tail, label = state[TAILS], state[LABELS]
        cursor = skip_blanks(data, position)
        while not at_bars(data, cursor):
            if data[cursor] == NEWLINE:
                return NO_BARS
            if tail == len(tails) or label == len(labels) or state[WORDS] == len(words):
                return MORE_STRINGS if state[WORDS] == len(words) else MORE_LABELS
            first = cursor
            cursor = _token_end(data, cursor)
            node = np.int64(-1)
            if data[first] == _OPEN and data[cursor - 1] == _CLOSE:
                node = _digits(data, first + 1, cursor - 1)
            if node >= limit:
                state[FIRST], state[LAST] = first, cursor
                return TAIL_OUT_OF_RANGE
            if node >= 0:
                tails[tail] = node
                labels[label] = state[TAILS] - tail - 1
                tail += 1
            else:
                word = number_of(data, first, cursor, word_slots, words, state[WORDS])
                state[WORDS] = max(state[WORDS], word + 1)
                labels[label] = word
            label += 1
            cursor = skip_blanks(data, cursor)
        # The features, up to bars or the line end.
        value_count, waiting = state[VALUES], state[PENDING]
        state[ATTEMPT] += 1
        name = np.int64(-1)
        cursor = skip_blanks(data, cursor + 3)
        while not (data[cursor] == NEWLINE or at_bars(data, cursor)):
            if value_count == len(values) or waiting == len(pending) or state[NAMES] == len(names):
                if state[NAMES] == len(names):
                    return MORE_STRINGS
                return MORE_VALUES if value_count == len(values) else MORE_PENDING
            before = name
            name = memory[1, before + 1]
            stop = cursor
            certain = False
            value = 0.0
            if name >= 0:
                length = names[name, STOP] - names[name, START]
                if same_bytes(data, cursor, names[name, START], length) and data[cursor + length] == EQUALS:
                    value, stop, certain = read_decimal(data, cursor + length + 1)
                    certain = certain and ends_token(data, stop)
            if not certain:
                stop = _token_end(data, cursor)
                equals = stop - 1
                while equals > cursor and data[equals] != EQUALS:
                    equals -= 1
                state[FIRST], state[LAST] = cursor, stop
                if equals == cursor:
                    return NO_NAME if data[cursor] == EQUALS else NO_EQUALS
                name = number_of(data, cursor, equals, name_slots, names, state[NAMES])
                state[NAMES] = max(state[NAMES], name + 1)
                memory[1, before + 1] = name
                value, after, certain = read_decimal(data, equals + 1)
                if not certain or after != stop:
                    pending[waiting, 0], pending[waiting, 1] = value_count, equals + 1
                    pending[waiting, 2], pending[waiting, 3] = stop, name
                    waiting += 1
            if memory[0, name] == state[ATTEMPT]:
                state[FIRST], state[LAST] = cursor, stop
                return REPEATED_NAME
            memory[0, name] = state[ATTEMPT]
            columns[value_count], values[value_count] = name, value
            value_count += 1
            cursor = skip_blanks(data, stop)
        edge = state[EDGES]
        offsets[HEAD, edge], offsets[LINE, edge] = state[NODE], position
        offsets[TAIL, edge + 1], offsets[LABEL, edge + 1], offsets[VALUE, edge + 1] = (
            tail, label, value_count,
        )  # fmt: skip
        state[TAILS], state[LABELS], state[VALUES], state[PENDING] = tail, label, value_count, waiting
        state[EDGES] = edge + 1
        state[LEFT] -= not numbered
        state[POSITION] = _next_line(data, cursor)


@kernel
def parse_nodes(data: Bytes, position: int, end: int, nodes: int, edges: int, numbered: bool) -> Any:
    """Read the nodes of a forest from ``position`` on; ``end`` is just after a line end. Linear.

    Returns a code; the state, whose FIRST and LAST show what is at fault, in the line at POSITION; for every edge its
    HEAD, the place of its LINE, and its end in the arrays of tails, labels and values (row TAIL, LABEL and VALUE of the
    offsets); these arrays; the distinct words and the names (see raw_edges); and pending values as
    (index, start, stop, column). Numbers are those of a Forest, but words have the number that they have here.
    """
    state = np.zeros(STATE_SIZE, dtype=np.int64)
    state[POSITION], state[NODE] = position, 0 if numbered else -1
    offsets = np.zeros((5, edges + 1), dtype=np.int64)
    tails = np.empty(2 * edges + 16, dtype=np.int64)
    labels = np.empty(4 * edges + 16, dtype=np.int32)
    columns = np.empty(8 * edges + 16, dtype=np.int32)
    values = np.empty(8 * edges + 16, dtype=np.float64)
    pending = np.empty((16, 4), dtype=np.int64)
    word_slots, words = no_strings(256)
    name_slots, names = no_strings(32)
    memory = np.full((2, 33), -1, dtype=np.int64)
    while True:
        code = _read_lines(
            data, end, nodes, numbered, state, word_slots, words, name_slots, names, memory,
            offsets, tails, labels, columns, values, pending,
        )  # fmt: skip
        if code < MORE_STRINGS:
            break
        if code == MORE_LABELS:
            tails, labels = grown(tails), grown(labels)
        elif code == MORE_VALUES:
            columns, values = grown(columns), grown(values)
        elif code == MORE_PENDING:
            pending = np.concatenate((pending, pending))
        elif state[WORDS] == len(words):
            word_slots, words = with_more_room(words, state[WORDS])
        else:
            name_slots, names = with_more_room(names, state[NAMES])
            more = np.full((2, len(names) + 1), -1, dtype=np.int64)
            more[:, : memory.shape[1]] = memory
            memory = more
    return (
        code,
        state,
        offsets,
        (tails[: state[TAILS]], labels[: state[LABELS]], columns[: state[VALUES]], values[: state[VALUES]]),
        words[: state[WORDS]],
        names[: state[NAMES]],
        pending[: state[PENDING]],
    )
