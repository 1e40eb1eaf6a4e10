"""The options of reading, of tuning and of a loop, each told once: name, type, default, help, spelling for the shell.

They are the fields of three dataclasses, ``Reading``, ``Tuning`` and ``Looping``. A function such as ``tune`` takes an
object of one of them and is decorated with ``by_keyword``: it is then called with the fields as keywords, which type
checkers, editors and ``help`` know. The command line makes its options of the same fields. Nothing heavy is imported
here, as the help of a command must appear at once.
"""

from __future__ import annotations

import functools
import inspect
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from textwrap import fill
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

from hulltune.errors import InputError, check_most, unknown_name
from hulltune.names import (
    BUILTIN_FEATURES,
    DEFAULT_SEARCH,
    FORMATS,
    IDS,
    MOST_RUNS,
    MOST_THREADS,
    NORMALISATIONS,
    ON_ERROR,
    SEARCHES,
)

if TYPE_CHECKING:
    from pathlib import Path

    from hulltune.formats.read import DataLike
    from hulltune.formats.references import ReferencesLike
    from hulltune.loop import Jobs, LoopProgress
    from hulltune.loop.decoding import Decoder
    from hulltune.metrics.base import Metric
    from hulltune.metrics.store import Store
    from hulltune.search.constraints import Constraints
    from hulltune.search.strategy import Strategy
    from hulltune.tuning.inputs import WeightsLike
    from hulltune.tuning.tune import ShowProgress

DATA, WEIGHTS, SEARCH, ANSWER = "data", "weights", "search", "answer"
"""The groups of options in the help of most commands."""
GENERAL = None
"""The last group, which every command has."""
REQUIRED: Any = MISSING
"""The default of an option that has none."""
AUTO = "auto"
"""The word for a strength of regularisation that is found by cross-validation."""


@dataclass(frozen=True)
class Option:
    """What is told of an option beside the name, type and default of its field."""

    help: str
    """A sentence or two, for the shell and for Python."""
    flag: str = ""
    """The spelling for the shell ("-s, --seed N"); without one, the option is for Python alone."""
    group: str | None = ANSWER
    """The group of options in the help of a command."""
    unless: str = ""
    """What the default None stands for."""
    among: tuple[str, ...] = ()
    """The names of which the value is one."""
    noun: str = ""
    """The word for these names in the message on another one."""
    least: float | None = None
    most: float = math.inf


Value = TypeVar("Value")


def option(default: Value, help: str, flag: str = "", group: str | None = ANSWER, **more: Any) -> Value:  # noqa: A002
    """A field of a dataclass of options, required if its default is REQUIRED. Type checkers take it for its default."""
    made: Any = field(default=default, metadata={"option": Option(help, flag, group, **more)})
    return made  # type: ignore[no-any-return]


def options_in(kind: type) -> dict[str, Option]:
    """The options of a dataclass by the names of their fields."""
    return {each.name: each.metadata["option"] for each in fields(kind)}


def check(options: Any) -> None:
    """Refuse names that are not known and numbers that are out of range; numbers of NumPy become those of Python."""
    for each in fields(options):
        told, value = each.metadata["option"], getattr(options, each.name)
        if value is None and each.default is None:
            continue
        if told.among:
            for name in (value,) if isinstance(value, str) else value if isinstance(value, tuple) else ():
                if name not in told.among:
                    raise unknown_name(told.noun or each.name, name, told.among)
        elif told.least is not None and (each.name, value) != ("regularise", AUTO):
            number = _number_in_range(each.name, value, told, is_whole=str(each.type).startswith("int"))
            object.__setattr__(options, each.name, number)


def _number_in_range(name: str, value: Any, told: Option, *, is_whole: bool) -> float:
    from hulltune.arrays import as_number, as_whole

    assert told.least is not None
    number = as_whole(value) if is_whole else as_number(value)
    if number is None or not told.least <= number < math.inf:
        kind = "whole number" if is_whole else "number"
        word = f" or {AUTO!r}" if name == "regularise" else ""
        raise InputError(f"{name}: expected a {kind} of at least {told.least:g}{word}, got {value!r}")
    if number > told.most:
        check_most(name, int(number), int(told.most))
    return number


def _number(name: str, value: Any) -> None:
    from hulltune.arrays import as_number

    number = as_number(value)
    if number is None or not math.isfinite(number):
        raise InputError(f"{name}: expected a number, got {value!r}")


# Calls with options as keywords.

P = ParamSpec("P")
Class = TypeVar("Class", bound=type)
Options = TypeVar("Options")
Owner = TypeVar("Owner")
Data = TypeVar("Data", contravariant=True)
References = TypeVar("References", contravariant=True)
Answer = TypeVar("Answer", covariant=True)


