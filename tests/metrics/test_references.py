"""References that a metric is given: those that are plain lists of texts are checked in a few passes."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hulltune.errors import InputError
from hulltune.metrics import checks
from hulltune.metrics.checks import checked_references

texts = st.text(max_size=3)
odd = st.sampled_from([None, 3, "text", b"bytes", (), [], {}, [None], ["a", 2], ("a",), {"a": 1}, ["a", "b"]])
groups = st.one_of(st.lists(texts, max_size=2), st.tuples(texts), odd)


@given(
    st.one_of(st.lists(groups, max_size=4), st.lists(st.lists(texts, min_size=1, max_size=1)), odd),
    st.booleans(),
    st.sampled_from([None, 0, 1, 2]),
    st.sampled_from([0, 1, 2]),
)
def test_passes_over_all_decide_as_a_look_at_one_after_the_other(
    references: Any, ragged: bool, at_most: int | None, at_least: int
) -> None:
    def found() -> object:
        try:
            return checked_references("m", references, ragged=ragged, at_most=at_most, at_least=at_least)
        except InputError as error:
            return str(error)

    quick = found()
    with mock.patch.object(checks, "_are_plain", return_value=False):
        assert quick == found()


@pytest.mark.parametrize("wrong", [["b", None], "b", None, ["b", "c"], []])
def test_one_wrong_group_among_many_is_named(wrong: Any) -> None:
    references: list[Any] = [["a"]] * 1000
    references[700] = wrong
    with pytest.raises(InputError, match="700"):
        checked_references("m", references)
