"""The edges of Travatar's JSON, bytes to numbers.

Feature names mostly follow each other as they did before, so the name that came after the last one is tried first, and
a hash table only where that fails.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hulltune.kernels._jit import kernel
from hulltune.kernels.json_features import end_of_name, keep_value
from hulltune.kernels.json_text import (
    CLOSE_LIST,
    CLOSE_OBJECT,
    CLOSED,
    COLON,
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
    skip_blanks,
    skip_value,
)
from hulltune.kernels.raw_bytes import byte_at, short_text
from hulltune.kernels.raw_edges import Bytes, Floats, Integers, Numbers, number_of
from hulltune.kernels.travatar_codes import (
    ATTEMPT,
    BAD_EDGE,
    BAD_FACTOR,
    BAD_FEATURES,
    BAD_NODE_NUMBER,
    BAD_TAILS,
    BAD_TARGET,
    BAD_VALUE,
    BAD_WORD,
    BAD_WORDS,
    DONE,
    EDGES,
    FARTHEST,
    FARTHEST_AT,
    GROW,
    HEAD,
    LABEL,
    LABELS,
    NAME,
    NAMES,
    NO_HEAD,
    NO_NAME,
    PENDING,
    POSITION,
    REPEATED_KEY,
    REPEATED_NAME,
    SIDE,
    SPARE,
    TAIL,
    TAILS,
    VALUE,
    VALUES,
    WORDS,
    fault,
)

_HEAD, _TAILS, _TARGET, _FEATURES, _WORDS = (short_text(key) for key in ("head", "tails", "trg", "features", "words"))


@kernel
def _read_words(
    data: Bytes, text: int, position: int, spare: int, state: Integers, word_slots: Numbers, words: Integers,
    labels: Numbers, label: int,
) -> tuple[Any, int, int, int]:  # fmt: skip
    """Read a list of words: MORE and the place after it, GROW, or a fault; where the labels and the spare room end.

    The farthest tail that they name and its place are noted in the state.
    """
    code, position = first_item(text, position + 1, CLOSE_LIST)
    while code == MORE:
        if label == len(labels) or state[WORDS] == len(words):
            return GROW, position, label, spare
        if byte_at(text, position) == QUOTE:
            code, first, stop, position = read_string(text, position, spare)
            if code != MORE:
                return code, position, label, spare
            spare = max(spare, stop)
            word = number_of(data, first, stop, word_slots, words, state[WORDS])
            state[WORDS] = max(state[WORDS], word + 1)
            labels[label] = word
        else:
            tail, after = read_index(text, position + 1)
            if byte_at(text, position) != MINUS or byte_at(text, position + 1) == MINUS or tail < 1:
                return BAD_WORD, position, label, spare
            if tail > state[FARTHEST]:
                state[FARTHEST], state[FARTHEST_AT] = tail, position
            labels[label] = -min(tail, 1 << 30)
            position = after
        label += 1
        code, position = next_item(text, position, CLOSE_LIST)
    return (MORE if code == CLOSED else code), position, label, spare


@kernel
def _read_target(
    data: Bytes, text: int, position: int, spare: int, state: Integers, word_slots: Numbers, words: Integers,
    labels: Numbers, label: int,
) -> tuple[Any, int, int, int]:  # fmt: skip
    """Read the words of the first factor, and pass over the others; gives what _read_words does."""
    if is_null(text, position):
        return MORE, position + 4, label, spare
    if byte_at(text, position) != OPEN_LIST:
        return BAD_TARGET, position, label, spare
    code, position = first_item(text, position + 1, CLOSE_LIST)
    if code == CLOSED:
        return MORE, position, label, spare
    if byte_at(text, position) != OPEN_OBJECT:
        return BAD_FACTOR, position, label, spare
    start = position
    has_words = False
    code, position = first_item(text, position + 1, CLOSE_OBJECT)
    while code == MORE:
        code, key, stop, position = read_key(text, position, spare)
        if code != MORE:
            return code, position, label, spare
        spare = max(spare, stop)
        if not is_key(text, key, stop, _WORDS):
            code, position = skip_value(text, position)
        elif has_words:
            return REPEATED_KEY, start, label, spare
        elif is_null(text, position):
            has_words = True
            position += 4
        elif byte_at(text, position) != OPEN_LIST:
            return BAD_WORDS, position, label, spare
        else:
            has_words = True
            code, position, label, spare = _read_words(
                data, text, position, spare, state, word_slots, words, labels, label
            )
        if code != MORE:
            return code, position, label, spare
        code, position = next_item(text, position, CLOSE_OBJECT)
    if code == CLOSED:
        code, position = next_item(text, position, CLOSE_LIST)
    while code == MORE:
        code, position = skip_value(text, position)
        if code == MORE:
            code, position = next_item(text, position, CLOSE_LIST)
    return (MORE if code == CLOSED else code), position, label, spare


@kernel
def read_edges(
    data: Bytes, text: int, state: Integers, word_slots: Numbers, words: Integers, name_slots: Numbers, names: Integers,
    memory: Integers, edges: Integers, tails: Integers, labels: Numbers, columns: Numbers, values: Floats,
    pending: Integers,
) -> Any:  # fmt: skip
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
            return fault(state, BAD_EDGE, start)
        state[ATTEMPT] += 1
        head = np.int64(-1)
        has_tails, has_target, has_features = False, False, False
        state[FARTHEST] = 0
        inner, position = first_item(text, position + 1, CLOSE_OBJECT)
        while inner == MORE:
            inner, key, stop, position = read_key(text, position, spare)
            if inner != MORE:
                return fault(state, inner, position)
            spare = max(spare, stop)
            if is_key(text, key, stop, _FEATURES):
                if has_features:
                    return fault(state, REPEATED_KEY, start)
                has_features = True
                item, position = items_or_null(text, position, OPEN_OBJECT, CLOSE_OBJECT)
                if item == ELSE:
                    return fault(state, BAD_FEATURES, position)
                name = np.int64(-1)
                while item == MORE:
                    if value_count == len(values) or waiting == len(pending) or state[NAMES] == len(names):
                        return GROW
                    before = name
                    name = memory[1, before + 1]
                    after = end_of_name(data, text, position, names, name, state[SIDE])
                    if after >= 0:
                        after = skip_blanks(text, after)
                    if after >= 0 and byte_at(text, after) == COLON:
                        position = skip_blanks(text, after + 1)
                    else:
                        state[NAME] = position
                        item, key, stop, position = read_key(text, position, spare)
                        if item != MORE:
                            return fault(state, item, position)
                        if key == stop:
                            return fault(state, NO_NAME, state[NAME])
                        spare = max(spare, stop)
                        name = number_of(data, key, stop, name_slots, names, state[NAMES])
                        state[NAMES] = max(state[NAMES], name + 1)
                        memory[1, before + 1] = name
                    if memory[0, name] == state[ATTEMPT]:
                        state[NAME] = name
                        return fault(state, REPEATED_NAME, position)
                    memory[0, name] = state[ATTEMPT]
                    stop, waiting = keep_value(
                        text, position, name, value_count, waiting, columns, values, pending
                    )  # fmt: skip
                    if stop == position:
                        state[NAME] = name
                        return fault(state, BAD_VALUE, position)
                    value_count += 1
                    item, position = next_item(text, stop, CLOSE_OBJECT)
                if item != CLOSED:
                    return fault(state, item, position)
            elif is_key(text, key, stop, _HEAD):
                if head >= 0:
                    return fault(state, REPEATED_KEY, start)
                head, after = read_index(text, position)
                if head < 0:
                    return fault(state, BAD_NODE_NUMBER, position)
                position = after
            elif is_key(text, key, stop, _TAILS):
                if has_tails:
                    return fault(state, REPEATED_KEY, start)
                has_tails = True
                item, position = items_or_null(text, position, OPEN_LIST, CLOSE_LIST)
                if item == ELSE:
                    return fault(state, BAD_TAILS, position)
                while item == MORE:
                    if tail == len(tails):
                        return GROW
                    node, after = read_index(text, position)
                    if node < 0:
                        return fault(state, BAD_NODE_NUMBER, position)
                    tails[tail] = node
                    tail += 1
                    item, position = next_item(text, after, CLOSE_LIST)
                if item != CLOSED:
                    return fault(state, item, position)
            elif is_key(text, key, stop, _TARGET):
                if has_target:
                    return fault(state, REPEATED_KEY, start)
                has_target = True
                inner, position, label, spare = _read_target(
                    data, text, position, spare, state, word_slots, words, labels, label
                )
                if inner != MORE:
                    return inner if inner == GROW else fault(state, inner, position)
            else:
                inner, position = skip_value(text, position)
                if inner != MORE:
                    return fault(state, inner, position)
            inner, position = next_item(text, position, CLOSE_OBJECT)
        if inner != CLOSED:
            return fault(state, inner, position)
        if head < 0:
            return fault(state, NO_HEAD, start)
        if state[FARTHEST] > tail - state[TAILS]:
            return fault(state, BAD_WORD, state[FARTHEST_AT])
        edges[HEAD, edge] = head
        edges[TAIL, edge + 1], edges[LABEL, edge + 1], edges[VALUE, edge + 1] = tail, label, value_count
        state[TAILS], state[LABELS], state[VALUES], state[PENDING] = tail, label, value_count, waiting
        state[EDGES], state[SPARE] = edge + 1, spare
        code, position = next_item(text, position, CLOSE_LIST)
    state[POSITION] = position
    return DONE if code == CLOSED else fault(state, code, position)
