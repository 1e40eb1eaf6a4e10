"""argparse with one-line errors and help that fits a screen, and the options that several commands share."""

from __future__ import annotations

import argparse
import math
import re
from typing import Any, NoReturn

from hulltune.errors import InputError
from hulltune.names import BUILTIN_FEATURES, FORMATS, IDS, METRICS


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, and whose help is at most 80 columns wide."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, add_help=False, formatter_class=_Compact, **options)
        self.color = False  # newer releases of argparse would put escape codes into the help
        self.choices: dict[str, tuple[str, ...]] = {}

    def error(self, message: str) -> NoReturn:
        """One line on standard error, exit code 2."""
        raise InputError(f"{message} (see {self.prog} --help)")

    def format_help(self) -> str:
        """The help without empty lines between its groups, so that it fits a screen."""
        before, blank, groups = super().format_help().partition("\n\n")
        description, between, rest = groups.partition("\n\n")
        return before + blank + description + between + re.sub(r"\n\n(?=[a-z ]+:\n)", "\n", rest)

    def offer(self, option: str, choices: tuple[str, ...]) -> None:
        """Words that shell completion offers for an option; which of them are right is for the run to say."""
        self.choices[option] = choices


class _Compact(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str) -> None:
        super().__init__(prog, indent_increment=1, max_help_position=29, width=82)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        return getattr(action, "shown", None) or super()._format_action_invocation(action)


def add_lists(parser: Parser, *, references: bool = True) -> None:
    """The lists, how to read them, and their references."""
    group = parser.add_argument_group("data")
    group.add_argument("lists", metavar="LISTS", nargs="+", help="lists or forests: files, patterns or folders")
    if references:
        group.add_argument("--ref", metavar="FILE", action="append", help="references, a line a sentence; repeatable")
        add_metric(group, parser)
    add_reading(group, parser)


def add_metric(group: Any, parser: Parser) -> None:
    """Which metric."""
    group.add_argument("--metric", metavar="NAME", default="bleu", help="bleu, chrf, wer, ter, …, 'bleu - ter' [bleu]")
    parser.offer("--metric", tuple(METRICS))


def add_reading(group: Any, parser: Parser) -> None:
    """How to read the lists."""
    group.add_argument("--format", metavar="NAME", help="format of the lists [told from the files]")
    parser.offer("--format", FORMATS)
    lenient = group.add_argument("--missing", metavar="0", help="missing features are 0; leave out bad lines")
    parser.offer("--missing", ("0",))
    group.add_argument("--on-error", metavar="skip", default="raise", help=argparse.SUPPRESS)
    parser.offer("--on-error", ("raise", "skip"))
    show_together(lenient, "--missing 0, --on-error skip")
    add = group.add_argument("--add", metavar="FILE", action="append", help="further scores as a feature")
    show_together(add, "--add FILE --name NAME")
    group.add_argument("--name", metavar="NAME", action="append", help=argparse.SUPPRESS)
    group.add_argument(
        "--features", metavar="NAME,…", type=comma_separated, default=[], help="words,chars,rank,consensus,log_length"
    )
    parser.offer("--features", tuple(BUILTIN_FEATURES))
    add_forest_reading(group, parser)


def add_forest_reading(group: Any, parser: Parser) -> None:
    """How to read forests."""
    group.add_argument("--ids", metavar="HOW", help="a forest's sentence by: order, name, name1, FILE")
    parser.offer("--ids", IDS)
    costs = group.add_argument("--negate", metavar="NAME,…", help="forests: costs (or all), no words, word table")
    group.add_argument("--drop", metavar="WORD,…", type=comma_separated, help=argparse.SUPPRESS)
    group.add_argument("--symbols", metavar="FILE", help=argparse.SUPPRESS)
    show_together(costs, "--negate, --drop, --symbols")


def show_together(action: argparse.Action, shown: str) -> None:
    """Explain several options in one line of the help: that of this one."""
    action.shown = shown  # type: ignore[attr-defined]  # the help formatter above reads it


def add_help(group: Any) -> None:
    """The option that shows the help, last in its group."""
    group.add_argument("-h", "--help", action="help", help="this help")


def comma_separated(text: str) -> list[str]:
    """The names between commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def named_number(text: str) -> tuple[str, float]:
    """``name=value``, where the name may have an = itself."""
    name, equals, value = text.rpartition("=")
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not equals or not name or math.isnan(number):
        raise argparse.ArgumentTypeError(f"got {text!r}; expected NAME=NUMBER")
    return name, number


def named_sign(text: str) -> tuple[str, str]:
    """``name=+`` or ``name=-``."""
    name, _, sign = text.rpartition("=")
    if not name or sign not in ("+", "-"):
        raise argparse.ArgumentTypeError(f"got {text!r}; expected NAME=+ or NAME=-")
    return name, sign


def positive_number(text: str) -> float:
    """A number of at least 0."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0.0 <= number < math.inf:
        raise argparse.ArgumentTypeError(f"got {text!r}; expected a number of at least 0")
    return number


def whole_number(text: str, least: int = 0) -> int:
    """A whole number of at least 0."""
    if not (text.isascii() and text.isdigit() and int(text) >= least):
        raise argparse.ArgumentTypeError(f"got {text!r}; expected a whole number of at least {least}")
    return int(text)


def counting_number(text: str) -> int:
    """A whole number of at least 1."""
    return whole_number(text, 1)
