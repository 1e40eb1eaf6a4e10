"""Exact line searches along many directions at once, the best step along each, and the policies that choose it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from hulltune.arrays import Bools, Floats, Int64s, take_plain_numbers
from hulltune.errors import InputError, unknown_name
from hulltune.names import POLICIES, SMOOTHINGS
from hulltune.search.constraints import CompiledConstraints
from hulltune.search.problem import Swept

if TYPE_CHECKING:
    from hulltune.search.strategy import Setting

AT_ONCE = 1 << 22
"""The most weights in the directions of one pass: tables over them take a few times 32 MB."""
LEAST_AT_ONCE = 16
"""The least number of directions of one pass, whatever they take: kernels search so many at the price of one."""


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


@dataclass(frozen=True, eq=False)
class Position:
    """Weights, their loss, and the line searches spent so far."""

    weights: Floats
    loss: float
    line_searches: int = 0


@dataclass(frozen=True, eq=False)
class Round:
    """The best steps along many lines from one origin.

    Directions without room in the constraints have no line, nor have those whose step rounding carries over a bound.
    """

    origin: Floats
    current_loss: float
    numbers: Int64s
    """The number of each line's direction among those asked for, increasing."""
    directions: Floats
    """The directions searched, one a row: 0 for weights that may not move, equal for tied ones."""
    etas: Floats
    """The step along each line; 0 where no loss is smaller than the current one."""
    losses: Floats
    """The loss on the error surface at each step."""
    sampled: Floats
    """The losses at the points asked for, a row for each line; NaN outside the line's interval."""

    def __len__(self) -> int:
        return len(self.etas)

    def weights_at(self, line: int) -> Floats:
        """The weights that the step along a line leads to."""
        eta = self.etas[line]
        weights: Floats = self.origin if eta == 0.0 else self.origin + eta * self.directions[line]
        return weights

    def gains(self) -> Int64s:
        """The lines with a smaller loss than the current one, the smallest first, of equals the first line."""
        order = np.argsort(self.losses, kind="stable")
        return order[self.losses[order] < self.current_loss]


