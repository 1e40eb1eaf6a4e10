"""Evolution along exact lines: the covariance of good weights is learnt from losses that line searches show anyway."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from hulltune.arrays import Floats
from hulltune.kernels.directions.matrices import BITS, product, rounded, square_sum
from hulltune.names import EVOLUTIONS
from hulltune.search.climbing import LAST, OTHERS, TOGETHER, Climber, Ends, Heat
from hulltune.search.random_climb import Climb
from hulltune.search.starts import known_starts, random_start, start_near
from hulltune.search.steps import Position, confirmed, search_lines
from hulltune.search.strategy import Setting
from hulltune.search.whitening import Whitening

QUANTILES = np.array([-1.1503, -0.3186, 0.3186, 1.1503])
"""The 1/8, 3/8, 5/8 and 7/8 quantiles of the normal distribution."""
SPREAD = 0.2
"""The first size of steps after a climb from far weights, as a share of the size of the weights."""
SPREADS = (0.12, 0.3)
"""The first sizes of steps around the best weights so far, in turn."""
FAR = 3
"""One search in FAR starts from random weights; the others look around the best so far."""
WITHIN = 1.2
"""The length of the lines of a generation on either side of the mean, as a multiple of the farthest sample: what lies
beyond is seldom better, and costs as much.
"""
LEAST_SPREAD, MOST_SPREAD = 0.002, 5.0
"""Evolution ends when its steps are smaller or larger, as shares of the size of the weights."""


@dataclass(frozen=True)
class LineCma(Climb):
    """Climbs by evolution with an adapted covariance (CMA-ES, Hansen & Ostermeier 2001) that samples exact lines.

    Each generation searches ``directions`` lines through the mean, drawn with the covariance. A line shows its best
    point, and at no further cost the losses at eight points on it, four on either side of the mean, where random
    steps would end. From these 128 samples for the price of 16 lines the mean, the covariance and the size of steps
    are updated. The first covariance is that of whitened directions. After generations without gain, a climb
    (see Climb) from the best weights ends the search.

    >>> from hulltune import LineCma, tune
    >>> from hulltune.simulate import simulated_task
    >>> task = simulated_task(sentences=20, candidates=10)
    >>> result = tune(task.lists, metric="wer", search=LineCma(restarts=1))
    >>> result.score < result.start_score
    True
    """

    name: ClassVar[str] = "cma"

    together: ClassVar[int] = TOGETHER
    """The number of starts that are chosen at a time, and climbed side by side."""
    judged: ClassVar[int] = 3 * LAST

    restarts: int = EVOLUTIONS
    """The number of searches beside that from the start: one in three from random weights, the rest near good ones."""
    max_rounds: int = 1000
    """The most generations of a search, and the most rounds of a climb before or after it."""

    def heats(self, setting: Setting, rngs: Sequence[Generator], ends: Ends) -> Iterator[Heat]:
        """The known starts, then so many starts side by side, each to its end. They lie on the way from the best
        weights so far to others that are nearly as good, with large steps and small ones in turn; one in FAR is random.
        """
        known = known_starts(setting)[: len(rngs)]
        yield Heat([Climber(setting, number, weights, rngs[number]) for number, weights in enumerate(known)])
        for first in range(len(known), len(rngs), self.together):
            best, *others = islice(_of_different_loss(ends()), 1 + OTHERS)
            climbers = []
            for number, rng in enumerate(rngs[first : first + self.together], start=first):
                if number % FAR == 0:
                    climbers.append(Climber(setting, number, random_start(setting, rng), rng))
                else:
                    near = start_near(setting, best, others, 0.0, rng)
                    climbers.append(Climber(setting, number, near, rng, SPREADS[number % 2]))
            yield Heat(climbers)

    def climb(self, climber: Climber, position: Position) -> Iterator[Position]:
        """Positions after each round of a climb from weights that are not known to be good, then after each generation,
        then after each round of a climb from the best.
        """
        if Whitening.is_worthwhile(climber.setting.axes):
            if climber.spread is None:
                for moved in super().climb(climber, position):
                    yield (position := moved)
            for moved in self._evolved(climber, position):
                yield (position := moved)
        yield from super().climb(climber, position)

    def _evolved(self, climber: Climber, position: Position) -> Iterator[Position]:
        setting = climber.setting
        evolution = Evolution(setting, position.weights, climber.spread)
        idle = 0
        for _ in range(self.max_rounds):
            drawn, lines = evolution.draw(max(self.directions, 1), climber.rng)
            steps = np.tile(evolution.steps, (len(lines), 1))
            searched = search_lines(
                setting, evolution.weights, position.loss, evolution.directions(lines),
                points=steps, within=WITHIN * float(steps.max()),
            )  # fmt: skip
            moved = confirmed(setting, searched, position)
            idle = 0 if moved.loss < position.loss else idle + 1
            position = moved
            yield position
            used = searched.numbers
            if idle > evolution.patience or not evolution.learn(drawn[used], lines[used], searched.sampled):
                return


def _of_different_loss(ends: Sequence[Position]) -> Iterator[Floats]:
    """The weights of the first position of each loss: searches that end alike have found one place twice."""
    for place, end in enumerate(ends):
        if place == 0 or end.loss > ends[place - 1].loss:
            yield end.weights


class Evolution:
    """A normal distribution over the coefficients of the free axes, which learns from losses along lines.

    Its numbers are exact, or added up in a fixed order: every processor gives the same bits. Cholesky's factor of the
    covariance takes the place of its root, and the path of the steps is kept in the numbers drawn (Krause & Igel 2015).
    """

    def __init__(self, setting: Setting, weights: Floats, spread: float | None) -> None:
        whitening = setting.whitening
        count = len(whitening.axes)
        self._whitening, self._constraints = whitening, setting.constraints
        self._mean = weights[[group[0] for group, _ in whitening.axes]] / whitening.sizes
        self._fixed = weights.copy()
        self._fixed[whitening.columns] = 0.0
        self._size = math.sqrt(square_sum(self._mean) / count) or 1.0
        self._spread = (SPREAD if spread is None else spread) * self._size
        root = np.eye(count) if whitening.factor is None else whitening.factor
        self._covariance = product(root.T, root)
        self._path, self._drawn_path = np.zeros(count), np.zeros(count)
        self._generation = 0
        variance = 2.0 / (9.0 * count)
        roots = 1.0 - variance + math.sqrt(variance) * QUANTILES  # of the square of the length: Wilson & Hilferty 1931
        lengths = np.sqrt(count * roots * roots * roots)
        self._steps = np.concatenate([-lengths[::-1], lengths])
        self._length = math.sqrt(count) * (1.0 - 1.0 / (4.0 * count) + 1.0 / (21.0 * count**2))  # of normal numbers
        self.patience = 10 + count // 2

    @property
    def weights(self) -> Floats:
        """The weights at the mean. Points that are learnt from keep the constraints, so their mean does but for
        rounding.
        """
        mean = self._fixed + self.directions(self._mean[None])[0]
        clipped: Floats = np.clip(mean, self._constraints.lower, self._constraints.upper)
        return clipped

    @property
    def steps(self) -> Floats:
        """The points of a line at which losses are read, on both sides of the mean: quantiles of a step's length."""
        return self._spread * self._steps

    def directions(self, lines: Floats) -> Floats:
        """The directions over all weights of lines over the axes."""
        return self._whitening.directions(lines)

    def draw(self, count: int, rng: Generator) -> tuple[Floats, Floats]:
        """Random directions of unit length, and the lines over the axes that the covariance makes of them."""
        from hulltune.kernels.directions.matrices import lines_of_draws

        drawn = rng.standard_normal((count, len(self._mean)))
        drawn = rounded(drawn / np.sqrt(np.sum(drawn * drawn, axis=1))[:, None])
        is_positive, lines = lines_of_draws(drawn, self._covariance, BITS)
        assert is_positive, "a sum of a positive definite matrix and squares"
        return drawn, lines

    def learn(self, drawn: Floats, lines: Floats, losses: Floats) -> bool:
        """Learn from the losses at the steps of each line (NaN outside of the constraints), and whether to go on."""
        from hulltune.kernels.directions.matrices import weighted_samples

        best = np.argsort(losses, axis=None, kind="stable")[: int(np.isfinite(losses).sum()) // 2]  # NaN comes last
        if len(best) < 2 or not losses.flat[best[0]] < np.nanmax(losses):
            return False
        count, shares = len(self._mean), _shares(len(best))
        effective = min(1.0 / square_sum(shares), len(lines))
        step_rate = (effective + 2.0) / (count + effective + 5.0)
        damping = 1.0 + 2.0 * max(0.0, math.sqrt((effective - 1.0) / (count + 1.0)) - 1.0) + step_rate
        path_rate = (4.0 + effective / count) / (count + 4.0 + 2.0 * effective / count)
        one_rate = 2.0 / ((count + 1.3) ** 2 + effective)
        many_rate = min(1.0 - one_rate, 2.0 * (effective - 2.0 + 1.0 / effective) / ((count + 2.0) ** 2 + effective))

        step, drawn_step, squares = weighted_samples(best, shares, self.steps / self._spread, lines, drawn, BITS)
        self._mean = self._mean + self._spread * step
        self._generation += 1
        stride = math.sqrt(step_rate * (2.0 - step_rate) * effective)
        self._drawn_path = (1.0 - step_rate) * self._drawn_path + stride * drawn_step
        relative = math.sqrt(square_sum(self._drawn_path)) / self._length
        settled = 1.0 - (1.0 - step_rate) ** (2 * self._generation)
        is_steady = relative * relative / settled < (1.4 + 2.0 / (count + 1.0)) ** 2
        self._path = (1.0 - path_rate) * self._path
        kept = 1.0 - one_rate - many_rate
        if is_steady:
            self._path = self._path + math.sqrt(path_rate * (2.0 - path_rate) * effective) * step
        else:
            kept += one_rate * path_rate * (2.0 - path_rate)
        self._covariance = kept * self._covariance + one_rate * self._path[:, None] * self._path + many_rate * squares
        growth = step_rate / damping * (relative - 1.0)
        self._spread *= 1.0 + growth + growth * growth / 2.0  # exp to the second order, which no library rounds
        return self._rescaled()

    def _rescaled(self) -> bool:
        """Bring the mean to its first size where only its direction matters; whether the steps are of a useful size."""
        if self._constraints.only_direction_matters:
            size = math.sqrt(square_sum(self._mean) / len(self._mean))
            if not size > 0.0:
                return False
            self._mean, self._spread = self._mean * (self._size / size), self._spread * (self._size / size)
        widest = self._spread * math.sqrt(float(np.max(np.diag(self._covariance))))
        return widest > LEAST_SPREAD * self._size and self._spread < MOST_SPREAD * self._size


@cache
def _shares(count: int) -> Floats:
    """The share of each of the best samples in the next mean, which falls with the logarithm of its place."""
    falling = np.array([math.log((count + 0.5) / place) for place in range(1, count + 1)])
    return rounded(falling / math.fsum(falling.tolist()), 40)
