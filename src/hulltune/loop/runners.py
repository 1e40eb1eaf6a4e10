"""The places where pieces are decoded: this process, or a process for each piece.

A runner is called by one thread for each job. It returns when the output of a piece is in the folder.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import sys
import threading
from pathlib import Path
from typing import Any, Protocol

from hulltune.errors import InputError
from hulltune.interrupts import SIGNALS
from hulltune.loop.command import LOG, DecoderError, Running, hold, last_lines
from hulltune.loop.pieces import CommandWork, Work


class Runner(Protocol):
    """A place where pieces are decoded."""

    def ready(self) -> None:
        """Get ready for work; called in the main thread before the pieces of each decoding."""

    def run(self, work: Work, folder: Path) -> None:
        """Have the work done, with its output in ``folder``; DecoderError if it failed or was stopped."""

    def stop(self) -> None:
        """End all work at once; called while ``run`` waits in other threads. Further work is refused."""

    def close(self) -> None:
        """Give everything back at the end of the loop."""


def get_runner(*, processes: bool) -> Runner:
    """The runner of pieces in this process, or in a process for each of them."""
    return Processes() if processes else Here()


class Here:
    """Commands as processes of this one, functions in the calling thread."""

    def __init__(self) -> None:
        self._running = Running()

    def ready(self) -> None:
        """Nothing is needed."""

    def run(self, work: Work, folder: Path) -> None:
        """Do the work in the calling thread."""
        work(folder, self._running)

    def stop(self) -> None:
        """End the commands. A function cannot be ended: what it returns is not used."""
        self._running.stop()

    def close(self) -> None:
        """Nothing is left."""


class Processes:
    """A new process for each piece, which leads a session of its own and can be ended at any time.

    Commands are processes already: they run as they do from this one.
    """

    def __init__(self) -> None:
        self._here = Here()
        self._lock = threading.Lock()
        self._processes: set[Any] = set()
        self._stopped = False

    def ready(self) -> None:
        """Nothing is needed."""

    def run(self, work: Work, folder: Path) -> None:
        """Have a process do the work. What it prints goes to the log."""
        if isinstance(work, CommandWork):
            self._here.run(work, folder)
            return
        context = multiprocessing.get_context("spawn")  # a fork would inherit the locks of other threads
        answer, question = context.Pipe(duplex=False)
        process = context.Process(target=_in_process, args=(work, folder, question), daemon=True)
        with self._lock:
            if self._stopped:
                raise DecoderError("the decoder was stopped")
            try:
                process.start()
            except (pickle.PicklingError, AttributeError, TypeError) as error:
                raise InputError(
                    f"decoder: cannot be sent to another process ({error}); define the function in a module, or run it "
                    "in threads (processes=False)"
                ) from None
            self._processes.add(process)
        question.close()
        try:
            failure = answer.recv()
        except EOFError:  # it died
            process.join()
            code = process.exitcode or 0
            ended = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
            failure = DecoderError(f"the decoder's process {ended}", _logged(folder))
        finally:
            process.join()
            with self._lock:
                self._processes.discard(process)
        if failure is not None:
            raise failure

    def stop(self) -> None:
        """End all processes, with those that they started."""
        self._here.stop()
        with self._lock:
            self._stopped = True
            for process in self._processes:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.kill()  # before it leads a session

    def close(self) -> None:
        """Nothing is left."""


def _in_process(work: Work, folder: Path, question: Any) -> None:
    """Do the work in a process of its own, and tell the failure, or None."""
    os.setsid()
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    with (folder / LOG).open("ab") as log:
        hold(log)
        for stream in (1, 2):
            os.dup2(log.fileno(), stream)
        failure = _failure(work, folder, Running())
        sys.stdout.flush()
    question.send(failure)


def _failure(work: Work, folder: Path, running: Running) -> DecoderError | InputError | None:
    """Do the work; returns None, or its failure."""
    try:
        work(folder, running)
    except (DecoderError, InputError) as error:
        return error.with_traceback(None)
    return None


def _logged(folder: Path) -> tuple[str, ...]:
    return last_lines(folder / LOG) if (folder / LOG).exists() else ()