def search_lines(
    setting: Setting,
    origin: Floats,
    current_loss: float,
    directions: Sequence[Floats] | Floats,
    *,
    points: Floats | None = None,
    within: float = math.inf,
) -> Round:
    """The best step along each direction within the constraints; all share one pass over the features.

    Directions are restricted to the weights that may move. ``points`` asks for the loss at some points of each line,
    too, a row of them for each direction, in increasing order: they are read off the error surface and cost next to
    nothing. Steps are at most ``within`` long, as multiples of their direction: short lines cost less. With a penalty,
    all losses are sums with it.
    """
    points = np.empty((len(directions), 0)) if points is None else points
    at_once = max(AT_ONCE // len(origin), LEAST_AT_ONCE)
    found = [
        _round(setting, origin, current_loss, slice(first, first + at_once), directions, points, within)
        for first in range(0, max(len(directions), 1), at_once)
    ]
    if len(found) == 1:
        return found[0]
    return Round(
        origin,
        current_loss,
        numbers=np.concatenate([each.numbers for each in found]),
        directions=np.concatenate([each.directions for each in found]),
        etas=np.concatenate([each.etas for each in found]),
        losses=np.concatenate([each.losses for each in found]),
        sampled=np.concatenate([each.sampled for each in found]),
    )


def best_step(setting: Setting, position: Position, directions: Sequence[Floats]) -> tuple[Position, list[Floats]]:
    """The position after the best step along any of the directions, and all directions that gain, the best first.

    The position stays if decoding confirms no gain. A gain is computed exactly, but the new weights are then rounded to
    doubles and scaled: in an interval thinner than that rounding, decoding may see another loss.
    """
    searched = search_lines(setting, position.weights, position.loss, directions)
    return confirmed(setting, searched, position), list(searched.directions[searched.gains()])


def confirmed(setting: Setting, searched: Round, position: Position) -> Position:
    """The position after a round: at the best of its steps that decoding confirms to be better, if there is one."""
    constraints, spent = setting.constraints, position.line_searches + len(searched)
    for line in searched.gains().tolist():
        moved = searched.weights_at(line)
        for weights in (constraints.normalised(moved), moved):
            if constraints.violation(weights) is None:
                loss = setting.loss(weights)
                if loss < position.loss:
                    return Position(weights, loss, spent)
    return replace(position, line_searches=spent)


def _round(
    setting: Setting,
    origin: Floats,
    current_loss: float,
    part: slice,
    directions: Sequence[Floats] | Floats,
    points: Floats,
    within: float,
) -> Round:
    """The lines along some of the directions, in one pass."""
    from hulltune.kernels.surfaces.steps import choose_penalised

    problem, constraints, policy, penalty = setting.problem, setting.constraints, setting.policy, setting.penalty
    lines = constraints.restrict(np.reshape(np.array(directions[part]), (-1, len(origin))))
    intervals, room = constraints.intervals(origin, lines, setting.reach)
    bounds = np.minimum(np.maximum(intervals, -within), within)[room]
    lines, points, numbers = lines[room], points[part][room], np.flatnonzero(room) + part.start
    if not len(lines):
        return Round(origin, current_loss, numbers, lines, np.empty(0), np.empty(0), points)
    scales = _sizes_beside(origin, lines)
    if penalty is None:
        below = np.full(len(lines), current_loss)
        swept = problem.sweep(
            origin, lines, bounds, scales, below, points,
            keep="best" if policy.smoothing == "none" else "all", workers=setting.workers,
        )  # fmt: skip
        etas, losses = _steps(swept, bounds, scales, current_loss, policy)
        sampled = swept.sampled
    else:
        rows = penalty.along(origin, lines)
        # An interval is of use only if its loss and the least penalty of the whole line are below the current sum.
        below = current_loss - penalty.least(rows)
        swept = problem.sweep(origin, lines, bounds, scales, below, points, keep="below", workers=setting.workers)
        etas, losses = choose_penalised(swept.intervals, swept.losses, current_loss, scales, rows, penalty.angle)
        sampled = swept.sampled + penalty.at(rows, points)
    sampled[(points < bounds[:, :1]) | (points > bounds[:, 1:])] = np.nan
    kept = _kept(origin, lines, etas, constraints)
    return Round(origin, current_loss, numbers[kept], lines[kept], etas[kept], losses[kept], sampled[kept])


def _steps(swept: Swept, bounds: Floats, scales: Floats, current_loss: float, policy: Policy) -> tuple[Floats, Floats]:
    """The step to the best point of each line, and the loss there; 0 and the current loss if nothing is better."""
    from hulltune.kernels.surfaces.steps import choose_steps

    around_zero = (bounds[:, 0] <= 0.0) & (bounds[:, 1] >= 0.0)
    currents = np.where(around_zero, current_loss, np.inf)  # from outside of its interval every line is entered
    losses = swept.losses
    if policy.smoothing != "none":
        losses, currents = _smoothed(swept, around_zero, policy)
    etas, chosen, _ = choose_steps(swept.intervals, losses, currents, scales, POLICIES.index(policy.name))
    found = np.full(len(etas), current_loss)
    found[chosen >= 0] = swept.losses[chosen[chosen >= 0]]
    return etas, found


def smooth(losses: Floats, smoothing: str, window: int) -> Floats:
    """The worst or mean loss over a window around each interval, cut off at the ends. O(intervals · window)."""
    if smoothing == "none" or window == 1:
        return losses
    half = window // 2
    padded = np.pad(losses, half, constant_values=np.nan)
    windows = np.lib.stride_tricks.sliding_window_view(padded, window)
    smoothed: Floats = np.nanmax(windows, axis=1) if smoothing == "min" else np.nanmean(windows, axis=1)
    return smoothed


def _smoothed(swept: Swept, around_zero: Bools, policy: Policy) -> tuple[Floats, Floats]:
    """The smoothed losses of all intervals, and those at 0; infinite where 0 is not on the line."""
    offsets, lefts, *_ = swept.intervals
    losses, currents = np.empty(len(lefts)), np.full(len(around_zero), np.inf)
    for line, (first, last) in enumerate(zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)):
        losses[first:last] = smooth(swept.losses[first:last], policy.smoothing, policy.window)
        if around_zero[line]:
            currents[line] = losses[first + np.searchsorted(lefts[first + 1 : last], 0.0, side="right")]
    return losses, currents


def _kept(origin: Floats, lines: Floats, etas: Floats, constraints: CompiledConstraints) -> Bools:
    """Whether the weights that each step leads to are finite, not all 0, and within the constraints."""
    kept = np.ones(len(lines), dtype=np.bool_)
    moved = np.flatnonzero(etas)
    if len(moved):
        with np.errstate(over="ignore", invalid="ignore"):
            weights = origin + etas[moved, None] * lines[moved]
        kept[moved] = constraints.allow(weights) & weights.any(axis=1) & np.isfinite(weights).all(axis=1)
    return kept


def _sizes_beside(origin: Floats, directions: Floats) -> Floats:
    """The length of the origin in units of each direction; 1 where it is 0 or not a finite double."""
    largest, along = np.max(np.abs(origin)), np.max(np.abs(directions), axis=1)
    with np.errstate(all="ignore"):
        # Divided by their largest entries, because the squares of the weights themselves may over- or underflow.
        own, theirs = origin / largest, directions / along[:, None]
        ratios = np.sqrt(own @ own) / np.sqrt(np.sum(theirs * theirs, axis=1))
        sizes = ratios * (largest / along)
    usable: Floats = np.where((sizes > 0.0) & (sizes < np.inf), sizes, 1.0)
    return usable
