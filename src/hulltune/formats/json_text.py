"""JSON for readers of forests: objects keep all their pairs, as cdec repeats keys, and faults name the line."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from math import isfinite
from typing import Any

from hulltune.errors import InputError
from hulltune.formats.forest_files import SourceText
from hulltune.formats.numbers import LONE_SURROGATE, is_text, shown

_NUMBER_TYPES = {int, float}


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


class JsonFaults:
    """Checks of the values of one text; ``item`` says what is being read, for messages."""

    def __init__(self, source: SourceText) -> None:
        self._source = source
        self.item = ""

    def fault(self, reason: str) -> InputError:
        """The error for what is being read."""
        return self._source.fault(0, f"{self.item}: {reason}" if self.item else reason)

    def members(self, value: Any, once: Collection[str]) -> dict[str, Any]:
        """The keys and values of an object, in which none of the keys ``once`` is there twice."""
        if isinstance(value, dict):
            return value
        if not isinstance(value, tuple):
            raise self.fault(f"got {shown(value)}; expected an object")
        found = [key for key, _ in value if key in once]
        if len(set(found)) < len(found):
            raise self.fault(f"a key occurs twice: {shown(dict(value))}")
        return dict(value)

    def items(self, members: dict[str, Any], key: str) -> list[Any]:
        """The list under a key; an empty one for null, and where the key is not there."""
        value = members.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.fault(f"{key} is {shown(value)}; expected a list")
        return value

    def not_finite(self, names: Sequence[str], values: Sequence[Any]) -> InputError:
        """The error for the first feature that is no finite number."""
        name, value = next(pair for pair in zip(names, values, strict=True) if not are_finite([pair[1]]))
        return self.fault(f"feature {shown(name)} is {shown(value)}; expected a finite number")

    def check_texts(self, what: str, texts: Sequence[str]) -> None:
        """Refuse texts with a lone surrogate."""
        for text in texts:
            if not is_text(text):
                raise self.fault(f"the {what} {shown(text)} has {LONE_SURROGATE}")


def are_finite(values: Sequence[Any]) -> bool:
    """Whether all values are finite numbers; true and false are none."""
    try:
        return set(map(type, values)) <= _NUMBER_TYPES and all(map(isfinite, values))
    except OverflowError:  # an integer beyond all doubles
        return False


def is_index(value: Any) -> bool:
    """Whether a value is a whole number from 0."""
    return type(value) is int and value >= 0
