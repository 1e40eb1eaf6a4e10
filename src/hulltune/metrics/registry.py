"""Metrics by name: built-in ones, registered classes, entry points of packages, dotted paths; options as text."""

from __future__ import annotations

import importlib
import inspect
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeGuard, TypeVar, get_origin

from hulltune.errors import InputError, unknown_name
from hulltune.metrics.base import Metric
from hulltune.metrics.combination import Combination
from hulltune.metrics.expression import parsed
from hulltune.names import METRICS

MetricClass = TypeVar("MetricClass", bound=type[Metric])

ENTRY_POINT_GROUP = "hulltune.metrics"

_registered: dict[str, type[Metric]] = {}


def get_metric(metric: str | Metric | type[Metric], /, **options: Any) -> Metric:
    """The metric of a name, an expression (``hulltune.metrics.expression``), a class or an object.

    ``options`` go to a single name or class. In an expression, options are text and are converted by the
    annotations of the class.

    >>> from hulltune.metrics import get_metric
    >>> get_metric("wer")
    Wer(normalization='none', variable_references=False)
    >>> get_metric("bleu:tokenize=none") == get_metric("bleu", tokenize="none")
    True
    >>> get_metric("0.5*bleu - 0.5*ter").higher_is_better
    True
    """
    if isinstance(metric, str):
        return _from_text(metric, options)
    if isinstance(metric, Metric):
        if options:
            raise InputError(f"the options {sorted(options)} come too late: {metric.name} is made already")
        return metric
    if not isinstance(metric, type):
        raise InputError(f"metric: expected a name, an expression, a class or a metric, got {metric!r}")
    return _make(getattr(metric, "name", metric.__name__), _checked_class(metric, repr(metric)), options)


def metric_names() -> list[str]:
    """All names that ``get_metric`` knows, sorted.

    >>> from hulltune.metrics import metric_names
    >>> "wer" in metric_names(), "bleu" in metric_names()
    (True, True)
    """
    return sorted({*METRICS, *_registered, *_entry_points()})


def register_metric(cls: MetricClass, *, name: str | None = None) -> MetricClass:
    """Make a metric class known by ``name`` (its own by default); also usable as a class decorator.

    >>> from hulltune.metrics import Wer, get_metric, register_metric
    >>> register_metric(Wer, name="my_wer") is Wer
    True
    >>> get_metric("my_wer") == Wer()
    True
    """
    known_as = cls.name if name is None else name
    _checked_class(cls, repr(cls))
    taken = _registered.get(known_as)
    same = taken is not None and (taken.__module__, taken.__qualname__) == (cls.__module__, cls.__qualname__)
    if known_as in METRICS or (taken is not None and not same):
        raise InputError(f"the metric name {known_as!r} is taken; register {cls.__qualname__} under another name")
    _registered[known_as] = cls
    return cls


def _from_text(text: str, options: Mapping[str, Any]) -> Metric:
    constant, terms = parsed(text)
    if options and len(terms) > 1:
        raise InputError(
            f"the options {sorted(options)} could be of any metric in {text!r}; write them there as name:option=value"
        )
    weighted = [(weight, _named(name, written, options)) for weight, name, written in terms]
    if constant == 0 and len(weighted) == 1 and weighted[0][0] == 1:
        return weighted[0][1]
    return Combination(weighted, constant=constant)


def _named(name: str, written: Mapping[str, str], options: Mapping[str, Any]) -> Metric:
    """The metric of a name, with options that are written as text and others that are values already."""
    name = _known_name(name)
    cls, implied = _find(name)
    converted = {key: _converted(name, cls, key, value) for key, value in written.items()}
    return _make(name, cls, {**implied, **converted, **options})


def _known_name(name: str) -> str:
    """The name as it is known, in whatever case it is written; a name that nobody has stays as it is."""
    if name in METRICS or ":" in name:
        return name
    names = metric_names()
    alike = [known for known in names if known.lower() == name.lower()]
    return alike[0] if len(alike) == 1 and name not in names else name


def _find(name: str) -> tuple[type[Metric], dict[str, Any]]:
    """The class that has this name, and the options that the name implies."""
    if name in METRICS:
        path, implied = METRICS[name]
        return _import_class(path), implied
    if name in _registered:
        return _registered[name], {}
    if ":" in name:
        before, _, after = name.partition(":")
        if before in METRICS or before in _registered:
            raise InputError(f"metric {name!r}: expected option=value after the colon, got {after!r}")
        return _import_class(name), {}
    points = _entry_points()
    if name in points:
        return _checked_class(points[name].load(), f"the entry point {name!r}"), {}
    raise unknown_name("metric", name, metric_names())


def _entry_points() -> dict[str, Any]:
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=ENTRY_POINT_GROUP)}


