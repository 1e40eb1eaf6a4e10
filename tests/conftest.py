"""Settings that all tests share."""

from __future__ import annotations

from hypothesis import settings

# No deadline per example: the first call of a kernel compiles it. The same examples in every run: a failure on one
# machine is a failure on all.
settings.register_profile("hulltune", deadline=None, derandomize=True)
settings.load_profile("hulltune")
