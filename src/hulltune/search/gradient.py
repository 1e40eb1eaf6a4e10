"""The climb with gradients: where features are many, the direction in which the expected metric rises fastest helps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Floats
from hulltune.errors import InputError
from hulltune.metrics.base import Metric
from hulltune.search.climbing import Climber
from hulltune.search.directions import inverse_units
from hulltune.search.problem import Problem, row_sums
from hulltune.search.random_climb import Climb
from hulltune.search.whitening import rivals

TEMPERATURES = (0.25, 1.0, 4.0)
"""The temperatures of the gradients of a round."""
_LN2_HIGH, _LN2_LOW = float.fromhex("0x1.62e42fee00000p-1"), float.fromhex("0x1.a39ef35793c76p-33")
"""The logarithm of 2 in two parts; the first has so few digits that its product with a small whole number is exact."""
_TAYLOR = [1.0 / math.factorial(k) for k in range(14)]


@dataclass(frozen=True)
class GradientClimb(Climb):
    """Climbs like Climb, with gradients of the expected metric among the directions of every round; for many features.

    There is a gradient for each of a few temperatures: with a low one nearly best outputs count, with a high one all.
    On 2,000 sparse features three temperatures reach 72.3 BLEU in 2 s on the data that they are tuned on, and 65.5 on
    other data, where one temperature reaches 68.4 and 62.7.

    >>> from hulltune import GradientClimb, tune
    >>> from hulltune.simulate import simulated_task
    >>> task = simulated_task(sentences=20, candidates=10)
    >>> result = tune(task.lists, metric="wer", search=GradientClimb(restarts=1))
    >>> result.score < result.start_score
    True
    """

    name: ClassVar[str] = "gradient"

    def further_lines(self, climber: Climber, weights: Floats) -> list[Floats]:
        """The directions in which the expected metric rises fastest."""
        problem = climber.setting.problem
        if problem.orders is not None:
            raise InputError(
                f"search: gradient follows the expected value of one candidate, but {problem.metric.name} measures "
                "orders; expected another search, such as cma"
            )
        return expected_metric_directions(problem, weights, units=climber.setting.units)


def loss_gradient(metric: Metric, total: NDArray[np.generic]) -> Floats:
    """The derivatives of the corpus loss by each statistic at ``total``: central differences of about one count."""
    point = np.asarray(total, dtype=np.float64)
    step = np.maximum(1.0, np.abs(point) * 1e-3)
    moves = np.diag(step)
    with np.errstate(all="ignore"):
        change = metric.loss(point + moves) - metric.loss(np.maximum(point - moves, 0.0))
    slopes = change / (point + step - np.maximum(point - step, 0.0))
    return np.where(np.isfinite(slopes), slopes, 0.0)


def expected_metric_directions(
    problem: Problem, weights: Floats, *, units: Floats, temperatures: Sequence[float] = TEMPERATURES
) -> list[Floats]:
    """For each temperature, minus the gradient of the expected loss under p ∝ exp(score / temperature), linearised in
    the statistics.

    The expectation is over ``rivals``: every hypothesis of a list, and the outputs of a forest that win around
    the weights. The metric is asked for the statistics of all of them. Scores are first brought to a mean range of
    4 nats a sentence, so that the answer does not depend on the scale of the weights. The gradient is taken over
    scaled features. O(feature values + candidates × statistics).
    """
    offsets, outputs, features = rivals(problem, weights, units)
    sizes = np.diff(offsets)
    starts = offsets[:-1][sizes > 0]
    sizes = sizes[sizes > 0]
    # Every sum is exact or in a fixed order: neither the processor nor the order of sentences changes a bit.
    scores = features.times(weights)
    highest = np.maximum.reduceat(scores, starts)
    ranges = highest - np.minimum.reduceat(scores, starts)
    spread = math.fsum(ranges.tolist()) / len(ranges)
    below = scores - np.repeat(highest, sizes)
    slope = loss_gradient(problem.metric, problem.picks(weights).total)
    rows = problem.rows(outputs)  # before reading the table: asking for rows may grow it
    losses = row_sums(problem.table[rows], slope)
    inverse = inverse_units(units)
    directions = []
    for temperature in temperatures:
        likelihood = exp_of_negative(below * (4.0 / temperature / spread) if spread > 0.0 else below)
        likelihood /= np.repeat(np.add.reduceat(likelihood, starts), sizes)
        expected = np.add.reduceat(likelihood * losses, starts)
        pull = likelihood * (losses - np.repeat(expected, sizes))
        directions.append(-features.weighted_sum(pull, starts) * inverse**2)
    return directions


def exp_of_negative(values: Floats) -> Floats:
    """e to the power of numbers that are not above 0, within two units of the last place.

    By sums and products alone, which every processor rounds alike; NumPy's own function differs between processors.
    """
    values = np.maximum(values, -700.0)  # what is less cannot be told from 0 beside the 1 of the best
    powers = np.rint(values * (1.0 / math.log(2.0)))
    rest = (values - powers * _LN2_HIGH) - powers * _LN2_LOW
    result = np.full(len(values), _TAYLOR[-1])
    for factor in reversed(_TAYLOR[:-1]):
        result = result * rest + factor
    scaled: Floats = np.ldexp(result, powers.astype(np.int64))
    return scaled
