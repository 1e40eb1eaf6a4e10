"""Options of commands: made of the fields of Reading, Tuning and Looping, and those that several commands share.

A decorator such as ``data_options`` adds a group of options to a command and passes their values as one argument.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import TYPE_CHECKING, Any

import rich_click as click
from click.core import ParameterSource

from hulltune.cli.values import (
    FILE,
    METRIC,
    NAMES,
    Costs,
    EachOfSeveral,
    MetricsType,
    Named,
    NameOrFile,
    Number,
    OneOf,
    SomeOf,
    WholeNumber,
    Written,
    by_name,
    joined,
)
from hulltune.errors import InputError
from hulltune.names import (
    DEFAULT_SEARCH,
    DIRECTIONS,
    EVOLUTIONS,
    GAP,
    IDS,
    MOST_DIRECTIONS,
    MOST_RESTARTS,
    POLICIES,
    RESTARTS,
    SCALES,
    SMOOTHINGS,
)
from hulltune.options import ANSWER, AUTO, DATA, GENERAL, SEARCH, WEIGHTS, Reading, Tuning

if TYPE_CHECKING:
    from hulltune.metrics import Metric
    from hulltune.search.constraints import Constraints
    from hulltune.search.strategy import Strategy

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

FILES = ("FILE", "FOLDER", "LISTS")
"""The words for values that are names of files to read."""
RESULT_SUFFIXES = {".json": "result", ".ini": "moses", ".txt": "lines"}
"""The suffixes of files for a result, and the formats that they stand for: all of it, or its weights."""
REPEATED = " Can be repeated."
REFERENCES = (
    "The references, one sentence per line; several files if sentences have several references. Of queries, the "
    "judgements of their documents (qrels)."
)
PICKING = "The weights: a result of tune, JSON, a Moses ini file, or lines 'name value'."
"""The help of the options that most commands have."""
_SPELLED = re.compile(r"(?:(-\w), )?(--[\w-]+)(?: (.+))?")
_SETTINGS: dict[str, dict[str, Any]] = {
    "add": {"multiple": True, "type": (FILE, str)},
    "also": {"type": MetricsType(), "multiple": True, "callback": joined},
    "ends": {"type": NAMES},
    "ids": {"type": NameOrFile(*IDS)},
    "metric": {"type": METRIC},
    "missing": {"type": Number(word="least")},
    "negate": {"type": Costs()},
    "questions": {"type": Written()},
    "regularise": {"type": Number(0, AUTO)},
    "store": {"type": Written()},
}
"""What click must know of some options beside their fields: types of their own, and whether they can be repeated."""


def option(group: str | None, spelled: str, help_text: str, *, name: str | None = None, **settings: Any) -> Decorator:
    """An option, spelled like in the help ("-o, --out FILE"), with a sentence of help.

    It is a flag if nothing follows its name. Its value is text, unless ``type`` says otherwise or the spelling is one
    of FILES. ``name`` is the argument of the command, if it differs from the name of the option.
    """
    found = _SPELLED.fullmatch(spelled)
    assert found is not None, spelled
    short, long, metavar = found.groups()
    if metavar is None:
        settings["is_flag"] = True
    elif metavar in FILES:
        settings.setdefault("type", FILE)
    if settings.get("multiple") and not help_text.endswith("]"):
        help_text += REPEATED
    if metavar is not None and " " in metavar:
        settings["nargs"] = len(metavar.split())
        settings.setdefault("type", EachOfSeveral())
    names = [part for part in (short, long, name) if part is not None]
    return click.option(*names, panel=group, metavar=metavar, help=help_text, **settings)


def argument(group: str, name: str, metavar: str, help_text: str, **settings: Any) -> Decorator:
    """An argument without the name of an option, with a sentence of help."""
    return click.argument(name, metavar=metavar, panel=group, help=help_text, **settings)


def field_option(kind: type, name: str, **changes: Any) -> Decorator:
    """The option of a field of a dataclass, such as Reading or Tuning; ``changes`` are what differs for a command.

    A field without a default is required, and one that is a tuple of texts can be repeated.
    """
    field = next(each for each in fields(kind) if each.name == name)
    told = field.metadata["option"]
    settings = {"default": field.default, **_SETTINGS.get(name, {}), **changes}
    if settings["default"] is MISSING:
        settings["default"], settings["required"] = None, True
    if field.type == "tuple[str, ...]":
        settings["multiple"] = True
    help_text, group = settings.pop("help_text", told.help), settings.pop("group", told.group)
    if told.unless and settings["default"] in (None, ()):
        help_text = f"{help_text} [default: {told.unless}]"
    if settings.get("multiple"):
        settings["default"] = None
    several = told.flag.endswith("…")
    if told.flag.startswith("--no-"):
        settings["flag_value"] = False
        settings["show_default"] = False
        help_text = f"Do not {help_text[:1].lower()}{help_text[1:]}"
    elif "type" not in settings and told.among:
        settings["type"] = (SomeOf if several else OneOf)(told.noun or name, told.among)
    elif "type" not in settings and told.least is not None:
        is_whole = str(field.type).startswith("int")
        settings["type"] = WholeNumber(int(told.least), told.most) if is_whole else Number(told.least)
    elif "type" not in settings and several:
        settings["type"] = NAMES
    return option(group, told.flag, help_text, name=name, **settings)


def field_options(kind: type, *names: str, **changes: Any) -> dict[str, Decorator]:
    """The options of some fields by their names."""
    return {name: field_option(kind, name, **changes) for name in names}


def gathered(argument: str, make: Callable[..., Any], options: Mapping[str, Decorator]) -> Decorator:
    """A decorator that adds options to a command and passes what ``make`` makes of their values as one ``argument``."""

    def decorate(function: Callable[..., int]) -> Callable[..., int]:
        @functools.wraps(function)
        def run(**values: Any) -> int:
            own = {name: values.pop(name) for name in options}
            return function(**values, **{argument: make(**own)})

        decorated: Callable[..., int] = run
        for add in reversed(list(options.values())):
            decorated = add(decorated)
        return decorated

    return decorate


def options_of(argument: str, kind: type) -> Decorator:
    """The options of all fields of a dataclass, which is made of their values: one ``argument`` of the command."""
    return gathered(argument, kind, field_options(kind, *(each.name for each in fields(kind))))


# Data.


@dataclass(frozen=True)
class Data:
    """The lists or forests of a command, how they are read, and what they are judged by."""

    lists: tuple[str, ...]
    reading: Reading
    ref: tuple[str, ...] = ()
    _metric: Metric | None = None
    any_order: bool = False
    """Whether references are taken as they are, even if nearly all fit other sentences better."""

    @property
    def metric(self) -> Metric:
        """The metric of a command that has one."""
        assert self._metric is not None
        return self._metric


def data_options(metavar: str = "LISTS…", *, judged: bool = False) -> Decorator:
    """The lists or forests: the argument ``data``. With ``judged``, it has references and a metric, too."""
    files = "Lists or forests: files, folders, or patterns such as 'dev/*.gz'."
    lists = argument(DATA, "lists", metavar, files, nargs=-1, required=True, type=FILE)
    scored = (
        {
            "ref": option(DATA, "-r, --ref FILE", REFERENCES, name="--qrels", multiple=True),
            "any_order": option(DATA, "--any-order", "Go on where nearly all references fit other sentences better."),
            "metric": field_option(Tuning, "metric"),
        }
        if judged
        else {}
    )
    names = [each.name for each in fields(Reading) if each.metadata["option"].flag]

    def make(
        lists: tuple[str, ...],
        ref: tuple[str, ...] = (),
        metric: Metric | None = None,
        any_order: bool = False,  # click gives it by name
        **reading: Any,
    ) -> Data:
        return Data(lists, Reading(**reading), ref, metric, any_order)

    return gathered("data", make, {"lists": lists, **scored, **field_options(Reading, *names)})


def reading_options(group: str) -> Decorator:
    """The options for reading the output of a decoder: the argument ``reading``."""
    names = ("format", "missing", "ids", "negate", "drop", "symbols")
    own = field_options(Reading, *names, group=group)
    return gathered("reading", Reading, {**own, "threads": field_option(Reading, "threads")})


# Weights and their search.


def _named(spelled: str, help_text: str, value: str) -> Decorator:
    """A repeatable option with a value for a feature."""
    return option(WEIGHTS, spelled, help_text, type=Named(value), multiple=True, callback=by_name)


def _constraints(**given: Any) -> Constraints:
    from hulltune.search.constraints import Constraints

    return Constraints(**given)


constraint_options = gathered(
    "constraints",
    _constraints,
    {
        "fix": _named("--fix NAME=V", "Keep the weight of a feature at V.", "NUMBER"),
        "min": _named("--min NAME=V", "The smallest weight that a feature may have.", "NUMBER"),
        "max": _named("--max NAME=V", "The largest weight that a feature may have.", "NUMBER"),
        "sign": _named(
            "--sign NAME=+",
            "Allow only weights of 0 or more (NAME=+), of 0 or less (NAME=-), or both (NAME=any). A sign alone is that "
            "of all features; orders of documents have + unless something else is said.",
            "SIGN",
        ),
        "free": option(WEIGHTS, "--free NAME,…", "Tune only the weights of these features. [default: all]", type=NAMES),
        "tie": option(WEIGHTS, "--tie NAME,NAME", "Give these features the same weight.", type=NAMES, multiple=True),
        "scale": option(
            WEIGHTS,
            "--scale NORM",
            "Scale the weights to norm 1 (l1 or l2), or do not scale them (none).",
            type=OneOf("scale", SCALES),
            default="l1",
        ),
    },
)


def search_options(*, certified: bool = False) -> Decorator:
    """The kind of search and its options: the argument ``search``. With ``certified``, also those of a proof."""
    options = {
        "search": field_option(Tuning, "search"),
        "restarts": option(
            SEARCH,
            "--restarts N",
            "The number of further searches, each from other weights. "
            f"[default: {EVOLUTIONS} with --search {DEFAULT_SEARCH}, else {RESTARTS}]",
            type=WholeNumber(0, MOST_RESTARTS),
        ),
        "directions": option(
            SEARCH,
            "--directions N",
            f"The number of lines to search in each round. [default: {DIRECTIONS}]",
            type=WholeNumber(0, MOST_DIRECTIONS),
        ),
        "policy": option(
            SEARCH,
            "--policy NAME",
            "Which point of a line to take: in the middle of the best interval (middle), at its near end (closest), or "
            "in the middle of the widest if several are best (widest). [default: middle]",
            type=OneOf("policy", POLICIES),
        ),
        "smoothing": option(
            SEARCH,
            "--smoothing NAME",
            "Avoid narrow peaks: judge each interval with its neighbours, by the worst (min) or the mean of them. "
            "[default: none]",
            type=OneOf("smoothing", SMOOTHINGS),
        ),
    }
    proof = {
        "certify": option(
            SEARCH, "--certify", "Find the best weights that exist, with a proof. Short for --search certified."
        ),
        "gap": option(
            SEARCH,
            "--gap X",
            "Certified search: end when the score is proven to be within X of the best.",
            type=Number(0),
            default=GAP,
        ),
        "time": option(
            SEARCH, "--time S", "Certified search: end after S seconds. [default: no limit]", type=Number(0)
        ),
    }
    return gathered("search", strategy_of, {**options, **(proof if certified else {})})


def strategy_of(
    search: str, *, certify: bool = False, gap: float = GAP, time: float | None = None, **options: Any
) -> Strategy:
    """The Strategy of the options of a command; an option that it does not have is refused."""
    if certify and search not in (DEFAULT_SEARCH, "certified"):
        raise InputError(f"--certify: means --search certified, but got --search {search}; give one of them")
    if certify:
        search = "certified"
    if time is not None and search != "certified":
        raise InputError("--time: limits a certified search, and this is another one; give --certify, too")
    from hulltune.tuning.strategies import get_strategy

    given = {name: value for name, value in options.items() if value is not None}
    proof = {"gap": gap, **({} if time is None else {"time": time})} if search == "certified" else {}
    return get_strategy(search, **given, **proof)


def weights_option(group: str = WEIGHTS, help_text: str = PICKING, *, required: bool = True) -> Decorator:
    """The weights to use: the argument ``weights``."""
    return option(group, "-w, --weights FILE", help_text, required=required)


# Answers.


@dataclass(frozen=True)
class Answer:
    """Where the answer of a command goes, and in which form."""

    out: Any = None
    as_json: bool = False
    quiet: bool = False


def answer_options(
    help_text: str = "",
    *suffixes: str,
    quiet: str = "Do not show notes.",
    json: bool = True,
    **settings: Any,
) -> Decorator:
    """The output file, if there is any help for it, ``--json`` and ``--quiet``: the argument ``answer``."""
    options = {}
    if help_text:
        options["out"] = option(ANSWER, "-o, --out FILE", help_text, type=Written(*suffixes), **settings)
    if json:
        options["as_json"] = option(ANSWER, "--json", "Print the answer as one JSON object.", name="as_json")
    options["quiet"] = option(GENERAL, "-q, --quiet", quiet)
    return gathered("answer", Answer, options)


def result_options() -> Decorator:
    """The output files of a result, ``--json`` and ``--quiet``: the argument ``answer``."""
    help_text = "Write the result to FILE.json, or only the weights to FILE.ini (Moses) or FILE.txt (lines)."
    return answer_options(help_text, *RESULT_SUFFIXES, quiet="Do not show progress.", multiple=True)


def is_given(name: str) -> bool:
    """Whether the option of this name stands on the command line."""
    context = click.get_current_context()
    return context is not None and context.get_parameter_source(name) is not ParameterSource.DEFAULT


def not_together(*options: tuple[str, bool], needed: bool = False) -> None:
    """Refuse options that exclude each other; with ``needed``, also refuse to have none of them."""
    given = [name for name, is_given in options if is_given]
    if len(given) > 1:
        message = f"argument {given[1]}: not allowed with argument {given[0]}"
        raise click.UsageError(message, ctx=click.get_current_context())
    if needed and not given:
        message = f"one of the arguments {' '.join(name for name, _ in options)} is required"
        raise click.UsageError(message, ctx=click.get_current_context())
