"""The edges in the JSON of cdec, bytes to numbers.

The ids of rules are known by their digits. An edge has the row of its rule. Feature names mostly follow each other as
they did before, so the name that came after the last one is tried first, and a hash table only where that fails.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hulltune.kernels._jit import kernel
from hulltune.kernels.cdec_codes import (
    ATTEMPT,
    BAD_EDGE,
    BAD_FEATURES,
    BAD_TAIL,
    BAD_VALUE,
    DECLARED,
    DETAIL,
    DONE,
    EDGES,
    END,
    GROW,
    HEAD,
    IDS,
    LABELS,
    LAST_TAIL,
    NAMES,
    NAMES_TAIL_ZERO,
    NO_RULE,
    ODD_FEATURES,
    PENDING,
    POSITION,
    REPEATED_KEY,
    REPEATED_NAME,
    RULE,
    RULES,
    SIDE,
    SPARE,
    TAIL,
    TAILS,
    TOO_FEW_TAILS,
    UNKNOWN_NAME,
    UNKNOWN_RULE,
    VALUE,
    VALUES,
    WORDS,
    fault,
)
from hulltune.kernels.cdec_rules import NO_ROOM, TAIL_ZERO, read_target
from hulltune.kernels.json_features import end_of_name, keep_value
from hulltune.kernels.json_text import (
    CLOSE_LIST,
    CLOSE_OBJECT,
    CLOSED,
    ELSE,
    MINUS,
    MORE,
    OPEN_LIST,
    OPEN_OBJECT,
    QUOTE,
    first_item,
    is_key,
    is_null,
    items_or_null,
    next_item,
    read_index,
    read_key,
    read_string,
    skip_value,
)
from hulltune.kernels.raw_bytes import byte_at, short_text
from hulltune.kernels.raw_edges import Bytes, Floats, Integers, Numbers, number_of

_TAIL, _RULE, _FEATS = (short_text(key) for key in ("tail", "rule", "feats"))


@kernel
def add_rule(
    data: Bytes, text: int, start: int, stop: int, state: Integers, word_slots: Numbers, words: Integers,
    rules: Integers, rule_labels: Numbers,
) -> Any:  # fmt: skip
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
def read_edges(
    data: Bytes, text: int, state: Integers, word_slots: Numbers, words: Integers, name_slots: Numbers, names: Integers,
    id_slots: Numbers, ids: Integers, row_of: Integers, memory: Integers, rules: Integers, rule_labels: Numbers,
    edges: Integers, tails: Integers, columns: Numbers, values: Floats, pending: Integers,
) -> Any:  # fmt: skip
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
            return fault(state, BAD_EDGE, start)
        state[ATTEMPT] += 1
        row = np.int64(-1)
        has_tails, has_features = False, False
        inner, position = first_item(text, position + 1, CLOSE_OBJECT)
        while inner == MORE:
            inner, key, stop, position = read_key(text, position, spare)
            if inner != MORE:
                return fault(state, inner, position)
            spare = max(spare, stop)
            if is_key(text, key, stop, _FEATS):
                if has_features:
                    return fault(state, REPEATED_KEY, start)
                has_features = True
                item, position = items_or_null(text, position, OPEN_LIST, CLOSE_LIST)
                if item == ELSE:
                    return fault(state, BAD_FEATURES, position)
                name = np.int64(-1)
                while item == MORE:
                    if value_count == len(values) or waiting == len(pending) or state[NAMES] == len(names):
                        return GROW
                    before = name
                    if byte_at(text, position) != QUOTE:
                        name, after = read_index(text, position)
                        if not 0 <= name < state[DECLARED]:
                            return fault(state, UNKNOWN_NAME, position)
                        position = after
                    else:
                        name = memory[1, before + 1]
                        after = end_of_name(data, text, position, names, name, state[SIDE])
                        if after >= 0:
                            position = after
                        else:
                            first = position
                            item, key, stop, position = read_string(text, position, spare)
                            if item != MORE:
                                return fault(state, item, position)
                            if key == stop:
                                return fault(state, UNKNOWN_NAME, first)
                            spare = max(spare, stop)
                            name = number_of(data, key, stop, name_slots, names, state[NAMES])
                            state[NAMES] = max(state[NAMES], name + 1)
                            memory[1, before + 1] = name
                    item, position = next_item(text, position, CLOSE_LIST)
                    if item != MORE:
                        return fault(state, ODD_FEATURES if item == CLOSED else item, position - (item == CLOSED))
                    state[DETAIL] = name
                    if memory[0, name] == state[ATTEMPT]:
                        return fault(state, REPEATED_NAME, position)
                    memory[0, name] = state[ATTEMPT]
                    stop, waiting = keep_value(
                        text, position, name, value_count, waiting, columns, values, pending
                    )  # fmt: skip
                    if stop == position:
                        return fault(state, BAD_VALUE, position)
                    value_count += 1
                    item, position = next_item(text, stop, CLOSE_LIST)
                if item != CLOSED:
                    return fault(state, item, position)
            elif is_key(text, key, stop, _RULE):
                if row >= 0:
                    return fault(state, REPEATED_KEY, start)
                first = position
                if byte_at(text, position) == QUOTE:
                    inner, key, stop, position = read_string(text, position, spare)
                    if inner != MORE:
                        return fault(state, inner, position)
                    spare = max(spare, stop)
                    added = add_rule(data, text, key, stop, state, word_slots, words, rules, rule_labels)
                    if added != DONE:
                        return fault(state, added, first)
                    row = state[RULES] - 1
                else:
                    number, position = read_index(text, position)
                    if number < 0:
                        return fault(state, NO_RULE if is_null(text, first) else UNKNOWN_RULE, first)
                    digits = first + (byte_at(text, first) == MINUS)
                    identity = number_of(data, digits, position, id_slots, ids, state[IDS])
                    if identity == state[IDS]:
                        return fault(state, UNKNOWN_RULE, first)
                    row = row_of[identity]
            elif is_key(text, key, stop, _TAIL):
                if has_tails:
                    return fault(state, REPEATED_KEY, start)
                has_tails = True
                item, position = items_or_null(text, position, OPEN_LIST, CLOSE_LIST)
                if item == ELSE:
                    return fault(state, BAD_TAIL, position)
                while item == MORE:
                    if tail == len(tails):
                        return GROW
                    node, after = read_index(text, position)
                    if node < 0:
                        return fault(state, BAD_TAIL, position)
                    tails[tail] = node
                    tail += 1
                    item, position = next_item(text, after, CLOSE_LIST)
                if item != CLOSED:
                    return fault(state, item, position)
            else:
                inner, position = skip_value(text, position)
                if inner != MORE:
                    return fault(state, inner, position)
            inner, position = next_item(text, position, CLOSE_OBJECT)
        if inner != CLOSED:
            return fault(state, inner, position)
        if row < 0:
            return fault(state, NO_RULE, start)
        if rules[LAST_TAIL, row] > tail - state[TAILS]:
            state[DETAIL] = rules[LAST_TAIL, row]
            return fault(state, TOO_FEW_TAILS, start)
        edges[HEAD, edge], edges[RULE, edge] = -1, row
        edges[TAIL, edge + 1], edges[VALUE, edge + 1] = tail, value_count
        state[TAILS], state[VALUES], state[PENDING] = tail, value_count, waiting
        state[EDGES], state[SPARE] = edge + 1, spare
        code, position = next_item(text, position, CLOSE_LIST)
    state[POSITION] = position
    return DONE if code == CLOSED else fault(state, code, position)
