"""The places where pieces are decoded: this process, a process for each piece, or the nodes of a Ray cluster.

A runner is called by one thread for each job. It returns when the output of a piece is in the folder.
"""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import pickle
import signal
import sys
import tempfile
import threading
import zipfile
from pathlib import Path
from typing import Any, Protocol

from hulltune.errors import InputError
from hulltune.interrupts import SIGNALS
from hulltune.loop.command import LOG, DecoderError, Running, hold, last_lines
from hulltune.loop.pieces import CommandWork, Work
from hulltune.search.cluster.ray_session import connected, first_line

LOOK = 0.2
"""The seconds between two looks for an interrupt of a task."""


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


def get_runner(cluster: str | None) -> Runner:
    """The runner with this name; None stands for this process."""
    runners: dict[str | None, type[Here | Processes | OnRay]] = {None: Here, "processes": Processes, "ray": OnRay}
    return runners[cluster]()


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

    Commands are processes already: they run as they do without a cluster.
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
                    "in threads (cluster=None)"
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


def _interruptible_failure(work: Work, folder: Path) -> DecoderError | InputError | None:
    """Do the work in another thread, because a cancelled task is interrupted only where it runs Python code."""
    running, failures = Running(), []
    thread = threading.Thread(target=lambda: failures.append(_failure(work, folder, running)))
    thread.start()
    try:
        while thread.is_alive():
            thread.join(LOOK)
    except BaseException:
        running.stop()
        thread.join()
        raise
    return failures[0]


def _logged(folder: Path) -> tuple[str, ...]:
    return last_lines(folder / LOG) if (folder / LOG).exists() else ()


class OnRay:
    """Tasks of a Ray cluster: that of RAY_ADDRESS, or one that is started on this machine.

    The lines of a piece go with the task, and its output comes back with the answer, so that no folder needs to be
    seen by all nodes. Ray itself repeats a task whose node or worker is lost.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tasks: set[Any] = set()
        self._stopped = False
        self._task: Any = None
        self._started = False

    def ready(self) -> None:
        """Join the cluster, or start one."""
        if self._task is not None:
            return
        ray, self._started = connected()
        self._task = ray.remote(max_retries=3)(_on_node)

    def run(self, work: Work, folder: Path) -> None:
        """Have a node do the work, and unpack its output."""
        import ray

        with self._lock:
            if self._stopped:
                raise DecoderError("the decoder was stopped")
            task = self._task.remote(work)
            self._tasks.add(task)
        try:
            failure, packed = ray.get(task)
        except ray.exceptions.RayError as error:
            raise DecoderError(f"the piece was lost on the cluster ({first_line(error)})") from None
        finally:
            with self._lock:
                self._tasks.discard(task)
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            archive.extractall(folder)
        if failure is not None:
            raise failure

    def stop(self) -> None:
        """Cancel all tasks: an interrupt in each of their workers ends its decoder."""
        import ray

        with self._lock:
            self._stopped = True
            tasks = list(self._tasks)
        for task in tasks:
            ray.cancel(task, force=False)
        if tasks:
            ray.wait(tasks, num_returns=len(tasks), timeout=5.0)

    def close(self) -> None:
        """Stop Ray, if it was started here."""
        if self._started:
            import ray

            ray.shutdown()


def _on_node(work: Work) -> tuple[DecoderError | InputError | None, bytes]:
    """Do the work in a folder of the node; returns the failure, or None, and the files."""
    with tempfile.TemporaryDirectory(prefix="hulltune-piece-") as name:
        folder = Path(name)
        is_command = isinstance(work, CommandWork)
        failure = _interruptible_failure(work, folder) if is_command else _failure(work, folder, Running())
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(folder.rglob("*")):
                if path.is_file():
                    archive.write(path, path.relative_to(folder))
        return failure, packed.getvalue()
