"""Names and values of features in JSON, which forests of different formats share.

Edges mostly name the same features in the same order, so the name that came next the last time is tried first. Inlined,
because passing arrays to a function for each feature would take a third of the time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hulltune.kernels._jit import inlined, kernel
from hulltune.kernels.json_text import QUOTE, read_number
from hulltune.kernels.raw_bytes import byte_at
from hulltune.kernels.raw_edges import START, STOP, Bytes, Floats, Integers, Numbers, same_bytes


@inlined
def end_of_name(data: Bytes, text: int, position: int, names: Integers, name: int, side: int) -> Any:
    """The place after the string at ``position`` if it spells this name, and −1 if not, or if that is not easily told:
    for no name (−1), and one that was spelled with escapes (kept from ``side`` on).
    """
    end = np.int64(-1)
    if name >= 0 and names[name, STOP] < side and byte_at(text, position) == QUOTE:
        length = names[name, STOP] - names[name, START]
        same = same_bytes(data, position + 1, names[name, START], length)
        if same and byte_at(text, position + 1 + length) == QUOTE:
            end = position + length + 2
    return end


@inlined
def keep_value(
    text: int, position: int, name: int, count: int, waiting: int, columns: Numbers, values: Floats, pending: Integers
) -> tuple[Any, Any]:
    """Keep the number at ``position`` as value ``count``; returns the place after it (the same for no number), and how
    many are pending: those that Python must read.
    """
    value, stop, certain = read_number(text, position)
    if stop > position:
        if not certain:
            pending[waiting, 0], pending[waiting, 1] = count, position
            pending[waiting, 2], pending[waiting, 3] = stop, name
            waiting += 1
        columns[count], values[count] = name, value
    return stop, waiting


@kernel
def memory_for(names: Integers, memory: Integers) -> Integers:
    """What is remembered of names, with room for as many as ``names`` has."""
    more = np.full((2, len(names) + 1), -1, dtype=np.int64)
    more[:, : memory.shape[1]] = memory
    return more
