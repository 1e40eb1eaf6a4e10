"""The climb with gradients: where features are many, the direction in which the expected metric rises fastest helps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Floats
from hulltune.search.climb import Climb
from hulltune.search.climbing import Climber
from hulltune.search.directions import inverse_units
from hulltune.search.problem import Problem


@dataclass(frozen=True)
class GradientClimb(Climb):
    """Climbs like Climb, with the gradient of the expected metric among the directions of every round; for many
    features.
    """

    name: ClassVar[str] = "gradient"

    def further_lines(self, climber: Climber, weights: Floats) -> list[Floats]:
        """The direction in which the expected metric rises fastest."""
        return [expected_metric_direction(climber.setting.problem, weights, units=climber.setting.units)]


def loss_gradient(problem: Problem, total: NDArray[np.generic]) -> Floats:
    """The derivatives of the corpus loss by each statistic at ``total``: central differences of about one count."""
    point = np.asarray(total, dtype=np.float64)
    step = np.maximum(1.0, np.abs(point) * 1e-3)
    moves = np.diag(step)
    with np.errstate(all="ignore"):
        change = problem.metric.loss(point + moves) - problem.metric.loss(np.maximum(point - moves, 0.0))
    slopes = change / (point + step - np.maximum(point - step, 0.0))
    return np.where(np.isfinite(slopes), slopes, 0.0)


def expected_metric_direction(problem: Problem, weights: Floats, *, units: Floats, temperature: float = 1.0) -> Floats:
    """Minus the gradient of the expected loss under p ∝ exp(score / temperature), linearised in the statistics.

    The expectation is over ``problem.rivals``: every hypothesis of a list, and the outputs of a forest that win around
    the weights. The metric is asked for the statistics of all of them. Scores are first brought to a mean range of
    ``4 / temperature`` nats a sentence, so that the answer does not depend on the scale of the weights. The gradient
    is taken over scaled features. O(feature values + candidates × statistics).
    """
    offsets, outputs, features = problem.rivals(weights, units)
    sizes = np.diff(offsets)
    starts = offsets[:-1][sizes > 0]
    sizes = sizes[sizes > 0]
    scores = features.times(weights)
    spread = float(np.mean(np.maximum.reduceat(scores, starts) - np.minimum.reduceat(scores, starts)))
    scores = scores * (4.0 / temperature / spread) if spread > 0.0 else scores
    likelihood = np.exp(scores - np.repeat(np.maximum.reduceat(scores, starts), sizes))
    likelihood /= np.repeat(np.add.reduceat(likelihood, starts), sizes)
    slope = loss_gradient(problem, problem.picks(weights).total)
    rows = problem.rows(outputs)  # before reading the table: asking for rows may grow it
    losses = problem.table[rows] @ slope
    expected = np.add.reduceat(likelihood * losses, starts)
    pull = likelihood * (losses - np.repeat(expected, sizes))
    gradient = features.weighted_sum(pull)
    inverse = inverse_units(units)
    direction: Floats = -gradient * inverse**2
    return direction
