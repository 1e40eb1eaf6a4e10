"""Workers as Ray actors, on this machine or on a cluster.

Ray starts an actor that is lost again, on another node if need be, and puts its open calls to it again. The actor loads
its shard anew: from its file, or from Ray's object store where not all nodes see the folder.
"""

from __future__ import annotations

import itertools
import os
import pickle
import struct
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hulltune.errors import InputError
from hulltune.search.cluster.fleets import RESTARTS, ClusterError, Failed, Refused
from hulltune.search.cluster.protocol import Question, Telling
from hulltune.search.cluster.ray_session import connected
from hulltune.search.cluster.shard_files import ShardFile
from hulltune.search.cluster.worker import Worker

_HEAD = struct.Struct("<qd")
"""The number of a round and the seconds of an answer, before the pickled answer."""


class Missing:
    """Not an answer: the node of a worker does not see the file of its shard."""


class ShardActor:
    """The actor of a shard, which is loaded at the first question after each start."""

    def __init__(self, shard: ShardFile) -> None:
        self._shard = shard
        self._worker: Worker | None = None

    def pid(self) -> int:
        """The number of its process."""
        return os.getpid()

    def reached(self, place: str) -> None:
        """Do nothing. Called between the steps of an answer: tests end the process at each of these places."""

    def answer(self, call: bytes, content: bytes | None = None) -> bytes:
        """The number of the round, the seconds for the answer, and the answer to a call, which is the number, the
        question and what is told with it; all of them pickled. ``content`` is that of the shard's file, if it must be
        sent.
        """
        began = time.perf_counter()
        number, question, telling = pickle.loads(call)
        answer = self._answer(pickle.loads(question), telling, content)
        self.reached("answering")
        sent = pickle.dumps(answer, protocol=5)
        return _HEAD.pack(number, time.perf_counter() - began) + sent

    def _answer(self, question: Question, telling: Telling | None, content: bytes | None) -> Any:
        try:
            if self._worker is None:
                self.reached("loading")
                if content is None and not Path(self._shard.path).exists():
                    return Missing()
                self._worker = Worker(self._shard, self._shard.content() if content is None else content)
            self.reached("computing")
            return self._worker.answer(question, telling)
        except InputError as error:
            return Refused(str(error))
        except MemoryError:
            os._exit(1)  # Ray starts the actor again
        except Exception as error:
            return Failed(f"{type(error).__name__}: {error}")


class Actors:
    """A fleet of Ray actors, one for each shard."""

    def __init__(
        self, shards: Sequence[ShardFile], *, restarts: int = RESTARTS, actor: type[ShardActor] = ShardActor
    ) -> None:
        """Join the cluster of RAY_ADDRESS, or start one on this machine. A node that does not see the file of its shard
        gets it through the object store.
        """
        self._ray, self._started = connected()
        self.shards, self._files = len(shards), shards
        self._rounds = itertools.count(1)
        self._restarts = restarts
        self._lock = threading.Lock()
        self._contents: dict[int, Any] = {}
        self.worked = 0.0
        self.received = 0
        # A fraction of a CPU: on a cluster without a free one, a run must not wait for ever.
        remote = self._ray.remote(max_restarts=restarts, max_task_retries=restarts, num_cpus=0.01)(actor)
        self.actors = [remote.remote(shard) for shard in shards]
        self._methods = [actor.answer for actor in self.actors]

    def ask(
        self, question: Question, shards: Sequence[int] | None = None, tellings: Sequence[Telling | None] | None = None
    ) -> list[Any]:
        """The answers of some shards, or of all, in their order."""
        asked = list(range(self.shards) if shards is None else shards)
        told: list[Telling | None] = [None] * len(asked) if tellings is None else list(tellings)
        number = next(self._rounds)
        # Bytes, which Ray sends as they are, in the call: to put a question into its store took longer than to send it
        # to every actor. Without the contents of shards: Ray would unpack those for every question, needed or not.
        sent = pickle.dumps(question, protocol=5)
        answers = self._answers(number, sent, asked, told, [None] * len(asked))
        missing = [place for place, answer in enumerate(answers) if isinstance(answer, Missing)]
        if missing:
            contents = [self._content(asked[place]) for place in missing]
            again = self._answers(number, sent, [asked[k] for k in missing], [told[k] for k in missing], contents)
            for place, answer in zip(missing, again, strict=True):
                answers[place] = answer
        return answers

    def close(self) -> None:
        """End all actors, and the cluster if it was started for them."""
        for actor in self.actors:
            self._ray.kill(actor)
        if self._started:
            self._ray.shutdown()

    def _answers(
        self, number: int, question: bytes, shards: list[int], tellings: list[Telling | None], contents: list[Any]
    ) -> list[Any]:
        calls = []
        for shard, telling, content in zip(shards, tellings, contents, strict=True):
            call = pickle.dumps((number, question, telling), protocol=5)
            calls.append(self._methods[shard].remote(*((call,) if content is None else (call, content))))
        try:
            found: list[bytes] = self._ray.get(calls)
        except self._ray.exceptions.RayError as error:
            raise ClusterError(_lost(error, self._restarts)) from None
        heads = [_HEAD.unpack_from(answer) for answer in found]
        if any(answered != number for answered, _ in heads):
            raise AssertionError("an answer of another round")
        with self._lock:
            self.worked += max(seconds for _, seconds in heads)
            self.received += sum(map(len, found))
        return [pickle.loads(memoryview(answer)[_HEAD.size :]) for answer in found]

    def _content(self, shard: int) -> Any:
        """The content of a shard's file in the object store."""
        with self._lock:
            if shard not in self._contents:
                self._contents[shard] = self._ray.put(self._files[shard].content())
            return self._contents[shard]


def _lost(error: BaseException, restarts: int) -> str:
    """What became of an actor, in one line."""
    reason = " ".join(str(error).split())
    memory = " for want of memory" if "OutOfMemory" in type(error).__name__ or "out of memory" in reason.lower() else ""
    return (
        f"cluster: a worker was lost{memory}, and can be started again only {restarts} times "
        f"({type(error).__name__}); give it more memory, or cut the data into more shards (workers)"
    )
