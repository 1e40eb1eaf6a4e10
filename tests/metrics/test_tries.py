"""The n-gram tries of references, which threads fill when they first need them."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest
from numpy.typing import NDArray

from hulltune.metrics import get_metric
from hulltune.metrics.base import PreparedMetric

SENTENCES, THREADS = 300, 8


@pytest.mark.parametrize("name", ["bleu", "chrf", "chrf:word_order=2"])
def test_threads_that_fill_the_same_tries_count_as_one_does(name: str) -> None:
    rng = np.random.default_rng(5)
    words = np.array(["a", "b", "c", "the cat", "of", "é"])

    def text() -> str:
        return " ".join(rng.choice(words, size=int(rng.integers(0, 12))))

    references = [[text()] for _ in range(SENTENCES)]
    outputs = [(sentence, text()) for sentence in range(SENTENCES) for _ in range(2)]

    def rows(of: PreparedMetric, part: list[tuple[int, str]]) -> NDArray[np.generic]:
        return of.statistics(np.array([sentence for sentence, _ in part]), [output for _, output in part])

    expected = rows(get_metric(name).prepare(references), outputs)
    together = get_metric(name).prepare(references)
    begin = threading.Barrier(THREADS)
    found: list[NDArray[np.generic]] = [np.zeros(0)] * THREADS

    def ask(thread: int) -> None:
        begin.wait()
        found[thread] = rows(together, outputs[thread:] + outputs[:thread])

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=ask, args=(thread,)) for thread in range(THREADS)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    finally:
        sys.setswitchinterval(interval)
    for thread, answer in enumerate(found):
        np.testing.assert_array_equal(np.roll(answer, thread, axis=0), expected)
