"""Cells: weights with the same outputs. On a line, an exact line search sees all of them."""

from __future__ import annotations

import math

import numpy as np

from hulltune.arrays import Floats
from hulltune.certified.limits import Clock
from hulltune.certified.space import Space
from hulltune.search.certificate import Ends
from hulltune.search.constraints import CompiledConstraints
from hulltune.search.problem import Line, Problem
from hulltune.threads import ALONE, Workers

ROUNDS = 3
HAIR = 2.0**-40
"""Weights nearer to a breakpoint than this share of the largest scaled weight lie on it."""
MOST_TRIED = 64
"""The most cells of the least loss whose middle is decoded, the widest first: rounding may change the loss of some."""


def best_on_the_line(
    problem: Problem, space: Space, clock: Clock, workers: Workers = ALONE
) -> tuple[Floats, float, float]:
    """The weights in the middle of the best cell of a space of one line, of equally good cells the widest; their loss;
    and a bound of all losses.

    Cells thinner than HAIR of their own weight do not count, as in every certificate. If decoding in the middle of a
    cell disagrees with the line search, the bound stays that of the line search, and the gap shows the difference.
    """
    faces = space.faces
    low, high = float((faces.lows[:, 1] / faces.lows[:, 0]).min()), float((faces.highs[:, 1] / faces.lows[:, 0]).max())
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
    best, loss = np.empty(0), math.inf
    for cell in np.lexsort((lefts - rights, losses))[:MOST_TRIED].tolist():
        if not losses[cell] < loss or (math.isfinite(loss) and clock.is_over):
            break
        weights = space.weights(np.array([1.0, middles[cell]]))
        decoded = problem.loss(weights, workers=workers)
        if decoded < loss:
            best, loss = weights, decoded
    return best, loss, min(float(losses.min()), loss)


def middle_of_cell(
    problem: Problem, weights: Floats, loss: float, space: Space, clock: Clock, workers: Workers = ALONE
) -> tuple[Floats, float]:
    """The weights moved to the middle of their cell along one line after the other, a few times over, and their loss.

    A tie belongs to no cell: weights on one move to its better side, where the loss may be larger. When time is over,
    they stay where they are by then.
    """
    for _ in range(ROUNDS):
        before = weights
        for line in space.lines:
            if clock.is_over:
                return weights, loss
            moved = _centred(problem, weights, line, space, workers)
            if moved is not None and space.constraints.violation(moved[0]) is None:
                new_loss = problem.loss(moved[0], workers=workers)
                if new_loss <= loss or moved[1]:
                    weights, loss = moved[0], new_loss
        if np.array_equal(before, weights):
            break
    return weights, loss


def _centred(
    problem: Problem, weights: Floats, line: Floats, space: Space, workers: Workers
) -> tuple[Floats, bool] | None:
    """The middle of the cell on a line, and whether the weights were on a tie."""
    interval = space.constraints.interval(weights, line)
    if interval is None:
        return None
    (found,) = problem.search(weights, line[None], np.array([interval]), workers=workers)
    # Distances are in units of the lines, because the weights themselves may be of very different sizes.
    used = space.scales > 0.0
    size = HAIR * max(float(np.max(np.abs(weights[used]) / space.scales[used])), math.ulp(0.0))
    ends = ends_around(found, interval[1], -size, size)
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
    from hulltune.kernels.certify.winners import nearest_changes

    before, within, after = nearest_changes(line.lefts, line.low, high, first, last)
    return np.array([before, *np.unique(within), after])


def extents(
    problem: Problem,
    weights: Floats,
    lines: dict[str, Floats],
    constraints: CompiledConstraints,
    workers: Workers = ALONE,
) -> dict[str, Ends]:
    """For each named feature, the ends of the range of its weight in which no output changes; None for no end."""
    found: dict[str, Ends] = {}
    for name, line in lines.items():
        weight, size = (float(values[constraints.names.index(name)]) for values in (weights, line))
        interval = constraints.interval(weights, line)
        if interval is None:
            found[name] = weight, weight
            continue
        (on_line,) = problem.search(weights, line[None], np.array([interval]), workers=workers)
        steps = ends_around(on_line, interval[1], 0.0, 0.0)[-2:].tolist()  # a breakpoint at 0 is the end on the left
        first, last = (weight + step * size if math.isfinite(step) else None for step in steps)
        found[name] = first, last
    return found
