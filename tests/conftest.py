"""Settings that all tests share."""

from __future__ import annotations

import signal
from collections.abc import Iterable

import sacrebleu.metrics.bleu
from hypothesis import settings

# No deadline per example: the first call of a kernel compiles it. The same examples in every run: a failure on one
# machine is a failure on all. `pytest --hypothesis-profile=explore` looks for new ones.
settings.register_profile("hulltune", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile("hulltune")


def _added_in_turn(values: Iterable[float]) -> float:
    total = 0.0
    for value in values:
        total += value
    return total


# sacrebleu adds logarithms with sum(), whose last bit changed with Python 3.12; hulltune's BLEU did not change with it.
sacrebleu.metrics.bleu.sum = _added_in_turn  # type: ignore[attr-defined]

# A shell lets its background jobs ignore SIGINT: tests that interrupt themselves would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)
