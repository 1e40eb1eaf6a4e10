"""Messages between two processes over pipes: pickled objects, each after its length."""

from __future__ import annotations

import pickle
import struct
from typing import IO, Any

PIPE = 1 << 20
"""Bytes that a pipe holds: the most that Linux grants to anybody."""
_LENGTH = struct.Struct("<Q")


def widen(stream: IO[bytes]) -> None:
    """Let a pipe take a whole message at once, where the system can: its 64 kB are a switch of processes each."""
    try:
        import fcntl

        fcntl.fcntl(stream, fcntl.F_SETPIPE_SZ, PIPE)
    except (ImportError, AttributeError, OSError):
        pass  # slower, that is all


def send(stream: IO[bytes], message: Any) -> None:
    """Write a message; OSError if the other end is gone."""
    content = pickle.dumps(message, protocol=5)
    stream.write(_LENGTH.pack(len(content)))
    stream.write(content)
    stream.flush()


def receive(stream: IO[bytes]) -> tuple[Any, int]:
    """The next message and its size; EOFError if the other end is gone, also in the middle of a message."""
    (length,) = _LENGTH.unpack(_exactly(stream, _LENGTH.size))
    return pickle.loads(_exactly(stream, length)), length


def _exactly(stream: IO[bytes], size: int) -> bytearray:
    content = bytearray(size)
    memory, filled = memoryview(content), 0
    while filled < size:
        count = stream.readinto(memory[filled:])  # type: ignore[attr-defined]  # binary streams have it
        if not count:
            raise EOFError
        filled += count
    return content
