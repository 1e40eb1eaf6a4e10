"""Ctrl-C and SIGTERM as requests to stop, where an exception at any point would do harm."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any

Handler = Callable[[int, FrameType | None], Any]

ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""The signals by which others end a program: a batch system or ``kill``, and a terminal that is closed."""
SIGNALS = (signal.SIGINT, *ENDING)
"""The signals that end a run with what it has found."""


AGAIN = 0.01
"""Seconds after which a signal is sent again that came where no exception can be raised."""


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP, which end a run like Ctrl-C does."""

    def __init__(self, number: int = signal.SIGTERM) -> None:
        super().__init__()
        self.number = number


@contextmanager
def terminable(told: Callable[[int], None]) -> Iterator[None]:
    """Let SIGTERM and SIGHUP do what Ctrl-C does inside this context; ``told`` is called with the number of one.

    Otherwise they end Python at once: nothing is written, and a decoder lives on without its loop. Handlers that a
    caller has installed stay, and a signal that is ignored (``nohup``) stays so.
    """

    def terminate(number: int, frame: FrameType | None) -> None:
        told(number)
        raise Terminated(number)

    if not _in_main_thread():
        yield
        return
    with ExitStack() as stack:
        _own.append((terminate, told))
        stack.callback(_own.pop)
        stack.callback(setattr, sys, "unraisablehook", sys.unraisablehook)
        sys.unraisablehook = _sending_again(sys.unraisablehook)
        for number in ENDING:
            if signal.getsignal(number) is signal.SIG_DFL:
                stack.callback(signal.signal, number, signal.SIG_DFL)
                signal.signal(number, terminate)
        yield


def _sending_again(ordinary: Callable[[Any], Any]) -> Callable[[Any], None]:
    """A hook for exceptions that cannot be raised, as in a finaliser, which Python prints and forgets: signals among
    them are sent again.
    """

    def send_again(lost: Any) -> None:
        if isinstance(lost.exc_value, KeyboardInterrupt):
            number = lost.exc_value.number if isinstance(lost.exc_value, Terminated) else signal.SIGINT
            # From another thread, and later: here the handler would be run, and its exception lost, at once.
            timer = threading.Timer(AGAIN, _send_to_main_thread, (number,))
            timer.daemon = True
            timer.start()
        else:
            ordinary(lost)

    return send_again


def _send_to_main_thread(number: int) -> None:
    """Send a signal to the main thread, which wakes it if it waits."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:
        signal.raise_signal(number)


@contextmanager
def interrupts_set(stop: threading.Event) -> Iterator[None]:
    """Let Ctrl-C set ``stop`` inside this context; a second Ctrl-C raises KeyboardInterrupt as usual. SIGTERM, too,
    where it is ``terminable``.

    An exception inside ``concurrent.futures.wait``, which holds the locks of all futures for a moment, would leave them
    locked for good: workers could never report, and the run would never end. Handlers that a caller has installed stay.
    """
    if not _in_main_thread():
        yield
        return
    with ExitStack() as stack:
        _stops.append(stop)
        stack.callback(_stops.pop)
        for number in SIGNALS:
            handler: Any = signal.getsignal(number)
            told = next((told for own, told in _own if own is handler), None)
            if told is not None:
                stack.callback(signal.signal, number, handler)
                signal.signal(number, _requesting(stop, handler, told))
        yield


def stop_requested() -> bool:
    """Whether an interrupt has set the ``stop`` of a context: any thread that waits for something outside may ask."""
    return any(stop.is_set() for stop in _stops)


def end_with_all(process: subprocess.Popen[bytes]) -> None:
    """End a process that leads a session, and all that it has started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)  # it leads its own session, so its id is that of the group
    except (ProcessLookupError, PermissionError):
        process.kill()


def _requesting(stop: threading.Event, interrupt: Handler, told: Callable[[int], None]) -> Handler:
    """A handler that sets ``stop`` and calls ``told``, or calls ``interrupt`` if it is set already."""

    def request_stop(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            interrupt(number, frame)
        told(number)
        stop.set()

    return request_stop


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ignore Ctrl-C, SIGTERM and SIGHUP while a finished result is written, which does not take long."""
    if not _in_main_thread():
        yield
        return
    with ExitStack() as stack:
        for number in SIGNALS:
            stack.callback(signal.signal, number, signal.signal(number, signal.SIG_IGN))
        yield


def _in_main_thread() -> bool:
    """Whether this is the main thread, the only one that may change handlers."""
    return threading.current_thread() is threading.main_thread()


_stops: list[threading.Event] = []
"""What interrupts set, from the outermost context to the innermost."""
_own: list[tuple[Handler, Callable[[int], None]]] = [(signal.default_int_handler, lambda number: None)]
"""The handlers that may be replaced for a while, each with a function to tell: those of Ctrl-C and ``terminable``."""
