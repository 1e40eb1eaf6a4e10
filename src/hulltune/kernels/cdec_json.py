"""The JSON of cdec, bytes to numbers: one hypergraph, its parts in the order of the file.

The kernel reads what is right; at the first thing that is not it stops with a code and the place, and Python words the
complaint. An edge has the row of its rule; labels are spread at the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hulltune.kernels._jit import kernel
from hulltune.kernels.cdec_codes import (
    BAD_IN_EDGES,
    BAD_NAME,
    BAD_NODE,
    BAD_RULE,
    BAD_RULE_ID,
    DECLARED,
    DETAIL,
    DONE,
    EDGE_IN_TWO_NODES,
    EDGES,
    END,
    GROW,
    HEAD,
    IDS,
    LATE_NAMES,
    NAMED_TWICE,
    NAMES,
    NO_GRAPH,
    NO_LIST,
    NO_NODE,
    NODES,
    ODD_RULES,
    PENDING,
    POSITION,
    REPEATED_KEY,
    RULE,
    RULES,
    SIDE,
    SPARE,
    STATE_SIZE,
    TAILS,
    UNKNOWN_EDGE,
    UNKNOWN_KEY,
    VALUES,
    WORDS,
    fault,
)
from hulltune.kernels.cdec_edges import add_rule, read_edges
from hulltune.kernels.cdec_rules import spread_rules
from hulltune.kernels.json_features import memory_for
from hulltune.kernels.json_text import (
    CLOSE_LIST,
    CLOSE_OBJECT,
    CLOSED,
    ELSE,
    EXTRA,
    MINUS,
    MORE,
    OPEN_LIST,
    OPEN_OBJECT,
    PADDING,
    QUOTE,
    first_item,
    is_key,
    is_null,
    items_or_null,
    next_item,
    read_index,
    read_key,
    read_string,
    skip_blanks,
    skip_value,
)
from hulltune.kernels.raw_bytes import byte_at, short_text
from hulltune.kernels.raw_edges import Bytes, Integers, Numbers, grown, no_strings, number_of, with_more_room

_RULES, _FEATURES, _EDGES, _NODE = (short_text(key) for key in ("rules", "features", "edges", "node"))
_IN_EDGES, _IS_SORTE = short_text("in_edges"), short_text("is_sorte")
_D = 100


@kernel
def _read_rules(
    data: Bytes, text: int, state: Integers, word_slots: Numbers, words: Integers, id_slots: Numbers, ids: Integers,
    row_of: Integers, rules: Integers, rule_labels: Numbers,
) -> Any:  # fmt: skip
    """Read on from the id at ``state[POSITION]`` to the end of the list: ids and rules in turn."""
    code, position = MORE, state[POSITION]
    while code == MORE:
        state[POSITION] = position
        if state[IDS] == len(ids):
            return GROW
        number, after = read_index(text, position)
        if number < 0:
            return fault(state, BAD_RULE_ID, position)
        first = position + (byte_at(text, position) == MINUS)
        code, position = next_item(text, after, CLOSE_LIST)
        if code == CLOSED:
            return fault(state, ODD_RULES, position - 1)
        if code != MORE:
            return fault(state, code, position)
        if byte_at(text, position) != QUOTE:
            return fault(state, BAD_RULE, position)
        at_rule = position
        code, start, stop, position = read_string(text, position, state[SPARE])
        if code != MORE:
            return fault(state, code, position)
        added = add_rule(data, text, start, stop, state, word_slots, words, rules, rule_labels)
        if added != DONE:
            return fault(state, added, at_rule)
        identity = number_of(data, first, after, id_slots, ids, state[IDS])
        state[IDS] = max(state[IDS], identity + 1)
        state[SPARE] = max(state[SPARE], stop)
        row_of[identity] = state[RULES] - 1
        code, position = next_item(text, position, CLOSE_LIST)
    state[POSITION] = position
    return DONE if code == CLOSED else fault(state, code, position)


@kernel
def _read_names(data: Bytes, text: int, state: Integers, name_slots: Numbers, names: Integers) -> Any:
    """Read on from the name at ``state[POSITION]`` to the end of the list."""
    code, position = MORE, state[POSITION]
    while code == MORE:
        state[POSITION] = position
        if state[NAMES] == len(names):
            return GROW
        if byte_at(text, position) != QUOTE:
            return fault(state, BAD_NAME, position)
        at_name = position
        code, start, stop, position = read_string(text, position, state[SPARE])
        if code != MORE:
            return fault(state, code, position)
        if start == stop:
            return fault(state, BAD_NAME, at_name)
        if number_of(data, start, stop, name_slots, names, state[NAMES]) < state[NAMES]:
            return fault(state, NAMED_TWICE, at_name)
        state[NAMES] += 1
        state[DECLARED] = state[NAMES]
        state[SPARE] = max(state[SPARE], stop)
        code, position = next_item(text, position, CLOSE_LIST)
    state[POSITION] = position
    return DONE if code == CLOSED else fault(state, code, position)


@kernel
def _read_node(text: int, state: Integers, edges: Integers) -> Any:
    """Read the node at ``state[POSITION]``: it becomes the head of the edges that it lists."""
    position = state[POSITION]
    start = position
    if byte_at(text, position) != OPEN_OBJECT:
        return fault(state, BAD_NODE, start)
    has_edges = False
    code, position = first_item(text, position + 1, CLOSE_OBJECT)
    while code == MORE:
        code, key, stop, position = read_key(text, position, state[SPARE])
        if code != MORE:
            return fault(state, code, position)
        if is_key(text, key, stop, _IN_EDGES):
            if has_edges:
                return fault(state, REPEATED_KEY, start)
            has_edges = True
            item, position = items_or_null(text, position, OPEN_LIST, CLOSE_LIST)
            if item == ELSE:
                return fault(state, BAD_IN_EDGES, position)
            while item == MORE:
                edge, after = read_index(text, position)
                if not 0 <= edge < state[EDGES]:
                    return fault(state, UNKNOWN_EDGE, position)
                if edges[HEAD, edge] >= 0:
                    state[DETAIL] = edge
                    return fault(state, EDGE_IN_TWO_NODES, position)
                edges[HEAD, edge] = state[NODES]
                item, position = next_item(text, after, CLOSE_LIST)
            if item != CLOSED:
                return fault(state, item, position)
        else:
            code, position = skip_value(text, position)
            if code != MORE:
                return fault(state, code, position)
        code, position = next_item(text, position, CLOSE_OBJECT)
    state[NODES] += 1
    state[POSITION] = position
    return DONE if code == CLOSED else fault(state, code, position)


@kernel
def parse_hypergraph(data: Bytes, length: int) -> Any:
    """Read the hypergraph in ``data[:length]``; see json_text for what follows there. Linear in it and in the output.

    Returns a code; the state, whose FAULT is the place at fault, in edge EDGES if it is one of an edge; for every edge
    its HEAD (−1 for none) and its end in the arrays of tails and values (rows TAIL and VALUE); these arrays; the ends
    of its labels, and all labels; the distinct words and the names (see raw_edges); and pending values as
    (index, start, stop, column). Words have the number that they have here.
    """
    text = data.ctypes.data
    state = np.zeros(STATE_SIZE, dtype=np.int64)
    state[SPARE] = state[SIDE] = length + PADDING
    room = length // 128 + 16
    edges = np.zeros((4, room), dtype=np.int64)
    rules = np.zeros((2, room), dtype=np.int64)
    tails = np.empty(room, dtype=np.int64)
    rule_labels = np.empty(2 * room, dtype=np.int32)
    columns = np.empty(4 * room, dtype=np.int32)
    values = np.empty(4 * room, dtype=np.float64)
    pending = np.empty((16, 4), dtype=np.int64)
    word_slots, words = no_strings(1024)
    id_slots, ids = no_strings(1024)
    row_of = np.empty(1024, dtype=np.int64)
    name_slots, names = no_strings(32)
    memory = np.full((2, 33), -1, dtype=np.int64)
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
        is_rules, is_names = is_key(text, key, stop, _RULES), is_key(text, key, stop, _FEATURES)
        if is_rules or is_names or is_key(text, key, stop, _EDGES):
            state[POSITION] = position
            if is_names and state[EDGES] > 0:
                code = fault(state, LATE_NAMES, at_key)
            elif is_null(text, position):
                state[POSITION] += 4
            elif byte_at(text, position) != OPEN_LIST:
                code = fault(state, NO_LIST, at_key)
                state[DETAIL] = position
            else:
                item, position = first_item(text, position + 1, CLOSE_LIST)
                state[POSITION] = position
                code = GROW if item == MORE else DONE
            while code == GROW:
                if is_rules:
                    code = _read_rules(
                        data, text, state, word_slots, words, id_slots, ids, row_of, rules, rule_labels
                    )  # fmt: skip
                elif is_names:
                    code = _read_names(data, text, state, name_slots, names)
                else:
                    code = read_edges(
                        data, text, state, word_slots, words, name_slots, names, id_slots, ids, row_of, memory, rules,
                        rule_labels, edges, tails, columns, values, pending,
                    )  # fmt: skip
                if code != GROW:
                    break
                if state[NAMES] == len(names):
                    name_slots, names = with_more_room(names, state[NAMES])
                    memory = memory_for(names, memory)
                elif state[IDS] == len(ids):
                    id_slots, ids = with_more_room(ids, state[IDS])
                    row_of = grown(row_of)
                elif state[WORDS] == len(words):
                    word_slots, words = with_more_room(words, state[WORDS])
                else:
                    edges = np.concatenate((edges, edges), axis=1)
                    rules = np.concatenate((rules, rules), axis=1)
                    rule_labels, tails = grown(rule_labels), grown(tails)
                    columns, values = grown(columns), grown(values)
                    pending = np.concatenate((pending, pending))
            position = state[POSITION]
        elif is_key(text, key, stop, _NODE):
            state[POSITION] = position
            code = _read_node(text, state, edges)
            position = state[POSITION]
        elif stop - key == 9 and is_key(text, key, stop - 1, _IS_SORTE) and byte_at(text, stop - 1) == _D:
            member, position = skip_value(text, position)
        else:
            code = fault(state, UNKNOWN_KEY, at_key)
        if code == DONE and member == MORE:
            member, position = next_item(text, position, CLOSE_OBJECT)
    if code == DONE and member != CLOSED:
        code = fault(state, member, position)
    elif code == DONE:
        position = skip_blanks(text, position)
        if position < length:
            code = fault(state, EXTRA, position)
        elif state[NODES] == 0:
            code = fault(state, NO_NODE, position)
    count = state[EDGES] if code == DONE else 0
    label_offsets, labels = spread_rules(edges[RULE, :count], rules[END], rule_labels)
    return (
        code,
        state,
        edges[:, : state[EDGES] + 1],
        (tails[: state[TAILS]], columns[: state[VALUES]], values[: state[VALUES]]),
        label_offsets,
        labels,
        words[: state[WORDS]],
        names[: state[NAMES]],
        pending[: state[PENDING]],
    )
