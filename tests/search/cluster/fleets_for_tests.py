"""Fleets without processes: workers in threads whose answers come late, twice, and in any order."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

from hulltune.search.cluster.driver import Driver
from hulltune.search.cluster.fleets import Call, OpenCalls
from hulltune.search.cluster.protocol import Question, Telling
from hulltune.search.cluster.shard_files import ShardFile, cuts
from hulltune.search.cluster.starting import sent_metric, shard_files
from hulltune.search.cluster.worker import Worker
from hulltune.search.problem import Problem


class Unreliable:
    """A fleet that forgets its workers at times, and delivers answers in another order, late or repeated."""

    def __init__(self, shards: Sequence[ShardFile], seed: int = 1) -> None:
        self.shards = len(shards)
        self.received = 0
        self.worked = 0.0
        self._files = shards
        self._workers: dict[int, Worker] = {}
        self._calls = OpenCalls()
        self._random = Random(seed)
        self._lock = threading.Lock()
        self._late: list[tuple[int, int, Any]] = []

    def ask(
        self, question: Question, shards: Sequence[int] | None = None, tellings: Sequence[Telling | None] | None = None
    ) -> list[Any]:
        calls = self._calls.begin(question, range(self.shards) if shards is None else shards, tellings)
        threading.Thread(target=self._answer, args=(list(calls),)).start()
        return self._calls.wait(calls)

    def close(self) -> None:
        self._workers.clear()

    def _answer(self, calls: list[Call]) -> None:
        with self._lock:
            self._random.shuffle(calls)
            for number, shard, answer in self._late:  # of rounds before: nobody waits for them any more
                self._calls.deliver(number, shard, answer)
            self._late.clear()
            for call in calls:
                answer = pickle.dumps(self._worker(call.shard).answer(*pickle.loads(pickle.dumps(_sent(call)))))
                self.received += len(answer)
                if self._random.random() < 0.2:
                    time.sleep(0.001)
                for _ in range(self._random.randint(1, 2)):
                    self._calls.deliver(call.round, call.shard, pickle.loads(answer))
                self._late.append((call.round, call.shard, None))

    def _worker(self, number: int) -> Worker:
        if self._random.random() < 0.1:
            self._workers.pop(number, None)
        if number not in self._workers:
            file = pickle.loads(pickle.dumps(self._files[number]))
            self._workers[number] = Worker(file, file.content())
        return self._workers[number]


def _sent(call: Call) -> tuple[Question, Telling | None]:
    return call.question, call.telling


@contextmanager
def unreliable(problem: Problem, shards: int, folder: Path, **options: Any) -> Iterator[tuple[Problem, Unreliable]]:
    """A problem that unreliable workers search."""
    parts = cuts(problem.corpus.sentence_edges, shards)
    fleet = Unreliable(shard_files(problem, parts, sent_metric(problem.metric, stored=False), folder))
    yield problem.searched_by(Driver(problem, fleet, parts, **options)), fleet
    fleet.close()
