"""The scanner of JSON against Python's json module."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hulltune.kernels import json_text as kernel
from tests.formats.edits import edited

Bytes = NDArray[np.uint8]

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=3), inner, max_size=4)),
    max_leaves=12,
)
ESCAPES = st.lists(
    st.one_of(
        st.text(max_size=2),
        st.sampled_from(["\\n", "\\t", "\\r", "\\b", "\\f", "\\/", "\\\\", '\\"', "\\u0041", "\\u00E9", "\\u20ac"]),
        st.sampled_from(
            ["\\ud83d", "\\ude00", "\\ud83d\\ude00", "\\uDBFF\\uDFFF", "\\ud800\\ud800", "\\u0000", "\\uffff"]
        ),
        st.sampled_from(["\\", "\\u", "\\u00", "\\u00g0", "\\x41", '"', "\n", "\x00", "\x1f", "\x7f", "\\u+123"]),
    ),
    max_size=6,
).map("".join)
NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**25), 10**25).map(str),
    st.from_regex(r"-?[0-9]{0,25}(\.[0-9]{0,25})?([eE][+-]?[0-9]{0,4})?", fullmatch=True),
    st.sampled_from(["-", "-.5", ".5", "5.", "01", "-01", "1e", "1e+", "1.e5", "+1", "0x1", "1_0", "-0", "-0.0", "٣"]),
)


def padded(text: str) -> tuple[Bytes, int]:
    """The bytes as the kernels want them, and their number."""
    data = text.encode("utf-8", "surrogatepass")
    return np.frombuffer(bytearray(data + bytes(kernel.PADDING + len(data))), dtype=np.uint8), len(data)


def loads(text: str) -> tuple[Any, bool]:
    try:
        return json.loads(text), True
    except ValueError:
        return None, False


@settings(max_examples=300)
@given(st.one_of(VALUES.map(json.dumps), VALUES.map(lambda value: json.dumps(value, indent=1)).flatmap(edited)))
def test_what_is_json(text: str) -> None:
    data, length = padded(text)
    start = kernel.skip_blanks(data.ctypes.data, 0)
    code, after = kernel.skip_value(data.ctypes.data, start)
    is_json = code == kernel.MORE and kernel.skip_blanks(data.ctypes.data, after) == length
    assert is_json == loads(text)[1]
    assert 0 <= after <= length


@settings(max_examples=300)
@given(ESCAPES)
def test_strings(inside: str) -> None:
    data, length = padded(f'"{inside}"')
    spare = length + kernel.PADDING
    code, start, stop, after = kernel.read_string(data.ctypes.data, 0, spare)
    expected, right = loads(f'"{inside}"')
    assert (code == kernel.MORE and after == length) == right
    if right:
        assert data[start:stop].tobytes().decode("utf-8", "surrogatepass") == expected
        assert stop <= len(data)


@settings(max_examples=500)
@given(NUMBERS)
def test_numbers(text: str) -> None:
    data, length = padded(text)
    value, after, certain = kernel.read_number(data.ctypes.data, 0)
    expected, right = loads(text)
    assert (after == length > 0) == right
    if right and certain:
        assert value.hex() == float(expected).hex()
    number, after = kernel.read_index(data.ctypes.data, 0)
    is_index = right and isinstance(expected, int) and expected >= 0
    assert (number >= 0 and after == length) == is_index
    if is_index:
        assert number == min(expected, kernel.HUGE)


@pytest.mark.parametrize("opening", ["[", '{"a":', "[[],", '{"a":{},"b":'])
def test_brackets_are_counted_and_not_recursed_into(opening: str) -> None:
    closing = "]" if opening[0] == "[" else "}"
    for depth in (1, kernel.DEEPEST, kernel.DEEPEST + 1, 100_000):
        data, length = padded(opening * depth + "1" + closing * depth)
        code, after = kernel.skip_value(data.ctypes.data, 0)
        if depth <= kernel.DEEPEST:
            assert (code, after) == (kernel.MORE, length)
        else:
            assert (code, after) == (kernel.TOO_DEEP, kernel.DEEPEST * len(opening))
        if depth > 1:  # a wrong bracket anywhere is seen
            data, length = padded(opening * depth + "1" + closing + ("}" if closing == "]" else "]") * (depth - 1))
            assert kernel.skip_value(data.ctypes.data, 0)[0] in (kernel.NO_COMMA, kernel.TOO_DEEP)
