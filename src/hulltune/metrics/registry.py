"""Metrics by name: built-in ones, registered classes, entry points of other packages, dotted paths."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from typing import Any, TypeGuard, TypeVar, get_origin

from hulltune.errors import InputError, unknown_name
from hulltune.metrics.base import Metric
from hulltune.metrics.expression import names_in, parse_metric
from hulltune.metrics.options import convert_option, option_parameters
from hulltune.names import METRICS

MetricClass = TypeVar("MetricClass", bound=type[Metric])

ENTRY_POINT_GROUP = "hulltune.metrics"

_registered: dict[str, type[Metric]] = {}


def get_metric(metric: str | Metric | type[Metric], /, **options: Any) -> Metric:
    """The metric of a name, an expression (see ``hulltune.metrics.expression``), a class or an object.

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
    if options and len(names_in(text)) > 1:
        raise InputError(
            f"the options {sorted(options)} could be of any metric in {text!r}; write them there as name:option=value"
        )

    def make(name: str, written: Mapping[str, str]) -> Metric:
        name = _known_name(name)
        cls, implied = _find(name)
        converted = {key: convert_option(name, cls, key, value) for key, value in written.items()}
        return _make(name, cls, {**implied, **converted, **options})

    return parse_metric(text, make)


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
    known, any_other = option_parameters(cls)
    for option in options:
        if option not in known and not any_other:
            raise unknown_name(f"option of {name}", option, known)
    for option, parameter in known.items():
        if parameter.default is parameter.empty and option not in options:
            raise InputError(f"{name} needs the option {option}")
    return cls(**options)
