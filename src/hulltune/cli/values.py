"""Types of the values of options: each converts a text, says what it expects, and completes in a shell."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click
from click.shell_completion import CompletionItem

from hulltune.errors import InputError, unknown_name
from hulltune.names import METRICS, MOST_BEST, MOST_RUNS

if TYPE_CHECKING:
    from hulltune.metrics import Metric

    ValueType = click.ParamType[Any]
else:
    ValueType = click.ParamType  # no generic class before click 8.5

FILE = click.Path()
"""A file or folder to read. The reader checks whether it exists, with a better message than click's."""
METRIC_FILES = "hulltune.metric_files"
"""The key of a context for the files that options of metrics name, such as ``given:scores=FILE``."""


class Written(click.Path):
    """A file to write, or perhaps a folder. Its name is checked before a long run, whose result a slip would lose.

    It has one of the ``suffixes``, if there are any. Whether it would take the place of an input is checked when all
    options are known (``check_outputs``).
    """

    def __init__(self, *suffixes: str, folder: bool = False) -> None:
        super().__init__()
        self.suffixes, self.folder = suffixes, folder

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The name, if a file can be written there."""
        path, option = Path(value), param.opts[-1] if isinstance(param, click.Option) else "OUT"
        if self.suffixes and path.suffix.lower() not in self.suffixes:
            raise InputError(f"{option}: {value!r} has no known suffix; expected {', '.join(self.suffixes)}")
        if not self.folder and path.is_dir():
            raise InputError(f"{option}: {value}: is a folder; expected the name of a file")
        parent = path.absolute().parent
        if not parent.is_dir():
            raise InputError(f"{option}: {value}: there is no folder {path.parent}")
        if not os.access(path if path.exists() else parent, os.W_OK):
            raise InputError(f"{option}: {value}: cannot be written (permission denied); name another place")
        return value


class OneOf(ValueType):
    """One of several names; ``kind`` is the word for them in the message on an unknown name."""

    name = "name"

    def __init__(self, kind: str, names: Iterable[str]) -> None:
        self.kind, self.names = kind, tuple(names)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The name, if it is known."""
        if value not in self.names:
            raise unknown_name(self.kind, value, self.names)
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The names that begin with the text so far."""
        return [CompletionItem(name) for name in self.names if name.startswith(incomplete)]


class EachOfSeveral(ValueType):
    """One of the values of an option that takes several, with blanks between them."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value; the next option is none."""
        if str(value).startswith("--") and param is not None:
            spelled = f"{param.opts[-1]} {param.metavar}"
            raise InputError(f"{param.opts[-1]}: got {value!r}; expected {spelled}, with a blank between the values")
        return value


class SomeOf(OneOf):
    """Several names between commas."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The names, if all are known."""
        try:
            return [super(SomeOf, self).convert(name, param, ctx) for name in NAMES.convert(value, param, ctx)]
        except InputError as error:
            single = "" if param is None else param.opts[-1].removesuffix("s")
            if ctx is not None and any(single in other.opts for other in ctx.command.params):
                raise InputError(f"{error}; {single} NAME takes a feature of the data") from None
            raise

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The names that may follow the last comma."""
        before, comma, last = incomplete.rpartition(",")
        return [CompletionItem(f"{before}{comma}{name}") for name in self.names if name.startswith(last)]


class NameOrFile(OneOf):
    """One of several names, or a file."""

    def __init__(self, *names: str) -> None:
        super().__init__("name", names)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The name as it is: whoever reads the file says whether it exists."""
        return value

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The names that begin with the text so far, and files."""
        return [CompletionItem(incomplete, type="file"), *super().shell_complete(ctx, param, incomplete)]


class Names(ValueType):
    """Any names between commas."""

    name = "names"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The names in their order, without blanks around them."""
        if not isinstance(value, str):
            return list(value)
        return [name.strip() for name in value.split(",") if name.strip()]


