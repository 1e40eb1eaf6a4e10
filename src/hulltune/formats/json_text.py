"""JSON read piece by piece: a large list need not be in memory as a whole, and every fault has its place."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from math import isfinite
from typing import Any

from hulltune.errors import InputError
from hulltune.formats.numbers import shown
from hulltune.formats.source_text import SourceText

_NO_KEY, _NO_COLON = "expected a key in double quotes", "expected ':' after a key"
_NO_COMMA, _NO_VALUE = "expected ',' or a closing bracket", "expected a value"
_REASONS = {
    "Expecting property name enclosed in double quotes": _NO_KEY,
    "Expecting ':' delimiter": _NO_COLON,
    "Expecting ',' delimiter": _NO_COMMA,
    "Expecting value": _NO_VALUE,
    "Illegal trailing comma before end of object": _NO_KEY,  # Python 3.13 and later
    "Illegal trailing comma before end of array": _NO_VALUE,
    "Illegal trailing comma before the end of object": _NO_KEY,  # this and the next since Python 3.13
    "Illegal trailing comma before the end of array": _NO_VALUE,
    "Invalid control character at": "a string ends in a control character; expected its quotes to be closed",
}
"""Our words for what Python's parser says."""
_WHITE_SPACE = " \t\r\n\x0b\x0c"
_BLANKS = re.compile(r"[ \t\r\n]*")
_COMMA = re.compile(r"[ \t\r\n]*,[ \t\r\n]*")
_NUMBER = re.compile(r"-?\d[-+.\deE]*")

_NUMBER_TYPES = {int, float}

Object = tuple[tuple[str, Any], ...]
"""A JSON object: keys and values in their order."""
Steps = tuple[int | str, ...]
"""The way to a value, for messages: a place, from which keys and numbers of items lead on."""


def _short_integer(digits: str) -> int | float:
    """A whole number of any length: Python refuses to make an integer of thousands of digits."""
    return int(digits) if len(digits) < 20 else float(digits)


_DECODER = json.JSONDecoder(object_pairs_hook=tuple)
_CAREFUL_DECODER = json.JSONDecoder(object_pairs_hook=tuple, parse_int=_short_integer)
_PLAIN_DECODER = json.JSONDecoder(parse_int=_short_integer)


