"""Which subcommands there are. Their modules are imported when they are needed."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable

from hulltune.cli.parser import Parser

Run = Callable[[argparse.Namespace], int]

COMMANDS = {
    "tune": "tune weights over candidate lists or forests",
    "rerank": "write the best candidates by given weights",
    "score": "score what given weights pick",
    "surface": "draw the metric along a feature, or between two sets of weights",
    "kbest": "write the best derivations of forests, or random ones",
    "oracle": "the best score that lists or forests can reach",
    "convert": "write lists or forests in another format, or smaller",
    "pack": "write lists or forests as a packed file, which opens at once",
    "info": "what is in lists or forests",
    "demo": "tune a simulated task whose answer is known",
    "completion": "a script that completes commands in bash, zsh or fish",
}


def command_parser(name: str) -> tuple[Parser, Run]:
    """The parser of a subcommand, and what runs it."""
    module = importlib.import_module(f"hulltune.cli.{name}")
    parser = Parser(
        prog=f"hulltune {name}",
        usage=f"hulltune {name} {module.USAGE}",
        description=(module.__doc__ or "").split("\n")[0],
        epilog=f"example:\n{module.EXAMPLE}",
    )
    module.configure(parser)
    parser.add_argument("--debug", action="store_true", help=argparse.SUPPRESS)
    run: Run = module.run
    return parser, run
