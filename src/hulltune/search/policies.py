"""Which point of an error surface to step to: named policies over intervals of equal loss."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hulltune.errors import InputError, unknown_name

Floats = NDArray[np.float64]

POLICIES = ("middle", "closest", "widest")
SMOOTHINGS = ("none", "min", "mean")
TINY_STEP = 2.0**-40  # of the last breakpoint: the least step beyond it, so that rounding does not swallow it


@dataclass(frozen=True)
class Policy:
    """How line_search picks a point. Intervals are first smoothed, then neighbours of equal loss are merged.

    - "middle": the middle of the best interval; of several, that closest to the current point.
    - "closest": the best interval closest to the current point, entered by a tenth of its width.
    - "widest": the middle of the widest best interval.

    Smoothing (Cer et al. 2008) replaces the loss of an interval by the worst ("min", of the score) or the mean over
    ``window`` intervals around it, so that a lone spike is not chosen. An unbounded interval counts as twice as wide as
    the mean gap between breakpoints, so that its middle lies one mean gap beyond the last breakpoint (with a single
    breakpoint: its distance from 0, or the ``scale`` of the step if larger).
    """

    name: str = "middle"
    smoothing: str = "none"
    window: int = 3

    def __post_init__(self) -> None:
        if self.name not in POLICIES:
            raise unknown_name("policy", self.name, POLICIES)
        if self.smoothing not in SMOOTHINGS:
            raise unknown_name("smoothing", self.smoothing, SMOOTHINGS)
        if self.window < 1 or self.window % 2 == 0:
            raise InputError(f"window: expected an odd number of intervals such as 3, got {self.window}")


@dataclass(frozen=True)
class Choice:
    """A point, its loss, and the interval of equal loss around it."""

    eta: float
    loss: float
    left: float
    right: float


def smooth(losses: Floats, smoothing: str, window: int) -> Floats:
    """The worst or mean loss over a window of intervals; windows are cut off at the ends. O(n · window)."""
    if smoothing == "none" or window == 1:
        return losses
    half = window // 2
    padded = np.pad(losses, half, constant_values=np.nan)
    windows = np.lib.stride_tricks.sliding_window_view(padded, window)
    smoothed: Floats = np.nanmax(windows, axis=1) if smoothing == "min" else np.nanmean(windows, axis=1)
    return smoothed


def choose(
    breakpoints: Floats,
    losses: Floats,
    *,
    policy: Policy,
    interval: tuple[float, float] = (-math.inf, math.inf),
    current_loss: float | None = None,
    scale: float = 1.0,
) -> Choice:
    """The point to step to on a surface with these losses (one more than the breakpoints, all inside ``interval``).

    The current point 0, if it lies in the interval, is left only for a strictly smaller (smoothed) loss. Its own is
    taken from its interval, or is ``current_loss`` where 0 is a breakpoint itself. The answer is never a breakpoint.
    """
    smoothed = smooth(losses, policy.smoothing, policy.window)
    starts = np.flatnonzero(np.append(True, smoothed[1:] != smoothed[:-1]))
    lefts = np.append(interval[0], breakpoints)[starts]
    rights = np.append(lefts[1:], interval[1])
    plateau_losses = smoothed[starts]

    entered_left, entered_right = _bounded(lefts, rights, end_step(breakpoints, scale))
    middles = entered_left + (entered_right - entered_left) / 2
    roomy = (lefts < middles) & (middles < rights)  # an interval between neighbouring doubles has no inside
    best = np.min(plateau_losses[roomy], initial=math.inf)

    if interval[0] <= 0.0 <= interval[1]:
        here = int(np.searchsorted(breakpoints, 0.0, side="right"))
        is_tie = here > 0 and breakpoints[here - 1] == 0.0
        own = current_loss if current_loss is not None and is_tie and policy.smoothing == "none" else smoothed[here]
        if not best < own:
            plateau = int(np.searchsorted(starts, here, side="right")) - 1
            loss = current_loss if current_loss is not None else float(losses[here])
            return Choice(0.0, loss, float(lefts[plateau]), float(rights[plateau]))
    candidates = np.flatnonzero(roomy & (plateau_losses == best))
    if not len(candidates):
        raise InputError(f"interval: no representable point strictly inside ({interval[0]}, {interval[1]})")
    distances = np.maximum(np.maximum(lefts[candidates], -rights[candidates]), 0.0)
    if policy.name == "widest":
        chosen = candidates[np.argmax((entered_right - entered_left)[candidates])]
    else:
        chosen = candidates[np.argmin(distances)]
    eta = float(middles[chosen])
    if policy.name == "closest":
        eta = _enter(float(entered_left[chosen]), float(entered_right[chosen]), eta)
    index = int(np.searchsorted(breakpoints, eta, side="right"))
    return Choice(eta, float(losses[index]), float(lefts[chosen]), float(rights[chosen]))


def end_step(breakpoints: Floats, scale: float) -> float:
    """How far beyond the last breakpoint to go: the mean gap between breakpoints; see Policy."""
    if len(breakpoints) >= 2:
        return float(breakpoints[-1] - breakpoints[0]) / (len(breakpoints) - 1)
    return max(abs(float(breakpoints[0])), scale) if len(breakpoints) else scale


def _bounded(lefts: Floats, rights: Floats, step: float) -> tuple[Floats, Floats]:
    """The ends of the intervals with unbounded ones cut off two steps beyond the last breakpoint."""
    lefts, rights = lefts.copy(), rights.copy()
    if math.isinf(lefts[0]) and math.isinf(rights[0]):
        lefts[0], rights[0] = -step, step
    elif math.isinf(lefts[0]):
        lefts[0] = rights[0] - 2.0 * max(step, abs(rights[0]) * TINY_STEP)
    if math.isinf(rights[-1]):
        rights[-1] = lefts[-1] + 2.0 * max(step, abs(lefts[-1]) * TINY_STEP)
    return lefts, rights


def _enter(left: float, right: float, middle: float) -> float:
    """A point inside (left, right), a tenth of the width in from the side that 0 is on; 0 itself if it is inside."""
    if left < 0.0 < right:
        return 0.0
    tenth = (right - left) / 10
    eta = left + tenth if left >= 0.0 else right - tenth
    return eta if left < eta < right else middle
