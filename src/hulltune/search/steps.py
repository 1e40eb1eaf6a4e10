"""Exact line searches along many directions at once, and the best step along each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from hulltune.arrays import Bools, Floats, Int64s
from hulltune.errors import InputError
from hulltune.names import POLICIES
from hulltune.search.constraints import CompiledConstraints
from hulltune.search.penalty import Penalty
from hulltune.search.policies import Policy, choose
from hulltune.search.problem import Line, Problem
from hulltune.search.shards import Changes
from hulltune.threads import ALONE, Workers

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

    def __iter__(self) -> Iterator[Move]:
        return map(self.move, range(len(self)))

    def move(self, line: int) -> Move:
        """The result of one line."""
        return Move(self.weights_at(line), float(self.losses[line]), self.directions[line])

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
    problem: Problem,
    origin: Floats,
    current_loss: float,
    directions: Sequence[Floats] | Floats,
    constraints: CompiledConstraints,
    policy: Policy,
    *,
    reach: Floats | None = None,
    within: float = math.inf,
    points: Floats | None = None,
    workers: Workers = ALONE,
) -> Round:
    """The best step along each direction within the constraints; all share one pass over the features.

    Directions are restricted to the weights that may move. Steps are at most ``within`` long, as multiples of their
    direction: short lines cost less. ``points`` asks for the loss at some points of each line, too, a row of them for
    each direction, in increasing order: they are read off the error surface and cost next to nothing.
    """
    at_once = max(AT_ONCE // len(origin), LEAST_AT_ONCE)
    search = partial(_search_some, problem, origin, current_loss, constraints, policy, reach, within, workers)
    points = np.empty((len(directions), 0)) if points is None else np.asarray(points, dtype=np.float64)
    if 0 < len(directions) <= at_once:
        return search(np.array(directions), points)
    rounds = []
    for first in range(0, len(directions), at_once):
        some = slice(first, first + at_once)
        found = search(np.array(directions[some]), points[some])
        rounds.append(replace(found, numbers=found.numbers + first))
    return Round(
        origin,
        current_loss,
        numbers=np.concatenate([each.numbers for each in rounds] or [np.empty(0, dtype=np.int64)]),
        directions=np.concatenate([each.directions for each in rounds] or [np.empty((0, len(origin)))]),
        etas=np.concatenate([each.etas for each in rounds] or [np.empty(0)]),
        losses=np.concatenate([each.losses for each in rounds] or [np.empty(0)]),
        sampled=np.concatenate([each.sampled for each in rounds] or [points]),
    )


def _search_some(
    problem: Problem,
    origin: Floats,
    current_loss: float,
    constraints: CompiledConstraints,
    policy: Policy,
    reach: Floats | None,
    within: float,
    workers: Workers,
    directions: Floats,
    points: Floats,
) -> Round:
    """The best step along each of the directions, which are few enough for tables over all weights."""
    lines = constraints.restrict(directions)
    intervals, room = constraints.intervals(origin, lines, reach)
    intervals = np.minimum(np.maximum(intervals, -within), within)
    lines, intervals, points = lines[room], intervals[room], points[room]
    numbers = np.flatnonzero(room)
    if not len(lines):
        return Round(origin, current_loss, numbers, lines, np.empty(0), np.empty(0), points)
    scales = _sizes_beside(origin, lines)
    with problem.changes(origin, lines, intervals, workers=workers) as changes:
        if problem.penalty is None:
            steps = _steps(problem, changes, intervals, current_loss, policy, scales, points, workers)
        else:
            rows = problem.penalty.along(origin, lines)
            steps = _penalised_steps(
                problem, problem.penalty, changes, intervals, current_loss, rows, scales, points, workers
            )
    etas, losses, sampled = steps
    sampled[(points < intervals[:, :1]) | (points > intervals[:, 1:])] = np.nan
    kept = _kept(origin, lines, etas, constraints)
    return Round(origin, current_loss, numbers[kept], lines[kept], etas[kept], losses[kept], sampled[kept])


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


def _steps(
    problem: Problem,
    changes: Changes,
    intervals: Floats,
    current_loss: float,
    policy: Policy,
    scales: Floats,
    points: Floats,
    workers: Workers,
) -> tuple[Floats, Floats, Floats]:
    """The step to the best point of each line and the loss there (0 and the current loss if nothing is better), and
    the losses at the points of each line, which increase.

    One kernel decides for all lines. Left over are smoothed losses, statistics that are no small whole numbers,
    intervals without the origin, and lines where slivers are among the best intervals.
    """
    from hulltune.kernels.surfaces.steps import choose_steps

    lines = len(intervals)
    etas, losses, sampled = np.empty(lines), np.empty(lines), np.empty(points.shape)
    sure = np.zeros(lines, dtype=np.bool_)
    minima = None
    if policy.smoothing == "none":
        minima = problem.minima(changes, intervals, np.full(lines, current_loss), points=points, workers=workers)
    if minima is not None:
        etas, losses, sure = choose_steps(
            minima.breakpoints, minima.counts, minima.offsets, minima.numbers, minima.losses,
            intervals, scales, current_loss, POLICIES.index(policy.name),
        )  # fmt: skip
        sampled = minima.sampled
        problem.release(minima)
        sure &= (intervals[:, 0] <= 0.0) & (intervals[:, 1] >= 0.0)
    for line in np.flatnonzero(~sure).tolist():
        low, high = intervals[line].tolist()
        begin, end = int(changes.begins[line]), int(changes.ends[line])
        surface = problem.surface(Line(low, changes.all_lefts[begin:end], changes.all_outputs[begin:end]))
        all_losses = surface.losses(problem.metric.loss)
        try:
            step = choose(
                surface.breakpoints, all_losses,
                policy=policy, interval=(low, high), current_loss=current_loss, scale=float(scales[line]),
            )  # fmt: skip
            etas[line], losses[line] = step.eta, step.loss
        except InputError:  # the origin is outside, and the interval too narrow or too far away to be entered
            etas[line], losses[line] = 0.0, current_loss
        sampled[line] = all_losses[np.searchsorted(surface.breakpoints, points[line], side="right")]
    return etas, losses, sampled


def _penalised_steps(
    problem: Problem,
    penalty: Penalty,
    changes: Changes,
    intervals: Floats,
    current_loss: float,
    rows: Floats,
    scales: Floats,
    points: Floats,
    workers: Workers,
) -> tuple[Floats, Floats, Floats]:
    """The step to the smallest sum of loss and penalty on each line, that sum, and the sums at the points of each line.

    ``rows`` are the penalties along the lines (see Penalty.along). An interval is of use only if its loss and the least
    penalty of the whole line are below the current sum: the rest is passed over by rough losses.
    """
    from hulltune.kernels.surfaces.steps import choose_penalised

    below = current_loss - penalty.least(rows)
    minima = problem.minima(changes, intervals, below, only_best=False, points=points, workers=workers)
    if minima is not None:
        etas, sums = choose_penalised(
            minima.breakpoints, minima.counts, minima.offsets, minima.numbers, minima.losses,
            intervals, scales, current_loss, rows, penalty.angle,
        )  # fmt: skip
        sampled = minima.sampled
        problem.release(minima)
    else:
        lines = len(intervals)
        etas, sums, sampled = np.empty(lines), np.empty(lines), np.empty(points.shape)
        for line in range(lines):
            begin, end = int(changes.begins[line]), int(changes.ends[line])
            low = float(intervals[line, 0])
            surface = problem.surface(Line(low, changes.all_lefts[begin:end], changes.all_outputs[begin:end]))
            losses = surface.losses(problem.metric.loss)
            some = slice(line, line + 1)
            (etas[line],), (sums[line],) = choose_penalised(
                surface.breakpoints[None, :], np.array([len(surface.breakpoints)]), np.array([0, len(losses)]),
                np.arange(len(losses)), losses, intervals[some], scales[some], current_loss, rows[some], penalty.angle,
            )  # fmt: skip
            sampled[line] = losses[np.searchsorted(surface.breakpoints, points[line], side="right")]
    return etas, sums, sampled + penalty.at(rows, points)
