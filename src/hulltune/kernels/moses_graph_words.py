"""The output of a hypothesis in a Moses search graph: its words, by number."""

from __future__ import annotations

from typing import Any

import numpy as np

from hulltune.kernels._jit import inlined, kernel
from hulltune.kernels.blanks import is_blank
from hulltune.kernels.eight_bytes import line_end
from hulltune.kernels.moses_graph_fields import (
    COSTS,
    DONE,
    FACTORED,
    MORE_LABELS,
    MORE_STRINGS,
    NO_SOURCE,
    is_text,
)
from hulltune.kernels.moses_tables import BAR, SPACE
from hulltune.kernels.raw_edges import NO_HASH, Bytes, Integers, Numbers, number_of_hash, with_byte

_COMMA, _QUOTE = 44, 34
_ONE = np.uint64(1)


@kernel
def _last_costs(data: Bytes, place: np.uint64, end: np.uint64) -> tuple[Any, bool]:
    """Where the last ``, pC=`` before a line end begins, the first of which is here; and whether bars come after it."""
    last, bars = place, False
    while place < end:
        if data[place] == BAR:
            bars = True
        elif data[place] == _COMMA and is_text(data, place, COSTS):
            last = place
        place += _ONE
    return last, bars


@inlined
def read_words(
    data: Bytes, start: np.uint64, with_source: bool, label: int, known: int, word_slots: Numbers, words: Integers,
    labels: Numbers,
) -> tuple[int, Any, int, int]:  # fmt: skip
    """Read the output, which goes to the line end: a code, the line end, and the counts of labels and of known words.

    The words of the target come after ``source|``, if that is there, and in old versions before costs.
    """
    end = line_end(data, start)
    stop, place = end, start
    code = DONE
    if with_source:
        while stop > start and is_blank(data[stop - _ONE]):
            stop -= _ONE
        if data[start] == _QUOTE and stop > start + _ONE and data[stop - _ONE] == _QUOTE:
            stop -= _ONE
        while place < end and data[place] != BAR:
            place += _ONE
        if place >= stop:
            code = NO_SOURCE if place == end else FACTORED
        place += _ONE
    if label == len(labels):
        code = MORE_LABELS
    else:
        labels[label] = -1
        label += 1
    while code == DONE:
        while place < stop and is_blank(data[place]):
            place += _ONE
        first = place
        value = NO_HASH
        while place < stop:
            byte = data[place]
            if byte <= SPACE and is_blank(byte):
                break
            if byte == BAR and with_source:
                code = FACTORED
            elif byte == _COMMA and is_text(data, place, COSTS):
                stop, bars = _last_costs(data, place, end)
                if bars and with_source:
                    code = FACTORED
                if place == stop:
                    break
            value = with_byte(value, byte)
            place += _ONE
        if place == first or code != DONE:
            break
        if label == len(labels) or known == len(words):
            code = MORE_LABELS if label == len(labels) else MORE_STRINGS
            break
        word = number_of_hash(data, np.int64(first), np.int64(place), value, word_slots, words, known)
        known = max(known, word + 1)
        labels[label] = word
        label += 1
    return code, end, label, known
