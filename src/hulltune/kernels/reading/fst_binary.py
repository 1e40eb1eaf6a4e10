"""OpenFst's vector FSTs, bytes to numbers.

A state is its final weight, the number of its arcs (int64) and the arcs: input label, output label (int32 each), weight
and next state (int32). A weight is one or more floats, after which there may be a string (int32 length, then int32
each) or a sparse tuple (int32 key, float32 value, int64 number of further pairs, and these; key −1 for none). All of it
is little-endian and unaligned.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Bytes, Int64s, RealColumns, Reals, UInt64Rows, UInt64s
from hulltune.kernels.load.kernel import kernel, part
from hulltune.kernels.simd.simd import operation

DONE, CUT_OFF, BAD_COUNT = 0, 1, 2
PLAIN, STRING, TUPLE = 0, 1, 2


class States(NamedTuple):
    """The states and arcs of one FST as arrays. The kernel writes weights as bit patterns, which its caller decodes.
    The row of a pair is its arc, or −1 − s for state s.
    """

    sources: Int64s
    targets: Int64s
    labels: Int64s
    arc_weights: UInt64Rows
    final_weights: UInt64Rows
    pair_rows: Int64s
    pair_keys: Int64s
    pair_values: UInt64s


# Unaligned little-endian numbers. A loop that puts a number together from single bytes took four times as long.
_load32, _load64 = operation("load32"), operation("load64")


@part
def _int32(data: Bytes, position: int) -> Any:
    return np.int64(np.int32(_load32(data, position)))


@part
def _int64(data: Bytes, position: int) -> Any:
    return np.int64(_load64(data, position))


@part
def _read_floats(data: Bytes, position: int, width: int, bits: NDArray[np.uint64], row: int) -> None:
    for i in range(bits.shape[1]):
        bits[row, i] = np.uint64(_load32(data, position + 4 * i)) if width == 4 else _load64(data, position + 8 * i)


@part
def _after_rest(data: Bytes, position: int, end: int, style: int) -> tuple[int, int, int]:
    """Pass over the rest of a weight, after its floats: a code, the end, and the number of pairs."""
    if style == STRING:
        if position + 4 > end:
            return CUT_OFF, position, 0
        length = _int32(data, position)
        if length < 0:
            return BAD_COUNT, position, 0
        if length > (end - position - 4) // 4:
            return CUT_OFF, position, 0
        return DONE, position + 4 + 4 * length, 0
    if position + 16 > end:
        return CUT_OFF, position, 0
    count = _int64(data, position + 8)
    if count < 0:
        return BAD_COUNT, position + 8, 0
    if count > (end - position - 16) // 8:
        return CUT_OFF, position, 0
    return DONE, position + 16 + 8 * count, count + (_int32(data, position) != -1)


@kernel
def measure(
    data: Bytes, position: int, end: int, states: int, weight: int, style: int
) -> tuple[int, int, int, int, int]:
    """Pass over ``states`` states, or over all if that is −1; ``weight`` is the size in bytes of a weight's floats.

    Returns a code, the end of the states (or the place of a fault), and the numbers of states, arcs and pairs.
    """
    state, arcs, pairs = 0, 0, 0
    least = 12 + weight
    while state != states and not (states < 0 and position == end):
        position += weight
        if style != PLAIN:
            code, position, more = _after_rest(data, position, end, style)
            pairs += more
            if code != DONE:
                return code, position, state, arcs, pairs
        if position + 8 > end:
            return CUT_OFF, position, state, arcs, pairs
        count = _int64(data, position)
        if count < 0:
            return BAD_COUNT, position, state, arcs, pairs
        position += 8
        if count > (end - position) // least:
            return CUT_OFF, position, state, arcs, pairs
        if style == PLAIN:
            position += count * least
        else:
            for _ in range(count):
                code, position, more = _after_rest(data, position + 8 + weight, end, style)
                pairs += more
                if code != DONE:
                    return code, position, state, arcs, pairs
                position += 4
        arcs += count
        state += 1
    return (DONE if position <= end else CUT_OFF), position, state, arcs, pairs


@part
def _read_pairs(
    data: Bytes, position: int, row: int, pairs: int, rows: Int64s, keys: Int64s, values: NDArray[np.uint64]
) -> tuple[int, int]:
    """Read a sparse tuple: its end, and the number of pairs read so far."""
    count = _int64(data, position + 8)
    if _int32(data, position) != -1:
        rows[pairs], keys[pairs], values[pairs] = row, _int32(data, position), np.uint64(_load32(data, position + 4))
        pairs += 1
    position += 16
    for _ in range(count):
        rows[pairs], keys[pairs], values[pairs] = row, _int32(data, position), np.uint64(_load32(data, position + 4))
        pairs += 1
        position += 8
    return position, pairs


@kernel
def read_states(data: Bytes, position: int, width: int, style: int, out: States) -> None:
    """Read as many states as ``out`` has room for, which ``measure`` has counted; O(bytes)."""
    rows, keys, values = out.pair_rows, out.pair_keys, out.pair_values
    weight = out.arc_weights.shape[1] * width
    arcs, pairs = 0, 0
    for state in range(len(out.final_weights)):
        _read_floats(data, position, width, out.final_weights, state)
        position += weight
        if style == STRING:
            position += 4 + 4 * _int32(data, position)
        elif style == TUPLE:
            position, pairs = _read_pairs(data, position, -1 - state, pairs, rows, keys, values)
        count = _int64(data, position)
        position += 8
        for _ in range(count):
            out.sources[arcs], out.labels[arcs] = state, _int32(data, position + 4)
            _read_floats(data, position + 8, width, out.arc_weights, arcs)
            position += 8 + weight
            if style == STRING:
                position += 4 + 4 * _int32(data, position)
            elif style == TUPLE:
                position, pairs = _read_pairs(data, position, arcs, pairs, rows, keys, values)
            out.targets[arcs] = _int32(data, position)
            position += 4
            arcs += 1


@kernel
def scatter_pairs(rows: Int64s, keys: Int64s, values: Reals, matrix: RealColumns) -> None:
    """Add every value to its row, in column key − 1; pairs of row −1 are left out."""
    for i in range(len(rows)):
        if rows[i] >= 0:
            matrix[rows[i], keys[i] - 1] += values[i]
