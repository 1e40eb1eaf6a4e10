"""Decimal text to doubles: to the bit what float() gives, or left to it."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hulltune.kernels.reading.decimals import read_decimal


def read(text: str) -> tuple[float, int, bool]:
    return read_decimal(np.frombuffer(text.encode() + b"\n", dtype=np.uint8), 0)


def bits(value: float) -> bytes:
    return struct.pack("d", value)


decimals = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "-", "+"]),
    st.integers(0, 10**20),
    st.one_of(st.just(""), st.just("."), st.integers(0, 10**19).map(".{}".format)),
    st.one_of(st.just(""), st.integers(-330, 320).map("e{}".format), st.integers(0, 40).map("E+{}".format)),
)
halfway = st.builds(
    lambda odd, power, exponent: f"{(2 * odd + 1) << power}e{exponent}",
    st.integers(2**52, 2**53 - 1),
    st.integers(0, 9),
    st.integers(-30, 30),
)


@settings(max_examples=2000)
@given(st.one_of(decimals, halfway, st.floats(allow_nan=False, allow_infinity=False).map(repr)))
@example("9007199254740993")
@example("-0.0")
@example("18446744073709551615")
@example("1e23")
@example("8.5e-20")
def test_certain_values_are_those_of_float(text: str) -> None:
    value, end, certain = read(text)
    assert end == len(text)
    if certain:
        assert bits(value) == bits(float(text))


@given(st.floats(min_value=1e-40, max_value=1e40), st.integers(1, 17))
def test_ordinary_numbers_need_no_help(value: float, digits: int) -> None:
    assert read(f"{value:.{digits}g}")[2]


@pytest.mark.parametrize("text", ["", "-", "+", ".", "-.", "e5", "1e", "1e+", "nan", "inf", "abc", "--1"])
def test_what_is_no_number_ends_where_it_starts(text: str) -> None:
    assert read(text) == (0.0, 0, False)


@pytest.mark.parametrize(("text", "end"), [("1,5", 1), ("1.5.2", 3), ("0x10", 1), ("1e5f", 3), ("1_000", 1)])
def test_a_number_ends_where_its_grammar_does(text: str, end: int) -> None:
    assert read(text)[1] == end
