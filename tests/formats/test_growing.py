"""Growing arrays against lists."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hulltune.formats.moses import GrowingArray


@given(st.lists(st.lists(st.integers(-5, 5), max_size=4), max_size=6), st.integers(0, 30))
def test_values_come_back_in_order(pieces: list[list[int]], popped: int) -> None:
    growing = GrowingArray(np.int32)
    for piece in pieces:
        growing.append(np.array(piece, dtype=np.int32))
    expected = [value for piece in pieces for value in piece]
    assert len(growing) == len(expected)
    popped = min(popped, len(expected))
    rest = len(expected) - popped
    assert growing.pop(popped).tolist() == expected[rest:]
    assert growing.take().tolist() == expected[:rest]
    assert len(growing) == 0
