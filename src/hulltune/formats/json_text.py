"""JSON for readers of forests: objects keep all their pairs, as cdec repeats keys, and faults name the line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import isfinite
from typing import Any

from hulltune.formats.forest_building import FileEdges
from hulltune.formats.forest_files import SourceText
from hulltune.formats.numbers import LONE_SURROGATE, is_text, shown

_NUMBER_TYPES = {int, float}


class JsonFault(Exception):  # noqa: N818  # becomes an InputError once it is known where it stands
    """What is wrong with a value of a text."""


class JsonHypergraph:
    """The edges of a hypergraph that is being read; ``item`` says which part of it, for messages."""

    def __init__(self) -> None:
        self.edges = FileEdges()
        self.nodes = 0
        self.item = ""

    @contextmanager
    def faults_in(self, source: SourceText) -> Iterator[None]:
        """Turn what is wrong with a value into a message with its place."""
        try:
            yield
            for what, texts in (("feature name", self.edges.names.texts), ("word", self.edges.words.texts)):
                bad = next((text for text in texts if not is_text(text)), None)
                if bad is not None:
                    self.item = ""
                    raise JsonFault(f"the {what} {shown(bad)} has {LONE_SURROGATE}")
        except JsonFault as fault:
            raise source.fault(0, f"{self.item}: {fault}" if self.item else str(fault)) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any] | tuple[tuple[str, Any], ...]:
    """A JSON object: a dict or, if a key occurs twice, a tuple of all its keys and values."""
    members = dict(pairs)
    return members if len(members) == len(pairs) else tuple(pairs)


_DECODER = json.JSONDecoder(object_pairs_hook=_object)


def parsed(source: SourceText, expected: str) -> dict[str, Any] | tuple[tuple[str, Any], ...]:
    """The object that a text spells; ``expected`` ends the messages about what is none."""
    text = source.text(0, source.data)
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        # An open string ends at the line end after it, so that a control character there is a sign, too.
        cut = "" if text[error.pos :].strip() else " (is the file cut off?)"
        raise source.fault(len(text[: error.pos].encode()), f"no JSON: {error.msg}{cut}; {expected}") from None
    except RecursionError:
        raise source.fault(0, f"no JSON: nested too deeply; {expected}") from None
    except ValueError:
        raise source.fault(0, f"no JSON: a whole number of thousands of digits; {expected}") from None
    if not isinstance(value, (dict, tuple)):
        raise source.fault(0, f"got {shown(value)}; {expected}")
    return value


def members_of(value: Any) -> dict[str, Any]:
    """The keys and values of an object."""
    if isinstance(value, tuple):
        raise JsonFault(f"a key occurs twice: {shown(dict(value))}")
    if not isinstance(value, dict):
        raise JsonFault(f"got {shown(value)}; expected an object")
    return value


def items_of(members: dict[str, Any], key: str) -> list[Any]:
    """The list under a key; an empty one for null, and where the key is not there."""
    value = members.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise JsonFault(f"{key} is {shown(value)}; expected a list")
    return value


def in_turn(values: list[Any], what: str) -> tuple[list[Any], list[Any]]:
    """The first, third, … and the second, fourth, … of some values."""
    if len(values) % 2:
        raise JsonFault(f"{what} has an odd number of entries; expected two by two")
    return values[::2], values[1::2]


def are_finite(values: Sequence[Any]) -> bool:
    """Whether all values are finite numbers; true and false are none."""
    try:
        return set(map(type, values)) <= _NUMBER_TYPES and all(map(isfinite, values))
    except OverflowError:  # an integer beyond all doubles
        return False


def not_finite(names: Sequence[str], values: Sequence[Any]) -> JsonFault:
    """The fault of the first feature that is no finite number."""
    name, value = next(pair for pair in zip(names, values, strict=True) if not are_finite([pair[1]]))
    return JsonFault(f"feature {shown(name)} is {shown(value)}; expected a finite number")


def is_index(value: Any) -> bool:
    """Whether a value is a whole number from 0."""
    return type(value) is int and value >= 0
