"""A decoder that is a command: its arguments, running it, and its failures."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any

from hulltune.defaults import MOST_BEST
from hulltune.errors import InputError, check_most, unknown_name
from hulltune.interrupts import interrupts_set
from hulltune.loop.weights_template import WeightsFormat

try:
    import fcntl as _fcntl
except ImportError:  # Windows has no such locks
    _fcntl = None  # type: ignore[assignment]
fcntl: Any = _fcntl

RUNS_COMMANDS = os.name == "posix"
"""Whether decoders can be run: in a session of their own, stopped as a group, with the shell at /bin/sh."""
PLACES = ("input", "weights", "output", "iteration", "nbest", "job")
"""The names that a command may have in braces."""
LAST_LINES = 12
LOG = "decoder.log"
COPY = ".copy-of-"
_HOLE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_SUFFIX = {"json": ".json", "moses": ".ini", "lines": ".txt"}


class DecoderError(RuntimeError):
    """A failure of the decoder. ``str`` is one line that says what happened, then the last lines of its log."""

    def __init__(self, message: str, last_lines: tuple[str, ...] = ()) -> None:
        self.message, self.last_lines = message, last_lines
        super().__init__("\n".join([message, *(f"  | {line}" for line in last_lines)]))

    def __reduce__(self) -> tuple[Any, ...]:
        """Let other processes send it."""
        return DecoderError, (self.message, self.last_lines)


class Running:
    """The processes of decoders that are at work; ``stop``, from any thread, ends them, and no more are started."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen[bytes]] = set()
        self.stopped = False

    def start(self, arguments: list[str], **options: Any) -> subprocess.Popen[bytes]:
        """Start a process that leads a session of its own."""
        with self._lock:
            self.check()
            process = subprocess.Popen(arguments, start_new_session=True, **options)
            self._processes.add(process)
        return process

    def check(self) -> None:
        """Raise DecoderError if everything was stopped."""
        if self.stopped:
            raise DecoderError("the decoder was stopped")

    def forget(self, process: subprocess.Popen[bytes]) -> None:
        """Leave a process alone that has ended: another one may have its number soon."""
        with self._lock:
            self._processes.discard(process)

    def stop(self) -> None:
        """End all processes, with those that they started."""
        with self._lock:
            self.stopped = True
            for process in self._processes:
                _kill(process)


