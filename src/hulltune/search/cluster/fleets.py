"""Fleets: those who carry questions to the workers of all shards, and the book of calls that are open."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from hulltune.search.cluster.protocol import Question, Telling

RESTARTS = 3
"""The number of times that a worker is started again after it was lost."""


class ClusterError(RuntimeError):
    """A cluster that cannot go on: the message is one line, and the run has failed."""


@dataclass(frozen=True, eq=False)
class Refused:
    """Not an answer: what is wrong with the data or the options, as a worker has found."""

    message: str


@dataclass(frozen=True, eq=False)
class Failed:
    """Not an answer: a fault in a worker, with its traceback."""

    message: str


class Fleet(Protocol):
    """Workers of shards. Threads may ask at once."""

    shards: int

    @property
    def worked(self) -> float:
        """The seconds that the slowest worker of each round took for its own work, added up."""

    @property
    def received(self) -> int:
        """The number of bytes of all answers so far."""

    def ask(
        self, question: Question, shards: Sequence[int] | None = None, tellings: Sequence[Telling | None] | None = None
    ) -> list[Any]:
        """The answers of some shards (all, by default) in their order; each with what it is told beside the question.
        ClusterError if a worker is lost for good.
        """

    def close(self) -> None:
        """End all workers."""


@dataclass(frozen=True)
class Call:
    """A question to a shard in a round; all shards of a round have its number."""

    round: int
    shard: int
    question: Question = field(compare=False)
    telling: Telling | None = field(compare=False, default=None)


class OpenCalls:
    """The calls that wait for an answer. An answer that nobody waits for, as it is late or repeated, is dropped."""

    def __init__(self) -> None:
        self._rounds = itertools.count(1)
        self._changed = threading.Condition()
        self._open: dict[tuple[int, int], Call] = {}
        self._answers: dict[tuple[int, int], Any] = {}
        self._seconds: dict[tuple[int, int], float] = {}
        self.received = 0
        """The number of bytes of all answers so far."""
        self.worked = 0.0
        """The seconds that the slowest shard of each round took for its own work, added up."""
        self._lost: str | None = None

    def begin(
        self, question: Question, shards: Sequence[int], tellings: Sequence[Telling | None] | None = None
    ) -> list[Call]:
        """A new round: a call for each shard."""
        with self._changed:
            number = next(self._rounds)
            told = [None] * len(shards) if tellings is None else tellings
            calls = [Call(number, shard, question, each) for shard, each in zip(shards, told, strict=True)]
            self._open.update({(call.round, call.shard): call for call in calls})
            return calls

    def of_shards(self, shards: Sequence[int]) -> list[Call]:
        """The open calls of some shards, the oldest first."""
        with self._changed:
            return list(filter(lambda call: call.shard in shards, self._open.values()))

    def deliver(self, number: int, shard: int, answer: Any, *, seconds: float = 0.0, size: int = 0) -> None:
        """Take an answer, if its call is open; with the time that the worker took, and its size in bytes."""
        with self._changed:
            self.received += size
            if self._open.pop((number, shard), None) is not None:
                self._answers[number, shard], self._seconds[number, shard] = answer, seconds
                self._changed.notify_all()

    def lose(self, reason: str) -> None:
        """Let all calls fail, now and later."""
        with self._changed:
            self._lost = reason if self._lost is None else self._lost
            self._changed.notify_all()

    def wait(self, calls: Sequence[Call]) -> list[Any]:
        """The answers to all calls of a round, in their order."""
        keys = [(call.round, call.shard) for call in calls]
        with self._changed:
            try:
                self._changed.wait_for(lambda: self._lost is not None or self._answers.keys() >= set(keys))
                if self._lost is not None and not self._answers.keys() >= set(keys):
                    raise ClusterError(self._lost)
                self.worked += max(self._seconds[key] for key in keys)
                return [self._answers[key] for key in keys]
            finally:
                for key in keys:
                    self._open.pop(key, None)
                    self._answers.pop(key, None)
                    self._seconds.pop(key, None)
