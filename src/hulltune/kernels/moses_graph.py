"""Moses search graphs, bytes to numbers: the hypotheses of one sentence, a line each.

A line is the number of the sentence and ``key=value`` fields, the last of which, ``out=``, goes to the end of the line.
Model scores come in three spellings: ``scores="core=(v,v,…) name=v …"``, ``scores="<<v, v, …>>"`` and, in old versions,
``[ d: v v lm: v … ]`` with or without ``scores=`` before it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hulltune.kernels._jit import kernel
from hulltune.kernels.decimals import read_decimal
from hulltune.kernels.moses_fields import is_blank, skip_blanks
from hulltune.kernels.moses_graph_fields import (
    BACK_KEY,
    CORE,
    COSTS,
    FORWARD_KEY,
    HYP,
    OTHER,
    OUT,
    RECOMBINED,
    SCORES_KEY,
    TRANSITION,
    count_marks,
    field_key,
    is_text,
    whole_number,
)
from hulltune.kernels.moses_tables import BAR, COLON, EQUALS, NEWLINE, SPACE
from hulltune.kernels.raw_edges import Bytes, Floats, Integers, Numbers, no_strings, number_of, with_more_room

# Why the kernel came back.
DONE, NO_SENTENCE, BAD_FIELD, BAD_NUMBER, BAD_SCORES, NO_HYPOTHESIS, NO_BACK, NO_OUT, NO_TRANSITION = range(9)
NO_SOURCE, FACTORED, NO_NAME, SCORES_DIFFER, GROW = 9, 10, 11, 12, 13

POSITION, FIRST, LAST, EDGES, LABELS, VALUES, PENDING, WORDS, NAMES = range(9)
DENSE, LAYOUT, SCORES, SCORES_END, START, KEPT = range(9, 15)
STATE_SIZE = 17  # KEPT has three
# For every edge: its hypothesis, the node it leads to, where it comes from, what comes after it, its line, and its end
# in the arrays of labels and values.
HYPOTHESIS, HEAD, BACK, FORWARD, LINE, LABEL, VALUE = range(7)
PLAIN, NAMED, BRACKETS = 1, 2, 3  # spellings of scores
FINAL, ABSENT = -1, -2

_OPEN, _CLOSE, _COMMA, _QUOTE, _BRACKET, _END_BRACKET, _LESS, _MORE, _MINUS = 40, 41, 44, 34, 91, 93, 60, 62, 45
_MIX = 1000003


@kernel
def _store(
    data: Bytes,
    start: int,
    stop: int,
    column: int,
    state: Integers,
    columns: Numbers,
    values: Floats,
    pending: Integers,
) -> None:
    """Keep a value, or leave it to Python where it is not certain."""
    index = state[VALUES]
    value, after, certain = read_decimal(data, start)
    if not certain or after != stop:
        entry = pending[state[PENDING]]
        entry[0], entry[1], entry[2], entry[3] = index, start, stop, column
        state[PENDING] += 1
    columns[index], values[index] = column, value
    state[VALUES] = index + 1


@kernel
def _read_quoted(
    data: Bytes, position: int, state: Integers, name_slots: Numbers, names: Integers, columns: Numbers, values: Floats,
    pending: Integers,
) -> tuple[int, int, int]:  # fmt: skip
    """Scores after their opening quotes: a code, the place after them, and how many have no name."""
    dense = 0
    closing = _CLOSE
    if data[position] == _LESS and data[position + 1] == _LESS:
        closing = _MORE
        position += 2
    elif is_text(data, position, min(position + len(CORE), len(data)), CORE):
        position += len(CORE)
    else:
        return BAD_SCORES, position, 0
    position = skip_blanks(data, position)
    while data[position] != closing:
        start = position
        value, position, certain = read_decimal(data, start)
        if certain and (data[position] == _COMMA or data[position] == closing or is_blank(data[position])):
            columns[state[VALUES]], values[state[VALUES]] = dense, value
            state[VALUES] += 1
        else:
            while data[position] > SPACE and data[position] != _COMMA and data[position] != closing:
                position += 1
            if position == start:
                return BAD_SCORES, position, 0
            _store(data, start, position, dense, state, columns, values, pending)
        dense += 1
        position = skip_blanks(data, position)
        if data[position] == _COMMA:
            position = skip_blanks(data, position + 1)
    position += 1
    if closing == _MORE:
        if data[position] != _MORE:
            return BAD_SCORES, position, 0
        position += 1
    position = skip_blanks(data, position)
    while data[position] != _QUOTE:
        start, equals = position, -1
        while data[position] > SPACE and data[position] != _QUOTE:
            if data[position] == EQUALS:
                equals = position
            position += 1
        if position == start:
            return BAD_SCORES, position, 0
        if equals <= start:
            state[FIRST], state[LAST] = start, position
            return NO_NAME, position, 0
        if state[NAMES] == len(names):
            return GROW, position, 0
        name = number_of(data, start, equals, name_slots, names, state[NAMES])
        state[NAMES] = max(state[NAMES], name + 1)
        _store(data, equals + 1, position, -1 - name, state, columns, values, pending)
        position = skip_blanks(data, position)
    return DONE, position + 1, dense


@kernel
def _read_brackets(
    data: Bytes, position: int, state: Integers, columns: Numbers, values: Floats, pending: Integers
) -> tuple[int, int, int, int]:
    """Scores after their opening bracket: a code, the place after them, how many, and a hash of their labels."""
    dense = 0
    layout: Any = np.int64(17)
    position = skip_blanks(data, position)
    while data[position] != _END_BRACKET:
        start = position
        while data[position] > SPACE and data[position] != _END_BRACKET:
            position += 1
        if position == start:
            return BAD_SCORES, position, 0, 0
        if data[position - 1] == COLON:
            for i in range(start, position):
                layout = layout * _MIX + np.int64(data[i])
            layout = layout * _MIX + dense
        else:
            _store(data, start, position, dense, state, columns, values, pending)
            dense += 1
        position = skip_blanks(data, position)
    return DONE, position + 1, dense, layout


@kernel
def _read_words(
    data: Bytes, start: int, with_source: bool, state: Integers, word_slots: Numbers, words: Integers, labels: Numbers
) -> tuple[int, int]:
    """Read the output, which goes to the line end: a code, and the line end.

    The words of the target come after ``source|``, if that is there, and in old versions before costs.
    """
    end = start
    bars, bar = 0, start
    costs = -1
    while data[end] != NEWLINE:
        if data[end] == BAR:
            bar = end if bars == 0 else bar
            bars += 1
        elif data[end] == _COMMA and is_text(data, end, min(end + len(COSTS), len(data)), COSTS):
            costs = end
        end += 1
    stop = end
    position = start
    if with_source:
        while stop > start and is_blank(data[stop - 1]):
            stop -= 1
        if data[start] == _QUOTE and stop > start + 1 and data[stop - 1] == _QUOTE:
            stop -= 1
        if bars != 1 or bar >= stop:
            return (NO_SOURCE if bars == 0 else FACTORED), end
        position = bar + 1
    if costs >= position:
        stop = costs
    labels[state[LABELS]] = -1
    state[LABELS] += 1
    while True:
        while position < stop and is_blank(data[position]):
            position += 1
        if position >= stop:
            return DONE, end
        first = position
        while position < stop and not is_blank(data[position]):
            position += 1
        if state[WORDS] == len(words):
            return GROW, end
        word = number_of(data, first, position, word_slots, words, state[WORDS])
        state[WORDS] = max(state[WORDS], word + 1)
        labels[state[LABELS]] = word
        state[LABELS] += 1


@kernel
def _read_lines(
    data: Bytes, state: Integers, word_slots: Numbers, words: Integers, name_slots: Numbers, names: Integers,
    edges: Integers, labels: Numbers, columns: Numbers, values: Floats, pending: Integers,
) -> int:  # fmt: skip
    """Read lines from ``state[POSITION]`` on.

    A code other than DONE leaves the position at the line in question, and in KEPT what there was before it. One long
    function: to pass eleven arrays to another for every line takes a quarter of the time, in counting references.
    """
    while state[POSITION] < len(data):
        state[KEPT], state[KEPT + 1], state[KEPT + 2] = state[LABELS], state[VALUES], state[PENDING]
        sentence, position = whole_number(data, state[POSITION])
        if sentence < 0:
            return NO_SENTENCE
        hypothesis, head, back, forward = np.int64(ABSENT), np.int64(ABSENT), np.int64(ABSENT), np.int64(ABSENT)
        transition_start, transition_stop = -1, -1
        style, dense, layout, has_key = PLAIN, 0, 0, False
        edge = state[EDGES]
        found_out = False
        position = skip_blanks(data, position)
        while data[position] != NEWLINE:
            start = position
            if data[position] == _BRACKET:
                if style != PLAIN:
                    return BAD_SCORES
                code, position, dense, layout = _read_brackets(data, position + 1, state, columns, values, pending)
                if code != DONE:
                    return code
                style = BRACKETS
                if edge == 0:
                    state[SCORES], state[SCORES_END] = start + 1, position - 1
                position = skip_blanks(data, position)
                continue
            while data[position] > SPACE and data[position] != EQUALS:
                position += 1
            state[FIRST], state[LAST] = start, position
            if data[position] != EQUALS or position == start:
                return BAD_FIELD
            key = field_key(data, start, position)
            position += 1
            if key == OUT:
                found_out = True
                code, position = _read_words(data, position, has_key, state, word_slots, words, labels)
                if code != DONE:
                    return code
                break
            if key == SCORES_KEY:
                has_key = True
                if data[position] == _BRACKET:
                    continue
                if data[position] != _QUOTE or style != PLAIN:
                    return BAD_SCORES
                code, position, dense = _read_quoted(
                    data, position + 1, state, name_slots, names, columns, values, pending
                )
                if code != DONE:
                    return code
                style = NAMED
            elif key == TRANSITION:
                transition_start = position
                while data[position] > SPACE:
                    position += 1
                transition_stop = position
            elif key == OTHER:
                while data[position] > SPACE:
                    position += 1
            else:
                number = np.int64(FINAL)
                if data[position] == _MINUS and key == FORWARD_KEY:
                    while data[position] > SPACE:
                        position += 1
                else:
                    number, position = whole_number(data, position)
                    if number < 0:
                        state[LAST] = position
                        return BAD_NUMBER
                if key == HYP:
                    hypothesis = number
                elif key == BACK_KEY:
                    back = number
                elif key == RECOMBINED:
                    head = number
                else:
                    forward = number
            if data[position] != NEWLINE and not is_blank(data[position]):
                state[LAST] = position + 1
                return BAD_FIELD
            position = skip_blanks(data, position)
        if hypothesis < 0:
            return NO_HYPOTHESIS
        # Where the search starts is no edge. Words or scores there would be lost, or go to the next one.
        if hypothesis == 0 and back == ABSENT and not found_out and style == PLAIN:
            state[START] = forward
            state[POSITION] = position + 1
            continue
        if back == ABSENT:
            return NO_BACK
        if not found_out:
            return NO_OUT
        if style == PLAIN:
            if transition_start < 0:
                return NO_TRANSITION
            _store(data, transition_start, transition_stop, 0, state, columns, values, pending)
            dense = 1
        layout = layout * 4 + style
        if edge == 0:
            state[DENSE], state[LAYOUT] = dense, layout
        elif state[DENSE] != dense or state[LAYOUT] != layout:
            return SCORES_DIFFER
        edges[HYPOTHESIS, edge], edges[HEAD, edge] = hypothesis, hypothesis if head == ABSENT else head
        edges[BACK, edge], edges[FORWARD, edge], edges[LINE, edge] = back, forward, state[POSITION]
        edges[LABEL, edge + 1], edges[VALUE, edge + 1] = state[LABELS], state[VALUES]
        state[EDGES] = edge + 1
        state[POSITION] = position + 1
    return DONE


@kernel
def parse_sentence(data: Bytes) -> Any:
    """Read the lines of one sentence. Linear.

    Returns a code; the state, whose FIRST and LAST show what is at fault, in the line at POSITION; the columns of edges
    (see HYPOTHESIS and after it); labels, columns and values; words, names, and pending values. Scores have their
    position as column, named ones −1 − the number of their name.
    """
    state = np.zeros(STATE_SIZE, dtype=np.int64)
    lines, blanks, marks = count_marks(data)
    edges = np.zeros((7, lines + 1), dtype=np.int64)
    labels = np.empty(2 * lines + blanks, dtype=np.int32)  # a tail, and words with blanks between them
    columns = np.empty(lines + blanks + marks, dtype=np.int32)
    values = np.empty(lines + blanks + marks, dtype=np.float64)
    pending = np.empty((lines + blanks + marks, 4), dtype=np.int64)
    word_slots, words = no_strings(256)
    name_slots, names = no_strings(32)
    while True:
        code = _read_lines(data, state, word_slots, words, name_slots, names, edges, labels, columns, values, pending)
        if code != GROW:
            break
        state[LABELS], state[VALUES], state[PENDING] = state[KEPT], state[KEPT + 1], state[KEPT + 2]
        if state[WORDS] == len(words):
            word_slots, words = with_more_room(words, state[WORDS])
        if state[NAMES] == len(names):
            name_slots, names = with_more_room(names, state[NAMES])
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
