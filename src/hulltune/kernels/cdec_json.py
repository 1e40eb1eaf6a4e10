"""The JSON of cdec, bytes to numbers: one hypergraph, its parts in the order of the file.

The kernel reads what is right; at the first thing that is not it stops with a code and the place, and Python words the
complaint. The ids of rules are known by their digits. An edge has the row of its rule; labels are spread at the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hulltune.kernels._jit import kernel
from hulltune.kernels.cdec_rules import NO_ROOM, TAIL_ZERO, read_target, spread_rules
from hulltune.kernels.json_text import (
    CLOSE_LIST,
    CLOSE_OBJECT,
    CLOSED,
    EXTRA,
    FIRST_FREE_CODE,
    MINUS,
    MORE,
    OPEN_LIST,
    OPEN_OBJECT,
    PADDING,
    QUOTE,
    codes,
    first_item,
    is_key,
    is_null,
    next_item,
    read_index,
    read_key,
    read_number,
    read_string,
    skip_blanks,
    skip_value,
)
from hulltune.kernels.raw_bytes import byte_at, short_text
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

# Why the kernel came back, beside the codes of JSON.
(
    DONE, GROW, NO_GRAPH, UNKNOWN_KEY, NO_LIST, ODD_RULES, BAD_RULE_ID, BAD_RULE, NAMES_TAIL_ZERO, LATE_NAMES, BAD_NAME,
    NAMED_TWICE, BAD_EDGE, REPEATED_KEY, BAD_TAIL, NO_RULE, UNKNOWN_RULE, TOO_FEW_TAILS, BAD_FEATURES, ODD_FEATURES,
    UNKNOWN_NAME, REPEATED_NAME, BAD_VALUE, BAD_NODE, BAD_IN_EDGES, UNKNOWN_EDGE, EDGE_IN_TWO_NODES, NO_NODE,
) = codes(FIRST_FREE_CODE, 28)  # fmt: skip

# What is where in the state. FAULT is the place of what is wrong, DETAIL a number that belongs to it.
(
    POSITION, FAULT, DETAIL, SPARE, SIDE, NODES, EDGES, TAILS, VALUES, PENDING, WORDS, NAMES, DECLARED, ATTEMPT, IDS,
    RULES, LABELS,
) = range(17)  # fmt: skip
STATE_SIZE = 17
HEAD, RULE, TAIL, VALUE = range(4)
END, LAST_TAIL = range(2)

_RULES, _FEATURES, _EDGES, _NODE = (short_text(key) for key in ("rules", "features", "edges", "node"))
_TAIL, _RULE, _FEATS, _IN_EDGES, _IS_SORTE = (
    short_text(key) for key in ("tail", "rule", "feats", "in_edges", "is_sorte")
)
_D = 100


@kernel
def _fault(state: Integers, code: int, position: int) -> int:
    state[FAULT] = position
    return code


@kernel
def _add_rule(
    data: Bytes, text: int, start: int, stop: int, state: Integers, word_slots: Numbers, words: Integers,
    rules: Integers, rule_labels: Numbers,
) -> int:  # fmt: skip
    """Make the rule in this string the next row of ``rules``: DONE, GROW or NAMES_TAIL_ZERO."""
    row = state[RULES]
    if row + 1 == rules.shape[1]:
        return GROW
    end, last_tail, word_count = read_target(
        data, text, start, stop, word_slots, words, state[WORDS], rule_labels, rules[END, row]
    )
    state[WORDS] = word_count
    if end == NO_ROOM:
        return GROW
    if end == TAIL_ZERO:
        return NAMES_TAIL_ZERO
    rules[LAST_TAIL, row], rules[END, row + 1] = last_tail, end
    state[RULES], state[LABELS] = row + 1, end
    return DONE


@kernel
def _read_rules(
    data: Bytes, text: int, state: Integers, word_slots: Numbers, words: Integers, id_slots: Numbers, ids: Integers,
    row_of: Integers, rules: Integers, rule_labels: Numbers,
) -> int:  # fmt: skip
    """Read on from the id at ``state[POSITION]`` to the end of the list: ids and rules in turn."""
    code, position = MORE, state[POSITION]
    while code == MORE:
        state[POSITION] = position
        if state[IDS] == len(ids):
            return GROW
        number, after = read_index(text, position)
        if number < 0:
            return _fault(state, BAD_RULE_ID, position)
        first = position + (byte_at(text, position) == MINUS)
        code, position = next_item(text, after, CLOSE_LIST)
        if code == CLOSED:
            return _fault(state, ODD_RULES, position - 1)
        if code != MORE:
            return _fault(state, code, position)
        if byte_at(text, position) != QUOTE:
            return _fault(state, BAD_RULE, position)
        at_rule = position
        code, start, stop, position = read_string(text, position, state[SPARE])
        if code != MORE:
            return _fault(state, code, position)
        added = _add_rule(data, text, start, stop, state, word_slots, words, rules, rule_labels)
        if added != DONE:
            return _fault(state, added, at_rule)
        identity = number_of(data, first, after, id_slots, ids, state[IDS])
        state[IDS] = max(state[IDS], identity + 1)
        state[SPARE] = max(state[SPARE], stop)
        row_of[identity] = state[RULES] - 1
        code, position = next_item(text, position, CLOSE_LIST)
    state[POSITION] = position
    return DONE if code == CLOSED else _fault(state, code, position)


@kernel
def _read_names(data: Bytes, text: int, state: Integers, name_slots: Numbers, names: Integers) -> int:
    """Read on from the name at ``state[POSITION]`` to the end of the list."""
    code, position = MORE, state[POSITION]
    while code == MORE:
        state[POSITION] = position
        if state[NAMES] == len(names):
            return GROW
        if byte_at(text, position) != QUOTE:
            return _fault(state, BAD_NAME, position)
        at_name = position
        code, start, stop, position = read_string(text, position, state[SPARE])
        if code != MORE:
            return _fault(state, code, position)
        if start == stop:
            return _fault(state, BAD_NAME, at_name)
        if number_of(data, start, stop, name_slots, names, state[NAMES]) < state[NAMES]:
            return _fault(state, NAMED_TWICE, at_name)
        state[NAMES] += 1
        state[DECLARED] = state[NAMES]
        state[SPARE] = max(state[SPARE], stop)
        code, position = next_item(text, position, CLOSE_LIST)
    state[POSITION] = position
    return DONE if code == CLOSED else _fault(state, code, position)


@kernel
def _read_edges(
    data: Bytes, text: int, state: Integers, word_slots: Numbers, words: Integers, name_slots: Numbers, names: Integers,
    id_slots: Numbers, ids: Integers, row_of: Integers, memory: Integers, rules: Integers, rule_labels: Numbers,
    edges: Integers, tails: Integers, columns: Numbers, values: Floats, pending: Integers,
) -> int:  # fmt: skip
    """Read on from the edge at ``state[POSITION]`` to the end of the list.

    A code other than DONE leaves the state at the edge in question, of which nothing is kept but perhaps a rule that no
    edge has. ``memory[0]`` has for every name the attempt at an edge that named it last; ``memory[1]``, shifted by one
    so that the start of an edge counts as a name, the name that came after it then.
    """
    code, position = MORE, state[POSITION]
    while code == MORE:
        state[POSITION] = position
        edge, spare = state[EDGES], state[SPARE]
        tail, value_count, waiting = state[TAILS], state[VALUES], state[PENDING]
        if edge + 1 == edges.shape[1] or state[IDS] == len(ids):
            return GROW
        start = position
        if byte_at(text, start) != OPEN_OBJECT:
            return _fault(state, BAD_EDGE, start)
        state[ATTEMPT] += 1
        row = np.int64(-1)
        has_tails, has_features = False, False
        inner, position = first_item(text, position + 1, CLOSE_OBJECT)
        while inner == MORE:
            inner, key, stop, position = read_key(text, position, spare)
            if inner != MORE:
                return _fault(state, inner, position)
            spare = max(spare, stop)
            if is_key(text, key, stop, _FEATS):
                if has_features:
                    return _fault(state, REPEATED_KEY, start)
                has_features = True
                item = CLOSED
                if is_null(text, position):
                    position += 4
                elif byte_at(text, position) != OPEN_LIST:
                    return _fault(state, BAD_FEATURES, position)
                else:
                    item, position = first_item(text, position + 1, CLOSE_LIST)
                name = np.int64(-1)
                while item == MORE:
                    if value_count == len(values) or waiting == len(pending) or state[NAMES] == len(names):
                        return GROW
                    before = name
                    if byte_at(text, position) != QUOTE:
                        name, after = read_index(text, position)
                        if not 0 <= name < state[DECLARED]:
                            return _fault(state, UNKNOWN_NAME, position)
                        position = after
                    else:
                        name = memory[1, before + 1]
                        known = False
                        if name >= 0 and names[name, STOP] < state[SIDE]:
                            length = names[name, STOP] - names[name, START]
                            known = (
                                same_bytes(data, position + 1, names[name, START], length)
                                and byte_at(text, position + 1 + length) == QUOTE
                            )
                        if known:
                            position += names[name, STOP] - names[name, START] + 2
                        else:
                            first = position
                            item, key, stop, position = read_string(text, position, spare)
                            if item != MORE:
                                return _fault(state, item, position)
                            if key == stop:
                                return _fault(state, UNKNOWN_NAME, first)
                            spare = max(spare, stop)
                            name = number_of(data, key, stop, name_slots, names, state[NAMES])
                            state[NAMES] = max(state[NAMES], name + 1)
                            memory[1, before + 1] = name
                    item, position = next_item(text, position, CLOSE_LIST)
                    if item != MORE:
                        return _fault(state, ODD_FEATURES if item == CLOSED else item, position - (item == CLOSED))
                    state[DETAIL] = name
                    if memory[0, name] == state[ATTEMPT]:
                        return _fault(state, REPEATED_NAME, position)
                    memory[0, name] = state[ATTEMPT]
                    value, stop, certain = read_number(text, position)
                    if not certain:
                        if stop == position:
                            return _fault(state, BAD_VALUE, position)
                        pending[waiting, 0], pending[waiting, 1] = value_count, position
                        pending[waiting, 2], pending[waiting, 3] = stop, name
                        waiting += 1
                    columns[value_count], values[value_count] = name, value
                    value_count += 1
                    item, position = next_item(text, stop, CLOSE_LIST)
                if item != CLOSED:
                    return _fault(state, item, position)
            elif is_key(text, key, stop, _RULE):
                if row >= 0:
                    return _fault(state, REPEATED_KEY, start)
                first = position
                if byte_at(text, position) == QUOTE:
                    inner, key, stop, position = read_string(text, position, spare)
                    if inner != MORE:
                        return _fault(state, inner, position)
                    spare = max(spare, stop)
                    added = _add_rule(data, text, key, stop, state, word_slots, words, rules, rule_labels)
                    if added != DONE:
                        return _fault(state, added, first)
                    row = state[RULES] - 1
                else:
                    number, position = read_index(text, position)
                    if number < 0:
                        return _fault(state, NO_RULE if is_null(text, first) else UNKNOWN_RULE, first)
                    digits = first + (byte_at(text, first) == MINUS)
                    identity = number_of(data, digits, position, id_slots, ids, state[IDS])
                    if identity == state[IDS]:
                        return _fault(state, UNKNOWN_RULE, first)
                    row = row_of[identity]
            elif is_key(text, key, stop, _TAIL):
                if has_tails:
                    return _fault(state, REPEATED_KEY, start)
                has_tails = True
                item = CLOSED
                if is_null(text, position):
                    position += 4
                elif byte_at(text, position) != OPEN_LIST:
                    return _fault(state, BAD_TAIL, position)
                else:
                    item, position = first_item(text, position + 1, CLOSE_LIST)
                while item == MORE:
                    if tail == len(tails):
                        return GROW
                    node, after = read_index(text, position)
                    if node < 0:
                        return _fault(state, BAD_TAIL, position)
                    tails[tail] = node
                    tail += 1
                    item, position = next_item(text, after, CLOSE_LIST)
                if item != CLOSED:
                    return _fault(state, item, position)
            else:
                inner, position = skip_value(text, position)
                if inner != MORE:
                    return _fault(state, inner, position)
            inner, position = next_item(text, position, CLOSE_OBJECT)
        if inner != CLOSED:
            return _fault(state, inner, position)
        if row < 0:
            return _fault(state, NO_RULE, start)
        if rules[LAST_TAIL, row] > tail - state[TAILS]:
            state[DETAIL] = rules[LAST_TAIL, row]
            return _fault(state, TOO_FEW_TAILS, start)
        edges[HEAD, edge], edges[RULE, edge] = -1, row
        edges[TAIL, edge + 1], edges[VALUE, edge + 1] = tail, value_count
        state[TAILS], state[VALUES], state[PENDING] = tail, value_count, waiting
        state[EDGES], state[SPARE] = edge + 1, spare
        code, position = next_item(text, position, CLOSE_LIST)
    state[POSITION] = position
    return DONE if code == CLOSED else _fault(state, code, position)


@kernel
def _read_node(text: int, state: Integers, edges: Integers) -> int:
    """Read the node at ``state[POSITION]``: it becomes the head of the edges that it lists."""
    position = state[POSITION]
    start = position
    if byte_at(text, position) != OPEN_OBJECT:
        return _fault(state, BAD_NODE, start)
    has_edges = False
    code, position = first_item(text, position + 1, CLOSE_OBJECT)
    while code == MORE:
        code, key, stop, position = read_key(text, position, state[SPARE])
        if code != MORE:
            return _fault(state, code, position)
        if is_key(text, key, stop, _IN_EDGES):
            if has_edges:
                return _fault(state, REPEATED_KEY, start)
            has_edges = True
            item = CLOSED
            if is_null(text, position):
                position += 4
            elif byte_at(text, position) != OPEN_LIST:
                return _fault(state, BAD_IN_EDGES, position)
            else:
                item, position = first_item(text, position + 1, CLOSE_LIST)
            while item == MORE:
                edge, after = read_index(text, position)
                if not 0 <= edge < state[EDGES]:
                    return _fault(state, UNKNOWN_EDGE, position)
                if edges[HEAD, edge] >= 0:
                    state[DETAIL] = edge
                    return _fault(state, EDGE_IN_TWO_NODES, position)
                edges[HEAD, edge] = state[NODES]
                item, position = next_item(text, after, CLOSE_LIST)
            if item != CLOSED:
                return _fault(state, item, position)
        else:
            code, position = skip_value(text, position)
            if code != MORE:
                return _fault(state, code, position)
        code, position = next_item(text, position, CLOSE_OBJECT)
    state[NODES] += 1
    state[POSITION] = position
    return DONE if code == CLOSED else _fault(state, code, position)


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
        code = _fault(state, NO_GRAPH, position)
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
                code = _fault(state, LATE_NAMES, at_key)
            elif is_null(text, position):
                state[POSITION] += 4
            elif byte_at(text, position) != OPEN_LIST:
                code = _fault(state, NO_LIST, at_key)
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
                    code = _read_edges(
                        data, text, state, word_slots, words, name_slots, names, id_slots, ids, row_of, memory, rules,
                        rule_labels, edges, tails, columns, values, pending,
                    )  # fmt: skip
                if code != GROW:
                    break
                if state[NAMES] == len(names):
                    name_slots, names = with_more_room(names, state[NAMES])
                    more = np.full((2, len(names) + 1), -1, dtype=np.int64)
                    more[:, : memory.shape[1]] = memory
                    memory = more
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
            code = _fault(state, UNKNOWN_KEY, at_key)
        if code == DONE and member == MORE:
            member, position = next_item(text, position, CLOSE_OBJECT)
    if code == DONE and member != CLOSED:
        code = _fault(state, member, position)
    elif code == DONE:
        position = skip_blanks(text, position)
        if position < length:
            code = _fault(state, EXTRA, position)
        elif state[NODES] == 0:
            code = _fault(state, NO_NODE, position)
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
