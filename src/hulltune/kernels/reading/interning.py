"""Numbering of distinct texts (pieces of one array of bytes) or distinct whole numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hulltune.arrays import Bytes, Int32s, Int64s
from hulltune.kernels.load.kernel import kernel, part

_SEED, _PRIME = np.uint64(14695981039346656037), np.uint64(1099511628211)
_FOLD, _MIX = np.uint64(32), np.uint64(0x9E3779B97F4A7C15)


class Texts(NamedTuple):
    """``size[0]`` distinct texts: text n is ``data[starts[n]:stops[n]]``; ``slots`` is a hash table of them.

    The number of slots is a power of two above twice the largest possible number of texts.
    """

    starts: Int64s
    stops: Int64s
    slots: Int32s
    size: Int64s


def empty_texts(capacity: int) -> Texts:
    """Room for ``capacity`` distinct texts."""
    size = 1 << (2 * capacity + 1).bit_length()
    return Texts(
        starts=np.empty(capacity, dtype=np.int64),
        stops=np.empty(capacity, dtype=np.int64),
        slots=np.full(size, -1, dtype=np.int32),
        size=np.zeros(1, dtype=np.int64),
    )


@part
def find_text(texts: Texts, data: Bytes, start: int, stop: int) -> Any:
    """The number of a text, or −1 − (the slot where it belongs); O(its length) on average."""
    value = _SEED
    for i in range(start, stop):
        value = (value ^ np.uint64(data[i])) * _PRIME
    mask = len(texts.slots) - 1
    slot = np.int64((value ^ (value >> _FOLD)) & np.uint64(mask))
    while texts.slots[slot] >= 0:
        text = texts.slots[slot]
        first = texts.starts[text]
        if texts.stops[text] - first == stop - start:
            same = True
            for i in range(stop - start):
                if data[start + i] != data[first + i]:
                    same = False
                    break
            if same:
                return np.int64(text)
        slot = (slot + 1) & mask
    return np.int64(-1 - slot)


@kernel
def intern(texts: Texts, data: Bytes, start: int, stop: int) -> Any:
    """The number of a text, which is added if it is new."""
    number = find_text(texts, data, start, stop)
    if number < 0:
        slot = -1 - number
        number = texts.size[0]
        texts.starts[number] = start
        texts.stops[number] = stop
        texts.slots[slot] = number
        texts.size[0] += 1
    return np.int64(number)


@kernel
def number_distinct(values: Int64s) -> tuple[Int64s, Int64s]:
    """The distinct values in order of appearance, and the place of every value among them; O(n) on average.

    For some thousand labels this takes half the time of a sort.
    """
    size = 16
    while size < 2 * len(values):
        size *= 2
    slots = np.full(size, -1, dtype=np.int64)
    distinct = np.empty(len(values), dtype=np.int64)
    places = np.empty(len(values), dtype=np.int64)
    count = 0
    for i in range(len(values)):
        mixed = np.uint64(values[i]) * _MIX
        slot = np.int64((mixed ^ (mixed >> _FOLD)) & np.uint64(size - 1))
        while slots[slot] >= 0 and distinct[slots[slot]] != values[i]:
            slot = (slot + 1) & (size - 1)
        if slots[slot] < 0:
            slots[slot] = count
            distinct[count] = values[i]
            count += 1
        places[i] = slots[slot]
    return distinct[:count].copy(), places
