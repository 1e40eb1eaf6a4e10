"""Certified search for one free weight beside fixed ones: an exact line search sees every cell, and is the proof."""

from __future__ import annotations

import math

import numpy as np

from hulltune.certified.cell import HAIR
from hulltune.certified.clock import Clock
from hulltune.certified.search import FINEST_GAP, Limits, Outcome
from hulltune.certified.space import Space
from hulltune.search.problem import Problem
from hulltune.threads import ALONE, Workers

MOST_TRIED = 64
"""The most cells of the least loss whose middle is decoded, the widest first: rounding may change the loss of some."""


def is_a_line(space: Space) -> bool:
    """Whether a single weight (or group of tied weights) moves beside fixed ones."""
    return space.fixed and len(space.lines) == 1


def best_on_the_line(problem: Problem, space: Space, limits: Limits, clock: Clock, workers: Workers = ALONE) -> Outcome:
    """The best cell by one line search over the region; of equally good cells the widest.

    Cells thinner than HAIR of their own weight do not count, as in every certificate. If decoding in the middle of a
    cell disagrees with the line search, the bound stays that of the line search, and the gap shows the difference.
    """
    low, high = _ends(space)
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
    middles = np.array([_middle(*cell, low, high) for cell in zip(lefts.tolist(), rights.tolist(), strict=True)])
    losses = surface.losses(problem.metric.loss)[np.searchsorted(surface.breakpoints, middles, side="right")]
    bound, loss, weights = float(losses.min()), math.inf, np.empty(0)
    for cell in np.lexsort((lefts - rights, losses))[:MOST_TRIED].tolist():
        if not losses[cell] < loss or (math.isfinite(loss) and clock.is_over):
            break
        middle = space.weights(np.array([1.0, middles[cell]]))
        decoded = problem.loss(middle, workers=workers)
        if decoded < loss:
            weights, loss = middle, decoded
    bound = min(bound, loss)
    return Outcome(
        weights=weights,
        loss=loss,
        bound=bound,
        boxes=1,
        line_searches=1,
        seconds=clock.seconds,
        stopped="gap" if loss - bound <= max(limits.gap, FINEST_GAP * abs(loss)) else "rounding",
        history=((1, 1, loss),),
    )


def _ends(space: Space) -> tuple[float, float]:
    """The ends of the region, in units of the line."""
    faces = space.faces
    low, high = faces.lows[:, 1] / faces.lows[:, 0], faces.highs[:, 1] / faces.lows[:, 0]
    return float(low.min()), float(high.max())


def _middle(left: float, right: float, low: float, high: float) -> float:
    """The middle of a cell; with one end at that of the region, the place as far inside as the other end is from 0."""
    if left <= low and right >= high:
        return 0.0 if left < 0.0 < right else left + (right - left) / 2.0
    if left <= low:
        return max(right - max(abs(right), 1.0), left + (right - left) / 2.0)
    if right >= high:
        return min(left + max(abs(left), 1.0), left + (right - left) / 2.0)
    return left + (right - left) / 2.0
