"""What a part of the soak is given, and what it answers.

A part is a module with

    ABOUT   what it tries, in a line
    SHARE   its share of the time, relative to the other parts
    soak    a function of a Task that answers Findings, and ends soon after the time of the task
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True)
class Task:
    """The work of a part: an empty folder of its own, seconds, a seed for its choices, and the most processes."""

    folder: Path
    seconds: float
    seed: int
    jobs: int = 1
    started: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float:
        """The seconds that are left, at least 0."""
        return max(0.0, self.started + self.seconds - time.monotonic())


@dataclass(frozen=True)
class Failure:
    """A broken promise: what was tried, what happened, and how to have it again (a seed, a command, a file)."""

    what: str
    happened: str
    again: str


@dataclass
class Findings:
    """The number of trials of each kind, those that ended in each way, and the failures."""

    tried: dict[str, int] = field(default_factory=dict)
    ended: dict[str, int] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)

    def count(self, kind: str, end: str, times: int = 1) -> None:
        """Count trials of a kind that ended in a way ("refused", "same result")."""
        self.tried[kind] = self.tried.get(kind, 0) + times
        key = f"{kind}: {end}"
        self.ended[key] = self.ended.get(key, 0) + times

    def add(self, others: Findings) -> None:
        """Add the findings of another run."""
        for mine, theirs in ((self.tried, others.tried), (self.ended, others.ended)):
            for key, times in theirs.items():
                mine[key] = mine.get(key, 0) + times
        self.failures += others.failures


class Part(Protocol):
    """A module of tests/soak/parts."""

    ABOUT: str
    SHARE: float

    def soak(self, task: Task) -> Findings:
        """Try until the time is over."""
