"""Kernels of readers against Python: decimals, numbers for distinct texts, and equal hypotheses."""

from __future__ import annotations

import itertools
import struct

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hulltune.kernels.outputs.texts import first_equals
from hulltune.kernels.reading.decimals import read_decimal
from hulltune.kernels.reading.interning import empty_texts, find_text, intern, number_distinct


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


# Numbers for distinct texts and whole numbers, against a dictionary.


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(st.integers(-3, 9), st.integers(-(2**63), 2**63 - 1)), max_size=60))
def test_distinct_numbers(values: list[int]) -> None:
    distinct, places = number_distinct(np.array(values, dtype=np.int64))
    assert distinct.tolist() == list(dict.fromkeys(values))
    assert [distinct[place] for place in places] == values


@settings(max_examples=100, deadline=None)
@given(st.lists(st.binary(max_size=4), min_size=1, max_size=60))
def test_distinct_texts(values: list[bytes]) -> None:
    data = np.frombuffer(b"".join(values) + b"\n", dtype=np.uint8)
    ends = np.cumsum([len(value) for value in values]).tolist()
    texts = empty_texts(len(values))
    expected: dict[bytes, int] = {}
    for value, end in zip(values, ends, strict=True):
        start = end - len(value)
        known = find_text(texts, data, start, end)
        assert known == expected[value] if value in expected else known < 0
        assert intern(texts, data, start, end) == expected.setdefault(value, len(expected))
    assert texts.size[0] == len(expected)


# Equal hashes of different things: forced here, as no ordinary input has them.


rows = st.lists(st.tuples(st.sampled_from(["", "a", "b", "ab"]), st.sampled_from([0.0, -0.0, 1.0])), max_size=12)


@given(st.lists(rows, max_size=4), st.booleans())
def test_distinct_hypotheses_with_one_hash_stay_distinct(lists: list[list[tuple[str, float]]], collide: bool) -> None:
    hypotheses = [row for one in lists for row in one]
    offsets = np.cumsum([0, *(len(one) for one in lists)]).astype(np.int64)
    text = np.frombuffer("".join(text for text, _ in hypotheses).encode() or b"\0", dtype=np.uint8)
    text_offsets = np.cumsum([0, *(len(text) for text, _ in hypotheses)]).astype(np.int64)
    features = np.array([[value] for _, value in hypotheses]).reshape(-1, 1, order="F")
    distinct = [hash((text, value)) % 2**64 for text, value in hypotheses]
    hashes = np.array([7 if collide else number for number in distinct], dtype=np.uint64)
    first = first_equals(text, text_offsets, features, hashes, offsets)
    for begin, end in itertools.pairwise(offsets.tolist()):
        for row in range(begin, end):
            assert first[row] == begin + hypotheses[begin:end].index(hypotheses[row])
