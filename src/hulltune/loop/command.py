"""A decoder that is a command: its arguments, running it, and its failures."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from hulltune.defaults import MOST_BEST
from hulltune.errors import InputError, check_most, unknown_name
from hulltune.loop.weights_template import WeightsFormat

PLACES = ("input", "weights", "output", "iteration", "nbest")
"""The names that a command may have in braces."""
LAST_LINES = 12
LOG = "decoder.log"
_HOLE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_SUFFIX = {"json": ".json", "moses": ".ini", "lines": ".txt"}


class DecoderError(RuntimeError):
    """A failure of the decoder. ``str`` is one line that says what happened, then the last lines of its log."""

    def __init__(self, message: str, last_lines: tuple[str, ...] = ()) -> None:
        self.message, self.last_lines = message, last_lines
        super().__init__("\n".join([message, *(f"  | {line}" for line in last_lines)]))


@dataclass(frozen=True)
class CommandDecoder:
    """Runs ``command`` for every iteration.

    The command is split into words like a shell does. In each word, ``{input}``, ``{weights}``, ``{output}``,
    ``{iteration}`` and ``{nbest}`` are replaced (names with spaces need no quotes), and ``{{`` is a brace. Without
    {input}, the command gets the input as its standard input. Without {output}, its standard output is its result.
    ``{output}/`` is a folder that is made for it. With ``shell``, a shell runs the command, with the names quoted.

    The command runs in a session of its own: if it is stopped, so are all processes that it started. It is killed after
    ``timeout`` seconds. Its messages go to ``decoder.log`` beside its output.
    """

    command: str
    input: str | os.PathLike[str] | None = None
    nbest: int = 100
    shell: bool = False
    timeout: float | None = None
    weights_format: WeightsFormat = field(default_factory=WeightsFormat)

    def __post_init__(self) -> None:
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

    def arguments(self, folder: Path, iteration: int) -> list[str]:
        """The arguments of the process for an iteration whose output goes to ``folder``."""
        values = {
            "input": "" if self.input is None else os.path.abspath(self.input),
            "weights": str(self.weights_path(folder)),
            "output": str(folder.absolute() / "output"),
            "iteration": str(iteration),
            "nbest": str(self.nbest),
        }
        if self.shell:
            return ["/bin/sh", "-c", _filled(self.command, {k: shlex.quote(value) for k, value in values.items()})]
        return [_filled(word, values) for word in self._words()]

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

    def decode(self, weights: Mapping[str, float], folder: Path, iteration: int) -> list[Path]:
        """The files that the command writes into ``folder`` with these weights; DecoderError if it fails."""
        self.weights_format.write(weights, self.weights_path(folder))
        if "{output}/" in self.command:
            (folder / "output").mkdir()
        log = folder / LOG
        with log.open("wb") as messages:
            if "output" in self.places:
                self._run(self.arguments(folder, iteration), messages, messages, log)
            else:
                with (folder / "output").open("wb") as output:
                    self._run(self.arguments(folder, iteration), output, messages, log)
        written = sorted(path for path in folder.iterdir() if path.name.startswith("output"))
        if not any(_has_content(path) for path in written):
            where = "to its standard output" if "output" not in self.places else f"to {folder / 'output'}"
            raise DecoderError(f"the decoder ended well, but wrote nothing {where}", last_lines(log))
        return written

    def _run(self, arguments: list[str], out: IO[bytes], messages: IO[bytes], log: Path) -> None:
        feed = None
        try:
            if self.input is not None and "input" not in self.places:
                feed = open(self.input, "rb")  # noqa: SIM115  # closed below, whatever happens
            process = subprocess.Popen(
                arguments, stdin=feed or subprocess.DEVNULL, stdout=out, stderr=messages, start_new_session=True
            )
        except OSError as error:
            raise InputError(f"decoder: {arguments[0]!r} cannot be run ({error.strerror})") from None
        finally:
            if feed is not None:
                feed.close()
        try:
            code = process.wait(self.timeout)
        except subprocess.TimeoutExpired:
            _stop(process)
            raise DecoderError(
                f"the decoder was stopped after {self.timeout:g} s, its time limit", last_lines(log)
            ) from None
        except BaseException:
            _stop(process)
            raise
        if code:
            ended = f"was ended by signal {-code}" if code < 0 else f"failed with exit code {code}"
            raise DecoderError(f"the decoder {ended}", last_lines(log))


def last_lines(log: Path, count: int = LAST_LINES) -> tuple[str, ...]:
    """The last lines of a log that are not blank, each cut to 200 characters."""
    with log.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - (1 << 16)))
        text = file.read().decode("utf-8", errors="replace")
    return tuple(line.rstrip()[:200] for line in text.splitlines() if line.strip())[-count:]


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the decoder and all processes that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)  # it leads its own session, so its id is that of the group
    except (ProcessLookupError, PermissionError):
        process.kill()
    process.wait()


def _has_content(path: Path) -> bool:
    return any(path.iterdir()) if path.is_dir() else path.stat().st_size > 0


def _filled(text: str, values: Mapping[str, str]) -> str:
    return _HOLE.sub(lambda hole: hole[0][0] if hole[1] is None else values[hole[1]], text)