@dataclass(frozen=True)
class CommandDecoder:
    """Runs ``command`` for every iteration.

    The command is split into words like a shell does. In each word, ``{input}``, ``{weights}``, ``{output}``,
    ``{iteration}``, ``{nbest}`` and ``{job}`` are replaced (names with spaces need no quotes), and ``{{`` is a brace.
    Without {input}, the command gets the input as its standard input. Without {output}, its standard output is its
    result. ``{output}/`` is a folder that is made for it. With ``shell``, a shell runs the command. Names reach it as
    variables, so that it never takes a part of a name for a command; quotes around them are refused.

    The command runs in a session of its own: if it is stopped, so are all processes that it started. It is killed after
    ``timeout`` seconds. Its messages go to ``decoder.log`` beside its output.

    >>> from hulltune import CommandDecoder
    >>> CommandDecoder("decode -w {weights} -n {nbest} -o {output}", nbest=200, timeout=3600).places
    ('weights', 'nbest', 'output')
    """

    command: str
    input: str | os.PathLike[str] | None = None
    nbest: int = 100
    shell: bool = False
    timeout: float | None = None
    weights_format: WeightsFormat = field(default_factory=WeightsFormat)

    def __post_init__(self) -> None:
        if not RUNS_COMMANDS:
            raise InputError(
                "decoder: a command needs a POSIX system, where all its processes can be stopped; on Windows, use WSL, "
                "or write the lists with the decoder and give them to tune"
            )
        places = self.places
        for name in places:
            if name not in PLACES:
                raise unknown_name("place in the decoder's command:", name, PLACES)
        if "weights" not in places:
            raise InputError("decoder: the command does not name {weights}, so tuning would change nothing; add it")
        if "input" in places and self.input is None:
            raise InputError("decoder: the command names {input}, but there is no input; give one")
        if self.input is not None and not Path(self.input).exists():
            raise InputError(f"input: {os.fspath(self.input)}: no such file")
        if self.timeout is not None and not self.timeout > 0:
            raise InputError(f"timeout: expected a positive number of seconds, got {self.timeout}")
        if self.nbest < 1:
            raise InputError(f"nbest: expected at least 1, got {self.nbest}")
        check_most("nbest", self.nbest, MOST_BEST)
        if not self._words():
            raise InputError("decoder: the command is empty")
        if self.shell:
            _refuse_quotes(self.command)

    @property
    def places(self) -> tuple[str, ...]:
        """The names in braces, in order."""
        names = []
        for hole in _HOLE.finditer(self.command):
            if hole[1] is not None:
                names.append(hole[1])
            elif hole[0] in ("{", "}"):
                raise InputError(f"decoder: a single {hole[0]!r} in the command; write {hole[0] * 2!r} for a brace")
        return tuple(names)

    def arguments(self, folder: Path, iteration: int, job: int = 0) -> list[str]:
        """The arguments of the process for an iteration whose output goes to ``folder``."""
        if self.shell:
            return ["/bin/sh", "-c", _filled(self.command, {name: f'"${_variable(name)}"' for name in PLACES})]
        values = self._values(folder, iteration, job)
        return [_filled(word, values) for word in self._words()]

    def environment(self, folder: Path, iteration: int, job: int = 0) -> dict[str, str]:
        """The environment of the process: with ``shell``, the names are variables in it."""
        if not self.shell:
            return dict(os.environ)
        values = self._values(folder, iteration, job)
        return {**os.environ, **{_variable(name): value for name, value in values.items()}}

    def _values(self, folder: Path, iteration: int, job: int) -> dict[str, str]:
        return {
            "input": "" if self.input is None else os.path.abspath(self.input),
            "weights": str(self.weights_path(folder)),
            "output": str(folder.absolute() / "output"),
            "iteration": str(iteration),
            "nbest": str(self.nbest),
            "job": str(job),
        }

    def _words(self) -> list[str]:
        try:
            return shlex.split(self.command)
        except ValueError as error:
            raise InputError(f"decoder: the command {self.command!r} cannot be split into words ({error})") from None

    def weights_path(self, folder: Path) -> Path:
        """The file for the weights; its suffix tells their format."""
        if self.weights_format.template is not None:
            return folder.absolute() / f"weights{Path(self.weights_format.template_file).suffix}"
        return folder.absolute() / f"weights{_SUFFIX[self.weights_format.name]}"

    def decode(
        self,
        weights: Mapping[str, float],
        folder: Path,
        iteration: int,
        *,
        job: int = 0,
        running: Running | None = None,
        may_be_silent: bool = False,
    ) -> list[Path]:
        """The files that the command writes into ``folder`` with these weights; DecoderError if it fails.

        ``job`` is its number among the decoders that are at work. ``running`` can stop it from another thread. To write
        nothing is a failure, unless it ``may_be_silent``.
        """
        self.weights_format.write(weights, self.weights_path(folder))
        if "{output}/" in self.command:
            (folder / "output").mkdir()
        log = folder / LOG
        with log.open("wb") as messages:
            hold(messages)
            arguments, environment = self.arguments(folder, iteration, job), self.environment(folder, iteration, job)
            process = partial(self._run, arguments, environment, messages, log, running or Running())
            if "output" in self.places:
                process(messages)
            else:
                with (folder / "output").open("wb") as output:
                    process(output)
        written = sorted(path for path in folder.iterdir() if path.name.startswith("output"))
        for path in written:
            _own_copy(path)
        if not may_be_silent and not any(_has_content(path) for path in written):
            where = "to its standard output" if "output" not in self.places else f"to {folder / 'output'}"
            raise DecoderError(f"the decoder ended well, but wrote nothing {where}", last_lines(log))
        return written

    def _run(
        self,
        arguments: list[str],
        environment: Mapping[str, str],
        messages: IO[bytes],
        log: Path,
        running: Running,
        out: IO[bytes],
    ) -> None:
        feed = None
        stop = threading.Event()
        with interrupts_set(stop):  # an interrupt between the start of the process and its assignment would lose it
            try:
                if self.input is not None and "input" not in self.places:
                    feed = open(self.input, "rb")  # noqa: SIM115  # closed below, whatever happens
                process = running.start(
                    arguments, stdin=feed or subprocess.DEVNULL, stdout=out, stderr=messages, env=environment
                )
            except OSError as error:
                raise InputError(f"decoder: {arguments[0]!r} cannot be run ({error.strerror})") from None
            finally:
                if feed is not None:
                    feed.close()
        try:
            if stop.is_set():
                raise KeyboardInterrupt
            code = process.wait(self.timeout)
        except subprocess.TimeoutExpired:
            _stop(process)
            raise DecoderError(
                f"the decoder was stopped after {self.timeout:g} s, its time limit", last_lines(log)
            ) from None
        except BaseException:
            _stop(process)
            raise
        finally:
            running.forget(process)
        if code:
            ended = f"was ended by signal {-code}" if code < 0 else f"failed with exit code {code}"
            raise DecoderError(f"the decoder {ended}", last_lines(log))


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
    """The last lines of a log that are not blank, each cut to 200 characters."""
    with log.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - (1 << 16)))
        text = file.read().decode("utf-8", errors="replace")
    return tuple(line.rstrip()[:200] for line in text.splitlines() if line.strip())[-count:]


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the decoder and all processes that it started, and wait for its end."""
    _kill(process)
    process.wait()


def _kill(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)  # it leads its own session, so its id is that of the group
    except (ProcessLookupError, PermissionError):
        process.kill()


def _own_copy(path: Path) -> None:
    """Replace links by copies of what they lead to, in a folder all of them.

    The decoder may write to the file behind a link in every iteration, and the earlier iterations would change with it.
    """
    try:
        if path.is_symlink():
            _replaced_by_copy(path, path.resolve(strict=True))
        elif path.is_dir():
            for entry in path.iterdir():
                _own_copy(entry)
        elif not path.is_file():
            raise DecoderError(f"the decoder wrote {path}, which is neither a file nor a folder")
        elif path.stat().st_nlink > 1:
            _replaced_by_copy(path, path)
    except (OSError, shutil.Error) as error:
        raise DecoderError(f"the decoder wrote {path}, which cannot be copied ({error})") from None


def _replaced_by_copy(path: Path, source: Path) -> None:
    if source in path.parents:
        raise DecoderError(f"the decoder wrote {path}, a link to the folder that it is in")
    copy = path.with_name(f"{COPY}{path.name}")
    if source.is_dir():
        shutil.copytree(source, copy)
    elif source.is_file():
        shutil.copyfile(source, copy)
    else:
        raise DecoderError(f"the decoder wrote {path}, a link to what is neither a file nor a folder: {source}")
    path.unlink()
    copy.rename(path)


def _has_content(path: Path) -> bool:
    return any(path.iterdir()) if path.is_dir() else path.stat().st_size > 0


def _refuse_quotes(command: str) -> None:
    """Refuse a shell command with a placeholder between quotes, or behind a backslash."""
    quote = ""
    place = 0
    while place < len(command):
        character = command[place]
        hole = _HOLE.match(command, place)
        if hole is not None:
            if quote and hole[1] is not None:
                raise InputError(
                    f"decoder: {hole[0]} is between quotes ({quote}); for a shell, names are quoted already, and more "
                    f"quotes would undo that: write {hole[0]} without quotes"
                )
            place = hole.end()
            continue
        if character == "\\" and quote != "'":
            hole = _HOLE.match(command, place + 1)
            if hole is not None and hole[1] is not None:
                raise InputError(f"decoder: a backslash before {hole[0]}; write {hole[0]} without it")
            place += 1
        elif character == quote:
            quote = ""
        elif character in "'\"" and not quote:
            quote = character
        place += 1


def _variable(place: str) -> str:
    """The name of the shell's variable for a placeholder."""
    return f"HULLTUNE_{place.upper()}"


def _filled(text: str, values: Mapping[str, str]) -> str:
    return _HOLE.sub(lambda hole: hole[0][0] if hole[1] is None else values[hole[1]], text)
