"""Cells: the weights around some weights that have the same outputs, and the middle of a cell."""

from __future__ import annotations

import math

import numpy as np

from hulltune.arrays import Floats
from hulltune.certified.clock import Clock
from hulltune.search.constraints import CompiledConstraints
from hulltune.search.problem import Line, Problem
from hulltune.threads import ALONE, Workers

ROUNDS = 3
HAIR = 2.0**-40
"""Weights nearer to a breakpoint than this share of the largest scaled weight lie on it."""


def middle_of_cell(
    problem: Problem,
    weights: Floats,
    loss: float,
    lines: list[Floats],
    scales: Floats,
    constraints: CompiledConstraints,
    clock: Clock | None = None,
    workers: Workers = ALONE,
) -> tuple[Floats, float]:
    """The weights moved to the middle of their cell along one line after the other, a few times over, and their loss.

    ``scales`` have the amount of each weight that is one unit of the lines (0 for a weight that does not move).
    Distances are measured in them, because the weights themselves may be of very different sizes. A tie belongs to no
    cell: weights on one move to its better side, where the loss may be larger. When time is over, they stay where they
    are by then.
    """
    for _ in range(ROUNDS):
        before = weights
        for line in lines:
            if clock is not None and clock.is_over:
                return weights, loss
            moved = _centred(problem, weights, line, scales, constraints, workers)
            if moved is not None and constraints.violation(moved[0]) is None:
                new_loss = problem.loss(moved[0], workers=workers)
                if new_loss <= loss or moved[1]:
                    weights, loss = moved[0], new_loss
        if np.array_equal(before, weights):
            break
    return weights, loss


def _centred(
    problem: Problem, weights: Floats, line: Floats, scales: Floats, constraints: CompiledConstraints, workers: Workers
) -> tuple[Floats, bool] | None:
    """The middle of the cell on a line, and whether the weights were on a tie."""
    interval = constraints.interval(weights, line)
    if interval is None:
        return None
    (found,) = problem.search(weights, line[None], np.array([interval]), workers=workers)
    used = scales > 0.0
    size = HAIR * max(float(np.max(np.abs(weights[used]) / scales[used])), math.ulp(0.0))
    ends = _ends_around(found, interval[1], -size, size)
    around = np.flatnonzero((ends[:-1] <= size) & (ends[1:] >= -size) & (ends[1:] - ends[:-1] > 2.0 * size))
    if not len(around):
        return None
    moving = line != 0.0
    zero = -float(np.mean(weights[moving] / line[moving]))  # where the weights that move are 0
    middles = [_middle(float(ends[k]), float(ends[k + 1]), zero) for k in around]
    best = 0
    if len(around) > 1:  # a tie; elsewhere the statistics of all winners on the line would be asked for in vain
        surface = problem.surface(found)
        best = int(np.argmin(problem.metric.loss(np.array([surface.at(middle) for middle in middles]))))
    tied = bool(ends[around[best]] >= -size or ends[around[best] + 1] <= size)
    return weights + middles[best] * line, tied


def _ends_around(line: Line, high: float, first: float, last: float) -> Floats:
    """The ends, in order, of the intervals of a line up to ``high`` that have a part between two places. O(segments):
    all breakpoints need not be sorted.
    """
    from hulltune.kernels.certify.certify import nearest_changes

    before, within, after = nearest_changes(line.lefts, line.low, high, first, last)
    return np.array([before, *np.unique(within), after])


def _middle(left: float, right: float, zero: float) -> float:
    """The middle of an interval; with a single end, the place as far inside as that end is from ``zero``."""
    if math.isinf(left) and math.isinf(right):
        return 0.0
    if math.isinf(left):
        return right - max(abs(right - zero), 1.0)
    return left + max(abs(left - zero), 1.0) if math.isinf(right) else left + (right - left) / 2.0


def extents(
    problem: Problem,
    weights: Floats,
    lines: dict[str, Floats],
    constraints: CompiledConstraints,
    workers: Workers = ALONE,
) -> dict[str, tuple[float | None, float | None]]:
    """For each named feature, the ends of the range of its weight in which no output changes; None for no end."""
    found: dict[str, tuple[float | None, float | None]] = {}
    for name, line in lines.items():
        k = constraints.names.index(name)
        interval = constraints.interval(weights, line)
        if interval is None:
            found[name] = (float(weights[k]), float(weights[k]))
            continue
        (on_line,) = problem.search(weights, line[None], np.array([interval]), workers=workers)
        steps = _ends_around(on_line, interval[1], 0.0, 0.0)[-2:]  # a breakpoint at 0 is the end on the left
        ends = [float(weights[k] + step * line[k]) if math.isfinite(step) else None for step in steps]
        found[name] = (ends[0], ends[1])
    return found
