"""Other ways to tune: random search, a grid, CMA-ES and Optuna's TPE, each for the same time.

All see weights in units of the features (1 / typical difference), start from the same equal weights, and score them
in the fastest way there is here: one matrix product, then one row of known statistics for each sentence.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from time import process_time

import numpy as np
from numpy.typing import NDArray

from hulltune.data.features import DenseFeatures
from hulltune.search.directions import feature_units
from hulltune.search.problem import Problem

Floats = NDArray[np.float64]
RANDOM_TRIALS = 1000
SIGMA = 1.0  # the first step of CMA-ES, where equal weights are 1: at 2 s no worse than 0.25 or 0.5 on two sets
GRID_FEATURES = 3
GRID_REACH = 2.0  # each way, where equal weights are 1


class Objective:
    """The loss of scaled weights; keeps the time and remembers the best.

    Time is CPU time, which is fair where other programs run as well; on a free core it equals wall time.
    """

    def __init__(self, problem: Problem) -> None:
        features = problem.corpus.features
        edges = problem.corpus.sentence_edges
        assert isinstance(features, DenseFeatures)
        assert np.all(np.diff(edges) > 0), "a sentence without hypotheses"
        units = feature_units(problem.corpus)
        self.per_unit = np.divide(1.0, units, out=np.zeros_like(units), where=units > 0.0)
        self._scaled = np.ascontiguousarray(features.values * self.per_unit)
        rows = problem.rows(problem.choices()[1])  # first, as it may replace the table
        self._statistics = problem.table[rows]
        self._starts, self._sizes, self._loss = edges[:-1], np.diff(edges), problem.metric.loss
        self.start(0.0)

    def start(self, seconds: float) -> None:
        """Forget the best, and give a contender this much time."""
        self.trials, self.best_loss, self.best = 0, np.inf, np.ones(self.dimensions)
        self.improvements: list[tuple[float, Floats]] = []
        self.began = process_time()
        self.end = self.began + seconds

    @property
    def dimensions(self) -> int:
        """The number of weights."""
        return len(self.per_unit)

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        return process_time() >= self.end

    @property
    def weights(self) -> Floats:
        """The best weights, in the units of the data."""
        return self.best * self.per_unit

    def __call__(self, point: Floats) -> float:
        """The loss at a point; of equal scores the first counts. O(hypotheses × features)."""
        scores = self._scaled @ point
        highest = np.repeat(np.maximum.reduceat(scores, self._starts), self._sizes)
        at_best = np.flatnonzero(scores == highest)
        first = at_best[np.searchsorted(at_best, self._starts)]
        loss = float(self._loss(self._statistics[first].sum(axis=0)))
        self.trials += 1
        if loss < self.best_loss:
            self.best_loss, self.best = loss, np.array(point)
            self.improvements.append((process_time() - self.began, self.best))
        return loss

    def whitened(self) -> Floats:
        """A matrix that makes correlated features independent: a root of the inverse of their covariance in lists."""
        means = np.add.reduceat(self._scaled, self._starts, axis=0) / self._sizes[:, None]
        apart = self._scaled - np.repeat(means, self._sizes, axis=0)
        values, vectors = np.linalg.eigh(
            apart.T.copy() @ apart
        )  # without the copy, BLAS may take a hundred times as long
        root = vectors / np.sqrt(values + 0.05 * np.mean(values)) @ vectors.T
        scaled: Floats = root / np.sqrt(np.mean(np.sum(root**2, axis=1)))
        return scaled


def random_trials(objective: Objective, seed: int) -> None:
    """The first RANDOM_TRIALS of random search, or fewer if the time is up."""
    _random(objective, seed, RANDOM_TRIALS)


def random_search(objective: Objective, seed: int) -> None:
    """Try Gaussian weights until the time is up."""
    _random(objective, seed, None)


def _random(objective: Objective, seed: int, trials: int | None) -> None:
    rng = np.random.default_rng(seed)
    objective(np.ones(objective.dimensions))
    while not objective.over and (trials is None or objective.trials < trials):
        objective(rng.standard_normal(objective.dimensions))


def grid(objective: Objective, seed: int) -> None:
    """Three features on a grid as fine as the time permits, the others fixed: first at equal weights, then at 0.

    The three are chosen one after the other: each time the feature whose coarse grid gains most.
    """
    coarse = np.linspace(-GRID_REACH, GRID_REACH, 9)
    for half, others in ((0.5, 1.0), (1.0, 0.0)):
        before, trials, point = process_time(), objective.trials, np.full(objective.dimensions, others)
        chosen: tuple[int, ...] = ()
        while len(chosen) < GRID_FEATURES:
            free = [k for k in range(len(point)) if k not in chosen]
            _, k, value = min((objective(_with(point, (k,), (value,))), k, value) for k in free for value in coarse)
            chosen, point = (*chosen, k), _with(point, (k,), (value,))
        each = (process_time() - before) / (objective.trials - trials)
        end = objective.began + half * (objective.end - objective.began)
        points = max(2, int((max(0.0, end - process_time()) / each) ** (1.0 / len(chosen))))
        for values in itertools.product(np.linspace(-GRID_REACH, GRID_REACH, points), repeat=len(chosen)):
            if process_time() >= end:
                break
            objective(_with(point, chosen, values))


def _with(point: Floats, places: tuple[int, ...], values: tuple[float, ...]) -> Floats:
    changed = point.copy()
    changed[list(places)] = values
    return changed


def cma_es(objective: Objective, seed: int, *, sigma: float = SIGMA, whitened: bool = False) -> None:
    """CMA-ES from equal weights; when it has converged, again from random weights with twice the population.

    ``whitened`` lets it see the weights of independent combinations of features (see Objective.whitened).
    """
    import cma

    rng = np.random.default_rng(seed)
    root = objective.whitened() if whitened else np.eye(objective.dimensions)
    point, population = np.ones(objective.dimensions), 4 + int(3 * np.log(objective.dimensions))
    point = np.asarray(np.linalg.solve(root, point), dtype=np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of flat regions, of which a step function has many
        for attempt in itertools.count(1):
            options = {"verbose": -9, "seed": 1000 * seed + attempt, "popsize": population}
            strategy = cma.CMAEvolutionStrategy(point, sigma, options)
            while not strategy.stop():
                points = strategy.ask()
                losses = []
                for candidate in points:
                    losses.append(objective(root @ candidate if whitened else candidate))
                    if objective.over:
                        return
                strategy.tell(points, losses)
            point, population = rng.standard_normal(objective.dimensions), 2 * population


def optuna_tpe(objective: Objective, seed: int) -> None:
    """Optuna's tree-structured Parzen estimator with its defaults, weights between −1 and 1."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    names = [f"w{k}" for k in range(objective.dimensions)]
    study.enqueue_trial(dict.fromkeys(names, 1.0))
    while not objective.over:
        trial = study.ask()
        study.tell(trial, objective(np.array([trial.suggest_float(name, -1.0, 1.0) for name in names])))


RIVALS: dict[str, Callable[[Objective, int], None]] = {
    f"random search, {RANDOM_TRIALS} trials": random_trials,
    "random search": random_search,
    f"grid over {GRID_FEATURES} features": grid,
    "CMA-ES": cma_es,
    "Optuna TPE": optuna_tpe,
}
