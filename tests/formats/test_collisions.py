"""Equal hashes of different things: forced here, as no ordinary input has them."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hulltune.kernels.outputs.texts import first_equals

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
