"""Processes that answer over pipes: their start, and the messages, pickled objects each after its length."""

from __future__ import annotations

import os
import pickle
import struct
import subprocess
import sys
from collections.abc import Sequence
from typing import IO, Any

PIPE = 1 << 20
"""Bytes that a pipe holds: the most that Linux grants to anybody."""
_LENGTH = struct.Struct("<Q")


def start(command: Sequence[str], *, quiet: bool = False) -> subprocess.Popen[bytes]:
    """Start a process that takes messages from its input and writes answers to its output (``own_pipes``).

    It finds the same packages as this one and no others (a file in the folder of the user may be called like one), no
    key of the terminal interrupts it, and nobody sees what it prints if it is ``quiet``. OSError if there is no room.
    """
    places = os.pathsep.join(place or os.getcwd() for place in sys.path)
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL if quiet else None,
        env={**os.environ, "PYTHONPATH": places, "PYTHONSAFEPATH": "1"},
        start_new_session=True,
    )
    for stream in (process.stdin, process.stdout):
        _widen(pipe(stream))
    return process


def pipe(stream: IO[bytes] | None) -> IO[bytes]:
    """The pipe of a process that was started with it."""
    assert stream is not None
    return stream


def own_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """The input and the output of this process; what libraries print goes to its standard error from now on."""
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    return incoming, outgoing


def _widen(stream: IO[bytes]) -> None:
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
