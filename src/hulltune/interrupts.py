"""Ctrl-C as a request to stop, where an exception at any point would do harm."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


def is_interrupt(error: BaseException) -> bool:
    """Whether this is Ctrl-C, or what is left of one that came during a kernel: as the kernel hands over its result,
    the interrupt is raised where none is expected, and Python makes it the cause of a SystemError.
    """
    cause: BaseException | None = error
    while isinstance(cause, SystemError):
        cause = cause.__cause__
    return isinstance(cause, KeyboardInterrupt)


@contextmanager
def interrupts_set(stop: threading.Event) -> Iterator[None]:
    """Ctrl-C sets ``stop`` in here; a second one raises KeyboardInterrupt as ever.

    An exception amid ``concurrent.futures.wait``, which holds the locks of all futures for a moment, would leave them
    locked for good: workers could never report, and the run would never end. Handlers that a caller has installed stay.
    """
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def ask(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            signal.default_int_handler(number, frame)
        stop.set()

    signal.signal(signal.SIGINT, ask)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
