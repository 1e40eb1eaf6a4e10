"""The types of calls as texts: one text for one kind of machine code, and a call can be made from its text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hulltune.kernels.load.building import CALLS
from hulltune.kernels.load.calls import described, examples
from hulltune.kernels.metrics.tokens import Vocabulary

NUMBERS = st.sampled_from(["f8", "f4", "i8", "i4", "i1", "u1", "u2", "u8", "b1"])
ARRAYS = st.builds(
    lambda number, dimensions, layout, end: f"{number}_{dimensions}{layout if dimensions > 1 else 'C'}{end}",
    NUMBERS, st.integers(1, 3), st.sampled_from("CFA"), st.sampled_from(["", "r"]),
)  # fmt: skip
KINDS = st.one_of(st.sampled_from(["int", "float", "bool", "i4", "f4", "u8"]), ARRAYS)
TUPLES = st.one_of(
    st.lists(KINDS, min_size=2, max_size=3).map(lambda parts: f"({', '.join(parts)})"),
    st.lists(KINDS, min_size=5, max_size=5).map(lambda parts: f"metrics.tokens.Vocabulary({', '.join(parts)})"),
)


@given(st.lists(KINDS | TUPLES, max_size=5))
def test_examples_are_described_by_their_text(parts: list[str]) -> None:
    call = ", ".join(parts)
    assert described(examples(call)) == call


def test_numbers_of_python_and_numpy_of_the_same_size_are_one_kind() -> None:
    assert described((1, 2.0, True)) == described((np.int64(1), np.float64(2), np.bool_(True))) == "int, float, bool"


def test_a_mapped_file_is_an_array(tmp_path: Path) -> None:
    np.arange(4.0).tofile(tmp_path / "numbers")
    assert described((np.memmap(tmp_path / "numbers", np.float64, "r"),)) == "f8_1Cr"


@pytest.mark.parametrize(
    "value",
    [
        2**63,
        "text",
        None,
        np.zeros(2, ">f8"),
        np.zeros(2, "U3"),
        np.ma.zeros(2),
        (),
        [1],
        np.zeros(9, "u1")[1:].view("f8"),
    ],
    ids=str,
)
def test_what_no_library_holds_has_no_text(value: Any) -> None:
    assert described((value,)) is None


def test_equal_texts_are_equal_types_to_numba() -> None:
    """The machine code of a call is chosen by its text alone."""
    from numba import typeof

    arrays = [np.zeros((3, 3)), np.zeros((1, 3)), np.zeros((3, 1), order="F"), np.zeros((4, 4))[::2], np.zeros((0, 2))]
    words = np.zeros(2, np.int32)
    values = [*arrays, 1, np.int64(1), 1.5, np.float64(1), True, (1, 2.0), (1, 2), Vocabulary(*[words] * 5)]  # type: ignore[arg-type]
    kinds: dict[str | None, Any] = {}
    for value in values:
        assert kinds.setdefault(described((value,)), typeof(value)) == typeof(value)


def test_the_list_of_calls_is_sorted_and_can_be_made() -> None:
    calls = CALLS.read_text(encoding="utf-8").splitlines()
    assert calls == sorted(set(calls))
    for call in calls:
        arguments = call.partition("(")[2][:-1]
        assert described(examples(arguments)) == arguments
