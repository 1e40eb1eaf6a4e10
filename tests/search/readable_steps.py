"""The rule of steps in plain NumPy, over all intervals of one line: the oracle of kernels/surfaces/steps.py."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hulltune.arrays import Bools, Floats, Int64s
from hulltune.errors import InputError
from hulltune.kernels.surfaces.constants import FARTHEST, RESOLUTION, TINY_STEP
from hulltune.search.steps import Policy, smooth


@dataclass(frozen=True)
class Step:
    """A point, its loss, and the interval of equal loss around it."""

    eta: float
    loss: float
    left: float
    right: float


def choose(
    breakpoints: Floats,
    losses: Floats,
    *,
    policy: Policy,
    interval: tuple[float, float] = (-math.inf, math.inf),
    current_loss: float | None = None,
    scale: float = 1.0,
) -> Step:
    """The point to step to on a surface. It has one loss more than breakpoints, which all lie inside ``interval``.

    The current point 0, if it lies in the interval, is left only for a strictly smaller (smoothed) loss. Its own loss
    is ``current_loss``, from decoding there; without one, or with smoothing, it is the loss of its interval. The result
    is never a breakpoint.
    """
    smoothed = smooth(losses, policy.smoothing, policy.window)
    step = end_step(breakpoints, scale)
    lefts, rights, near_left, near_right = _ends(breakpoints, interval, step, np.arange(len(losses)))
    middles = near_left + (near_right - near_left) / 2
    inside = (lefts < middles) & (middles < rights)  # an interval between neighbouring doubles has no inside
    enterable = _enterable(lefts, rights, near_left, near_right, scale)
    best = np.min(smoothed[enterable], initial=math.inf)

    if interval[0] <= 0.0 <= interval[1]:
        here = int(np.searchsorted(breakpoints, 0.0, side="right"))
        own = current_loss if current_loss is not None and policy.smoothing == "none" else smoothed[here]
        if not best < own:
            loss = current_loss if current_loss is not None else float(losses[here])
            others = np.flatnonzero((smoothed != smoothed[here]) & inside)
            left, right = others[others < here], others[others > here]
            return Step(
                0.0, loss, float(rights[left[-1]]) if len(left) else interval[0],
                float(lefts[right[0]]) if len(right) else interval[1],
            )  # fmt: skip
    if best == math.inf:
        raise InputError(f"interval: no point of ({interval[0]}, {interval[1]}) is far enough from all breakpoints")
    wide = np.flatnonzero(enterable)
    is_first = np.append(True, smoothed[wide[1:]] != smoothed[wide[:-1]])  # of neighbours with equal loss
    firsts, lasts = wide[is_first], wide[np.append(np.flatnonzero(is_first)[1:], len(wide)) - 1]
    chosen = np.flatnonzero(smoothed[firsts] == best)
    firsts, lasts = firsts[chosen], lasts[chosen]
    if policy.name == "widest":
        pick = int(np.argmax(near_right[lasts] - near_left[firsts]))
    else:
        pick = int(np.argmin(np.maximum(np.maximum(lefts[firsts], -rights[lasts]), 0.0)))
    low, high = float(near_left[firsts[pick]]), float(near_right[lasts[pick]])
    eta = _enter(low, high) if policy.name == "closest" else low + (high - low) / 2
    index = int(np.searchsorted(breakpoints, eta, side="right"))
    if not enterable[index] or eta == lefts[index]:  # on a sliver inside: take the middle of the first part
        index = int(firsts[pick])
        eta = float(middles[index])
    return Step(eta, float(losses[index]), float(lefts[firsts[pick]]), float(rights[lasts[pick]]))


def _enterable(lefts: Floats, rights: Floats, near_left: Floats, near_right: Floats, scale: float) -> Bools:
    """Whether each interval is wide enough to be entered."""
    middles = near_left + (near_right - near_left) / 2
    at_zero = (near_left <= 0.0) & (near_right >= 0.0)
    sizes = np.maximum(np.maximum(np.abs(near_left), np.abs(near_right)), np.where(at_zero, scale, 0.0))
    wide: Bools = (lefts < middles) & (middles < rights) & (near_right - near_left > RESOLUTION * sizes)
    return wide


def _ends(
    breakpoints: Floats, interval: tuple[float, float], step: float, numbers: Int64s
) -> tuple[Floats, Floats, Floats, Floats]:
    """The left and right ends of some intervals, and finite ones: two steps beyond the last breakpoint if unbounded."""
    count = len(breakpoints)
    if not count:
        lefts, rights = np.full(len(numbers), interval[0]), np.full(len(numbers), interval[1])
    else:
        lefts = np.where(numbers > 0, breakpoints[np.maximum(numbers, 1) - 1], interval[0])
        rights = np.where(numbers < count, breakpoints[np.minimum(numbers, count - 1)], interval[1])
    near_left, near_right = np.clip(lefts, -FARTHEST, FARTHEST), np.clip(rights, -FARTHEST, FARTHEST)
    open_left, open_right = np.isneginf(lefts), np.isposinf(rights)
    near_left = np.where(open_left, near_right - 2.0 * np.maximum(step, np.abs(near_right) * TINY_STEP), near_left)
    near_right = np.where(open_right, near_left + 2.0 * np.maximum(step, np.abs(near_left) * TINY_STEP), near_right)
    both = open_left & open_right
    return lefts, rights, np.where(both, -step, near_left), np.where(both, step, near_right)


def end_step(breakpoints: Floats, scale: float) -> float:
    """The step beyond the last breakpoint: the mean gap between breakpoints; see Policy."""
    count = len(breakpoints)
    if count >= 2:
        first, last = np.clip(breakpoints[[0, -1]], -FARTHEST, FARTHEST).tolist()
        return float(last - first) / (count - 1)
    return min(max(abs(float(breakpoints[0])), scale) if len(breakpoints) else scale, FARTHEST)


def _enter(left: float, right: float) -> float:
    """A point inside (left, right): 0 if it is inside, else a tenth of the width away from the end nearest to 0."""
    if left < 0.0 < right:
        return 0.0
    tenth = (right - left) / 10
    return left + tenth if left >= 0.0 else right - tenth