class JsonReader:
    """Moves through a text that is one JSON value; ``expected`` ends the messages about what is none.

    Where the reader is, a value begins: ``value`` reads all of it, ``each_key`` and ``each_item`` its parts. A place is
    the number of characters before it.
    """

    def __init__(self, source: SourceText, expected: str) -> None:
        self._source = source
        self._text = source.text(0, source.data)
        self._expected = expected
        self.place = self._after_blanks(0)

    def begins(self, text: str) -> bool:
        """Whether the value here begins like this."""
        return self._text.startswith(text, self.place)

    def value(self) -> Any:
        """The value here, after which the reader is then. An object is a tuple of pairs, as its keys may repeat."""
        value, self.place = self._decoded(self.place)
        return value

    def each_key(self) -> Iterator[tuple[int, str]]:
        """Go to every value of the object here; gives the place of its key and the key. The caller reads the value."""
        for place in self._each_part("}"):
            if not self.begins('"'):
                raise self._no_json(place, _NO_KEY)
            key: str = self.value()
            self.place = self._after_blanks(self.place)
            if not self.begins(":"):
                raise self._no_json(self.place, _NO_COLON)
            self.place = self._after_blanks(self.place + 1)
            yield place, key

    def each_item(self) -> Iterator[tuple[int, Any]]:
        """Read the items of the list here, one by one: the place of each, and the item."""
        for place in self._each_part("]"):
            item, self.place = self._decoded(place)
            yield place, item

    def _each_part(self, closing: str) -> Iterator[int]:
        """Go to every key or item after the opening bracket here."""
        self.place = self._after_blanks(self.place + 1)
        more = not self.begins(closing)
        while more:
            yield self.place
            comma = _COMMA.match(self._text, self.place)
            self.place = self._after_blanks(self.place) if comma is None else comma.end()
            more = comma is not None
        if not self.begins(closing):
            raise self._no_json(self.place, _NO_COMMA)
        self.place += 1

    def _decoded(self, place: int, decoder: json.JSONDecoder = _DECODER) -> tuple[Any, int]:
        """The value at this place, and the place after it."""
        try:
            return decoder.raw_decode(self._text, place)
        except json.JSONDecodeError as error:
            raise self._syntax_fault(error) from None
        except RecursionError:
            raise self._no_json(place, "nested too deeply") from None
        except ValueError:  # an integer of thousands of digits
            return self._decoded(place, _CAREFUL_DECODER)

    def end(self) -> None:
        """Refuse what comes after the value."""
        self.place = self._after_blanks(self.place)
        if self.place < len(self._text):
            raise self._no_json(self.place, "more after the end of the value")

    def refuse_repeated(self, value: Object, keys: Collection[str], *steps: int | str) -> None:
        """Refuse an object in which one of these keys is there twice."""
        found = [key for key, _ in value if key in keys]
        if len(set(found)) < len(found):
            raise self.wrong("a key occurs twice:", "", *steps)

    def wrong(self, before: str, after: str, *steps: int | str) -> InputError:
        """The error with these words before and after the value to which the steps lead."""
        place = self.find(*steps)
        return self.fault(place, f"{before} {self.got(place)}{after}")

    def not_finite(self, owner: str, name: str, *steps: int | str) -> InputError:
        """The error for a feature that is no finite number; one beyond all doubles is shown as it is written."""
        place = self.find(*steps)
        number = _NUMBER.match(self._text, place)
        feature = f"{owner}: feature {shown(name)} is {self.got(place)}"
        if number is not None:
            feature = f"feature {name!r} is {shown(number[0])}"
        return self.fault(place, f"{feature}; expected a finite number")

    def find(self, *steps: int | str) -> int:
        """The place to which the steps lead; the text up to there is known to be JSON."""
        place, *others = steps
        assert isinstance(place, int)
        for step in others:
            self.place = place
            if isinstance(step, int):
                place, _ = next(islice(self.each_item(), step, None))
                continue
            for _, key in self.each_key():
                if key == step:
                    break
                self.value()
            place = self.place
        return place

    def got(self, place: int) -> str:
        """The value at a place, for a message."""
        try:
            return shown(_PLAIN_DECODER.raw_decode(self._text, place)[0])
        except RecursionError:
            return "a value that is nested too deeply"
        except json.JSONDecodeError as error:
            raise self._syntax_fault(error) from None

    def fault(self, place: int, reason: str) -> InputError:
        """The error for something at this place."""
        return self._source.fault(len(self._text[:place].encode()), reason)

    def _syntax_fault(self, error: json.JSONDecodeError) -> InputError:
        """The error for what Python's parser refuses."""
        if error.msg.startswith("Invalid \\"):
            place = self._text.rindex("\\", 0, error.pos + 1)
            return self._no_json(place, "a backslash that begins no escape")
        place = error.pos
        if error.msg.startswith("Illegal trailing comma"):
            place = self._after_blanks(place + 1)
        return self._no_json(place, _REASONS.get(error.msg, error.msg))

    def _no_json(self, place: int, reason: str) -> InputError:
        text = self._text
        cut = "" if text[place:].strip(_WHITE_SPACE) else " (is the file cut off?)"
        if cut:  # where the text ends, not the blanks and line ends after it
            place = len(text[:place].rstrip(_WHITE_SPACE))
        column = place - text.rfind("\n", 0, place)
        return self.fault(place, f"no JSON at column {column}: {reason}{cut}; {self._expected}")

    def _after_blanks(self, place: int) -> int:
        match = _BLANKS.match(self._text, place)
        assert match is not None  # it takes an empty text
        return match.end()


def are_finite(values: Sequence[Any]) -> bool:
    """Whether all values are finite numbers; true and false are none."""
    try:
        return set(map(type, values)) <= _NUMBER_TYPES and all(map(isfinite, values))
    except OverflowError:  # an integer beyond all doubles
        return False


def is_index(value: Any) -> bool:
    """Whether a value is a whole number from 0."""
    return type(value) is int and value >= 0
