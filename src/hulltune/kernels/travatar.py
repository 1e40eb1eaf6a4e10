"""Travatar's JSON, bytes to numbers: the hypergraph of one line.

The kernel reads what is right; at the first thing that is not it stops with a code and the place, and Python words the
complaint. Feature names mostly follow each other as they did before, so the name that came after the last one is tried
first, and a hash table only where that fails.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hulltune.kernels._jit import kernel
from hulltune.kernels.json_text import (
    CLOSE_LIST,
    CLOSE_OBJECT,
    CLOSED,
    COLON,
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
    DONE, GROW, NO_GRAPH, NO_NODES, BAD_NODE, NO_EDGES, BAD_EDGE, NO_HEAD, BAD_NODE_NUMBER, BAD_TAILS, BAD_TARGET,
    BAD_FACTOR, BAD_WORDS, BAD_WORD, BAD_FEATURES, NO_NAME, REPEATED_NAME, BAD_VALUE, REPEATED_KEY,
) = codes(FIRST_FREE_CODE, 19)  # fmt: skip

# What is where in the state. FAULT is the place of what is wrong, NAME the feature that it is about.
(
    POSITION, FAULT, NAME, SPARE, SIDE, NODES, EDGES, TAILS, LABELS, VALUES, PENDING, WORDS, NAMES, ATTEMPT,
    SOURCE_START, SOURCE_STOP, ARITY,
) = range(17)  # fmt: skip
STATE_SIZE = 17
HEAD, TAIL, LABEL, VALUE = range(4)
ID, SPAN_START, SPAN_STOP = range(3)

_NODES, _EDGES, _WORDS, _ID, _SPAN = (short_text(key) for key in ("nodes", "edges", "words", "id", "span"))
_HEAD, _TAILS, _TARGET, _FEATURES = (short_text(key) for key in ("head", "tails", "trg", "features"))


@kernel
def _fault(state: Integers, code: int, position: int) -> int:
    state[FAULT] = position
    return code


@kernel
def _read_nodes(text: int, state: Integers, nodes: Integers) -> int:
    """Read on from the node at ``state[POSITION]`` to the end of the list: ids, and where spans are."""
    code, position = MORE, state[POSITION]
    while code == MORE:
        state[POSITION] = position
        if state[NODES] == nodes.shape[1]:
            return GROW
        number = np.int64(-1)
        span_start, span_stop = np.int64(0), np.int64(0)
        start = position
        if byte_at(text, start) != OPEN_OBJECT:
            return _fault(state, BAD_NODE, start)
        inner, position = first_item(text, position + 1, CLOSE_OBJECT)
        while inner == MORE:
            inner, key, stop, position = read_key(text, position, state[SPARE])
            if inner != MORE:
                return _fault(state, inner, position)
            if is_key(text, key, stop, _ID):
                if number >= 0:
                    return _fault(state, REPEATED_KEY, start)
                number, position = read_index(text, position)
                if number < 0:
                    return _fault(state, BAD_NODE, start)
            else:
                is_span = is_key(text, key, stop, _SPAN)
                if is_span and span_stop > 0:
                    return _fault(state, REPEATED_KEY, start)
                first = position
                inner, position = skip_value(text, position)
                if inner != MORE:
                    return _fault(state, inner, position)
                if is_span:
                    span_start, span_stop = first, position
            inner, position = next_item(text, position, CLOSE_OBJECT)
        if inner != CLOSED:
            return _fault(state, inner, position)
        if number < 0:
            return _fault(state, BAD_NODE, start)
        nodes[ID, state[NODES]] = number
        nodes[SPAN_START, state[NODES]], nodes[SPAN_STOP, state[NODES]] = span_start, span_stop
        state[NODES] += 1
        code, position = next_item(text, position, CLOSE_LIST)
    state[POSITION] = position
    return DONE if code == CLOSED else _fault(state, code, position)


@kernel
def _read_edges(
    data: Bytes, text: int, state: Integers, word_slots: Numbers, words: Integers, name_slots: Numbers, names: Integers,
    memory: Integers, edges: Integers, tails: Integers, labels: Numbers, columns: Numbers, values: Floats,
    pending: Integers,
) -> int:  # fmt: skip
    """Read on from the edge at ``state[POSITION]`` to the end of the list.

    A code other than DONE leaves the state at the edge in question, of which nothing is kept. ``memory[0]`` has for
    every name the attempt at an edge that named it last; ``memory[1]``, shifted by one so that the start of an edge
    counts as a name, the name that came after it then.

    One long function: to pass a dozen arrays to others for every edge takes time, in counting references.
    """
    code, position = MORE, state[POSITION]
    while code == MORE:
        state[POSITION] = position
        edge, spare = state[EDGES], state[SPARE]
        tail, label, value_count, waiting = state[TAILS], state[LABELS], state[VALUES], state[PENDING]
        if edge + 1 == edges.shape[1]:
            return GROW
        start = position
        if byte_at(text, start) != OPEN_OBJECT:
            return _fault(state, BAD_EDGE, start)
        state[ATTEMPT] += 1
        head = np.int64(-1)
        has_tails, has_target, has_features = False, False, False
        farthest, farthest_at = np.int64(0), position  # the last of the tails that the words name, and where
        inner, position = first_item(text, position + 1, CLOSE_OBJECT)
        while inner == MORE:
            inner, key, stop, position = read_key(text, position, spare)
            if inner != MORE:
                return _fault(state, inner, position)
            spare = max(spare, stop)
            if is_key(text, key, stop, _FEATURES):
                if has_features:
                    return _fault(state, REPEATED_KEY, start)
                has_features = True
                item = CLOSED
                if is_null(text, position):
                    position += 4
                elif byte_at(text, position) != OPEN_OBJECT:
                    return _fault(state, BAD_FEATURES, position)
                else:
                    item, position = first_item(text, position + 1, CLOSE_OBJECT)
                name = np.int64(-1)
                while item == MORE:
                    if value_count == len(values) or waiting == len(pending) or state[NAMES] == len(names):
                        return GROW
                    before = name
                    name = memory[1, before + 1]
                    known = False
                    if name >= 0 and byte_at(text, position) == QUOTE and names[name, STOP] < state[SIDE]:
                        length = names[name, STOP] - names[name, START]
                        end = position + 1 + length
                        if same_bytes(data, position + 1, names[name, START], length) and byte_at(text, end) == QUOTE:
                            end = skip_blanks(text, end + 1)
                            known = byte_at(text, end) == COLON
                            if known:
                                position = skip_blanks(text, end + 1)
                    if not known:
                        state[NAME] = position
                        item, key, stop, position = read_key(text, position, spare)
                        if item != MORE:
                            return _fault(state, item, position)
                        if key == stop:
                            return _fault(state, NO_NAME, state[NAME])
                        spare = max(spare, stop)
                        name = number_of(data, key, stop, name_slots, names, state[NAMES])
                        state[NAMES] = max(state[NAMES], name + 1)
                        memory[1, before + 1] = name
                    if memory[0, name] == state[ATTEMPT]:
                        state[NAME] = name
                        return _fault(state, REPEATED_NAME, position)
                    memory[0, name] = state[ATTEMPT]
                    value, stop, certain = read_number(text, position)
                    if not certain:
                        if stop == position:
                            state[NAME] = name
                            return _fault(state, BAD_VALUE, position)
                        pending[waiting, 0], pending[waiting, 1] = value_count, position
                        pending[waiting, 2], pending[waiting, 3] = stop, name
                        waiting += 1
                    columns[value_count], values[value_count] = name, value
                    value_count += 1
                    item, position = next_item(text, stop, CLOSE_OBJECT)
                if item != CLOSED:
                    return _fault(state, item, position)
            elif is_key(text, key, stop, _HEAD):
                if head >= 0:
                    return _fault(state, REPEATED_KEY, start)
                head, after = read_index(text, position)
                if head < 0:
                    return _fault(state, BAD_NODE_NUMBER, position)
                position = after
            elif is_key(text, key, stop, _TAILS):
                if has_tails:
                    return _fault(state, REPEATED_KEY, start)
                has_tails = True
                item = CLOSED
                if is_null(text, position):
                    position += 4
                elif byte_at(text, position) != OPEN_LIST:
                    return _fault(state, BAD_TAILS, position)
                else:
                    item, position = first_item(text, position + 1, CLOSE_LIST)
                while item == MORE:
                    if tail == len(tails):
                        return GROW
                    node, after = read_index(text, position)
                    if node < 0:
                        return _fault(state, BAD_NODE_NUMBER, position)
                    tails[tail] = node
                    tail += 1
                    item, position = next_item(text, after, CLOSE_LIST)
                if item != CLOSED:
                    return _fault(state, item, position)
            elif is_key(text, key, stop, _TARGET):
                if has_target:
                    return _fault(state, REPEATED_KEY, start)
                has_target = True
                factor = CLOSED
                if is_null(text, position):
                    position += 4
                elif byte_at(text, position) != OPEN_LIST:
                    return _fault(state, BAD_TARGET, position)
                else:
                    factor, position = first_item(text, position + 1, CLOSE_LIST)
                if factor == MORE:  # the first factor; others are passed over
                    if byte_at(text, position) != OPEN_OBJECT:
                        return _fault(state, BAD_FACTOR, position)
                    has_words = False
                    member, position = first_item(text, position + 1, CLOSE_OBJECT)
                    while member == MORE:
                        member, key, stop, position = read_key(text, position, spare)
                        if member != MORE:
                            return _fault(state, member, position)
                        spare = max(spare, stop)
                        if not is_key(text, key, stop, _WORDS):
                            member, position = skip_value(text, position)
                            if member != MORE:
                                return _fault(state, member, position)
                        else:
                            if has_words:
                                return _fault(state, REPEATED_KEY, start)
                            has_words = True
                            item = CLOSED
                            if is_null(text, position):
                                position += 4
                            elif byte_at(text, position) != OPEN_LIST:
                                return _fault(state, BAD_WORDS, position)
                            else:
                                item, position = first_item(text, position + 1, CLOSE_LIST)
                            while item == MORE:
                                if label == len(labels) or state[WORDS] == len(words):
                                    return GROW
                                if byte_at(text, position) == QUOTE:
                                    item, first, stop, position = read_string(text, position, spare)
                                    if item != MORE:
                                        return _fault(state, item, position)
                                    spare = max(spare, stop)
                                    word = number_of(data, first, stop, word_slots, words, state[WORDS])
                                    state[WORDS] = max(state[WORDS], word + 1)
                                    labels[label] = word
                                else:
                                    number, after = read_index(text, position + 1)
                                    if byte_at(text, position) != MINUS or byte_at(text, position + 1) == MINUS or number < 1:
                                        return _fault(state, BAD_WORD, position)
                                    if number > farthest:
                                        farthest, farthest_at = number, position
                                    labels[label] = -min(number, 1 << 30)
                                    position = after
                                label += 1
                                item, position = next_item(text, position, CLOSE_LIST)
                            if item != CLOSED:
                                return _fault(state, item, position)
                        member, position = next_item(text, position, CLOSE_OBJECT)
                    if member != CLOSED:
                        return _fault(state, member, position)
                    factor, position = next_item(text, position, CLOSE_LIST)
                while factor == MORE:
                    factor, position = skip_value(text, position)
                    if factor == MORE:
                        factor, position = next_item(text, position, CLOSE_LIST)
                if factor != CLOSED:
                    return _fault(state, factor, position)
            else:
                inner, position = skip_value(text, position)
                if inner != MORE:
                    return _fault(state, inner, position)
            inner, position = next_item(text, position, CLOSE_OBJECT)
        if inner != CLOSED:
            return _fault(state, inner, position)
        if head < 0:
            return _fault(state, NO_HEAD, start)
        if farthest > tail - state[TAILS]:
            state[ARITY] = tail - state[TAILS]
            return _fault(state, BAD_WORD, farthest_at)
        edges[HEAD, edge] = head
        edges[TAIL, edge + 1], edges[LABEL, edge + 1], edges[VALUE, edge + 1] = tail, label, value_count
        state[TAILS], state[LABELS], state[VALUES], state[PENDING] = tail, label, value_count, waiting
        state[EDGES], state[SPARE] = edge + 1, spare
        code, position = next_item(text, position, CLOSE_LIST)
    state[POSITION] = position
    return DONE if code == CLOSED else _fault(state, code, position)


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
        code = _fault(state, NO_GRAPH, position)
    while code == DONE and member == MORE:
        at_key = position
        member, key, stop, position = read_key(text, position, state[SPARE])
        if member != MORE:
            break
        state[SPARE] = max(state[SPARE], stop)
        is_nodes, is_edges = is_key(text, key, stop, _NODES), is_key(text, key, stop, _EDGES)
        if is_nodes or is_edges:
            if (is_nodes and seen_nodes) or (is_edges and seen_edges):
                code = _fault(state, REPEATED_KEY, at_key)
                break
            seen_nodes, seen_edges = seen_nodes or is_nodes, seen_edges or is_edges
            if byte_at(text, position) != OPEN_LIST:
                code = _fault(state, NO_NODES if is_nodes else NO_EDGES, position)
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
                code = _read_edges(
                    data, text, state, word_slots, words, name_slots, names, memory, edges, tails, labels, columns, values,
                    pending,
                )  # fmt: skip
                if code != GROW:
                    break
                if state[NAMES] == len(names):
                    name_slots, names = with_more_room(names, state[NAMES])
                    more = np.full((2, len(names) + 1), -1, dtype=np.int64)
                    more[:, : memory.shape[1]] = memory
                    memory = more
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
                code = _fault(state, REPEATED_KEY, at_key)
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
        code = _fault(state, member, position)
    elif code == DONE:
        position = skip_blanks(text, position)
        if position < length:
            code = _fault(state, EXTRA, position)
        elif not seen_nodes:
            code = _fault(state, NO_NODES, -1)
        elif not seen_edges:
            code = _fault(state, NO_EDGES, -1)
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
