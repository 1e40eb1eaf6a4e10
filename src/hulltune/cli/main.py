"""The program ``hulltune``: run the command of its arguments, and turn errors into one line and an exit code."""

from __future__ import annotations

import io
import os
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn

import rich_click as click
from click.exceptions import Exit

from hulltune._version import __version__
from hulltune.cli.answers import BAD_INPUT, DONE, FAILED, INTERRUPTED, note
from hulltune.cli.help import COMPLETE, SETTINGS, Commands, long_name
from hulltune.compiling import told_of_compiling
from hulltune.errors import InputError
from hulltune.interrupts import is_interrupt

EXAMPLES = """\
hulltune tune dev.nbest.gz --ref dev.en --metric bleu --out w.json
hulltune rerank test.nbest.gz --weights w.json --out test.best.txt"""


@click.group("hulltune", cls=Commands, context_settings=SETTINGS, examples=EXAMPLES)
@click.version_option(__version__, "-V", "--version", message="hulltune %(version)s", help="Show the version.")
def root() -> None:
    """Tune the weights of linear models exactly, against the metric you report.

    `hulltune COMMAND --help` explains a command. Exit codes: 0 done, 1 the run failed, 2 wrong usage or input, 3
    questions await answers, 130 interrupted (the best so far is written).
    """


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        code = _run(arguments)
        sys.stdout.flush()
        return code
    except click.ClickException as error:
        return _complain(_usage_fault(error), BAD_INPUT)
    except InputError as error:
        return _complain(str(error), BAD_INPUT)
    except (KeyboardInterrupt, SystemError) as error:
        if not is_interrupt(error):
            return _unexpected(error, "--debug" in arguments)
        return _complain("interrupted; there was nothing to write yet", INTERRUPTED)
    except MemoryError:
        return _complain(_out_of_memory(), FAILED)
    except BrokenPipeError:
        # The reader has closed the pipe. Python flushes standard output once more at exit, which must not fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except Exception as error:
        return _unexpected(error, "--debug" in arguments)


def _run(arguments: list[str]) -> int:
    """Run the arguments, or complete them if a shell asks for that.

    click's own ``main`` would print errors in several lines, and handle interrupts and broken pipes itself.
    """
    instruction = os.environ.get(COMPLETE)
    if instruction:
        from click.shell_completion import shell_complete

        return shell_complete(root, {}, "hulltune", COMPLETE, instruction)
    try:
        with root.make_context("hulltune", arguments, resilient_parsing=not arguments) as ctx:
            if not arguments:
                click.echo(ctx.get_help(), err=True)
                return BAD_INPUT
            with _told_of_compiling(quiet=bool({"-q", "--quiet"} & set(arguments))):
                code: int = root.invoke(ctx)
            return code
    except Exit as ended:  # help or the version is shown
        return ended.exit_code


@contextmanager
def _told_of_compiling(*, quiet: bool) -> Iterator[None]:
    """Explain the wait of a first run by a note before the first kernel is compiled."""
    told = quiet

    def tell(kernel: str) -> None:
        nonlocal told
        if not told:
            note("compiling kernels, first run only")
        told = True

    with told_of_compiling(tell):
        yield


def _usage_fault(error: click.ClickException) -> str:
    """The message of a usage error in one line."""
    if isinstance(error, click.NoSuchOption):
        near = f"; did you mean {error.possibilities[0]}?" if error.possibilities else ""
        message = f"unknown option {error.option_name}{near}"
    elif isinstance(error, click.MissingParameter) and error.param is not None:
        message = f"the following arguments are required: {long_name(error.param)}"
    elif isinstance(error, click.BadParameter) and error.param is not None:
        message = f"argument {long_name(error.param)}: {error.message}"
    else:
        message = error.format_message().rstrip(".")
        message = message[:1].lower() + message[1:]
    context = getattr(error, "ctx", None)
    return message if context is None else f"{message} (see {context.command_path} --help)"


def _unexpected(error: BaseException, debug: bool) -> int:
    from hulltune.metrics.pending import Unanswered

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
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    code = main()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # everything is written: Ctrl-C must not change the exit code now
    sys.exit(code)
