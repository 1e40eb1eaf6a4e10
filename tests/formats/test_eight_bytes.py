"""Ends of lines and tokens found by eight bytes at once, against a byte at a time."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune.kernels.eight_bytes import eight, first_bytes, line_end, token_end
from hulltune.kernels.moses_graph_fields import NO_KEY, OTHER, _other_key, field_key, whole_number

texts = st.one_of(
    st.binary(max_size=40),
    st.text("ab= \n\t!~\x1f\x20\x21\x80\xff", max_size=40).map(lambda text: text.encode("latin-1")),
)


def array(data: bytes) -> np.ndarray:
    return np.frombuffer(data, dtype=np.uint8)


@settings(max_examples=300)
@given(texts, st.data())
def test_ends_are_those_of_a_plain_search(data: bytes, draws: st.DataObject) -> None:
    data += b"\n"
    place = draws.draw(st.integers(0, len(data) - 1))
    assert line_end(array(data), np.uint64(place)) == data.index(b"\n", place)
    assert token_end(array(data), np.uint64(place)) == next(i for i in range(place, len(data)) if data[i] <= 32)


keys = st.sampled_from(
    ["hyp", "stack", "back", "score", "transition", "forward", "fscore", "covered", "scores", "out", "recombined", "x"]
)


@settings(max_examples=300)
@given(keys | st.text("hypstackr=o ", max_size=12), st.text("= 1a", max_size=14))
def test_keys_are_those_of_a_plain_search(key: str, after: str) -> None:
    data = array(f"{key}={after}\n".encode())
    found, expected = field_key(data, np.uint64(0)), _other_key(data, np.uint64(0))
    assert found == expected
    name = f"{key}={after}".split("=")[0]
    if not name or " " in name:
        assert found[0] == NO_KEY
    else:
        assert found[1] == len(name) + 1
        known = ("hyp", "out", "back", "scores", "forward", "transition", "recombined")
        assert found[0] == (1 + known.index(name) if name in known else OTHER)


@given(st.text("0123456789", max_size=18), st.sampled_from(["", "x", "-1", ".5"]), st.sampled_from(" \t\r\n"))
def test_whole_numbers(digits: str, rest: str, end: str) -> None:
    number, after = whole_number(array(f"{digits}{rest}{end}\n".encode()), np.uint64(0))
    assert after == len(digits + rest)
    assert number == (-1 if rest or not digits else min(int(digits), 10**15))


def test_words_are_little_endian() -> None:
    assert eight(b"ab") == 0x6261
    assert first_bytes(3) == 0xFFFFFF
