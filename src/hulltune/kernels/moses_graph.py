"""Moses search graphs, bytes to numbers: the hypotheses of one sentence, a line each.

A line is the number of the sentence and ``key=value`` fields, the last of which, ``out=``, goes to the end of the line.
Model scores come in three spellings: ``scores="core=(v,v,…) name=v …"``, ``scores="<<v, v, …>>"`` and, in old versions,
``[ d: v v lm: v … ]`` with or without ``scores=`` before it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hulltune.kernels._jit import inlined, kernel
from hulltune.kernels.blanks import is_blank
from hulltune.kernels.decimals import read_decimal
from hulltune.kernels.eight_bytes import token_end
from hulltune.kernels.moses_graph_fields import (
    BACK_KEY,
    BAD_FIELD,
    BAD_NUMBER,
    BAD_SCORES,
    CORE,
    DONE,
    FORWARD_KEY,
    HYP,
    MORE_LABELS,
    MORE_PENDING,
    MORE_STRINGS,
    MORE_VALUES,
    NO_BACK,
    NO_HYPOTHESIS,
    NO_KEY,
    NO_NAME,
    NO_OUT,
    NO_SENTENCE,
    NO_TRANSITION,
    OTHER,
    OUT,
    RECOMBINED,
    REPEATED_NAME,
    SCORES_DIFFER,
    SCORES_KEY,
    TRANSITION,
    field_key,
    is_text,
    skip_blanks,
    whole_number,
)
from hulltune.kernels.moses_graph_words import read_words
from hulltune.kernels.moses_tables import COLON, EQUALS, NEWLINE, SPACE
from hulltune.kernels.raw_edges import (
    Bytes,
    Floats,
    Integers,
    Numbers,
    grown,
    no_strings,
    number_of,
    with_more_room,
)

POSITION, FIRST, LAST, EDGES, LABELS, VALUES, PENDING, WORDS, NAMES = range(9)
DENSE, LAYOUT, SCORES, SCORES_END, START, ATTEMPT = range(9, 15)
STATE_SIZE = 15
# For every edge: its hypothesis, the node it leads to, where it comes from, what comes after it, its line, and its end
# in the arrays of labels and values.
HYPOTHESIS, HEAD, BACK, FORWARD, LINE, LABEL, VALUE = range(7)
PLAIN, NAMED, BRACKETS = 1, 2, 3  # spellings of scores
FINAL, ABSENT = -1, -2

_OPEN, _CLOSE, _COMMA, _QUOTE, _BRACKET, _END_BRACKET, _LESS, _MORE, _MINUS = 40, 41, 44, 34, 91, 93, 60, 62, 45
_MIX = 1000003
_ONE, _TWO = np.uint64(1), np.uint64(2)


@inlined
def _read_value(
    data: Bytes, start: np.uint64, stop: np.uint64, column: int, values: Floats, pending: Integers,
    count: int, waiting: int,
) -> Any:  # fmt: skip
    """Read value number ``count``, or leave it to Python where it is not certain; how many wait for that."""
    value, after, certain = read_decimal(data, np.int64(start))
    values[count] = value
    if not certain or after != np.int64(stop):
        pending[waiting, 0], pending[waiting, 1], pending[waiting, 2], pending[waiting, 3] = count, start, stop, column
        waiting += 1
    return waiting


@inlined
def _read_dense(
    data: Bytes, place: np.uint64, closing: int, columns: Numbers, values: Floats, pending: Integers,
    count: int, waiting: int,
) -> tuple[int, Any, int, int]:  # fmt: skip
    """Read values with commas or blanks between them up to the closing mark: a code, the place after it, and the
    counts of values and of those that wait.
    """
    code, dense = DONE, 0
    place = skip_blanks(data, place)
    while data[place] != closing and code == DONE:
        if count == len(values) or waiting == len(pending):
            code = MORE_VALUES if count == len(values) else MORE_PENDING
            break
        start = place
        value, after, certain = read_decimal(data, np.int64(place))
        place = np.uint64(after)
        byte = data[place]
        if certain and (byte in (_COMMA, closing) or is_blank(byte)):
            values[count] = value
        else:
            while data[place] > SPACE and data[place] != _COMMA and data[place] != closing:
                place += _ONE
            if place == start:
                code = BAD_SCORES
                break
            waiting = _read_value(data, start, place, dense, values, pending, count, waiting)
        columns[count] = dense
        dense += 1
        count += 1
        if data[place] != _COMMA:
            place = skip_blanks(data, place)
        if data[place] == _COMMA:
            place = skip_blanks(data, place + _ONE)
    return code, place + _ONE, count, waiting


@kernel
def _read_brackets(
    data: Bytes, place: np.uint64, columns: Numbers, values: Floats, pending: Integers, count: int, waiting: int
) -> tuple[int, Any, int, int, int]:
    """Scores after their opening bracket: a code, the place after them, the counts of values and of those that wait,
    and a hash of their labels.
    """
    dense = 0
    layout: Any = np.int64(17)
    place = skip_blanks(data, place)
    while data[place] != _END_BRACKET:
        if count == len(values) or waiting == len(pending):
            return MORE_VALUES if count == len(values) else MORE_PENDING, place, 0, 0, 0
        start = place
        while data[place] > SPACE and data[place] != _END_BRACKET:
            place += _ONE
        if place == start:
            return BAD_SCORES, place, 0, 0, 0
        if data[place - _ONE] == COLON:
            for i in range(start, place):
                layout = layout * _MIX + np.int64(data[i])
            layout = layout * _MIX + dense
        else:
            waiting = _read_value(data, start, place, dense, values, pending, count, waiting)
            columns[count] = dense
            dense += 1
            count += 1
        place = skip_blanks(data, place)
    return DONE, place + _ONE, count, waiting, layout


@kernel
def _read_lines(
    data: Bytes, state: Integers, word_slots: Numbers, words: Integers, name_slots: Numbers, names: Integers,
    named_by: Integers, edges: Integers, labels: Numbers, columns: Numbers, values: Floats, pending: Integers,
) -> int:  # fmt: skip
    """Read lines from ``state[POSITION]`` on.

    A code other than DONE leaves the state at the line in question, of which nothing but words and names is kept.
    ``named_by`` has for every name the attempt at a line that named it last. One long function: to pass a dozen arrays
    to another for every line takes a quarter of the time, in counting references.
    """
    while state[POSITION] < len(data):
        state[ATTEMPT] += 1
        sentence, place = whole_number(data, np.uint64(state[POSITION]))
        if sentence < 0:
            return NO_SENTENCE
        hypothesis, head, back, forward = np.int64(ABSENT), np.int64(ABSENT), np.int64(ABSENT), np.int64(ABSENT)
        transition_start = transition_stop = place
        has_transition, has_key, found_out = False, False, False
        style, dense, layout = PLAIN, 0, 0
        edge, count, waiting, label = state[EDGES], state[VALUES], state[PENDING], state[LABELS]
        place = skip_blanks(data, place)
        while data[place] != NEWLINE:
            start = place
            if data[place] == _BRACKET:
                if style != PLAIN:
                    return BAD_SCORES
                code, place, count, waiting, layout = _read_brackets(
                    data, place + _ONE, columns, values, pending, count, waiting
                )
                if code != DONE:
                    return code
                style, dense = BRACKETS, count - state[VALUES]
                if edge == 0:
                    state[SCORES], state[SCORES_END] = start + _ONE, place - _ONE
                place = skip_blanks(data, place)
                continue
            key, place = field_key(data, place)
            if key == NO_KEY:
                state[FIRST], state[LAST] = start, place
                return BAD_FIELD
            if key == OUT:
                found_out = True
                code, place, label, state[WORDS] = read_words(
                    data, place, has_key, label, state[WORDS], word_slots, words, labels
                )
                if code != DONE:
                    return code
                break
            if key == SCORES_KEY:
                has_key = True
                if data[place] == _BRACKET:
                    continue
                if data[place] != _QUOTE or style != PLAIN:
                    return BAD_SCORES
                place += _ONE
                closing = _CLOSE
                if data[place] == _LESS and data[place + _ONE] == _LESS:
                    closing = _MORE
                    place += _TWO
                elif is_text(data, place, CORE):
                    place += np.uint64(len(CORE))
                else:
                    return BAD_SCORES
                code, place, count, waiting = _read_dense(
                    data, place, closing, columns, values, pending, count, waiting
                )
                if code != DONE:
                    return code
                dense = count - state[VALUES]
                if closing == _MORE:
                    if data[place] != _MORE:
                        return BAD_SCORES
                    place += _ONE
                place = skip_blanks(data, place)
                while data[place] != _QUOTE:
                    first, equals = place, place
                    while data[place] > SPACE and data[place] != _QUOTE:
                        if data[place] == EQUALS:
                            equals = place
                        place += _ONE
                    if place == first:
                        return BAD_SCORES
                    state[FIRST], state[LAST] = first, place
                    if equals == first:
                        return NO_NAME
                    if state[NAMES] == len(names):
                        return MORE_STRINGS
                    if count == len(values) or waiting == len(pending):
                        return MORE_VALUES if count == len(values) else MORE_PENDING
                    name = number_of(data, np.int64(first), np.int64(equals), name_slots, names, state[NAMES])
                    state[NAMES] = max(state[NAMES], name + 1)
                    if named_by[name] == state[ATTEMPT]:
                        state[LAST] = equals
                        return REPEATED_NAME
                    named_by[name] = state[ATTEMPT]
                    waiting = _read_value(data, equals + _ONE, place, -1 - name, values, pending, count, waiting)
                    columns[count] = -1 - name
                    count += 1
                    place = skip_blanks(data, place)
                place += _ONE
                style = NAMED
            elif key == TRANSITION:
                has_transition, transition_start = True, place
                transition_stop = place = token_end(data, place)
            elif key == OTHER:
                place = token_end(data, place)
            else:
                number = np.int64(FINAL)
                if data[place] == _MINUS and key == FORWARD_KEY:
                    place = token_end(data, place)
                else:
                    number, place = whole_number(data, place)
                    if number < 0:
                        state[FIRST], state[LAST] = start, place
                        return BAD_NUMBER
                if key == HYP:
                    hypothesis = number
                elif key == BACK_KEY:
                    back = number
                elif key == RECOMBINED:
                    head = number
                else:
                    forward = number
            if data[place] != NEWLINE and not is_blank(data[place]):
                state[FIRST], state[LAST] = start, place + _ONE
                return BAD_FIELD
            place = skip_blanks(data, place)
        if hypothesis < 0:
            return NO_HYPOTHESIS
        # Where the search starts is no edge. Words or scores there would be lost, or go to the next one.
        if hypothesis == 0 and back == ABSENT and not found_out and style == PLAIN:
            state[START] = forward
            state[POSITION] = place + _ONE
            continue
        if back == ABSENT:
            return NO_BACK
        if not found_out:
            return NO_OUT
        if style == PLAIN:
            if not has_transition:
                return NO_TRANSITION
            if count == len(values) or waiting == len(pending):
                return MORE_VALUES if count == len(values) else MORE_PENDING
            waiting = _read_value(data, transition_start, transition_stop, 0, values, pending, count, waiting)
            columns[count] = 0
            count += 1
            dense = 1
        layout = layout * 4 + style
        if edge == 0:
            state[DENSE], state[LAYOUT] = dense, layout
        elif state[DENSE] != dense or state[LAYOUT] != layout:
            return SCORES_DIFFER
        edges[HYPOTHESIS, edge], edges[HEAD, edge] = hypothesis, hypothesis if head == ABSENT else head
        edges[BACK, edge], edges[FORWARD, edge], edges[LINE, edge] = back, forward, state[POSITION]
        edges[LABEL, edge + 1], edges[VALUE, edge + 1] = label, count
        state[EDGES], state[LABELS], state[VALUES], state[PENDING] = edge + 1, label, count, waiting
        state[POSITION] = place + _ONE
    return DONE


@kernel
def parse_sentence(data: Bytes, lines: int) -> Any:
    """Read the lines of one sentence, as many as that. Linear.

    Returns a code; the state, whose FIRST and LAST show what is at fault, in the line at POSITION; the columns of edges
    (see HYPOTHESIS and after it); labels, columns and values; words, names, and pending values. Scores have their
    position as column, named ones −1 − the number of their name.
    """
    state = np.zeros(STATE_SIZE, dtype=np.int64)
    edges = np.zeros((7, lines + 1), dtype=np.int64)
    labels = np.empty(4 * lines + 16, dtype=np.int32)
    columns = np.empty(12 * lines + 16, dtype=np.int32)
    values = np.empty(12 * lines + 16, dtype=np.float64)
    pending = np.empty((16, 4), dtype=np.int64)
    word_slots, words = no_strings(256)
    name_slots, names = no_strings(32)
    named_by = np.zeros(32, dtype=np.int64)
    while True:
        code = _read_lines(
            data, state, word_slots, words, name_slots, names, named_by, edges, labels, columns, values, pending
        )
        if code < MORE_STRINGS:
            break
        if code == MORE_LABELS:
            labels = grown(labels)
        elif code == MORE_VALUES:
            columns, values = grown(columns), grown(values)
        elif code == MORE_PENDING:
            pending = np.concatenate((pending, pending))
        elif state[WORDS] == len(words):
            word_slots, words = with_more_room(words, state[WORDS])
        else:
            name_slots, names = with_more_room(names, state[NAMES])
            named_by = np.zeros(len(names), dtype=np.int64)
    return (
        code,
        state,
        edges[:, : state[EDGES] + 1],
        labels[: state[LABELS]],
        columns[: state[VALUES]],
        values[: state[VALUES]],
        words[: state[WORDS]],
        names[: state[NAMES]],
        pending[: state[PENDING]],
    )
