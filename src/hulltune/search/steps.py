"""Exact line searches along many directions at once, and the best step they find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hulltune.search.constraints import CompiledConstraints
from hulltune.search.interface import Problem
from hulltune.search.policies import Policy, choose

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Step:
    """Where one line search would go."""

    weights: Floats
    direction: Floats
    eta: float
    loss: float


def search_lines(
    problem: Problem,
    origin: Floats,
    current_loss: float,
    directions: Sequence[Floats],
    constraints: CompiledConstraints,
    policy: Policy,
    *,
    reach: Floats | None = None,
    threads: int = 1,
) -> list[Step]:
    """The step that each direction offers, within the constraints; all share one pass over the features.

    Directions are restricted to what may move; those with no room are left out, as are steps that rounding would
    carry over a bound.
    """
    lines, intervals = [], []
    for direction in directions:
        restricted = constraints.restrict(direction)
        interval = constraints.interval(origin, restricted, reach)
        if interval is not None:
            lines.append(restricted)
            intervals.append(interval)
    if not lines:
        return []
    found = problem.search(origin, np.array(lines), np.array(intervals), threads=threads)
    steps = []
    for number, (direction, interval) in enumerate(zip(lines, intervals, strict=True)):
        surface = problem.surface(found, number)
        losses = surface.losses(problem.metric.loss)
        size = float(np.linalg.norm(direction))
        scale = float(np.linalg.norm(origin)) / size if np.any(origin) else 1.0
        choice = choose(
            surface.breakpoints, losses, policy=policy, interval=interval, current_loss=current_loss, scale=scale
        )
        weights = origin + choice.eta * direction
        if constraints.violation(weights) is None and np.any(weights) and np.all(np.isfinite(weights)):
            steps.append(Step(weights, direction, choice.eta, choice.loss))
    return steps
