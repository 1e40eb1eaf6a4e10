"""A decoder that is a command: the names in it, the files that it reads, and those that it writes."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from hulltune.errors import InputError, check_most, unknown_name
from hulltune.loop.processes import LOG, DecoderError, DecoderProcesses, hold, last_lines
from hulltune.loop.weights_template import HOLE, WeightsFormat, filled, holes_in
from hulltune.names import MOST_BEST

RUNS_COMMANDS = os.name == "posix"
"""Whether decoders can be run: in a session of their own, stopped as a group, with the shell at /bin/sh."""
PLACES = ("input", "weights", "output", "iteration", "nbest", "job")
"""The names that a command may have in braces."""
COPY = ".copy-of-"
_QUOTED = re.compile(r"'[^']*'?|\"(?:\\.|[^\"\\])*\"?|\\(?:\{[^{}]*\}|.)", re.DOTALL)
"""A part of a shell's command in quotes, or behind a backslash."""
_SUFFIX = {"json": ".json", "moses": ".ini", "lines": ".txt"}


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
        return tuple(holes_in(self.command, "decoder"))

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
        processes: DecoderProcesses | None = None,
        may_be_silent: bool = False,
    ) -> list[Path]:
        """The files that the command writes into ``folder`` with these weights; DecoderError if it fails.

        ``job`` is its number among the decoders that are at work. ``processes`` can stop it from another thread. To
        write nothing is a failure, unless it ``may_be_silent``.
        """
        self.weights_format.write(weights, self.weights_path(folder))
        if "{output}/" in self.command:
            (folder / "output").mkdir()
        values = {
            "input": "" if self.input is None else os.path.abspath(self.input),
            "weights": str(self.weights_path(folder)),
            "output": str(folder.absolute() / "output"),
            "iteration": str(iteration),
            "nbest": str(self.nbest),
            "job": str(job),
        }
        with ExitStack() as files:
            log = files.enter_context((folder / LOG).open("wb"))
            hold(log)
            out = log if "output" in self.places else files.enter_context((folder / "output").open("wb"))
            feed = self._feed()
            if feed is not None:
                files.enter_context(feed)
            (processes or DecoderProcesses()).run(
                *self._call(values), feed=feed, out=out, log=log, timeout=self.timeout
            )
        written = sorted(path for path in folder.iterdir() if path.name.startswith("output"))
        for path in written:
            _own_copy(path)
        if not may_be_silent and not any(_has_content(path) for path in written):
            where = "to its standard output" if "output" not in self.places else f"to {folder / 'output'}"
            raise DecoderError(f"the decoder ended well, but wrote nothing {where}", last_lines(folder / LOG))
        return written

    def _feed(self) -> IO[bytes] | None:
        """The input, open, for a command that does not name it."""
        if self.input is None or "input" in self.places:
            return None
        try:
            return open(self.input, "rb")
        except OSError as error:
            raise InputError(
                f"input: {os.fspath(self.input)}: cannot be read ({error.strerror}); a decoder that opens it itself "
                "has {input} in its command"
            ) from None

    def _call(self, values: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
        """The arguments of the process and its environment: for a shell, the values are variables in it."""
        if not self.shell:
            return [filled(word, values) for word in self._words()], dict(os.environ)
        # As a variable, a name with spaces, quotes or $(…) stays one word; in the command, a shell would take it apart.
        variables = {name: f"HULLTUNE_{name.upper()}" for name in values}
        line = filled(self.command, {name: f'"${variable}"' for name, variable in variables.items()})
        environment = {**os.environ, **{variables[name]: value for name, value in values.items()}}
        return ["/bin/sh", "-c", line], environment

    def _words(self) -> list[str]:
        try:
            return shlex.split(self.command)
        except ValueError as error:
            raise InputError(f"decoder: the command {self.command!r} cannot be split into words ({error})") from None


def _refuse_quotes(command: str) -> None:
    """Refuse a shell command with a placeholder between quotes, or behind a backslash."""
    for quoted in _QUOTED.finditer(command):
        quote = quoted[0][0]
        for hole in HOLE.finditer(quoted[0]):
            if hole[1] is not None and quote == "\\":
                raise InputError(f"decoder: a backslash before {hole[0]}; write {hole[0]} without it")
            if hole[1] is not None:
                raise InputError(
                    f"decoder: {hole[0]} is between quotes ({quote}); for a shell, names are quoted already, and more "
                    f"quotes would undo that: write {hole[0]} without quotes"
                )


def _own_copy(path: Path) -> None:
    """Replace links by copies of what they lead to, in a folder all of them.

    The decoder may write to the file behind a link in every iteration, and the earlier iterations would change with it.
    """
    try:
        source = path.resolve(strict=True)
        if not (source.is_file() or source.is_dir()) or (
            path.is_symlink() and path.parent.resolve().is_relative_to(source)
        ):
            raise DecoderError(f"the decoder wrote {path}, which is neither a file nor a folder of its own: {source}")
        if path.is_symlink() or (source.is_file() and source.stat().st_nlink > 1):
            copy = path.with_name(f"{COPY}{path.name}")
            (shutil.copytree if source.is_dir() else shutil.copyfile)(source, copy)
            path.unlink()
            copy.rename(path)
        elif source.is_dir():
            for entry in path.iterdir():
                _own_copy(entry)
    except (OSError, shutil.Error) as error:
        raise DecoderError(f"the decoder wrote {path}, which cannot be copied ({error})") from None


def _has_content(path: Path) -> bool:
    return any(path.iterdir()) if path.is_dir() else path.stat().st_size > 0
