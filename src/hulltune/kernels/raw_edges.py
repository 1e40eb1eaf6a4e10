"""What the kernels that read forests share: distinct words and names by number, arrays that grow, values by column.

Words and feature names are numbered as they appear and never copied: a number stands for a place in the text. Python
decodes each distinct one once.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hulltune.kernels._jit import kernel

Bytes: TypeAlias = NDArray[np.uint8]
Integers: TypeAlias = NDArray[np.int64]

_SEED, _PRIME, _FOLD = np.uint64(14695981039346656037), np.uint64(1099511628211), np.uint64(32)


class Strings(NamedTuple):
    """Distinct byte strings of a text in a hash table; string n is ``data[starts[n]:stops[n]]``.

    ``slots`` is a power of two and at least half empty.
    """

    slots: NDArray[np.int32]
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    hashes: NDArray[np.uint64]


@kernel
def no_strings(room: int) -> Strings:
    """An empty table for ``room`` strings (a power of two), until it grows."""
    return Strings(
        np.full(2 * room, -1, dtype=np.int32),
        np.empty(room, dtype=np.int64),
        np.empty(room, dtype=np.int64),
        np.empty(room, dtype=np.uint64),
    )


@kernel
def grown(values: NDArray[Any]) -> NDArray[Any]:
    """The same values with twice the room."""
    larger = np.empty(2 * len(values), dtype=values.dtype)
    larger[: len(values)] = values
    return larger


@kernel
def with_more_room(strings: Strings, count: int) -> Strings:
    """The same table of ``count`` strings with twice the room."""
    room = 2 * len(strings.starts)
    slots = np.full(2 * room, -1, dtype=np.int32)
    for number in range(count):
        slot = np.int64(strings.hashes[number] & np.uint64(2 * room - 1))
        while slots[slot] >= 0:
            slot = (slot + 1) & (2 * room - 1)
        slots[slot] = number
    return Strings(slots, grown(strings.starts), grown(strings.stops), grown(strings.hashes))


@kernel
def same_bytes(data: Bytes, start: int, other: int, length: int) -> bool:
    """Whether two stretches of the text are equal."""
    for i in range(length):  # noqa: SIM110  # Numba has no generators here
        if data[start + i] != data[other + i]:
            return False
    return True


@kernel
def number_of(data: Bytes, start: int, stop: int, strings: Strings, count: int) -> Any:
    """The number of a string among the first ``count``; a new one becomes number ``count``, for which there must be
    room in the table.
    """
    value = _SEED
    for i in range(start, stop):
        value = (value ^ np.uint64(data[i])) * _PRIME
    value ^= value >> _FOLD
    mask = len(strings.slots) - 1
    slot = np.int64(value & np.uint64(mask))
    length = stop - start
    while strings.slots[slot] >= 0:
        number = strings.slots[slot]
        if (
            strings.hashes[number] == value
            and strings.stops[number] - strings.starts[number] == length
            and same_bytes(data, start, strings.starts[number], length)
        ):
            return np.int64(number)
        slot = (slot + 1) & mask
    strings.slots[slot] = count
    strings.starts[count], strings.stops[count], strings.hashes[count] = start, stop, value
    return np.int64(count)


@kernel
def fill_dense(offsets: Integers, columns: NDArray[np.int32], values: NDArray[Any], matrix: NDArray[Any]) -> None:
    """Spread sparse rows over a matrix of zeros."""
    for row in range(len(offsets) - 1):
        for i in range(offsets[row], offsets[row + 1]):
            matrix[row, columns[i]] = values[i]
