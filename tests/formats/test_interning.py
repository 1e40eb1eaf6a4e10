"""Numbers for distinct texts and whole numbers, against a dictionary."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune.kernels.reading.interning import empty_texts, find_text, intern, number_distinct


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
