"""The process of a worker: it takes shards and questions from its standard input and writes answers to its output.

Run by processes.py as ``python -m hulltune.search.cluster.process``. It ends when its input ends: when the driver
closes it, or is gone.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
import time
import traceback
from typing import IO, Any

from hulltune.errors import InputError
from hulltune.pipes import own_pipes, receive, send
from hulltune.search.cluster.fleets import Call, Failed, Refused
from hulltune.search.cluster.shard_files import ShardFile
from hulltune.search.cluster.worker import Worker

OUT_OF_MEMORY = 77
"""The exit code of a worker without memory."""


def reached(place: str) -> None:
    """Do nothing. Called between the steps of a worker: tests end the process at each of these places."""


def main() -> None:
    """Answer until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends Ctrl-C to all processes; the driver decides
    incoming, outgoing = own_pipes()
    messages: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(incoming, messages), daemon=True).start()
    try:
        _serve(messages, outgoing)
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except OSError:  # the driver is gone
        os._exit(0)


def _read(stream: IO[bytes], messages: queue.SimpleQueue[Any]) -> None:
    """Take messages as they come; end the process at the end of the input, even in the middle of a computation."""
    try:
        while True:
            messages.put(receive(stream)[0])
    except (EOFError, OSError):
        os._exit(0)


def _serve(messages: queue.SimpleQueue[Any], outgoing: IO[bytes]) -> None:
    shards: dict[int, ShardFile] = {}
    workers: dict[int, Worker] = {}
    while True:
        message = messages.get()
        if isinstance(message, ShardFile):
            shards[message.number] = message
            workers.pop(message.number, None)
        elif isinstance(message, Call):
            began = time.perf_counter()
            answer = _answer(message, shards, workers)
            reached("answering")
            send(outgoing, (message.round, message.shard, answer, time.perf_counter() - began))


def _answer(call: Call, shards: dict[int, ShardFile], workers: dict[int, Worker]) -> Any:
    try:
        if call.shard not in workers:
            reached("loading")
            workers[call.shard] = Worker(shards[call.shard], shards[call.shard].content())
        reached("computing")
        return workers[call.shard].answer(call.question, call.telling)
    except InputError as error:
        return Refused(str(error))
    except MemoryError:
        raise
    except Exception:
        return Failed(traceback.format_exc())


if __name__ == "__main__":
    main()
    sys.exit(0)
