"""Outputs without a row of statistics, and what other threads may do while a climb asks for them."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hulltune.kernels.surfaces.rows import MARKED, give_rows, have_rows, mark_without_row, without_row

COUNT = 200_000


@given(st.lists(st.booleans(), min_size=1, max_size=80), st.data())
def test_numbers_without_a_row_once_each_in_order(known: list[bool], data: st.DataObject) -> None:
    numbers = data.draw(st.lists(st.integers(0, len(known) - 1), max_size=40))
    row_of = np.array([0 if each else -1 for each in known], dtype=np.int64)
    expected = sorted({number for number in numbers if not known[number]})
    for more in (0, MARKED * len(numbers) + 1):  # few of many are sorted, many are marked
        rows = np.concatenate([row_of, np.zeros(more, dtype=np.int64)])
        assert without_row(np.array(numbers, dtype=np.int64), rows).tolist() == expected
        assert have_rows(np.array(numbers, dtype=np.int64), rows) == (not expected)
        marked = np.zeros(len(rows), dtype=np.bool_)
        outputs, cut = np.array([0, *numbers], dtype=np.int32), len(numbers) // 2
        begins, ends = np.array([1, 1 + cut]), np.array([1 + cut, len(outputs)])
        mark_without_row(outputs, begins, ends, rows, marked)
        assert np.flatnonzero(marked).tolist() == expected


def test_equal_outputs_get_the_row_of_the_first() -> None:
    row_of = np.array([7, -1, -1, -1, -1], dtype=np.int64)
    new, rows = np.array([1, 4]), np.array([8, -1])  # nobody has answered for 4
    give_rows(new, rows, np.array([1, 2, 3, 4]), np.array([1, 0, 1, 4]), row_of)
    assert row_of.tolist() == [7, 8, 7, 8, -1]


@pytest.mark.parametrize("known", [0, 2 * MARKED * COUNT])
def test_they_are_some_of_the_numbers_while_others_learn_them(known: int) -> None:
    """Rows that another climb writes between counting and collecting once left garbage at the end of the answer."""
    numbers = np.arange(COUNT, dtype=np.int64)
    done = threading.Event()
    row_of = np.full(COUNT + known, -1, dtype=np.int64)

    def learn_and_forget() -> None:
        while not done.is_set():
            for start in range(0, COUNT, COUNT // 50):
                row_of[start : start + COUNT // 50] = 0
            row_of[:COUNT] = -1

    thread = threading.Thread(target=learn_and_forget)
    thread.start()
    try:
        for _ in range(100):
            found = without_row(numbers, row_of)
            assert len(found) == 0 or (found[0] >= 0 and found[-1] < COUNT and (np.diff(found) > 0).all())
    finally:
        done.set()
        thread.join()
