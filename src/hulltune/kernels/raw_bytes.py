"""Bytes by their address in memory.

To pass an array to another kernel costs two atomic operations on its reference count wherever the compiler does not see
that they cancel out: for a function that looks at three bytes that is most of its time (reading JSON: a third of all
time). An address is a number. Who has it keeps the array alive, and answers for the places; nothing is checked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_operation: Callable[[Callable[..., Any]], Any] = intrinsic  # numba is untyped


def _pointer(builder: Any, width: int, address: Any, place: Any) -> Any:
    return builder.inttoptr(builder.add(address, place), ir.IntType(width).as_pointer())


@_operation
def byte_at(typing: Any, address: Any, place: Any) -> Any:
    """The byte at ``address + place``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = builder.load(_pointer(builder, 8, *arguments))
        value.align = 1
        return value

    return types.uint8(types.int64, types.int64), generate


@_operation
def word_at(typing: Any, address: Any, place: Any) -> Any:
    """Eight bytes from ``address + place`` on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = builder.load(_pointer(builder, 64, *arguments))
        value.align = 1
        return value

    return types.uint64(types.int64, types.int64), generate


@_operation
def put_byte(typing: Any, address: Any, place: Any, byte: Any) -> Any:
    """Write the byte at ``address + place``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[2], _pointer(builder, 8, *arguments[:2])).align = 1
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.uint8), generate


ShortText = tuple[int, np.uint64, np.uint64]
"""A constant of up to eight bytes: its length, and as words a mask of so many bytes and the bytes."""


def short_text(text: str) -> ShortText:
    """The constant; the words are in the byte order of the machine, as those in memory are."""
    data = text.encode()
    assert 0 < len(data) <= 8
    mask, word = (np.frombuffer(part.ljust(8, b"\0"), dtype=np.uint64)[0] for part in (b"\xff" * len(data), data))
    return len(data), mask, word