class ByKeyword(Protocol[Data, References, P, Answer]):
    """A function of data, references if there are some, and options as keywords."""

    def __call__(self, data: Data, /, references: References = ..., *args: P.args, **options: P.kwargs) -> Answer:
        """The answer for some data."""


def by_keyword(
    kind: Callable[P, Options],
) -> Callable[[Callable[[Data, References, Options], Answer]], ByKeyword[Data, References, P, Answer]]:
    """Let a function of data, references and an object of options be called with the fields of this object.

    Signature and docstring tell the options, too. References are None unless they are given.
    """

    def decorate(function: Callable[[Data, References, Options], Answer]) -> ByKeyword[Data, References, P, Answer]:
        signature, known = inspect.signature(function), inspect.signature(kind).parameters
        data, references, _ = signature.parameters.values()

        @functools.wraps(function)
        def call(data: Data, /, references: Any = None, **given: Any) -> Answer:
            check_names(function.__name__, given, known)
            return function(data, references, kind(**given))  # type: ignore[call-arg]  # they were checked

        told: Any = call
        positional = (data.replace(kind=data.POSITIONAL_ONLY), references.replace(default=None))
        told.__signature__ = signature.replace(parameters=[*positional, *known.values()])
        told.__doc__ = described(function.__doc__, kind)
        return told  # type: ignore[no-any-return]

    return decorate


def made_by_keyword(
    kind: Callable[P, Options],
) -> Callable[[Callable[[Owner, dict[str, Any]], None]], Callable[Concatenate[Owner, P], None]]:
    """Let a constructor take the fields of an object of options as keywords, unchecked and with their defaults."""

    def decorate(function: Callable[[Owner, dict[str, Any]], None]) -> Callable[Concatenate[Owner, P], None]:
        signature = inspect.signature(kind)
        defaults = {name: parameter.default for name, parameter in signature.parameters.items()}

        @functools.wraps(function)
        def call(self: Owner, **given: Any) -> None:
            check_names(type(self).__name__, given, defaults)
            function(self, {**defaults, **given})

        told: Any = call
        owner = next(iter(inspect.signature(function).parameters.values()))
        told.__signature__ = signature.replace(parameters=[owner, *signature.parameters.values()])
        return told  # type: ignore[no-any-return]

    return decorate


