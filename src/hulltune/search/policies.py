"""Policies: the point of an error surface that a line search steps to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hulltune.arrays import Floats, take_plain_numbers
from hulltune.errors import InputError, unknown_name
from hulltune.names import POLICIES, SMOOTHINGS


@dataclass(frozen=True)
class Policy:
    """The choice of a point on an error surface. Losses are smoothed first, then neighbours of equal loss are merged.

    - "middle": the middle of the best interval; of several best ones, the closest to the current point.
    - "closest": the best interval closest to the current point, entered by a tenth of its width.
    - "widest": the middle of the widest best interval.

    Slivers (see kernels/surfaces/steps.py) are never chosen, and do not separate the intervals on both sides of them.

    Smoothing (Cer et al. 2008) replaces the loss of an interval by the worst ("min", of the score) or the mean over
    ``window`` intervals around it, so that a lone spike is not chosen. An unbounded interval counts as twice as wide as
    the mean gap between breakpoints, so that its middle lies one mean gap beyond the last breakpoint (with a single
    breakpoint: its distance from 0, or the ``scale`` of the step if larger).
    """

    name: str = "middle"
    smoothing: str = "none"
    window: int = 3

    def __post_init__(self) -> None:
        take_plain_numbers(self)
        if self.name not in POLICIES:
            raise unknown_name("policy", self.name, POLICIES)
        if self.smoothing not in SMOOTHINGS:
            raise unknown_name("smoothing", self.smoothing, SMOOTHINGS)
        if self.window < 1 or self.window % 2 == 0:
            raise InputError(f"window: expected an odd number of intervals such as 3, got {self.window}")


def policy_of(policy: str | Policy, smoothing: str = "none") -> Policy:
    """The policy with this name and smoothing; a Policy is returned as it is, unless ``smoothing`` contradicts it."""
    if isinstance(policy, Policy):
        if smoothing not in ("none", policy.smoothing):
            raise InputError(f"smoothing: got {smoothing!r}, but the policy has {policy.smoothing!r}")
        return policy
    return Policy(policy, smoothing=smoothing)


def smooth(losses: Floats, smoothing: str, window: int) -> Floats:
    """The worst or mean loss over a window around each interval, cut off at the ends. O(intervals · window)."""
    if smoothing == "none" or window == 1:
        return losses
    half = window // 2
    padded = np.pad(losses, half, constant_values=np.nan)
    windows = np.lib.stride_tricks.sliding_window_view(padded, window)
    smoothed: Floats = np.nanmax(windows, axis=1) if smoothing == "min" else np.nanmean(windows, axis=1)
    return smoothed
