"""The cell of some weights: all weights around them with the same outputs, and its middle."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hulltune.search.constraints import CompiledConstraints
from hulltune.search.interface import Problem

Floats = NDArray[np.float64]

ROUNDS = 3
HAIR = 2.0**-40
"""Of the size of a weight: breakpoints nearer than that are where the weight is."""


def middle_of_cell(
    problem: Problem,
    weights: Floats,
    loss: float,
    lines: list[Floats],
    constraints: CompiledConstraints,
    reach: Floats,
) -> tuple[Floats, float]:
    """Weights in the middle of their cell along each of the lines, one after the other, a few times over.

    Of weights on a tie those on the better side of it are taken, as a tie belongs to no cell: the loss may then differ.
    """
    for _ in range(ROUNDS):
        before = weights
        for line in lines:
            moved = _centred(problem, weights, line, constraints, reach)
            if moved is not None and constraints.violation(moved[0]) is None:
                new_loss = decoded_loss(problem, moved[0])
                if new_loss <= loss or moved[1]:
                    weights, loss = moved[0], new_loss
        if np.array_equal(before, weights):
            break
    return weights, loss


def _centred(
    problem: Problem, weights: Floats, line: Floats, constraints: CompiledConstraints, reach: Floats
) -> tuple[Floats, bool] | None:
    """The middle of the cell on a line, and whether the weights were on a tie."""
    interval = constraints.interval(weights, line, reach)
    if interval is None:
        return None
    surface = problem.surface(problem.search(weights, line[None], np.array([interval])), 0)
    losses = surface.losses(problem.metric.loss)
    ends = np.concatenate([[interval[0]], surface.breakpoints, [interval[1]]])
    size = HAIR * max(float(np.max(np.abs(weights))) / float(np.max(np.abs(line))), math.ulp(0.0))
    around = np.flatnonzero((ends[:-1] <= size) & (ends[1:] >= -size) & (ends[1:] - ends[:-1] > 2.0 * size))
    if not len(around):
        return None
    best = int(around[np.argmin(losses[around])])
    left, right = float(ends[best]), float(ends[best + 1])
    tied = left >= -size or right <= size
    if math.isinf(left) or math.isinf(right):
        if not tied:
            return None
        step = max(abs(end) for end in (1.0, left, right) if math.isfinite(end))
        left, right = (right - step if math.isinf(left) else left), (left + step if math.isinf(right) else right)
    return weights + (left + (right - left) / 2.0) * line, tied


def extents(
    problem: Problem, weights: Floats, lines: dict[str, Floats], constraints: CompiledConstraints
) -> dict[str, tuple[float | None, float | None]]:
    """For each named feature the weights between which no output changes, moved along its line; None for no end."""
    found: dict[str, tuple[float | None, float | None]] = {}
    for name, line in lines.items():
        k = constraints.names.index(name)
        interval = constraints.interval(weights, line)
        if interval is None:
            found[name] = (float(weights[k]), float(weights[k]))
            continue
        breakpoints = problem.surface(problem.search(weights, line[None], np.array([interval])), 0).breakpoints
        place = int(np.searchsorted(breakpoints, 0.0, side="right"))
        steps = np.concatenate([[interval[0]], breakpoints, [interval[1]]])[place : place + 2]
        ends = [float(weights[k] + step * line[k]) if math.isfinite(step) else None for step in steps]
        found[name] = (ends[0], ends[1])
    return found


def decoded_loss(problem: Problem, weights: Floats) -> float:
    """The loss of what the weights pick."""
    return float(problem.metric.loss(problem.picks(weights).total))
