"""News of kernels that are being compiled: a user who waits should know why. Numba is not imported here.

Most runs have no such news: kernels come compiled with the package, or are kept after the first run.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

EVERY = 0.1
"""The least seconds between two changes of a line on a terminal."""


class Listener:
    """A listener to the news that ignores all of it; a subclass overrides what it shows."""

    def compiling(self, kernel: str, done: int) -> None:
        """Take the name of a kernel that is about to be compiled, and the number compiled before it."""

    def ended(self, done: int) -> None:
        """Take the number of kernels compiled so far, when a kernel and all that it calls are compiled."""

    def trouble(self, text: str) -> None:
        """Take a sentence on kernels that were kept and cannot be used, or that cannot be kept."""


class OnStandardError(Listener):
    """A listener that writes one line, which a terminal keeps up to date until the compiling has ended."""

    def __init__(self) -> None:
        self._began = 0.0
        self._written = 0.0
        self._width = 0
        self._told: set[str] = set()

    def compiling(self, kernel: str, done: int) -> None:
        """Write that kernels are being compiled; on a terminal also which one, how many before, and the seconds."""
        now = time.monotonic()
        if not self._began:
            self._began = now
            if not _is_terminal():
                _write("hulltune: compiling kernels, first run only\n")
        if _is_terminal() and now - self._written >= EVERY:
            self._written = now
            seconds = f", {now - self._began:.0f} s" if now - self._began >= 1 else ""
            self._replace(f"compiling kernels, first run only: {done} done{seconds}, {kernel} …")

    def ended(self, done: int) -> None:
        """Clear the line on a terminal."""
        if self._width:
            self._replace("")

    def trouble(self, text: str) -> None:
        """Write each text once."""
        if text not in self._told:
            self._told.add(text)
            if self._width:
                self._replace("")
            _write(f"hulltune: {text}\n")

    def _replace(self, text: str) -> None:
        """Put ``text`` in the place of the line written before."""
        _write(f"\r{text:<{self._width}}" + ("" if text else "\r"))
        self._width = len(text)


def _is_terminal() -> bool:
    return sys.stderr is not None and not sys.stderr.closed and sys.stderr.isatty()


def _write(text: str) -> None:
    """Write to standard error if there is one: news must never end a run."""
    try:
        if sys.stderr is not None:
            sys.stderr.write(text)
            sys.stderr.flush()
    except (OSError, ValueError):
        pass


listeners: list[Listener] = [OnStandardError()]
"""The listeners; the last one gets the news."""


@contextmanager
def told_of_compiling(listener: Listener) -> Iterator[None]:
    """Give the news of this context to ``listener`` alone."""
    listeners.append(listener)
    try:
        yield
    finally:
        listeners.remove(listener)
