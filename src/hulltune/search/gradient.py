"""The direction in which the expected metric rises fastest: one good direction where features are many."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hulltune.search.directions import inverse_units
from hulltune.search.interface import Problem

Floats = NDArray[np.float64]


def loss_gradient(problem: Problem, total: NDArray[np.generic]) -> Floats:
    """How the corpus loss changes with each statistic around ``total``: central differences of one count."""
    point = np.asarray(total, dtype=np.float64)
    step = np.maximum(1.0, np.abs(point) * 1e-3)
    moves = np.diag(step)
    with np.errstate(all="ignore"):
        change = problem.metric.loss(point + moves) - problem.metric.loss(np.maximum(point - moves, 0.0))
    slopes = change / (point + step - np.maximum(point - step, 0.0))
    return np.where(np.isfinite(slopes), slopes, 0.0)


def expected_metric_direction(problem: Problem, weights: Floats, *, units: Floats, temperature: float = 1.0) -> Floats:
    """Minus the gradient of the expected loss under p ∝ exp(score / temperature), linearised in the statistics.

    Taken over the problem's ``rivals``: every candidate of a list, and what wins around the weights of a forest; the
    statistics of all these are asked for. Scores are first brought to a mean range of ``1 / temperature`` nats a
    sentence, so that the answer does not depend on the scale of the weights. The gradient is taken over scaled
    features. O(candidates × (features + statistics)).
    """
    offsets, candidates, values = problem.rivals(weights, units)
    sizes = np.diff(offsets)
    starts = offsets[:-1][sizes > 0]
    sizes = sizes[sizes > 0]
    scores = values @ weights
    spread = float(np.mean(np.maximum.reduceat(scores, starts) - np.minimum.reduceat(scores, starts)))
    scores = scores * (4.0 / temperature / spread) if spread > 0.0 else scores
    likelihood = np.exp(scores - np.repeat(np.maximum.reduceat(scores, starts), sizes))
    likelihood /= np.repeat(np.add.reduceat(likelihood, starts), sizes)
    slope = loss_gradient(problem, problem.picks(weights).total)
    rows = problem.rows(candidates)  # before the table, which grows by what is asked for
    losses = problem.table[rows] @ slope
    expected = np.add.reduceat(likelihood * losses, starts)
    pull = likelihood * (losses - np.repeat(expected, sizes))
    gradient = pull @ values
    inverse = inverse_units(units)
    direction: Floats = -gradient * inverse**2
    return direction
