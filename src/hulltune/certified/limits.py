"""The limits of a certified search, and its clock: all steps look at it, so that they hold at any time."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass

from hulltune.arrays import take_plain_numbers
from hulltune.errors import InputError
from hulltune.names import GAP

FINEST_GAP = 2.0**-40
"""The least gap, as a share of the loss, that inexact bounds have to reach: they are moved outward by less."""


@dataclass(frozen=True)
class Limits:
    """The limits of a search: the gap between value and bound (in the unit of the metric), and the time in seconds."""

    gap: float = GAP
    """The gap between value and bound at which the search ends, in the unit of the metric."""
    time: float = math.inf
    """The seconds after which it ends with what is proven by then."""

    def __post_init__(self) -> None:
        take_plain_numbers(self)
        if not 0.0 <= self.gap < math.inf:
            raise InputError(f"gap: expected a number of at least 0, got {self.gap}")
        if not self.time > 0.0:
            raise InputError(f"time: expected a positive number of seconds, got {self.time}")


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
