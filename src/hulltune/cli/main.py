"""The program ``hulltune``: run the command of its arguments, and turn errors into one line and an exit code."""

from __future__ import annotations

import contextlib
import errno
import gc
import io
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn, TextIO, cast

import rich_click as click
from click.exceptions import Exit

from hulltune._version import __version__
from hulltune.cli.command import (
    ARGUMENTS,
    BAD_INPUT,
    COMPLETE,
    DEBUG,
    DONE,
    FAILED,
    INTERRUPTED,
    SETTINGS,
    Commands,
    note,
)
from hulltune.errors import InputError, Note, OptionError
from hulltune.interrupts import SIGNALS, Terminated, terminable

EXAMPLES = """\
hulltune tune dev.nbest.gz --ref dev.en --metric bleu --out w.json
hulltune rerank test.nbest.gz --weights w.json --out test.best.txt"""


@click.group("hulltune", cls=Commands, context_settings=SETTINGS, examples=EXAMPLES)
@click.version_option(__version__, "-V", "--version", message="hulltune %(version)s", help="Show the version.")
@click.option("--debug", is_flag=True, expose_value=False, help=DEBUG)
def root() -> None:
    """Tune the weights of linear models exactly, against the metric you report.

    Exit codes: 0 done, 1 failed, 2 wrong input, 3 questions wait, 130 interrupted.
    """


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code: 128 and its number for a run that a signal has ended."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    received: list[int] = []
    with _notes_that_may_fail(), terminable(received.append):
        code = _answered(arguments)
    return 128 + received[0] if code == INTERRUPTED and received else code


def _answered(arguments: list[str]) -> int:
    """Run the arguments; every error becomes a line on standard error and an exit code."""
    debug = "--debug" in arguments  # before they are parsed, which takes them out of the list
    try:
        code = _run(arguments)
        sys.stdout.flush()
        return code
    except click.ClickException as error:
        return _complain(_usage_fault(error), BAD_INPUT)
    except OptionError as error:
        return _complain(f"--{error.option.replace('_', '-')}: {error.reason}", BAD_INPUT)
    except InputError as error:
        return _complain(str(error), BAD_INPUT)
    except KeyboardInterrupt:
        return _complain("interrupted; there was nothing to write yet", INTERRUPTED)
    except MemoryError:
        return _complain(_out_of_memory(), FAILED)
    except BrokenPipeError:
        _drop_output()  # the reader has closed the pipe
        return DONE
    except OSError as error:
        if error.errno != errno.ENOSPC or error.filename is not None:
            return _unexpected(error, debug)
        _drop_output()
        told = f"standard output: cannot be written ({error.strerror}); make room, and run it again"
        return _complain(told, FAILED)
    except Exception as error:
        return _unexpected(error, debug)


@contextmanager
def _notes_that_may_fail() -> Iterator[None]:
    """Let a run go on without notes and progress if they cannot be written, because a disk is full."""
    before = sys.stderr
    sys.stderr = cast(TextIO, _Heedless(before))
    try:
        yield
    finally:
        sys.stderr = before


class _Heedless:
    """A stream whose texts may be lost."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text, if that is possible."""
        with contextlib.suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush, if that is possible."""
        with contextlib.suppress(OSError):
            self._stream.flush()


def _drop_output() -> None:
    """Send what is left for standard output nowhere: Python writes it once more at its end, which must not fail."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _run(arguments: list[str]) -> int:
    """Run the arguments, or complete them if a shell asks for that.

    click's own ``main`` would print errors in several lines, and handle interrupts and broken pipes itself.
    """
    instruction = os.environ.get(COMPLETE)
    if instruction:
        from click.shell_completion import shell_complete

        return shell_complete(root, {}, "hulltune", COMPLETE, instruction)
    try:
        given = list(arguments)  # parsing takes them out of the list
        with root.make_context("hulltune", arguments, resilient_parsing=not arguments) as ctx:
            ctx.meta[ARGUMENTS] = given
            if not arguments:
                click.echo(ctx.get_help(), err=True)
                return BAD_INPUT
            with _shown_notes():
                code: int = root.invoke(ctx)
            return code
    except Exit as ended:  # help or the version is shown
        return ended.exit_code


@contextmanager
def _shown_notes() -> Iterator[None]:
    """Show each Note of the library once, as a line on standard error; other warnings as Python does."""
    told: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("always", Note)
        ordinary = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if issubclass(category, Note):
                if str(message) not in told:  # data may be matched with their references twice
                    note(str(message))
                told.add(str(message))
            else:
                ordinary(message, category, *place, **more)

        warnings.showwarning = show
        yield


def _usage_fault(error: click.ClickException) -> str:
    """The message of a usage error in one line."""
    message = " ".join(error.format_message().split()).rstrip(".")
    context = getattr(error, "ctx", None)
    help_at = "" if context is None else f" (see {context.command_path} --help)"
    return f"{message[:1].lower()}{message[1:]}{help_at}"


def _unexpected(error: BaseException, debug: bool) -> int:
    from hulltune.metrics.questions import Unanswered

    if isinstance(error, Unanswered):
        return _complain(str(error), error.exit_code)
    if debug:
        traceback.print_exc()
    message = " ".join(str(error).split())
    hint = "" if debug else "; run it again with --debug for the traceback"
    return _complain(f"the run failed: {type(error).__name__}{': ' if message else ''}{message}{hint}", FAILED)


def _out_of_memory() -> str:
    from hulltune.memory import memory_left, size_text

    left = memory_left()
    room = "" if left is None else f" ({size_text(left)} is left)"
    return f"out of memory{room}; use fewer data or threads, or more memory"


def _complain(message: str, code: int) -> int:
    note(message)
    return code


def entry_point() -> NoReturn:
    """Run the installed script. Texts are UTF-8, whatever the encoding of the terminal."""
    _open_what_is_closed()
    # Modules are objects that stay: to look for garbage among them, again and again, took a twelfth of a start.
    gc.set_threshold(100_000, 20, 100)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        code = main()
    except KeyboardInterrupt as again:  # a second signal, while the first one is being answered
        code = 128 + (again.number if isinstance(again, Terminated) else signal.SIGINT)
    for number in SIGNALS:  # everything is written: Ctrl-C must not change the exit code now
        signal.signal(number, signal.SIG_IGN)
    try:
        sys.stdout.flush()
    except (OSError, ValueError):  # the disk is full, which was said before
        _drop_output()
    sys.exit(code)


def _open_what_is_closed() -> None:
    """Open /dev/null for each of the three standard streams that is closed (``2>&-``); Python has None instead of it.

    Otherwise the next file to be opened takes its number, and a message of some library, or of a decoder, which goes to
    standard error by number, is written into that file.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)  # takes the least number that is free
            os.set_inheritable(opened, True)
            setattr(sys, name, os.fdopen(opened, "w" if number else "r", encoding="utf-8", closefd=False))
