"""Ctrl-C as a request to stop, where an exception at any point would do harm."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


def is_interrupt(error: BaseException) -> bool:
    """Whether an error is Ctrl-C, or a SystemError that Ctrl-C has caused.

    An interrupt that arrives during a kernel is raised while the kernel returns its result. Python expects no exception
    there, and makes the interrupt the cause of a SystemError.
    """
    cause: BaseException | None = error
    while isinstance(cause, SystemError):
        cause = cause.__cause__
    return isinstance(cause, KeyboardInterrupt)


@contextmanager
def interrupts_set(stop: threading.Event) -> Iterator[None]:
    """Let Ctrl-C set ``stop`` inside this context; a second Ctrl-C raises KeyboardInterrupt as usual.

    An exception inside ``concurrent.futures.wait``, which holds the locks of all futures for a moment, would leave them
    locked for good: workers could never report, and the run would never end. Handlers that a caller has installed stay.
    """
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def request_stop(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            signal.default_int_handler(number, frame)
        stop.set()

    signal.signal(signal.SIGINT, request_stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
