"""Workers as plain processes of this machine. A process that is lost is started again and asked again."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any

from hulltune.pipes import pipe, receive, send, start
from hulltune.search.cluster.fleets import RESTARTS, Call, OpenCalls
from hulltune.search.cluster.process import OUT_OF_MEMORY
from hulltune.search.cluster.protocol import Question, Telling
from hulltune.search.cluster.shard_files import ShardFile

COMMAND = (sys.executable, "-m", "hulltune.search.cluster.process")
PATIENCE = 5.0
"""Seconds to wait for a worker to end by itself before it is killed."""


class Processes:
    """A fleet of processes, each with one shard or some.

    They end with this object, and when the driver is gone, whatever ended it: their input ends then.
    """

    def __init__(
        self,
        shards: Sequence[ShardFile],
        count: int,
        *,
        restarts: int = RESTARTS,
        command: Sequence[str] = COMMAND,
    ) -> None:
        self.shards = len(shards)
        self.calls = OpenCalls()
        count = max(1, min(count, len(shards)))
        self._processes = [
            _Process(number, count, shards[number::count], self.calls, restarts, command) for number in range(count)
        ]

    def ask(
        self, question: Question, shards: Sequence[int] | None = None, tellings: Sequence[Telling | None] | None = None
    ) -> list[Any]:
        """The answers of some shards, or of all, in their order."""
        asked = range(self.shards) if shards is None else shards
        calls = self.calls.begin(question, asked, tellings)
        for call in calls:
            self._processes[call.shard % len(self._processes)].send(call)
        return self.calls.wait(calls)

    @property
    def worked(self) -> float:
        """The seconds that the slowest worker of each round took for its own work, added up."""
        return self.calls.worked

    @property
    def received(self) -> int:
        """The number of bytes of all answers so far."""
        return self.calls.received

    @property
    def pids(self) -> list[int]:
        """The numbers of the processes at this moment."""
        return [process.pid for process in self._processes]

    def close(self) -> None:
        """End all processes, and wait for their end."""
        self.calls.lose("the workers are ended")
        for process in self._processes:
            process.begin_to_end()
        for process in self._processes:
            process.end()


class _Process:
    """A process and the thread that reads its answers, and starts another one in its place when it is lost."""

    def __init__(
        self,
        number: int,
        of: int,
        shards: Sequence[ShardFile],
        calls: OpenCalls,
        restarts: int,
        command: Sequence[str],
    ) -> None:
        self._name = f"worker {number + 1} of {of}"
        self._shards, self._calls, self._left, self._restarts = shards, calls, restarts, restarts
        self._command = command
        self._ending = False
        self._lock = threading.Lock()
        self._process = self._started()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, message: Call) -> None:
        """Send a call. If the process is gone, the reader puts all open calls to its successor."""
        with self._lock, contextlib.suppress(OSError, ValueError):
            send(pipe(self._process.stdin), message)

    def begin_to_end(self) -> None:
        """Close the input of the process, which ends it."""
        with self._lock:
            self._ending = True
            with contextlib.suppress(OSError):
                pipe(self._process.stdin).close()

    def end(self) -> None:
        """Wait until the process has ended; kill it if it does not."""
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(PATIENCE)
        pipe(self._process.stdout).close()

    def _started(self) -> subprocess.Popen[bytes]:
        process = start(self._command)
        with contextlib.suppress(OSError):
            for shard in self._shards:
                send(pipe(process.stdin), shard)
        return process

    def _read(self) -> None:
        while True:
            try:
                while True:
                    (number, shard, answer, seconds), size = receive(pipe(self._process.stdout))
                    self._calls.deliver(number, shard, answer, seconds=seconds, size=size)
            except (EOFError, OSError, ValueError):
                pass
            with self._lock:
                if self._ending or not self._start_again():
                    return
                again = self._calls.of_shards([shard.number for shard in self._shards])
                with contextlib.suppress(OSError):
                    for call in again:
                        send(pipe(self._process.stdin), call)

    def _start_again(self) -> bool:
        """Start another process in the place of the one that was lost, unless that was done too often."""
        code = self._process.wait()
        pipe(self._process.stdout).close()
        with contextlib.suppress(OSError):
            pipe(self._process.stdin).close()
        if self._left == 0:
            self._calls.lose(
                f"cluster: {self._name} {_ended(code)}, and was started again {self._restarts} times before; "
                "give it more memory, or cut the data into more shards (workers)"
            )
            return False
        self._left -= 1
        self._process = self._started()
        return True


def _ended(code: int) -> str:
    """What an exit code says."""
    if code == OUT_OF_MEMORY:
        return "ran out of memory"
    if code < 0:
        name = signal.Signals(-code).name
        return f"was ended by {name}" + (" (out of memory?)" if -code == getattr(signal, "SIGKILL", 0) else "")
    return f"ended by itself with code {code}"
