"""Cells: weights with the same outputs. On a line, an exact line search sees all of them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from hulltune.arrays import Floats
from hulltune.certified.clock import Clock
from hulltune.certified.space import Space
from hulltune.search.certificate import Ends
from hulltune.search.problem import Line
from hulltune.search.steps import Position
from hulltune.search.strategy import Setting

ROUNDS = 3
HAIR = 2.0**-40
"""Weights nearer to a breakpoint than this share of the largest scaled weight lie on it."""
MOST_TRIED = 64
"""The most cells of the least loss whose middle is decoded, the widest first: rounding may change the loss of some."""


def best_on_the_line(setting: Setting, space: Space, clock: Clock) -> tuple[Position, float]:
    """The middle of the best cell of a space of one line, of equally good cells the widest; and a bound of all losses.

    Cells thinner than HAIR of their own weight do not count, as in every certificate. If decoding in the middle of a
    cell disagrees with the line search, the bound stays that of the line search, and the gap shows the difference.
    """
    problem, workers = setting.problem, setting.workers
    low, high = float((space.lows[:, 1] / space.lows[:, 0]).min()), float((space.highs[:, 1] / space.lows[:, 0]).max())
    (found,) = problem.search(space.axes[:, 0], space.lines[0][None], np.array([[low, high]]), workers=workers)
    problem.rows(found.outputs, workers=workers)  # the metric is asked by all threads
    surface = problem.surface(found)
    places = found.changes
    ends = np.concatenate([[low], places[(places > low) & (places < high)], [high]])
    # HAIR of the weight itself, not of its unit: an outlier makes the unit so large that all other cells look thin.
    thick = np.diff(ends) > HAIR * np.maximum(np.abs(ends[:-1]), np.abs(ends[1:]))
    if not np.any(thick):  # the region itself is a hair
        thick[:] = True
    lefts, rights = ends[:-1][thick], ends[1:][thick]
    cells = zip(lefts.tolist(), rights.tolist(), strict=True)
    middles = np.array([_middle(left, right, 0.0, low, high) for left, right in cells])
    losses = surface.losses(problem.metric.loss)[np.searchsorted(surface.breakpoints, middles, side="right")]
    best = Position(np.empty(0), math.inf, 1)
    for cell in np.lexsort((lefts - rights, losses))[:MOST_TRIED].tolist():
        if not losses[cell] < best.loss or (math.isfinite(best.loss) and clock.is_over):
            break
        weights = space.weights(np.array([1.0, middles[cell]]))
        loss = setting.loss(weights)
        if loss < best.loss:
            best = Position(weights, loss, 1)
    return best, float(losses.min())


def middle_of_cell(setting: Setting, position: Position, space: Space, clock: Clock) -> Position:
    """The position moved to the middle of its cell along one line after the other, a few times over.

    A tie belongs to no cell: weights on one move to its better side, where the loss may be larger. When time is over,
    they stay where they are by then.
    """
    for _ in range(ROUNDS):
        before = position.weights
        for line in space.lines:
            if clock.is_over:
                return position
            weights, tied = _centred(setting, position.weights, line, space)
            if weights is not position.weights and setting.constraints.violation(weights) is None:
                loss = setting.loss(weights)
                if loss <= position.loss or tied:
                    position = replace(position, weights=weights, loss=loss)
        if np.array_equal(before, position.weights):
            break
    return position


def _centred(setting: Setting, weights: Floats, line: Floats, space: Space) -> tuple[Floats, bool]:
    """The middle of the cell on a line, and whether the weights were on a tie; the weights themselves if the cell is
    too thin to have a middle.
    """
    problem, interval = setting.problem, setting.constraints.interval(weights, line)
    if interval is None:
        return weights, False
    (found,) = problem.search(weights, line[None], np.array([interval]), workers=setting.workers)
    # Distances are in units of the lines, because the weights themselves may be of very different sizes.
    used = space.scales > 0.0
    size = HAIR * max(float(np.max(np.abs(weights[used]) / space.scales[used])), math.ulp(0.0))
    ends = ends_around(found, interval[1], -size, size)
    around = np.flatnonzero((ends[:-1] <= size) & (ends[1:] >= -size) & (ends[1:] - ends[:-1] > 2.0 * size))
    if not len(around):
        return weights, False
    moving = line != 0.0
    zero = -float(np.mean(weights[moving] / line[moving]))  # where the weights that move are 0
    middles = [_middle(float(ends[k]), float(ends[k + 1]), zero) for k in around]
    best = 0
    if len(around) > 1:  # a tie; elsewhere the statistics of all winners on the line would be asked for in vain
        surface = problem.surface(found)
        best = int(np.argmin(problem.metric.loss(np.array([surface.at(middle) for middle in middles]))))
    tied = bool(ends[around[best]] >= -size or ends[around[best] + 1] <= size)
    return weights + middles[best] * line, tied


def _middle(left: float, right: float, zero: float, low: float = -math.inf, high: float = math.inf) -> float:
    """The middle of a cell between ``low`` and ``high``.

    A cell that reaches one of these has a single end of its own: then the place as far inside as that end is from
    ``zero``, but not beyond the middle. Where both ends are infinite, it is 0.
    """
    half = left + (right - left) / 2.0  # not a number if the left end is infinite: min and max pass over that
    if left <= low and right >= high:
        return 0.0 if left < 0.0 < right else half
    if left <= low:
        return max(right - max(abs(right - zero), 1.0), half)
    return min(left + max(abs(left - zero), 1.0), half) if right >= high else half


def ends_around(line: Line, high: float, first: float, last: float) -> Floats:
    """The ends, in order, of the intervals of a line up to ``high`` that have a part between two places. O(segments):
    all breakpoints need not be sorted.
    """
    lefts = line.lefts[line.lefts != line.low]
    before, after = lefts[lefts < first], lefts[lefts > last]
    within = np.unique(lefts[(lefts >= first) & (lefts <= last)])
    return np.array([before.max() if len(before) else line.low, *within, after.min() if len(after) else high])


def extents(setting: Setting, weights: Floats, space: Space) -> dict[str, Ends]:
    """For each free weight, the ends of the range in which no output changes while the others stay; None for no end."""
    found: dict[str, Ends] = {}
    for group in space.moving:
        line = np.zeros(len(weights))
        line[group] = 1.0
        weight, interval = float(weights[group[0]]), setting.constraints.interval(weights, line)
        ends: Ends = weight, weight
        if interval is not None:
            (on_line,) = setting.problem.search(weights, line[None], np.array([interval]), workers=setting.workers)
            steps = ends_around(on_line, interval[1], 0.0, 0.0)[-2:].tolist()  # a breakpoint at 0 is the left end
            first, last = (weight + step if math.isfinite(step) else None for step in steps)
            ends = first, last
        found |= {setting.constraints.names[k]: ends for k in group}
    return found
