"""OpenFst's vector FSTs, bytes to numbers.

A state is its final weight, the number of its arcs (int64) and the arcs: input label, output label (int32 each), weight
and next state (int32). A weight is one or more floats, after which there may be a string (int32 length, then int32
each) or a sparse tuple (int32 key, float32 value, int64 number of further pairs, and these; key −1 for none). All of it
is little-endian and unaligned.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hulltune.kernels._jit import kernel

Bytes: TypeAlias = NDArray[np.uint8]
Integers: TypeAlias = NDArray[np.int64]

DONE, CUT_OFF, BAD_COUNT = 0, 1, 2
PLAIN, STRING, TUPLE = 0, 1, 2
_EIGHT = np.uint64(8)


class Output(NamedTuple):
    """Room for what the bytes can hold. Weights are bit patterns; pairs belong to an arc, or to state s as −1 − s."""

    sources: Integers
    targets: Integers
    labels: Integers
    arc_weights: NDArray[np.uint64]
    final_weights: NDArray[np.uint64]
    pair_rows: Integers
    pair_keys: Integers
    pair_values: NDArray[np.uint64]


@kernel
def _word(data: Bytes, position: int, width: int) -> Any:
    """An unsigned number of ``width`` bytes."""
    value = np.uint64(0)
    for i in range(width):
        value |= np.uint64(data[position + i]) << (np.uint64(i) * _EIGHT)
    return value


@kernel
def _int32(data: Bytes, position: int) -> Any:
    return np.int64(np.int32(np.uint32(_word(data, position, 4))))


@kernel
def _read_weight(
    data: Bytes, position: int, end: int, width: int, style: int, bits: Any, row: int, pairs: int, out: Output
) -> tuple[int, int, int]:
    """Read a weight: a code, where it ends, and how many pairs there are by then."""
    floats = len(bits)
    if position + floats * width > end:
        return CUT_OFF, position, pairs
    for i in range(floats):
        bits[i] = _word(data, position + i * width, width)
    position += floats * width
    if style == STRING:
        if position + 4 > end:
            return CUT_OFF, position, pairs
        length = _int32(data, position)
        if length < 0:
            return BAD_COUNT, position, pairs
        position += 4
        if length > (end - position) // 4:
            return CUT_OFF, position, pairs
        position += 4 * length
    elif style == TUPLE:
        if position + 16 > end:
            return CUT_OFF, position, pairs
        count = np.int64(_word(data, position + 8, 8))
        if count < 0:
            return BAD_COUNT, position + 8, pairs
        if count > (end - position - 16) // 8:
            return CUT_OFF, position + 16, pairs
        if _int32(data, position) != -1:
            out.pair_rows[pairs], out.pair_keys[pairs] = row, _int32(data, position)
            out.pair_values[pairs] = _word(data, position + 4, 4)
            pairs += 1
        position += 16
        for _ in range(count):
            out.pair_rows[pairs], out.pair_keys[pairs] = row, _int32(data, position)
            out.pair_values[pairs] = _word(data, position + 4, 4)
            pairs += 1
            position += 8
    return DONE, position, pairs


@kernel
def read_states(
    data: Bytes, position: int, end: int, states: int, width: int, style: int, out: Output
) -> tuple[int, int, int, int, int]:
    """Read ``states`` states, or as many as there are if that is −1. Returns a code, the position, and how many states,
    arcs and pairs were read; O(bytes).
    """
    state, arcs, pairs = 0, 0, 0
    least = 12 + out.arc_weights.shape[1] * width
    while state != states and not (states < 0 and position == end):
        code, position, pairs = _read_weight(
            data, position, end, width, style, out.final_weights[state], -1 - state, pairs, out
        )
        if code != DONE:
            return code, position, state, arcs, pairs
        if position + 8 > end:
            return CUT_OFF, position, state, arcs, pairs
        count = np.int64(_word(data, position, 8))
        if count < 0:
            return BAD_COUNT, position, state, arcs, pairs
        position += 8
        if count > (end - position) // least:
            return CUT_OFF, position, state, arcs, pairs
        for _ in range(count):
            if position + 8 > end:
                return CUT_OFF, position, state, arcs, pairs
            out.sources[arcs], out.labels[arcs] = state, _int32(data, position + 4)
            code, position, pairs = _read_weight(
                data, position + 8, end, width, style, out.arc_weights[arcs], arcs, pairs, out
            )
            if code != DONE:
                return code, position, state, arcs, pairs
            if position + 4 > end:
                return CUT_OFF, position, state, arcs, pairs
            out.targets[arcs] = _int32(data, position)
            position += 4
            arcs += 1
        state += 1
    return DONE, position, state, arcs, pairs


@kernel
def scatter_pairs(rows: Integers, keys: Integers, values: NDArray[Any], matrix: NDArray[Any]) -> None:
    """Add every value to its row, in the column before its key; pairs of row −1 are left out."""
    for i in range(len(rows)):
        if rows[i] >= 0:
            matrix[rows[i], keys[i] - 1] += values[i]