class Costs(Names):
    """Features whose sign is changed: "all" (True), "none" (False), or some by name."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The option ``negate`` of Reading."""
        return value == "all" if value in ("all", "none") else super().convert(value, param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The words "all" and "none"; the names of features are not known before reading."""
        return OneOf("word", ("all", "none")).shell_complete(ctx, param, incomplete)


class MetricType(OneOf):
    """A metric: a name with or without options, or a sum of several."""

    def __init__(self) -> None:
        super().__init__("metric", METRICS)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The metric itself, so that a typing error is found before a large file is read."""
        if ctx is not None and ctx.resilient_parsing:  # completion does without numpy
            return value
        from hulltune.metrics import get_metric

        metric: Metric = get_metric(value)
        if ctx is not None:
            named = re.split(r"[=,()]", value)[1:] if isinstance(value, str) else []
            ctx.meta.setdefault(METRIC_FILES, []).extend(part for part in named if os.path.isfile(part))
        return metric


class MetricsType(MetricType):
    """Several metrics: names between commas, or one metric with options, which may have commas themselves."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The metrics in their order."""
        texts = [value] if ":" in value else NAMES.convert(value, param, ctx)
        return [super(MetricsType, self).convert(text, param, ctx) for text in texts]


class Named(ValueType):
    """A name and a value, ``NAME=VALUE``; the name may contain an = itself. The value is a number, or a sign, which
    alone is that of all features.
    """

    name = "named value"

    def __init__(self, value: str) -> None:
        self.value = value

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, float | str]:
        """The name and the value. Whether a sign is one is checked with the constraints."""
        if self.value == "SIGN" and value in ("+", "-", "any"):
            return "*", value  # of all features
        name, _, text = value.rpartition("=")
        number = 0.0 if self.value == "SIGN" else _number(text)
        if not name or math.isnan(number):
            self.fail(f"got {value!r}; expected NAME={self.value}", param, ctx)
        return name, text if self.value == "SIGN" else number


class Number(ValueType):
    """A number, or a word if there is one; with ``least``, a finite number of at least that."""

    name = "number"

    def __init__(self, least: float | None = None, word: str | None = None) -> None:
        self.least, self.word = least, word

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float | str:
        """The number or the word."""
        if value is not None and value == self.word:
            return str(value)
        number = _number(value)
        if math.isnan(number) or (self.least is not None and not self.least <= number < math.inf):
            bound = "" if self.least is None else f" of at least {self.least:g}"
            word = "" if self.word is None else f", or {self.word}"
            self.fail(f"got {value!r}; expected a number{bound}{word}", param, ctx)
        return number


class WholeNumber(ValueType):
    """A whole number of at least ``least`` and at most ``most``."""

    name = "whole number"

    def __init__(self, least: int = 0, most: float = math.inf) -> None:
        self.least, self.most = least, min(most, 2**63 - 1)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number."""
        text = str(value)
        is_number = text.isascii() and text.isdigit()
        number = int(text) if is_number and len(text) < 20 else 2**63  # int() refuses thousands of digits
        if not is_number or number < self.least:
            self.fail(f"got {value!r}; expected a whole number of at least {self.least}", param, ctx)
        if number > self.most:
            cut_off = "…" if len(text) > 20 else ""
            self.fail(f"got {text[:20]}{cut_off}; expected a whole number of at most {self.most:,}", param, ctx)
        return number


NAMES = Names()
METRIC = MetricType()
COUNT = WholeNumber()
DERIVATIONS = WholeNumber(1, MOST_BEST)
RUNS = WholeNumber(1, MOST_RUNS)


def by_name(ctx: click.Context, param: click.Parameter, pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """The pairs of a repeatable option as a dictionary; no name may come twice."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise InputError(f"{param.opts[-1]}: {name!r} is given twice")
        found[name] = value
    return found


def joined(ctx: click.Context, param: click.Parameter, lists: Sequence[list[Any]]) -> list[Any] | None:
    """The lists of a repeatable option as one list; None if the option is not given."""
    return [value for values in lists for value in values] if lists else None


def _number(text: Any) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
