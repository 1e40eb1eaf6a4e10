"""The clock of a certified search: all steps look at it, so that the search can end at any time."""

from __future__ import annotations

import math
import threading
import time


class Over(Exception):  # noqa: N818  # the end of a search, not an error
    """Raised when a search has to end: ``reason`` is "time" or "interrupt"."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Clock:
    """The seconds since a search began, and the reasons to end it: a limit, or ``stop``, which Ctrl-C sets."""

    def __init__(self, limit: float = math.inf, stop: threading.Event | None = None) -> None:
        self.began = time.perf_counter()
        self.limit = limit
        self.stop = stop or threading.Event()

    @property
    def seconds(self) -> float:
        """The seconds since the search began."""
        return time.perf_counter() - self.began

    @property
    def is_over(self) -> bool:
        """Whether the search has to end."""
        return self.stop.is_set() or self.seconds >= self.limit

    def look(self, *, reserve: float = 0.0) -> None:
        """Raise Over if the search has to end, or has less than ``reserve`` seconds left."""
        if self.stop.is_set():
            raise Over("interrupt")
        if self.seconds >= self.limit - reserve:
            raise Over("time")
