"""Eight bytes of a text at once: where a line or a token ends, and what a word begins with.

A word of eight bytes is a number, its first byte the lowest. Subtracting from all bytes at once sets the top bit of
those that were smaller, and a borrow can only mislead about bytes after the first of them (Mycroft 1987).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from hulltune.kernels._jit import inlined
from hulltune.kernels.raw_edges import Bytes
from hulltune.kernels.simd import lowest_bit

_intrinsic: Callable[[Callable[..., Any]], Any] = intrinsic  # numba is untyped

_LITTLE_ENDIAN = sys.byteorder == "little"
_ONES, _TOPS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
_NEWLINES = np.uint64(0x0A0A0A0A0A0A0A0A)
_ABOVE_SPACE = np.uint64(0x2121212121212121)
_ONE, _THREE, _EIGHT, _NONE = np.uint64(1), np.uint64(3), np.uint64(8), np.uint64(0)
_NEWLINE, _SPACE = 10, 32


def eight(text: bytes) -> np.uint64:
    """The word that begins with these bytes, and zeros after them."""
    return np.uint64(int.from_bytes(text[:8], "little"))


def first_bytes(count: int) -> np.uint64:
    """The mask of the first bytes of a word."""
    return np.uint64((1 << 8 * count) - 1)


@_intrinsic
def eight_at(typing: Any, data: Any, place: Any) -> Any:
    """The eight bytes of a byte array from ``place`` on, all of which must be in it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        wide = builder.bitcast(builder.gep(pointer, [arguments[1]]), ir.IntType(64).as_pointer())
        value = builder.load(wide)
        value.align = 1
        return value if _LITTLE_ENDIAN else builder.bswap(value)

    return types.uint64(data, types.uint64), generate


@inlined
def line_end(data: Bytes, place: np.uint64) -> Any:
    """The next line end, which there must be."""
    if len(data) >= 8:
        last = np.uint64(len(data) - 8)
        while place <= last:
            word = eight_at(data, place) ^ _NEWLINES
            found = (word - _ONES) & ~word & _TOPS
            if found != _NONE:
                return place + (np.uint64(lowest_bit(np.int64(found))) >> _THREE)
            place += _EIGHT
    while data[place] != _NEWLINE:
        place += _ONE
    return place


@inlined
def token_end(data: Bytes, place: np.uint64) -> Any:
    """The next byte that is a blank, a line end, or another of the bytes up to a space; there must be one."""
    if len(data) >= 8:
        last = np.uint64(len(data) - 8)
        while place <= last:
            word = eight_at(data, place)
            found = (word - _ABOVE_SPACE) & ~word & _TOPS
            if found != _NONE:
                return place + (np.uint64(lowest_bit(np.int64(found))) >> _THREE)
            place += _EIGHT
    while data[place] > _SPACE:
        place += _ONE
    return place
