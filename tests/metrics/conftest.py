"""Settings of the tests of metrics."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

import pytest
import sacrebleu.metrics.bleu


@pytest.fixture(scope="module")
def sacrebleu_adds_in_turn() -> Iterator[None]:
    """sacrebleu's BLEU with the last bit that hulltune's has with any Python.

    sacrebleu adds logarithms by ``sum``, which compensates for rounding since Python 3.12. There it is given the sum of
    before, from left to right; with an older Python nothing is touched.
    """
    with pytest.MonkeyPatch.context() as patched:
        if sys.version_info >= (3, 12):
            patched.setattr(sacrebleu.metrics.bleu, "sum", _added_in_turn, raising=False)
        yield


def _added_in_turn(values: Iterable[float]) -> float:
    total = 0.0
    for value in values:
        total += value
    return total