def _import_class(path: str) -> type[Metric]:
    module_name, _, class_name = path.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is not None and (module_name + ".").startswith(error.name + "."):
            raise InputError(f"metric {path!r}: there is no module {error.name!r} on the Python path") from None
        raise
    if not hasattr(module, class_name):
        classes = [key for key, value in vars(module).items() if _is_metric(value) and value is not Metric]
        raise unknown_name(f"metric class of {module_name}", class_name, classes)
    return _checked_class(getattr(module, class_name), repr(path))


def _is_metric(value: object) -> TypeGuard[type[Metric]]:
    # An alias such as list[str] is a class to Python 3.10, but not one that issubclass takes.
    return inspect.isclass(value) and get_origin(value) is None and issubclass(value, Metric)


def _checked_class(cls: object, where: str) -> type[Metric]:
    if not _is_metric(cls):
        raise InputError(f"{where} is not a metric; expected a subclass of hulltune.metrics.Metric")
    if inspect.isabstract(cls):
        missing = ", ".join(sorted(cls.__abstractmethods__))
        raise InputError(f"{where} is not complete as a metric: it lacks {missing}")
    if not isinstance(getattr(cls, "name", None), str):
        raise InputError(f"{where} has no name; expected a class attribute name = '…'")
    return cls


def _make(name: str, cls: type[Metric], options: Mapping[str, Any]) -> Metric:
    known, any_other = _parameters(cls)
    for option in options:
        if option not in known and not any_other:
            raise unknown_name(f"option of {name}", option, known)
    for option, parameter in known.items():
        if parameter.default is parameter.empty and option not in options:
            raise InputError(f"{name} needs the option {option}")
    return cls(**options)


def _parameters(cls: type[Metric]) -> tuple[dict[str, inspect.Parameter], bool]:
    """The options of a class, and whether it also takes others (``**options``)."""
    parameters = inspect.signature(cls).parameters
    named = {
        name: parameter
        for name, parameter in parameters.items()
        if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    }
    return named, any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())


def _converted(name: str, cls: type[Metric], option: str, text: str) -> Any:
    """The value of an option that was written as text, by the annotation of its parameter."""
    known, any_other = _parameters(cls)
    if option not in known:
        if any_other:
            return text
        raise unknown_name(f"option of {name}", option, known)
    try:
        hint = typing.get_type_hints(cls.__init__).get(option, Any)
    except NameError:  # an annotation that exists only for type checkers
        hint = Any
    readers = _readers(hint)
    for _, read in readers:
        try:
            return read(text)
        except ValueError:
            continue
    expected = " or ".join(dict.fromkeys(name for name, _ in readers)) or "a value that only Python can give"
    advice = "; put a space before + - * /" if any(sign in text for sign in "+-*/") else ""
    raise InputError(f"option {option} of {name} is {text!r}; expected {expected}{advice}")


_Reader = tuple[str, Callable[[str], Any]]
"""What an option may be, in words, and the function that reads it; that raises ValueError for another text."""


def _readers(hint: Any) -> list[_Reader]:
    """The readers of what an annotation allows, narrow ones first, because every text is a str."""
    kinds = typing.get_args(hint) if get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
    if Any in kinds:
        kinds = tuple(_PLAIN)
    if str in kinds:  # a str that may also be a Path or a sequence is left as it is written
        kinds = tuple(kind for kind in kinds if kind in _PLAIN)
    literals = [typing.get_args(kind) for kind in kinds if get_origin(kind) is typing.Literal]
    sequences = [kind for kind in (get_origin(kind) or kind for kind in kinds) if kind in _SEQUENCES]
    return [
        *((" or ".join(map(str, values)), _one_of({str(value): value for value in values})) for values in literals),
        *(_PLAIN[kind] for kind in _PLAIN if kind in kinds),
        *(("items separated by +", partial(_items, kind)) for kind in sequences),
        *(("a text", Path) for kind in kinds if kind is Path),
    ]


def _one_of(values: Mapping[str, Any]) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        if text not in values and text.lower() not in values:
            raise ValueError(text)
        return values[text if text in values else text.lower()]

    return read


def _items(kind: Any, text: str) -> Any:
    items = [item for item in text.split("+") if item]
    return kind(items) if kind in (list, set, frozenset) else tuple(items)


_PLAIN: dict[Any, _Reader] = {
    types.NoneType: ("none", _one_of({"none": None})),
    bool: ("true or false", _one_of({"true": True, "yes": True, "false": False, "no": False})),
    int: ("a whole number", int),
    float: ("a number", float),
    str: ("a text", str),
}
_SEQUENCES = (tuple, list, set, frozenset, Sequence, Collection, Iterable)
