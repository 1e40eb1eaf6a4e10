"""What the kernels that read forests share: distinct words and names by number, arrays that grow, values by column.

Words and feature names are numbered as they appear and never copied: a number stands for a place in the text. Python
decodes each distinct one once.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hulltune.kernels._jit import inlined, kernel

Bytes: TypeAlias = NDArray[np.uint8]
Integers: TypeAlias = NDArray[np.int64]
Numbers: TypeAlias = NDArray[np.int32]
Floats: TypeAlias = NDArray[np.float64]
Whole: TypeAlias = int | np.integer[Any]

NO_HASH, _PRIME, _FOLD = np.uint64(14695981039346656037), np.uint64(1099511628211), np.uint64(32)
_ONE = np.uint64(1)

# The distinct strings of a text, in a hash table of two arrays. Not a named tuple of arrays: to take one out of a tuple
# costs two atomic operations on its reference count, a fifth of the time of a kernel.
# - slots: the number of a string, or −1; a power of two long, at least half of them empty;
# - places: for each string, where it starts and stops, and its hash.
START, STOP, HASH = 0, 1, 2


@kernel
def room_for(size: int) -> int:
    """A power of two that is not less."""
    room = 16
    while room < size:
        room *= 2
    return room


@kernel
def no_strings(room: int) -> tuple[Numbers, Integers]:
    """Slots and places of an empty table for ``room`` strings (a power of two)."""
    return np.full(2 * room, -1, dtype=np.int32), np.empty((room, 3), dtype=np.int64)


@kernel
def with_more_room(places: Integers, count: int) -> tuple[Numbers, Integers]:
    """The same table of ``count`` strings with twice the room."""
    room = 2 * len(places)
    slots = np.full(2 * room, -1, dtype=np.int32)
    larger = np.empty((room, 3), dtype=np.int64)
    larger[:count] = places[:count]
    for number in range(count):
        slot = places[number, HASH] & (2 * room - 1)
        while slots[slot] >= 0:
            slot = (slot + 1) & (2 * room - 1)
        slots[slot] = number
    return slots, larger


@kernel
def grown(values: NDArray[Any]) -> NDArray[Any]:
    """The same values with twice the room."""
    larger = np.empty(2 * len(values), dtype=values.dtype)
    larger[: len(values)] = values
    return larger


@inlined
def same_bytes(data: Bytes, start: Whole, other: Whole, length: Whole) -> bool:
    """Whether two stretches of the text are equal; unsigned, because Numba checks signed indices for a minus sign."""
    place, end, its = np.uint64(start), np.uint64(start + length), np.uint64(other)
    while place < end and data[place] == data[its]:
        place += _ONE
        its += _ONE
    return bool(place == end)


@inlined
def number_of(data: Bytes, start: Whole, stop: Whole, slots: Numbers, places: Integers, count: Whole) -> Any:
    """The number of a string among the first ``count``; a new one becomes number ``count``, for which there must be
    room in the table.
    """
    value = NO_HASH
    for i in range(np.uint64(start), np.uint64(stop)):
        value = with_byte(value, data[i])
    return number_of_hash(data, start, stop, value, slots, places, count)


@inlined
def with_byte(value: np.uint64, byte: int) -> Any:
    """The hash of a string with one more byte, from NO_HASH on (FNV-1a)."""
    return (value ^ np.uint64(byte)) * _PRIME


@inlined
def number_of_hash(
    data: Bytes, start: Whole, stop: Whole, value: np.uint64, slots: Numbers, places: Integers, count: Whole
) -> Any:
    """The same as number_of, where the hash is known."""
    hashed = np.int64(value ^ (value >> _FOLD))
    mask = np.uint64(len(slots) - 1)  # unsigned, because Numba checks signed indices for a minus sign
    slot = np.uint64(hashed) & mask
    length = np.int64(stop) - np.int64(start)
    number = np.int64(slots[slot])
    while number >= 0 and not (
        places[number, HASH] == hashed
        and places[number, STOP] - places[number, START] == length
        and same_bytes(data, start, places[number, START], length)
    ):
        slot = (slot + _ONE) & mask
        number = np.int64(slots[slot])
    if number < 0:
        number = np.int64(count)
        slots[slot] = number
        places[number, START], places[number, STOP], places[number, HASH] = start, stop, hashed
    return number


@kernel
def fill_dense(offsets: Integers, columns: Numbers, values: NDArray[Any], matrix: NDArray[Any]) -> None:
    """Spread sparse rows over a matrix of zeros."""
    for row in range(len(offsets) - 1):
        for i in range(offsets[row], offsets[row + 1]):
            matrix[row, columns[i]] = values[i]
