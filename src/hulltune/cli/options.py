"""Options that several commands share, each defined once, and the dataclasses that hold their values.

A decorator such as ``data_options`` adds a group of options to a command and passes their values as one argument.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import rich_click as click
from click.core import ParameterSource

from hulltune.cli.values import (
    COUNT,
    FILE,
    METRIC,
    NAMES,
    WRITTEN,
    Costs,
    MetricsType,
    NamedNumber,
    NamedSign,
    NameOrFile,
    NumberOr,
    OneOf,
    SomeOf,
    WholeNumber,
    Zero,
    by_name,
    joined,
)
from hulltune.defaults import (
    DEFAULT_SEARCH,
    DIRECTIONS,
    EVOLUTIONS,
    MOST_DIRECTIONS,
    MOST_RESTARTS,
    MOST_THREADS,
    RESTARTS,
)
from hulltune.errors import InputError
from hulltune.names import BUILTIN_FEATURES, FORMATS, IDS, ON_ERROR, POLICIES, SCALES, SEARCHES, SMOOTHINGS

if TYPE_CHECKING:
    from hulltune.search.constraints import Constraints
    from hulltune.search.strategy import Strategy

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

DATA, WEIGHTS, SEARCH, ANSWER = "data", "weights", "search", "answer"
"""The groups of options in the help of most commands."""
GENERAL = None
"""The last group, which every command has."""
FILES = ("FILE", "FOLDER", "LISTS")
_SPELLED = re.compile(r"(?:(-\w), )?(--[\w-]+)(?: (.+))?")


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
    names = [part for part in (short, long, name) if part is not None]
    return click.option(*names, panel=group, metavar=metavar, help=help_text, **settings)


def argument(group: str, name: str, metavar: str, help_text: str, **settings: Any) -> Decorator:
    """An argument without the name of an option, with a sentence of help."""
    return click.argument(name, metavar=metavar, panel=group, help=help_text, **settings)


@dataclass(frozen=True)
class ReadingOptions:
    """The options for reading any data."""

    format: str | None
    missing: float | None
    ids: str | None
    negate: bool | list[str] | None
    drop: list[str] | None
    symbols: str | None
    threads: int | None


@dataclass(frozen=True)
class DataOptions(ReadingOptions):
    """The lists or forests to read, and the options for reading them."""

    lists: tuple[str, ...]
    on_error: str
    add: tuple[str, ...]
    name: tuple[str, ...]
    features: list[str]
    id_column: str | None
    text_column: str | None
    ref_column: list[str]
    source_column: str | None
    ignore: list[str]


@dataclass(frozen=True)
class ConstraintOptions:
    """The constraints on weights."""

    fix: Mapping[str, float]
    free: list[str] | None
    min: Mapping[str, float]
    max: Mapping[str, float]
    sign: Mapping[str, str]
    tie: Sequence[Sequence[str]]
    scale: str


@dataclass(frozen=True)
class SearchOptions:
    """The options of the search for weights."""

    search: str
    restarts: int | None
    directions: int | None
    policy: str | None
    smoothing: str | None
    seed: int


def constraints_of(options: ConstraintOptions) -> Constraints:
    """The Constraints of the options of a command."""
    from hulltune.search.constraints import Constraints

    return Constraints(**{field.name: getattr(options, field.name) for field in fields(options)})


def strategy_of(options: SearchOptions, **further: Any) -> Strategy:
    """The Strategy of the options of a command: those given, and ``further`` ones that only some strategies have.

    An option that the strategy does not have is refused: ignored, it would seem to have changed nothing.
    """
    from hulltune.tuning.strategies import STRATEGIES, get_strategy

    # Each strategy is a dataclass, which their common class cannot say.
    known = {name: {each.name for each in fields(kind)} for name, kind in STRATEGIES.items()}  # type: ignore[arg-type]
    given = {name: getattr(options, name) for name in ("restarts", "directions", "policy", "smoothing")}
    given = {name: value for name, value in given.items() if value is not None}
    for name in given:
        if name not in known[options.search]:
            others = [other for other in SEARCHES if name in known[other]]
            raise InputError(
                f"--{name}: a {options.search} search has no such option; leave it out, or search with "
                f"{', '.join(others[:-1])} or {others[-1]}"
            )
    return get_strategy(options.search, **given, **{k: v for k, v in further.items() if k in known[options.search]})


def gathered(argument: str, kind: type, *options: Decorator) -> Decorator:
    """A decorator that adds options to a command and passes their values as one ``argument`` of type ``kind``."""

    def decorate(function: Callable[..., int]) -> Callable[..., int]:
        @functools.wraps(function)
        def run(**values: Any) -> int:
            own = {field.name: values.pop(field.name) for field in fields(kind)}
            return function(**values, **{argument: kind(**own)})

        decorated: Callable[..., int] = run
        for add in reversed(options):
            decorated = add(decorated)
        return decorated

    return decorate


def _reading(group: str) -> dict[str, Decorator]:
    """The options of ReadingOptions, by name."""
    return {
        "format": option(
            group,
            "-f, --format NAME",
            "The format of the files, such as moses, jsonl, slf or kaldi. By default, it is recognised.",
            type=OneOf("format", FORMATS),
        ),
        "missing": option(
            group, "--missing 0", "Treat missing features as 0. By default, they are an error.", type=Zero()
        ),
        "ids": option(
            group,
            "--ids HOW",
            "Which sentence a forest belongs to: by its place (order), by the number in the name of its file, from 0 "
            "(name) or from 1 (name1), or by its line in a file of names. [default: order]",
            type=NameOrFile(IDS),
        ),
        "negate": option(
            group,
            "--negate NAME,…",
            "Features of forests that are costs, so that their sign is changed; or 'all', or 'none'.",
            type=Costs(),
        ),
        "drop": option(group, "--drop WORD,…", "Words of forests that are not output, such as <s>.", type=NAMES),
        "symbols": option(group, "--symbols FILE", "A table of words, for forests with numbers instead of words."),
        "threads": option(
            GENERAL,
            "-j, --threads N",
            "The number of threads. It changes the running time, not the result. [default: all CPUs]",
            type=WholeNumber(1, MOST_THREADS),
        ),
    }


def reading_options(group: str) -> Decorator:
    """The options for reading the output of a decoder: the argument ``reading``."""
    return gathered("reading", ReadingOptions, *_reading(group).values())


def data_options(metavar: str = "LISTS…", *, judged: bool = False) -> Decorator:
    """The lists or forests: the argument ``data``. With ``judged``, also the arguments ``ref`` and ``metric``."""
    how = _reading(DATA)
    return gathered(
        "data",
        DataOptions,
        argument(
            DATA,
            "lists",
            metavar,
            "Lists or forests: files, folders, or patterns such as 'dev/*.gz'.",
            nargs=-1,
            required=True,
            type=FILE,
        ),
        *((reference_option(DATA), metric_option(DATA)) if judged else ()),
        how["format"],
        how["missing"],
        option(
            DATA,
            "--on-error HOW",
            "What to do with a wrong line of a list: stop there (raise), or leave it out (skip).",
            type=OneOf("way to handle errors", ON_ERROR),
            default="raise",
        ),
        option(
            DATA,
            "--add FILE",
            "Further scores for lists, one number per line, as a new feature. Can be repeated.",
            multiple=True,
        ),
        option(DATA, "--name NAME", "The name of the feature from --add. Give one for each --add.", multiple=True),
        option(
            DATA,
            "--features NAME,…",
            f"Features to compute from the texts of lists: {', '.join(BUILTIN_FEATURES)}. Of forests: words.",
            type=SomeOf("built-in feature", BUILTIN_FEATURES),
            default=(),
        ),
        option(DATA, "--id-column NAME", "The column of a table, or key of JSON lines, with the ids. [default: id]"),
        option(DATA, "--text-column NAME", "The column or key with the texts. [default: text]"),
        option(
            DATA,
            "--ref-column NAME,…",
            "Columns or keys with references, or patterns such as 'answer_*'. [default: ref, ref_0, …]",
            type=NAMES,
            default=(),
        ),
        option(DATA, "--source-column NAME", "The column or key with the source, such as a prompt. [default: source]"),
        option(
            DATA,
            "--ignore NAME,…",
            "Columns, keys or features of lists that are not used, or patterns such as 'meta_*'.",
            type=NAMES,
            default=(),
        ),
        how["ids"],
        how["negate"],
        how["drop"],
        how["symbols"],
        how["threads"],
    )


def reference_option(group: str, **settings: Any) -> Decorator:
    """The references: the argument ``ref``."""
    help_text = "The references, one sentence per line. Repeat it if sentences have several references."
    return option(group, "-r, --ref FILE", help_text, multiple=True, **settings)


def metric_option(group: str) -> Decorator:
    """The metric: the argument ``metric``."""
    help_text = "The metric: bleu, chrf, ter, wer, cer, accuracy and others, or a sum such as 'bleu - ter'."
    return option(group, "-m, --metric NAME", help_text, type=METRIC, default="bleu")


def also_option(help_text: str) -> Decorator:
    """Other metrics to report: the argument ``also``."""
    return option(ANSWER, "--also NAME,…", help_text, type=MetricsType(), multiple=True, callback=joined)


def _named(spelled: str, help_text: str, kind: Any) -> Decorator:
    """A repeatable option with a value for a feature."""
    return option(WEIGHTS, spelled, f"{help_text} Can be repeated.", type=kind, multiple=True, callback=by_name)


constraint_options = gathered(
    "constraints",
    ConstraintOptions,
    _named("--fix NAME=V", "Keep the weight of a feature at V.", NamedNumber()),
    _named("--min NAME=V", "The smallest weight that a feature may have.", NamedNumber()),
    _named("--max NAME=V", "The largest weight that a feature may have.", NamedNumber()),
    _named("--sign NAME=+", "Allow only weights of 0 or more (NAME=+), or of 0 or less (NAME=-).", NamedSign()),
    option(WEIGHTS, "--free NAME,…", "Tune only the weights of these features. [default: all]", type=NAMES),
    option(
        WEIGHTS, "--tie NAME,NAME", "Give these features the same weight. Can be repeated.", type=NAMES, multiple=True
    ),
    option(
        WEIGHTS,
        "--scale NORM",
        "Scale the weights to norm 1 (l1 or l2), or do not scale them (none).",
        type=OneOf("scale", SCALES),
        default="l1",
    ),
)

search_options = gathered(
    "search",
    SearchOptions,
    option(
        SEARCH,
        "--search NAME",
        f"The kind of search: {', '.join(SEARCHES[:-1])} or {SEARCHES[-1]}.",
        type=OneOf("search", SEARCHES),
        default=DEFAULT_SEARCH,
    ),
    option(
        SEARCH,
        "--restarts N",
        "The number of further searches, each from other weights. "
        f"[default: {EVOLUTIONS} with --search {DEFAULT_SEARCH}, else {RESTARTS}]",
        type=WholeNumber(0, MOST_RESTARTS),
    ),
    option(
        SEARCH,
        "--directions N",
        f"The number of lines to search in each round. [default: {DIRECTIONS}]",
        type=WholeNumber(0, MOST_DIRECTIONS),
    ),
    option(
        SEARCH,
        "--policy NAME",
        "Which point of a line to take: in the middle of the best interval (middle), at its near end (closest), or in "
        "the middle of the widest if several are best (widest). [default: middle]",
        type=OneOf("policy", POLICIES),
    ),
    option(
        SEARCH,
        "--smoothing NAME",
        "Avoid narrow peaks: judge each interval with its neighbours, by the worst (min) or the mean of them. "
        "[default: none]",
        type=OneOf("smoothing", SMOOTHINGS),
    ),
    option(
        SEARCH,
        "-s, --seed N",
        "The seed of all random choices. The same seed gives the same result.",
        type=COUNT,
        default=1,
    ),
)


def regularise_option(purpose: str) -> Decorator:
    """The strength of regularisation: the argument ``regularise``."""
    return option(
        SEARCH,
        "--regularise X",
        f"{purpose}: what a change of one typical weight by its own size must gain. A number, or auto to find it "
        "by cross-validation, which takes a few times as long. [default: 0]",
        type=NumberOr("auto", 0),
    )


def weights_option(
    group: str = WEIGHTS,
    help_text: str = "The weights: a result of tune, JSON, a Moses ini file, or lines 'name value'.",
    *,
    required: bool = True,
) -> Decorator:
    """The weights to use: the argument ``weights``."""
    return option(group, "-w, --weights FILE", help_text, required=required)


def out_option(help_text: str, **settings: Any) -> Decorator:
    """The output file: the argument ``out``."""
    return option(ANSWER, "-o, --out FILE", help_text, type=WRITTEN, **settings)


results_option = out_option(
    "Write the result to FILE.json, or only the weights to FILE.ini (Moses) or FILE.txt (lines). Can be repeated.",
    multiple=True,
)
json_option = option(ANSWER, "--json", "Print the answer as one JSON object.", name="as_json")


def quiet_option(help_text: str = "Do not show progress.") -> Decorator:
    """The flag for fewer messages: the argument ``quiet``."""
    return option(GENERAL, "-q, --quiet", help_text)


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
