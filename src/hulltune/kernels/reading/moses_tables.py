"""Tables of the kernel that reads Moses lists: feature names, layouts, and its state between calls.

A layout is the sequence of feature names of a line, each with its number of values and its style. Rows store the
number of their layout, so that a list with a million rows and one layout stores nothing but its values.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Bytes, Floats, Int32s, Int64s
from hulltune.kernels.load.jit import kernel

# Why the kernel returned.
DONE, NEW_NAME, NEW_ID, GROW_LAYOUTS, GROW_PENDING = 0, 1, 2, 3, 4
BLANK_LINE, TOO_FEW_FIELDS, NO_ID, NO_NAME, NO_VALUE, STRAY_VALUE = 10, 11, 12, 13, 14, 15
REPEATED_NAME, LACKS_NAME, EXTRA_NAME, WRONG_COUNT, NO_SCORE, EXTRA_SCORE, LONG_SCORE = 16, 17, 18, 19, 20, 21, 22

# Places in the state, a vector of integers that outlives a call.
POSITION, LINE, ROWS, VALUES, TEXT, PENDING, COMMITTED, LAYOUT, LAYOUTS, POOL, NAMES = range(11)
REQUIRED, STRICT, HAS_SCORE, IMPLICIT_NAME, ID_KEY, ID_LENGTH, SERIAL, FIRST, LAST, COUNT = range(11, 21)
STATE_SIZE = 21

SPACE, NEWLINE, BAR, EQUALS, COLON = 32, 10, 124, 61, 58
LONGEST_ID = 256


class Names(NamedTuple):
    """The feature names seen so far, in a hash table; name n is ``bytes[offsets[n]:offsets[n + 1]]``."""

    bytes: Bytes
    offsets: Int64s
    slots: Int32s
    width: Int64s
    required: Bytes
    stamp: Int64s


class Layouts(NamedTuple):
    """The sequences of (name, number of values, style) seen so far, in a hash table."""

    offsets: Int64s
    names: Int32s
    counts: Int32s
    dense: Bytes
    hashes: NDArray[np.uint64]
    slots: Int32s


class Output(NamedTuple):
    """The results of a block of lines; pending rows are (row, value or −1, start, stop, line, name, value number)."""

    values: Floats
    row_layout: Int32s
    row_id: Int64s
    row_score: Floats
    row_text: Int64s
    text: Bytes
    pending: Int64s


_SEED, _PRIME = np.uint64(14695981039346656037), np.uint64(1099511628211)


@kernel
def name_hash(data: Bytes, start: int, stop: int) -> np.uint64:
    """The FNV-1a hash of some bytes."""
    value = _SEED
    for i in range(start, stop):
        value = (value ^ np.uint64(data[i])) * _PRIME
    return value


@kernel
def find_name(names: Names, data: Bytes, start: int, stop: int) -> Any:
    """The number of a name, or −1 − (the slot where it belongs)."""
    mask = np.uint64(len(names.slots) - 1)
    slot = np.int64(name_hash(data, start, stop) & mask)
    while names.slots[slot] >= 0:
        name = names.slots[slot]
        first = names.offsets[name]
        length = names.offsets[name + 1] - first
        if length == stop - start:
            same = True
            for i in range(length):
                if data[start + i] != names.bytes[first + i]:
                    same = False
                    break
            if same:
                return np.int64(name)
        slot = (slot + 1) & np.int64(mask)
    return np.int64(-1 - slot)


@kernel
def insert_names(names: Names, count: int) -> None:
    """Fill the empty hash table with the first ``count`` names."""
    for name in range(count):
        slot = -1 - find_name(names, names.bytes, names.offsets[name], names.offsets[name + 1])
        names.slots[slot] = name


@kernel
def insert_layouts(layouts: Layouts, count: int) -> None:
    """Fill the empty hash table with the first ``count`` layouts."""
    mask = len(layouts.slots) - 1
    for layout in range(count):
        slot = np.int64(layouts.hashes[layout] & np.uint64(mask))
        while layouts.slots[slot] >= 0:
            slot = (slot + 1) & mask
        layouts.slots[slot] = layout


@kernel
def check_layout(start: int, stop: int, state: Int64s, names: Names, layouts: Layouts) -> int:
    """Check a new layout; returns a code.

    In the dense style, every row has the names of the first row with as many values, and no others.
    """
    if not state[STRICT] or state[COMMITTED] == 0:
        return DONE
    required = 0
    for entry in range(start, stop):
        name = layouts.names[entry]
        required += names.required[name]
        if names.width[name] == 0 and layouts.dense[entry]:
            state[FIRST] = name
            return EXTRA_NAME
        if names.width[name] > 0 and names.width[name] != layouts.counts[entry]:
            state[FIRST], state[COUNT] = name, layouts.counts[entry]
            return WRONG_COUNT
    if required < state[REQUIRED]:
        for name in range(state[NAMES]):
            if names.required[name] and names.stamp[name] != state[SERIAL]:
                state[FIRST] = name
                break
        return LACKS_NAME
    return DONE


@kernel
def number_layout(stop: int, state: Int64s, layouts: Layouts) -> Any:
    """The number of the layout at the end of the pool: a known one or the next; −1 where the tables are full."""
    start = state[POOL]
    value = _SEED
    for entry in range(start, stop):
        value = (value ^ np.uint64(layouts.names[entry])) * _PRIME
        value = (value ^ np.uint64(2 * layouts.counts[entry] + layouts.dense[entry])) * _PRIME
    mask = len(layouts.slots) - 1
    slot = np.int64(value & np.uint64(mask))
    while layouts.slots[slot] >= 0:
        layout = layouts.slots[slot]
        first = layouts.offsets[layout]
        if layouts.hashes[layout] == value and layouts.offsets[layout + 1] - first == stop - start:
            same = True
            for i in range(stop - start):
                if (
                    layouts.names[first + i] != layouts.names[start + i]
                    or layouts.counts[first + i] != layouts.counts[start + i]
                    or layouts.dense[first + i] != layouts.dense[start + i]
                ):
                    same = False
                    break
            if same:
                return np.int64(layout)
        slot = (slot + 1) & mask
    layout = state[LAYOUTS]
    if layout + 2 > len(layouts.offsets) or 2 * (layout + 1) > len(layouts.slots):
        return np.int64(-1)
    layouts.offsets[layout + 1] = stop
    layouts.hashes[layout] = value
    layouts.slots[slot] = layout
    state[LAYOUTS] += 1
    state[POOL] = stop
    return np.int64(layout)


@kernel
def learn_widths(layout: int, state: Int64s, names: Names, layouts: Layouts) -> None:
    """Remember how many values each name has; the first row says which names every row must have."""
    for entry in range(layouts.offsets[layout], layouts.offsets[layout + 1]):
        name = layouts.names[entry]
        names.width[name] = max(names.width[name], layouts.counts[entry])
        if state[COMMITTED] == 0 and layouts.dense[entry]:
            names.required[name] = 1
            state[REQUIRED] += 1


@kernel
def scatter(
    values: NDArray[Any],
    row_layout: Int32s,
    destination: Int64s,
    layouts: Layouts,
    column: Int64s,
    matrix: NDArray[Any],
) -> None:
    """Spread the values of rows over the columns of their names: value k of name n goes to ``column[n] + k``."""
    index = 0
    for row in range(len(row_layout)):
        target = destination[row]
        layout = row_layout[row]
        for entry in range(layouts.offsets[layout], layouts.offsets[layout + 1]):
            first = column[layouts.names[entry]]
            for number in range(layouts.counts[entry]):
                matrix[target, first + number] = values[index]
                index += 1


@kernel
def columns_of_values(row_layout: Int32s, layouts: Layouts, column: Int64s, columns: Int32s) -> None:
    """Write the column of every value of the rows: that of value k of name n is ``column[n] + k``."""
    index = 0
    for row in range(len(row_layout)):
        layout = row_layout[row]
        for entry in range(layouts.offsets[layout], layouts.offsets[layout + 1]):
            first = column[layouts.names[entry]]
            for number in range(layouts.counts[entry]):
                columns[index] = first + number
                index += 1
