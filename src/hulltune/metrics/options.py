"""Options of metric classes: their names, and their values read from text by the annotations of the class."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from hulltune.errors import InputError, unknown_name
from hulltune.metrics.base import Metric


def option_parameters(cls: type[Metric]) -> tuple[dict[str, inspect.Parameter], bool]:
    """The options of a class, and whether it also takes others (``**options``)."""
    parameters = inspect.signature(cls).parameters
    named = {
        name: parameter
        for name, parameter in parameters.items()
        if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    }
    return named, any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())


def convert_option(name: str, cls: type[Metric], option: str, text: str) -> Any:
    """The value of an option that was written as text, by the annotation of its parameter."""
    known, any_other = option_parameters(cls)
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
    advice = "; put a space before + - * /" if any(sign in text for sign in "+-*/") else ""
    raise InputError(f"option {option} of {name} is {text!r}; expected {expected}{advice}")


_ORDER = (types.NoneType, bool, int, float, tuple, Path, str)


def _alternatives(hint: Any) -> list[Any]:
    """The types that a hint allows, narrow ones first, because every text is a valid str."""
    arguments: list[Any] = [hint]
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        arguments = list(typing.get_args(hint))
    if Any in arguments:
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
    """``text`` as a value of ``kind``; raises ValueError if it is none."""
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
        return "items separated by +"
    names = {types.NoneType: "none", bool: "true or false", int: "a whole number", float: "a number"}
    return names.get(kind, "a text")
