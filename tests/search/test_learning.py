"""What other threads may do while a climb asks for statistics."""

from __future__ import annotations

import threading

import numpy as np

from hulltune.kernels.line_minima import unknown_outputs

COUNT = 200_000


def test_unknown_outputs_once_each_in_order() -> None:
    outputs = np.array([5, 3, 5, 1, 9, 3], dtype=np.int32)
    row_of = np.array([0, -1, 0, -1, 0, -1, 0, 0, 0, -1], dtype=np.int64)
    begins, ends = np.array([0, 3]), np.array([3, 5])
    np.testing.assert_array_equal(unknown_outputs(outputs, begins, ends, row_of), [1, 3, 5, 9])


def test_unknown_outputs_are_outputs_while_others_learn_them() -> None:
    """Rows that another climb writes between counting and collecting once left garbage at the end of the answer."""
    outputs = np.arange(COUNT, dtype=np.int32)
    begins, ends = np.array([0]), np.array([COUNT])
    done = threading.Event()
    row_of = np.full(COUNT, -1, dtype=np.int64)

    def learn_and_forget() -> None:
        while not done.is_set():
            for start in range(0, COUNT, COUNT // 50):
                row_of[start : start + COUNT // 50] = 0
            row_of[:] = -1

    thread = threading.Thread(target=learn_and_forget)
    thread.start()
    try:
        for _ in range(100):
            found = unknown_outputs(outputs, begins, ends, row_of)
            assert len(found) == 0 or (found[0] >= 0 and found[-1] < COUNT and (np.diff(found) > 0).all())
    finally:
        done.set()
        thread.join()
