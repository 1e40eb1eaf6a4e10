"""Metrics by name: built-in ones, registered classes, entry points of other packages, dotted paths."""

from __future__ import annotations

import importlib
import inspect
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

from hulltune.errors import InputError, unknown_name
from hulltune.metrics.base import Metric
from hulltune.metrics.expression import parse_metric

MetricClass = TypeVar("MetricClass", bound=type[Metric])

ENTRY_POINT_GROUP = "hulltune.metrics"

_BUILT_IN: dict[str, tuple[str, dict[str, Any]]] = {
    "accuracy": ("hulltune.metrics.accuracy:Accuracy", {}),
    "aer": ("hulltune.metrics.aer:AER", {}),
    "ask": ("hulltune.metrics.ask:Ask", {}),
    "bleu": ("hulltune.metrics.bleu:BLEU", {}),
    "cer": ("hulltune.metrics.wer:CER", {}),
    "chrf": ("hulltune.metrics.chrf:CHRF", {}),
    "chrf++": ("hulltune.metrics.chrf:CHRF", {"word_order": 2}),
    "exact_match": ("hulltune.metrics.accuracy:Accuracy", {}),
    "fmeasure": ("hulltune.metrics.fmeasure:FMeasure", {}),
    "given": ("hulltune.metrics.given:Given", {}),
    "mer": ("hulltune.metrics.wer:MER", {}),
    "meteor": ("hulltune.metrics.meteor:METEOR", {}),
    "ter": ("hulltune.metrics.ter:TER", {}),
    "wer": ("hulltune.metrics.wer:WER", {}),
}
"""Where each built-in metric is, imported on use, and the options that its name implies."""

_registered: dict[str, type[Metric]] = {}


def get_metric(metric: str | Metric | type[Metric], /, **options: Any) -> Metric:
    """The metric of a name, an expression (see ``hulltune.metrics.expression``), a class or an object.

    ``options`` go to a single name or class. In an expression, options are text and are converted by the
    annotations of the class.
    """
    if isinstance(metric, str):
        return _from_text(metric, options)
    if isinstance(metric, Metric):
        if options:
            raise InputError(f"the options {sorted(options)} come too late: {metric.name} is made already")
        return metric
    return _make(getattr(metric, "name", metric.__name__), _checked_class(metric, repr(metric)), options)


def metric_names() -> list[str]:
    """All names that ``get_metric`` knows, sorted."""
    return sorted({*_BUILT_IN, *_registered, *_entry_points()})


def register_metric(cls: MetricClass, *, name: str | None = None) -> MetricClass:
    """Make a metric class known by ``name`` (its own by default); also usable as a class decorator."""
    known_as = cls.name if name is None else name
    _checked_class(cls, repr(cls))
    taken = _registered.get(known_as)
    same = taken is not None and (taken.__module__, taken.__qualname__) == (cls.__module__, cls.__qualname__)
    if known_as in _BUILT_IN or (taken is not None and not same):
        raise InputError(
            f"the metric name {known_as!r} is taken; register {cls.__qualname__} under another name"
        )
    _registered[known_as] = cls
    return cls


def _from_text(text: str, options: Mapping[str, Any]) -> Metric:
    used = []

    def make(name: str, given: Mapping[str, str]) -> Metric:
        cls, implied = _find(name)
        used.append(name)
        if len(used) > 1 and options:
            raise InputError(
                f"the options {sorted(options)} could be of any metric in {text!r}; write them inside it"
            )
        converted = {key: _convert(name, cls, key, value) for key, value in given.items()}
        return _make(name, cls, {**implied, **converted, **options})

    return parse_metric(text, make)


def _find(name: str) -> tuple[type[Metric], dict[str, Any]]:
    """The class of a name and the options that the name implies."""
    if name in _BUILT_IN:
        path, implied = _BUILT_IN[name]
        return _import_class(path), implied
    if name in _registered:
        return _registered[name], {}
    if ":" in name:
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
            raise InputError(
                f"metric {path!r}: there is no module {error.name!r} on the Python path"
            ) from None
        raise
    if not hasattr(module, class_name):
        classes = [key for key, value in vars(module).items() if inspect.isclass(value)]
        raise unknown_name(f"metric class of {module_name}", class_name, classes)
    return _checked_class(getattr(module, class_name), repr(path))


