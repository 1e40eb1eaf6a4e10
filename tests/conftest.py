"""Settings that all tests share."""

from __future__ import annotations

import signal

from hypothesis import settings

# No deadline per example: the first call of a kernel compiles it. The same examples in every run: a failure on one
# machine is a failure on all. `pytest --hypothesis-profile=explore` looks for new ones.
settings.register_profile("hulltune", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=1000)
settings.load_profile("hulltune")

# A shell lets its background jobs ignore SIGINT: tests that interrupt themselves would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)
