"""The processes of decoders: each leads a session of its own, to be stopped with all that it has started."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from hulltune.errors import InputError
from hulltune.interrupts import end_with_all, interrupts_set

try:
    import fcntl as _fcntl
except ImportError:  # Windows has no such locks
    _fcntl = None  # type: ignore[assignment]
fcntl: Any = _fcntl

LOG = "decoder.log"
LAST_LINES = 12


class DecoderError(RuntimeError):
    """A failure of the decoder. ``str`` is one line that says what happened, then the last lines of its log."""

    def __init__(self, message: str, last_lines: tuple[str, ...] = ()) -> None:
        self.message, self.last_lines = message, last_lines
        super().__init__("\n".join([message, *(f"  | {line}" for line in last_lines)]))


class DecoderProcesses:
    """The processes that are at work; ``stop``, from any thread, ends them, and no more are started."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._at_work: set[subprocess.Popen[bytes]] = set()
        self._stopped = False

    def check(self) -> None:
        """Raise DecoderError if all were stopped."""
        if self._stopped:
            raise DecoderError("the decoder was stopped")

    def stop(self) -> None:
        """End all processes, with those that they started."""
        with self._lock:
            self._stopped = True
            for process in self._at_work:
                end_with_all(process)

    def run(
        self,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        *,
        feed: IO[bytes] | None,
        out: IO[bytes],
        log: IO[bytes],
        timeout: float | None,
    ) -> None:
        """Run a command to its end; DecoderError if it fails, is stopped, or takes longer than ``timeout`` seconds."""
        stop = threading.Event()
        with interrupts_set(stop):  # an interrupt between the start of the process and its assignment would lose it
            process = self._start(arguments, stdin=feed or subprocess.DEVNULL, stdout=out, stderr=log, env=environment)
        try:
            if stop.is_set():
                raise KeyboardInterrupt
            code = process.wait(timeout)
        except BaseException as error:
            end_with_all(process)
            process.wait()
            if isinstance(error, subprocess.TimeoutExpired):
                message = f"the decoder was stopped after {timeout:g} s, its time limit"
                raise DecoderError(message, last_lines(Path(log.name))) from None
            raise
        finally:
            with self._lock:  # it is left alone from now on: another process may have its number soon
                self._at_work.discard(process)
        if code:
            ended = f"was ended by signal {-code}" if code < 0 else f"failed with exit code {code}"
            raise DecoderError(f"the decoder {ended}", last_lines(Path(log.name)))

    def _start(self, arguments: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
        with self._lock:
            self.check()
            try:
                process = subprocess.Popen(arguments, start_new_session=True, **options)
            except OSError as error:
                raise InputError(f"decoder: {arguments[0]!r} cannot be run ({error.strerror})") from None
            self._at_work.add(process)
        return process


def hold(log: IO[bytes]) -> None:
    """Lock the log of a decoder. The decoder inherits the lock, and keeps it even if the loop is killed."""
    if fcntl is not None:
        with contextlib.suppress(OSError):  # some file systems have no locks
            fcntl.flock(log, fcntl.LOCK_EX | fcntl.LOCK_NB)


def is_at_work(folder: Path) -> bool:
    """Whether a decoder that an earlier run has started still writes into ``folder``: its log is locked."""
    log = folder / LOG
    if fcntl is None or not log.exists():
        return False
    with log.open("rb") as messages:
        try:
            fcntl.flock(messages, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def last_lines(log: Path, count: int = LAST_LINES) -> tuple[str, ...]:
    """The last lines of a log that are not blank, each cut to 200 characters; none if there is no log."""
    if not log.exists():
        return ()
    with log.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - (1 << 16)))
        text = file.read().decode("utf-8", errors="replace")
    return tuple(line.rstrip()[:200] for line in text.splitlines() if line.strip())[-count:]