def _checked_class(cls: object, where: str) -> type[Metric]:
    if not (inspect.isclass(cls) and issubclass(cls, Metric)):
        raise InputError(f"{where} is not a metric; expected a subclass of hulltune.metrics.Metric")
    if inspect.isabstract(cls):
        missing = ", ".join(sorted(cls.__abstractmethods__))
        raise InputError(f"{where} is not complete as a metric: it lacks {missing}")
    for attribute in ("name", "columns", "higher_is_better"):
        # A dataclass may have them as fields, other classes may set them when they are made.
        if attribute == "name" and not isinstance(getattr(cls, attribute, None), str):
            raise InputError(f"{where} has no name; expected a class attribute name = '…'")
    return cls


def _parameters(cls: type[Metric]) -> tuple[dict[str, inspect.Parameter], bool]:
    """The options of a class, and whether it takes any other."""
    parameters = inspect.signature(cls).parameters
    named = {
        name: parameter
        for name, parameter in parameters.items()
        if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    }
    return named, any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())


def _make(name: str, cls: type[Metric], options: Mapping[str, Any]) -> Metric:
    known, any_other = _parameters(cls)
    for option in options:
        if option not in known and not any_other:
            raise unknown_name(f"option of {name}", option, known)
    for option, parameter in known.items():
        if parameter.default is parameter.empty and option not in options:
            raise InputError(f"{name} needs the option {option}")
    return cls(**options)


def _convert(name: str, cls: type[Metric], option: str, text: str) -> Any:
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
    for kind in _alternatives(hint):
        try:
            return _as_kind(kind, text)
        except ValueError:
            continue
    expected = " or ".join(dict.fromkeys(_described(kind) for kind in _alternatives(hint)))
    hint_space = "; put a space before + - * /" if any(sign in text for sign in "+-*/") else ""
    raise InputError(f"option {option} of {name} is {text!r}; expected {expected}{hint_space}")


_ORDER = (types.NoneType, bool, int, float, tuple, Path, str)


def _alternatives(hint: Any) -> list[Any]:
    """The kinds of value that a hint allows, the narrow ones first: a text may always be a str."""
    arguments: list[Any] = [hint]
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        arguments = list(typing.get_args(hint))
    if hint is Any:
        return [types.NoneType, bool, int, float, str]

    def rank(kind: Any) -> int:
        plain = tuple if _is_sequence(kind) else kind
        return _ORDER.index(plain) if plain in _ORDER else -1

    if str in arguments:  # a str that may also be a Path or a sequence is left as it is written
        arguments = [kind for kind in arguments if kind in (types.NoneType, bool, int, float, str)]
    return sorted(arguments, key=rank)


def _is_sequence(kind: Any) -> bool:
    origin = typing.get_origin(kind) or kind
    return inspect.isclass(origin) and origin in (tuple, list, set, frozenset, *_ABSTRACT_SEQUENCES)


_ABSTRACT_SEQUENCES = tuple(
    typing.get_origin(kind) for kind in (typing.Sequence[str], typing.Collection[str], typing.Iterable[str])
)


def _as_kind(kind: Any, text: str) -> Any:
    """``text`` as a value of ``kind``; ValueError if it is none."""
    if kind is types.NoneType:
        return _one_of({"none": None}, text)
    if kind is bool:
        return _one_of({"true": True, "yes": True, "false": False, "no": False}, text)
    if typing.get_origin(kind) is typing.Literal:
        return _one_of({str(value): value for value in typing.get_args(kind)}, text)
    if _is_sequence(kind):
        items = [item for item in text.split("+") if item]
        origin = typing.get_origin(kind) or kind
        return cast(type, origin)(items) if origin in (list, set, frozenset) else tuple(items)
    if kind in (int, float, Path, str):
        return kind(text)
    raise ValueError(kind)


def _one_of(values: Mapping[str, Any], text: str) -> Any:
    if text not in values and text.lower() not in values:
        raise ValueError(text)
    return values[text if text in values else text.lower()]


def _described(kind: Any) -> str:
    if typing.get_origin(kind) is typing.Literal:
        return " or ".join(str(value) for value in typing.get_args(kind))
    if _is_sequence(kind):
        return "items between +"
    names = {types.NoneType: "none", bool: "true or false", int: "a whole number", float: "a number"}
    return names.get(kind, "a text")
