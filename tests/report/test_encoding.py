"""Blocks of data come back as they were."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from hulltune.report.html.encoding import TYPES, encoded
from tests.report.decoding import decoded


@given(st.dictionaries(st.text(max_size=5), st.sampled_from(TYPES).flatmap(
    lambda kind: arrays.arrays(kind, st.integers(0, 30))), max_size=4), st.text())  # fmt: skip
def test_a_block_comes_back(tables: dict[str, np.ndarray], text: str) -> None:
    whole = text.encode(errors="replace").decode()
    header, found = decoded(encoded({"text": whole}, tables))
    assert header == {"text": whole}
    assert list(found) == list(tables)
    for name, table in tables.items():
        assert found[name].dtype == table.dtype
        np.testing.assert_array_equal(found[name], table)


def test_differences_of_the_largest_numbers_wrap_around_and_back() -> None:
    table = np.array([2**32 - 1, 0, 2**31, 1], dtype=np.uint32)
    np.testing.assert_array_equal(decoded(encoded({}, {"a": table}))[1]["a"], table)


def test_a_type_that_browsers_lack_is_refused() -> None:
    with pytest.raises(TypeError, match="int64"):
        encoded({}, {"a": np.arange(3)})