def check_names(function: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse keywords that a function does not have, as Python does, and suggest one."""
    for name in given:
        if name not in known:
            raise TypeError(f"{function}(): {unknown_name('option', name, known)}")


def described(docstring: str | None, kind: Any) -> str:
    """The docstring with a paragraph for each option of a dataclass, before the examples."""
    text, mark, examples = inspect.cleandoc(docstring or "").partition("\n>>>")
    return "\n".join([text.rstrip(), "", _told(kind), "", f"{mark[1:]}{examples}" if mark else ""]).rstrip()


@functools.cache  # a dataclass and its function tell the same options, and breaking lines takes a share of a start
def _told(kind: Any) -> str:
    lines = ["Options:", ""]
    for name, told in options_in(kind).items():
        unless = f" By default: {told.unless}." if told.unless else ""
        lines.append(fill(f"- ``{name}``: {told.help}{unless}", 118, subsequent_indent="  ", break_on_hyphens=False))
    return "\n".join(lines)


def with_options_described(kind: Class) -> Class:
    """The dataclass with its options in its docstring."""
    kind.__doc__ = described(kind.__doc__, kind)
    return kind


# Reading.


def _threads() -> int | None:
    return option(
        None,
        "The number of threads. It changes the running time, not the result.",
        "-j, --threads N",
        GENERAL,
        unless="all CPUs",
        least=1,
        most=MOST_THREADS,
    )


@with_options_described
@dataclass(frozen=True, kw_only=True)
class Reading:
    """How lists, lattices and forests are read: the options of ``read``. Those of one kind are refused for the other.

    >>> from pathlib import Path
    >>> from hulltune import Reading, read
    >>> _ = Path("dev.nbest").write_text("0 ||| a house ||| lm=-2 ||| -2")
    >>> Reading(features=("words",)).given
    {'features': ('words',)}
    >>> read("dev.nbest", features=("words",)).feature_names
    ('lm', 'words')
    """

    format: str | None = option(
        None,
        "The format of the files, such as moses, jsonl, slf or kaldi.",
        "-f, --format NAME",
        DATA,
        unless="recognised from the files",
        among=FORMATS,
    )
    missing: float | str | None = option(
        None,
        "What missing features count as: 0, or for scores of rankers any number, or least, the least of the query.",
        "--missing X",
        DATA,
        unless="they are an error; for scores of rankers see docs/rankings.md",
    )
    normalise: str | None = option(
        None,
        "Make the scores of rankers comparable, query by query: minmax, zscore, l2, rrf (or rrf:k=60) or none.",
        "--normalise NAME",
        DATA,
        unless="minmax for runs, none for other data",
    )
    window: int | None = option(
        None, "Use only the N best documents of each ranker and query.", "--window N", DATA, unless="all", least=1
    )
    on_error: str = option(
        "raise",
        "What to do with a wrong line of a list: stop there (raise), or leave it out (skip).",
        "--on-error HOW",
        DATA,
        among=ON_ERROR,
        noun="way to handle errors",
    )
    add: Iterable[tuple[str | os.PathLike[str], str]] = option(
        (),
        "Further scores for lists: a file with one number per line, and the name of its feature.",
        "--add FILE NAME",
        DATA,
    )
    features: str | Sequence[str] = option(
        (),
        f"Features to compute from the texts of lists: {', '.join(BUILTIN_FEATURES)}. Of forests: words.",
        "--features NAME,…",
        DATA,
        among=tuple(BUILTIN_FEATURES),
        noun="built-in feature",
    )
    dtype: Any = option("float64", "The type of the features in memory: float64 or float32.")
    id_column: str | None = option(
        None, "The column of a table, or key of JSON lines, with the ids.", "--id-column NAME", DATA, unless="id"
    )
    text_column: str | None = option(
        None, "The column or key with the texts.", "--text-column NAME", DATA, unless="text"
    )
    ref_column: str | Sequence[str] = option(
        (),
        "Columns or keys with references, or patterns such as 'answer_*'.",
        "--ref-column NAME,…",
        DATA,
        unless="ref, ref_0, …",
    )
    source_column: str | None = option(
        None, "The column or key with the source, such as a prompt.", "--source-column NAME", DATA, unless="source"
    )
    ignore: str | Sequence[str] = option(
        (),
        "Columns, keys or features of lists that are not used, or patterns such as 'meta_*'.",
        "--ignore NAME,…",
        DATA,
    )
    ids: str | os.PathLike[str] = option(
        "order",
        "Which sentence a forest belongs to: by its place (order), by the last number in the name of its file, "
        "from 0 (name) or from 1 (name1), or by its line in a file of names.",
        "--ids HOW",
        DATA,
    )
    negate: bool | Iterable[str] | None = option(
        None,
        "Features of forests or runs that are costs, so that their sign is changed: some by name, or "
        "all or none of them (in Python True or False).",
        "--negate NAME,…",
        DATA,
        unless="the convention of the format",
    )
    drop: Iterable[str] | None = option(
        None,
        "Words of forests that are not output, such as <s>.",
        "--drop WORD,…",
        DATA,
        unless="the convention of the format",
    )
    symbols: str | os.PathLike[str] | None = option(
        None, "A table of words, for forests with numbers instead of words.", "--symbols FILE", DATA
    )
    threads: int | None = _threads()

    def __post_init__(self) -> None:
        for name in ("features", "ref_column", "ignore"):
            if isinstance(getattr(self, name), str):
                object.__setattr__(self, name, (getattr(self, name),))
        for name in ("negate", "drop", "add", "features", "ref_column", "ignore"):  # iterated over more than once
            value = getattr(self, name)
            if isinstance(value, Iterable) and not isinstance(value, (tuple, frozenset)):
                object.__setattr__(self, name, tuple(value))
        object.__setattr__(self, "dtype", getattr(self.dtype, "__name__", None) or str(self.dtype))
        check(self)
        if self.missing is not None and self.missing != "least":
            _number("missing", self.missing)
        if self.normalise is not None and self.normalise.partition(":")[0] not in NORMALISATIONS:
            raise unknown_name("normalisation", self.normalise, NORMALISATIONS)
        if self.ids not in IDS and not os.path.isfile(self.ids):
            raise unknown_name("way to count sentences (ids), and no file:", os.fspath(self.ids), IDS)
        if self.symbols is not None and not os.path.exists(self.symbols):
            raise InputError(f"{os.fspath(self.symbols)}: no such file; expected a table of words (symbols)")
        if self.dtype not in ("float64", "float32"):
            raise InputError(f"dtype: got {self.dtype}; expected float64 or float32")

    @property
    def given(self) -> dict[str, Any]:
        """The options that differ from their defaults."""
        values = {each.name: (getattr(self, each.name), each.default) for each in fields(self)}
        return {name: value for name, (value, default) in values.items() if value != default}


# Tuning.


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """What is searched and how: the options that ``tune`` and ``tune_loop`` share."""

    metric: str | Metric = option(
        "bleu",
        "The metric: bleu, chrf, ter, wer, cer, accuracy and others, or a sum such as 'bleu - ter'.",
        "-m, --metric NAME",
        DATA,
    )
    start: WeightsLike | None = option(
        None,
        "Weights to start from, or the result of an earlier run to continue.",
        "--start FILE",
        WEIGHTS,
        unless="equal ones over scaled features",
    )
    constraints: Constraints | None = option(None, "The limits of all weights.", group=WEIGHTS)
    search: str | Strategy = option(
        DEFAULT_SEARCH,
        f"The kind of search: {', '.join(SEARCHES[:-1])} or {SEARCHES[-1]}.",
        "--search NAME",
        SEARCH,
        among=SEARCHES,
    )
    regularise: float | str | None = option(
        None,
        "Stay near the start: what a change of one typical weight by its own size must gain. A number, or auto "
        "to find it by cross-validation, which takes a few times as long.",
        "--regularise X",
        SEARCH,
        unless="0",
        least=0,
    )
    seed: int = option(
        1, "The seed of all random choices. The same seed gives the same result.", "-s, --seed N", SEARCH, least=0
    )
    threads: int | None = _threads()
    store: Store | str | Path | None = option(
        None, "Keep the statistics of the metric in this SQLite file, for later runs.", "--store FILE"
    )

    def __post_init__(self) -> None:
        check(self)


@with_options_described
@dataclass(frozen=True, kw_only=True)
class Tuning(SearchOptions):
    """How weights are tuned and described: the options of ``tune``.

    >>> from hulltune import Tuning
    >>> Tuning(metric="wer").seed
    1
    """

    heldout: DataLike | None = option(
        None, "Lists or forests, with their references, that are scored but not tuned on.", "--heldout LISTS"
    )
    folds: int = option(
        0, "Cross-validate: score each of K parts with weights that are tuned on the other parts.", "--folds K", least=0
    )
    replicates: int = option(
        1,
        "Tune with N seeds, and report the mean and the standard deviation.",
        "--replicates N",
        least=1,
        most=MOST_RUNS,
    )
    also: Sequence[str | Metric] | None = option(
        None, "Other metrics to report.", "--also NAME,…", unless="the common text metrics"
    )
    oracle: bool = option(True, "Compute the oracle, which is the best score that any choice can reach.", "--no-oracle")
    tolerance: float | None = option(
        None,
        "Show for each weight the range in which the score is at most X worse.",
        "--tolerance X",
        unless="by less than chance",
        least=0,
    )
    questions: str | Path | None = option(
        None,
        "Where to write the questions of a metric that waits for answers; - is standard output.",
        "--questions FILE",
        unless="questions.jsonl on the command line",
    )
    progress: ShowProgress | None = option(None, "A function that is called with the Progress of the search.")


@with_options_described
@dataclass(frozen=True, kw_only=True)
class Looping(SearchOptions):
    """How a decoder is tuned in the loop: the options of ``tune_loop``. ``start`` is needed, with weights by name."""

    iterations: int = option(10, "Decode and tune at most N times.", "--iterations N", SEARCH, least=1, most=MOST_RUNS)
    least_gain: float = option(
        0.0, "Stop when tuning gains no more than G over the weights of the decoding.", "--gain G", SEARCH, least=0
    )
    folder: str | os.PathLike[str] | None = option(
        None,
        "The folder for all outputs. To continue an interrupted run, give the same command again.",
        "--run FOLDER",
        unless="a temporary one in Python, loop on the command line",
    )
    heldout: Decoder | None = option(
        None,
        "A decoder of sentences that are decoded with the first and the best weights, but not tuned on.",
    )
    heldout_references: ReferencesLike = option(None, "The references of the held-out sentences.")
    reading: Reading | None = option(None, "How the output of a decoder that is a command is read.")
    jobs: int | Jobs = option(
        1,
        "Cut the input into pieces, and run N decoders at once. The result does not depend on N.",
        "--jobs N",
        DATA,
    )
    inputs: Sequence[Any] | None = option(None, "What a decoder that is a function gets, one for each reference.")
    heldout_inputs: Sequence[Any] | None = option(None, "What the decoder of held-out sentences gets.")
    settings: Mapping[str, Any] | None = option(None, "Further values that must be equal when a run is continued.")
    progress: Callable[[LoopProgress], None] | None = option(
        None, "A function that is called with the LoopProgress of every step."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.heldout is None) != (self.heldout_references is None):
            raise InputError("heldout, heldout_references: give both or none of them")
