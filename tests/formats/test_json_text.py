"""The reader of JSON against Python's json module: what is JSON, what is read, and where things are."""

from __future__ import annotations

import json
import re
import sys
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune import InputError
from hulltune.formats.json_text import JsonReader, are_finite, is_index
from hulltune.formats.source_text import SourceText
from tests.formats.edits import edited
from tests.formats.refusals import refusal

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=3), inner, max_size=4)),
    max_leaves=12,
)
STRINGS = st.lists(
    st.one_of(
        st.text(max_size=2),
        st.sampled_from(["\\n", "\\/", "\\\\", '\\"', "\\u0041", "\\u20ac", "\\ud83d", "\\ud83d\\ude00"]),
        st.sampled_from(["\\", "\\u", "\\u00", "\\u00g0", "\\x41", '"', "\n", "\x00", "\x1f", "\x7f", "\\u+123"]),
    ),
    max_size=6,
).map(lambda parts: f'"{"".join(parts)}"')
NUMBERS = st.one_of(
    st.from_regex(r"-?[0-9]{0,25}(\.[0-9]{0,25})?([eE][+-]?[0-9]{0,4})?", fullmatch=True),
    st.sampled_from(["-", ".5", "5.", "01", "-01", "1e", "1.e5", "+1", "0x1", "1_0", "-0", "٣", "-Infinity", "-NaN"]),
)


def reader(text: str) -> JsonReader:
    data = text.encode("utf-8", "surrogatepass")
    return JsonReader(SourceText("file", data + b"\n", 7), "expected more")


def walked(text: str) -> Any:
    """A value read in parts: an object by its keys, a list by its items."""
    source = reader(text)
    value = walked_value(source)
    source.end()
    return value


def walked_value(source: JsonReader) -> Any:
    if source.begins("{"):
        return {key: walked_value(source) for _, key in source.each_key()}
    if source.begins("["):
        return [as_python_has_it(item) for _, item in source.each_item()]
    return source.value()


def whole(text: str) -> Any:
    """A value read at once."""
    source = reader(text)
    value = source.value()
    source.end()
    return as_python_has_it(value)


def as_python_has_it(value: Any) -> Any:
    if isinstance(value, tuple):
        return {key: as_python_has_it(inner) for key, inner in value}
    return [as_python_has_it(inner) for inner in value] if isinstance(value, list) else value


@settings(max_examples=300)
@given(
    st.one_of(
        VALUES.map(json.dumps),
        VALUES.map(lambda value: json.dumps(value, indent=1)).flatmap(edited),
        STRINGS,
        NUMBERS,
    )
)
def test_what_is_json(text: str) -> None:
    for read in (whole, walked):
        try:
            expected = json.loads(text.encode("utf-8", "surrogatepass").decode())
        except ValueError:
            said = refusal(partial(read, text))
            assert said is not None
            assert re.match(r"file:\d+: (no JSON at column \d+: .*; expected more|not UTF-8 )", said)
        else:
            assert repr(read(text)) == repr(expected)


@given(VALUES, st.integers(0, 3), st.data())
def test_places(value: Any, indent: int, draws: st.DataObject) -> None:
    text = f"\n {json.dumps(value, indent=indent or None)}"
    steps: list[int | str] = [2]
    while isinstance(value, list | dict) and value and draws.draw(st.booleans()):
        parts: dict[Any, Any] = value if isinstance(value, dict) else dict(enumerate(value))
        steps.append(draws.draw(st.sampled_from(list(parts))))
        value = parts[steps[-1]]
    source = reader(text)
    place = source.find(*steps)
    source.place = place
    assert as_python_has_it(source.value()) == value
    assert str(source.fault(place, "odd")) == f"file:{7 + text.count(chr(10), 0, place)}: odd"


def test_a_key_that_occurs_twice() -> None:
    source = reader('{"a": 1, "b": 2, "\\u0061": [3]}')
    value = source.value()
    assert value == (("a", 1), ("b", 2), ("a", [3]))
    source.refuse_repeated(value, ["b", "c"], 0)
    with pytest.raises(InputError, match=re.escape("file:7: a key occurs twice: {'a': [3], 'b': 2}")):
        source.refuse_repeated(value, ["b", "a"], 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "column 1: expected a value (is the file cut off?)"),
        ("[1,", "column 4: expected a value (is the file cut off?)"),
        ("[1, ]", "column 5: expected a value"),
        ('{"a": 1, }', "column 10: expected a key in double quotes"),
        ("{a: 1}", "column 2: expected a key in double quotes"),
        ('{"a" 1}', "column 6: expected ':' after a key"),
        ("[1 2]", "column 4: expected ',' or a closing bracket"),
        ('{"a": 1]', "column 8: expected ',' or a closing bracket"),
        ('["é', "column 4: a string ends in a control character; expected its quotes to be closed (is the file cut"),
        ('["é\\x"]', "column 4: a backslash that begins no escape"),
        ('["é\\u12G4"]', "column 4: a backslash that begins no escape"),
        ("[] []", "column 4: more after the end of the value"),
    ],
)
def test_what_is_said_of_what_is_no_json(text: str, message: str) -> None:
    for read in (whole, walked):
        assert str(refusal(partial(read, text))).startswith(f"file:7: no JSON at {message}")


def test_numbers_of_thousands_of_digits() -> None:
    digits = "1" + "0" * 5000
    assert whole(f'[{digits}, -{digits}, 12345678901234567890, "{digits}"]') == [
        float("inf"), float("-inf"), 12345678901234567890.0, digits,
    ]  # fmt: skip
    assert "expected ',' or a closing bracket" in str(refusal(lambda: whole(f"[{digits} 1]")))


@pytest.mark.parametrize("opening", ["[", '{"a":', "[[],", '{"a":{},"b":'])
def test_brackets_without_end_are_refused(opening: str) -> None:
    closing = "]" if opening[0] == "[" else "}"
    assert whole(opening * 50 + "1" + closing * 50) == json.loads(opening * 50 + "1" + closing * 50)
    text = opening * 100_000 + "1" + closing * 100_000
    assert refusal(lambda: whole(text)) == "file:7: no JSON at column 1: nested too deeply; expected more"
    assert reader(text).got(0) == "a value that is nested too deeply"


def test_what_counts_as_a_number() -> None:
    assert are_finite([1, -2.5, 10**300, 1e308, 1e308])
    assert are_finite([])
    for wrong in (True, None, "1", [1], (), float("inf"), float("nan"), 10**400):
        assert not are_finite([1, wrong])
    assert [is_index(value) for value in (0, 7, -1, 1.0, True, "1", None, sys.maxsize + 1)] == [
        True, True, False, False, False, False, False, True,
    ]  # fmt: skip
