"""Exact line searches along many directions at once, and the best step along each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from hulltune.arrays import Floats
from hulltune.metrics.base import Metric
from hulltune.search.constraints import CompiledConstraints
from hulltune.search.policies import Policy, choose, choose_among
from hulltune.search.problem import Problem
from hulltune.search.shards import HERE, Runner
from hulltune.surface import ErrorSurface

AT_ONCE = 1 << 22
"""The most weights in the directions of one pass: tables over them take a few times 32 MB."""
LEAST_AT_ONCE = 16
"""The least number of directions of one pass, whatever they take: kernels search so many at the price of one."""


@dataclass(frozen=True, eq=False)
class Move:
    """The result of one line search: weights, their loss on the error surface, and the direction searched."""

    weights: Floats
    loss: float
    direction: Floats


def search_lines(
    problem: Problem,
    origin: Floats,
    current_loss: float,
    directions: Sequence[Floats],
    constraints: CompiledConstraints,
    policy: Policy,
    *,
    reach: Floats | None = None,
    runner: Runner = HERE,
) -> list[Move]:
    """The best move along each direction within the constraints; all share one pass over the features.

    Directions are restricted to the weights that may move. Directions without room are left out, and so are moves that
    rounding would carry over a bound.
    """
    at_once = max(AT_ONCE // len(origin), LEAST_AT_ONCE)
    parts = [directions[first : first + at_once] for first in range(0, len(directions), at_once)]
    search = partial(_search_some, problem, origin, current_loss, constraints, policy, reach, runner)
    return [move for some in parts for move in search(some)]


def _search_some(
    problem: Problem,
    origin: Floats,
    current_loss: float,
    constraints: CompiledConstraints,
    policy: Policy,
    reach: Floats | None,
    runner: Runner,
    directions: Sequence[Floats],
) -> list[Move]:
    """The best move along each of the directions, which are few enough for tables over all weights."""
    lines = constraints.restrict(np.array(directions))
    intervals, room = constraints.intervals(origin, lines, reach)
    lines, intervals = lines[room], intervals[room]
    if not len(lines):
        return []
    surfaces = problem.surfaces(origin, lines, intervals, runner=runner)
    scales = _sizes_beside(origin, lines).tolist()
    moves = []
    for surface, direction, (low, high), scale in zip(surfaces, lines, intervals.tolist(), scales, strict=True):
        eta, loss = _best_step(problem.metric, surface, policy, (low, high), current_loss, scale)
        if eta == 0.0:
            moves.append(Move(origin, loss, direction))
            continue
        with np.errstate(over="ignore", invalid="ignore"):  # a step too far is left out below
            weights = origin + eta * direction
        if constraints.violation(weights) is None and np.any(weights) and np.all(np.isfinite(weights)):
            moves.append(Move(weights, loss, direction))
    return moves


def _sizes_beside(origin: Floats, directions: Floats) -> Floats:
    """The length of the origin in units of each direction; 1 where it is 0 or not a finite double."""
    largest, along = np.max(np.abs(origin)), np.max(np.abs(directions), axis=1)
    with np.errstate(all="ignore"):
        # Divided by their largest entries, because the squares of the weights themselves may over- or underflow.
        ratios = np.linalg.norm(origin / largest) / np.linalg.norm(directions / along[:, None], axis=1)
        sizes = ratios * (largest / along)
    usable: Floats = np.where((sizes > 0.0) & (sizes < np.inf), sizes, 1.0)
    return usable


def _best_step(
    metric: Metric,
    surface: ErrorSurface,
    policy: Policy,
    interval: tuple[float, float],
    current_loss: float,
    scale: float,
) -> tuple[float, float]:
    """The step to the best point and the loss there; 0 and the current loss if nothing is better."""
    if policy.smoothing == "none" and interval[0] <= 0.0 <= interval[1]:
        best, loss = metric.lowest(surface.statistics, below=current_loss)
        if not len(best):
            return 0.0, current_loss
        quick = choose_among(surface.breakpoints, best, loss, policy=policy, interval=interval, scale=scale)
        if quick is not None:
            return quick.eta, quick.loss
    step = choose(
        surface.breakpoints, surface.losses(metric.loss),
        policy=policy, interval=interval, current_loss=current_loss, scale=scale,
    )  # fmt: skip
    return step.eta, step.loss
