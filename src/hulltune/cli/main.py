"""The command ``hulltune``: find the subcommand, run it, and turn faults into one line and an exit code."""

from __future__ import annotations

import io
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from typing import NoReturn

from hulltune._version import __version__
from hulltune.cli.commands import COMMANDS, command_parser
from hulltune.cli.exits import BAD_INPUT, DONE, FAILED, INTERRUPTED
from hulltune.errors import InputError, unknown_name
from hulltune.interrupts import is_interrupt

_HELP = """usage: hulltune COMMAND [options]

Tune the weights of linear models exactly, against the metric you report.

commands:
{commands}

`hulltune COMMAND --help` explains a command, `--version` is the version.
exit codes: 0 done, 1 the run failed, 2 bad usage or input, 3 answers to
questions are awaited, 130 interrupted with the best so far written

example:
  hulltune tune dev.nbest.gz --ref dev.en --metric bleu --out weights.json
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        code = _run(arguments)
        sys.stdout.flush()
        return code
    except SystemExit as stop:  # argparse has said what there is to say
        return stop.code if isinstance(stop.code, int) else FAILED
    except InputError as error:
        return _complain(str(error), BAD_INPUT)
    except (KeyboardInterrupt, SystemError) as error:
        if not is_interrupt(error):
            return _unexpected(error, "--debug" in arguments)
        return _complain("interrupted; there was nothing to write yet", INTERRUPTED)
    except BrokenPipeError:
        # The reader has seen enough. Python flushes standard output once more at its end: into nothing.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except Exception as error:
        return _unexpected(error, "--debug" in arguments)


def _run(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help"):
        width = max(map(len, COMMANDS))
        commands = "\n".join(f"  {name:{width}}  {purpose}" for name, purpose in COMMANDS.items())
        (sys.stdout if arguments else sys.stderr).write(_HELP.format(commands=commands))
        return DONE if arguments else BAD_INPUT
    if arguments[0] in ("-V", "--version"):
        print(f"hulltune {__version__}")
        return DONE
    name = arguments[0]
    if name not in COMMANDS:
        raise unknown_name("command", name, COMMANDS)
    parser, run = command_parser(name)
    return run(parser.parse_args(arguments[1:]))


def _unexpected(error: BaseException, debug: bool) -> int:
    from hulltune.metrics.pending import Unanswered

    if isinstance(error, Unanswered):
        return _complain(str(error), error.exit_code)
    if debug:
        traceback.print_exc()
    said = " ".join(str(error).split())
    hint = "" if debug else "; run it again with --debug for the traceback"
    return _complain(f"the run failed: {type(error).__name__}{': ' if said else ''}{said}{hint}", FAILED)


def _complain(message: str, code: int) -> int:
    print(f"hulltune: {message}", file=sys.stderr)
    return code


def entry_point() -> NoReturn:
    """What the installed script calls: texts are UTF-8, whatever the terminal's own encoding."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    code = main()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is said and written: Ctrl-C while Python ends changes nothing
    sys.exit(code)
