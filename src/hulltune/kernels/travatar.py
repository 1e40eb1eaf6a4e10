"""Travatar's JSON, bytes to numbers: the hypergraph of one line.

The kernel reads what is right; at the first thing that is not it stops with a code and the place, and Python words the
complaint.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hulltune.kernels._jit import kernel
from hulltune.kernels.json_features import memory_for
from hulltune.kernels.json_text import (
    CLOSE_LIST,
    CLOSE_OBJECT,
    CLOSED,
    EXTRA,
    MORE,
    OPEN_LIST,
    OPEN_OBJECT,
    PADDING,
    first_item,
    is_key,
    next_item,
    read_index,
    read_key,
    skip_blanks,
    skip_value,
)
from hulltune.kernels.raw_bytes import byte_at, short_text
from hulltune.kernels.raw_edges import Bytes, Integers, grown, no_strings, with_more_room
from hulltune.kernels.travatar_codes import (
    BAD_NODE,
    DONE,
    EDGES,
    GROW,
    ID,
    LABELS,
    NAMES,
    NO_EDGES,
    NO_GRAPH,
    NO_NODES,
    NODES,
    PENDING,
    POSITION,
    REPEATED_KEY,
    SIDE,
    SOURCE_START,
    SOURCE_STOP,
    SPAN_START,
    SPAN_STOP,
    SPARE,
    STATE_SIZE,
    TAILS,
    VALUES,
    WORDS,
    fault,
)
from hulltune.kernels.travatar_edges import read_edges

_NODES, _EDGES, _WORDS, _ID, _SPAN = (short_text(key) for key in ("nodes", "edges", "words", "id", "span"))


@kernel
def _read_nodes(text: int, state: Integers, nodes: Integers) -> Any:
    """Read on from the node at ``state[POSITION]`` to the end of the list: ids, and where spans are."""
    code, position = MORE, state[POSITION]
    while code == MORE:
        state[POSITION] = position
        if state[NODES] == nodes.shape[1]:
            return GROW
        number = np.int64(-1)
        span_start, span_stop = 0, 0
        start = position
        if byte_at(text, start) != OPEN_OBJECT:
            return fault(state, BAD_NODE, start)
        inner, position = first_item(text, position + 1, CLOSE_OBJECT)
        while inner == MORE:
            inner, key, stop, position = read_key(text, position, state[SPARE])
            if inner != MORE:
                return fault(state, inner, position)
            if is_key(text, key, stop, _ID):
                if number >= 0:
                    return fault(state, REPEATED_KEY, start)
                number, position = read_index(text, position)
                if number < 0:
                    return fault(state, BAD_NODE, start)
            else:
                is_span = is_key(text, key, stop, _SPAN)
                if is_span and span_stop > 0:
                    return fault(state, REPEATED_KEY, start)
                first = position
                inner, position = skip_value(text, position)
                if inner != MORE:
                    return fault(state, inner, position)
                if is_span:
                    span_start, span_stop = first, position
            inner, position = next_item(text, position, CLOSE_OBJECT)
        if inner != CLOSED:
            return fault(state, inner, position)
        if number < 0:
            return fault(state, BAD_NODE, start)
        nodes[ID, state[NODES]] = number
        nodes[SPAN_START, state[NODES]], nodes[SPAN_STOP, state[NODES]] = span_start, span_stop
        state[NODES] += 1
        code, position = next_item(text, position, CLOSE_LIST)
    state[POSITION] = position
    return DONE if code == CLOSED else fault(state, code, position)


@kernel
def parse_hypergraph(data: Bytes, length: int) -> Any:
    """Read the hypergraph in ``data[:length]``; see json_text for what follows there. Linear.

    Returns a code; the state, whose FAULT is the place at fault, in edge EDGES if it is one of an edge; for every node
    its ID and the place of its span; for every edge its HEAD and its end in the arrays of tails, labels and values
    (rows TAIL, LABEL and VALUE); these arrays; the distinct words and the names (see raw_edges); and pending values as
    (index, start, stop, column). Nodes have their ids, words the number that they have here.
    """
    text = data.ctypes.data
    state = np.zeros(STATE_SIZE, dtype=np.int64)
    state[SPARE] = state[SIDE] = length + PADDING
    room = length // 128 + 16
    nodes = np.empty((3, room), dtype=np.int64)
    edges = np.zeros((4, room), dtype=np.int64)
    tails = np.empty(room, dtype=np.int64)
    labels = np.empty(2 * room, dtype=np.int32)
    columns = np.empty(4 * room, dtype=np.int32)
    values = np.empty(4 * room, dtype=np.float64)
    pending = np.empty((16, 4), dtype=np.int64)
    word_slots, words = no_strings(1024)
    name_slots, names = no_strings(32)
    memory = np.full((2, 33), -1, dtype=np.int64)
    seen_nodes, seen_edges, seen_words = False, False, False
    code, member, position = DONE, CLOSED, skip_blanks(text, 0)
    if byte_at(text, position) == OPEN_OBJECT:
        member, position = first_item(text, position + 1, CLOSE_OBJECT)
    else:
        code = fault(state, NO_GRAPH, position)
    while code == DONE and member == MORE:
        at_key = position
        member, key, stop, position = read_key(text, position, state[SPARE])
        if member != MORE:
            break
        state[SPARE] = max(state[SPARE], stop)
        is_nodes, is_edges = is_key(text, key, stop, _NODES), is_key(text, key, stop, _EDGES)
        if is_nodes or is_edges:
            if (is_nodes and seen_nodes) or (is_edges and seen_edges):
                code = fault(state, REPEATED_KEY, at_key)
                break
            seen_nodes, seen_edges = seen_nodes or is_nodes, seen_edges or is_edges
            if byte_at(text, position) != OPEN_LIST:
                code = fault(state, NO_NODES if is_nodes else NO_EDGES, position)
                break
            item, position = first_item(text, position + 1, CLOSE_LIST)
            state[POSITION] = position
            code = GROW if item == MORE else DONE
            while code == GROW:
                if is_nodes:
                    code = _read_nodes(text, state, nodes)
                    if code == GROW:
                        nodes = np.concatenate((nodes, nodes), axis=1)
                    continue
                code = read_edges(
                    data, text, state, word_slots, words, name_slots, names, memory,
                    edges, tails, labels, columns, values, pending,
                )  # fmt: skip
                if code != GROW:
                    break
                if state[NAMES] == len(names):
                    name_slots, names = with_more_room(names, state[NAMES])
                    memory = memory_for(names, memory)
                elif state[WORDS] == len(words):
                    word_slots, words = with_more_room(words, state[WORDS])
                else:
                    edges = np.concatenate((edges, edges), axis=1)
                    tails, labels, columns, values = grown(tails), grown(labels), grown(columns), grown(values)
                    pending = np.concatenate((pending, pending))
            position = state[POSITION]
        else:
            is_words = is_key(text, key, stop, _WORDS)
            if is_words and seen_words:
                code = fault(state, REPEATED_KEY, at_key)
                break
            start = position
            member, position = skip_value(text, position)
            if member != MORE:
                break
            if is_words:
                seen_words = True
                state[SOURCE_START], state[SOURCE_STOP] = start, position
        if code == DONE:
            member, position = next_item(text, position, CLOSE_OBJECT)
    if code == DONE and member != CLOSED:
        code = fault(state, member, position)
    elif code == DONE:
        position = skip_blanks(text, position)
        if position < length:
            code = fault(state, EXTRA, position)
        elif not seen_nodes:
            code = fault(state, NO_NODES, -1)
        elif not seen_edges:
            code = fault(state, NO_EDGES, -1)
    return (
        code,
        state,
        nodes[:, : state[NODES]],
        edges[:, : state[EDGES] + 1],
        (tails[: state[TAILS]], labels[: state[LABELS]], columns[: state[VALUES]], values[: state[VALUES]]),
        words[: state[WORDS]],
        names[: state[NAMES]],
        pending[: state[PENDING]],
    )
