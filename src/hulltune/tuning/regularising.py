"""The search of a run, perhaps regularised: with a penalty on the distance from the start weights, of a strength given
or found by folds.

Regularised MERT adds a penalty to the error (Galley, Quirk, Cherry & Toutanova 2013); smoothing (Cer, Jurafsky &
Manning 2008) is another remedy for weights that fit the tuning data alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Int64s
from hulltune.errors import InputError
from hulltune.metrics.base import Metric
from hulltune.options import SearchOptions
from hulltune.search.constraints import Constraints
from hulltune.search.penalty import Penalty
from hulltune.search.problem import Problem, exact_sum
from hulltune.search.steps import policy_of
from hulltune.search.strategy import Found, Report, Setting, Start, Strategy
from hulltune.threads import Workers, check_threads
from hulltune.tuning.evaluation import folds_of, standard_error
from hulltune.tuning.result import Regularisation
from hulltune.tuning.strategies import get_strategy

FOLDS = 4
"""The number of folds by which strengths are compared."""
SHARES = (0.1, 0.3, 1.0)
"""The strengths compared, beside 0, as shares of the one at which the gain of plain tuning just pays for its way."""
CONVINCING = 1.0
"""The standard errors by which a strength must beat none: the rule of Breiman, Friedman, Olshen & Stone (1984)."""


@dataclass(frozen=True)
class Run:
    """The way to search for weights, whatever the data: that of a run, of its folds and of its replicates."""

    strategy: Strategy
    constraints: Constraints
    seed: int = 1
    threads: int = 1
    regularise: float | str | None = None
    """The strength of regularisation, "auto" to find it by cross-validation, or None for none; see Penalty."""

    @staticmethod
    def of(options: SearchOptions) -> Run:
        """The way that some options ask for; a strategy that cannot regularise is refused where it should."""
        strategy, threads = get_strategy(options.search), check_threads(options.threads)
        if options.regularise is not None:
            check_can_regularise(strategy)
        return Run(strategy, options.constraints or Constraints(), options.seed, threads, options.regularise)

    @property
    def workers(self) -> Workers:
        """The threads of all that is no search."""
        return Workers(self.threads)

    def setting(self, problem: Problem, start: Start, model: Mapping[str, float] | None = None) -> Setting:
        """The setting in which the strategy searches a problem."""
        return Setting.of(problem, self.constraints, start, model, workers=self.workers)

    def find(self, setting: Setting, report: Report | None = None) -> tuple[Found, Regularisation | None]:
        """The weights that the strategy finds, and their penalty if the run is regularised."""
        if self.regularise is None:
            return self.strategy.find(setting, seed=self.seed, threads=self.threads, report=report), None
        if isinstance(self.regularise, str):
            return _automatic(self, setting, report)
        penalty = penalty_of(setting, self.regularise)
        found = _penalised_find(self, setting, penalty, report)
        return found, _described(found, penalty)

    def with_strength_of(self, found: Regularisation | None) -> Run:
        """The run with the strength of regularisation that was found, whoever chose it."""
        return replace(self, regularise=None if found is None else found.strength)


def check_can_regularise(strategy: Strategy) -> None:
    """Refuse a strategy that knows no penalty, or smooths losses."""
    if not hasattr(strategy, "policy"):
        raise InputError(
            f"regularise: a {strategy.name} search proves scores without a penalty; search with another strategy"
        )
    if policy_of(strategy.policy, getattr(strategy, "smoothing", "none")).smoothing != "none":
        raise InputError("regularise: the penalty is weighed against exact losses; leave smoothing at 'none'")


def penalty_of(setting: Setting, strength: float = 1.0) -> Penalty:
    """The penalty on the distance from the start, or from the first weights where only directions matter; from 0 where
    there is no start and the scale of the weights is fixed.
    """
    far = setting.start is None and not setting.constraints.only_direction_matters
    reference = np.zeros_like(setting.first) if far else setting.first
    return Penalty.of(strength, setting.constraints, setting.units, reference)


def _penalised_find(run: Run, setting: Setting, penalty: Penalty, report: Report | None = None) -> Found:
    """The weights with the smallest sum of loss and penalty that the strategy finds, with their own loss."""
    problem = setting.problem
    found = run.strategy.find(replace(setting, penalty=penalty), seed=run.seed, threads=run.threads, report=report)
    return replace(found, loss=problem.loss(found.weights), start_loss=problem.loss(found.start))


def _described(found: Found, penalty: Penalty) -> Regularisation:
    """The penalty of the weights that a search found."""
    value = penalty(found.weights)
    distance = penalty.with_strength(1.0)(found.weights)
    return Regularisation(penalty.strength, distance, value)


def _automatic(run: Run, setting: Setting, report: Report | None) -> tuple[Found, Regularisation]:
    """The weights of a run whose strength is that of the best score on folds that were not tuned on.

    The strengths depend on the data: at the largest, the gain of plain tuning just pays for its distance. Folds share
    the features and the statistics of the problem, and search without restarts. A penalty must earn its place: see
    ``_chosen``.
    """
    plain = run.strategy.find(setting, seed=run.seed, threads=run.threads, report=report)
    unit = penalty_of(setting)
    gain, distance = plain.start_loss - plain.loss, unit(plain.weights)
    sentences = len(setting.problem.corpus)
    none = Regularisation(0.0, distance, 0.0)
    if plain.interrupted or not (gain > 0.0 and distance > 0.0) or sentences < 2 * FOLDS:
        return plain, none
    strengths = (0.0, *(_rounded(share * gain / distance) for share in SHARES))
    unseen = _on_folds(run, setting, strengths)
    if unseen is None:
        return replace(plain, interrupted=True), none
    metric = setting.problem.metric
    losses = [float(metric.loss(exact_sum(statistics))) for statistics in unseen]
    best = _chosen(metric, unseen, losses, run.seed)
    penalty = unit.with_strength(strengths[best])
    found = plain if best == 0 else _penalised_find(run, setting, penalty, report)
    if best:
        found = replace(found, line_searches=found.line_searches + plain.line_searches)
    return found, replace(
        _described(found, penalty), strengths=strengths, scores=tuple(map(metric.score_of, losses)), folds=FOLDS
    )


def _chosen(metric: Metric, unseen: Sequence[NDArray[Any]], losses: Sequence[float], seed: int) -> int:
    """The number of the strength with the smallest loss, if its gain over the first one, which is 0, is more than
    CONVINCING standard errors of that gain; otherwise 0. Of equal losses the largest strength counts.

    The smallest loss alone is often luck: on 50 utterances it chose strengths that cost 6 % of word errors elsewhere.
    """
    best = max(number for number, loss in enumerate(losses) if loss == min(losses))
    error = standard_error(metric, unseen[0], unseen[best], seed=seed)
    return best if losses[0] - losses[best] > CONVINCING * error else 0


def _on_folds(run: Run, setting: Setting, strengths: tuple[float, ...]) -> list[NDArray[Any]] | None:
    """For every strength the statistics of all sentences, each of which was not tuned on; None if interrupted."""
    problem = setting.problem
    strategy = run.strategy
    if hasattr(strategy, "restarts"):  # strengths are compared here, and no best weights are looked for
        strategy = replace(strategy, restarts=0)  # type: ignore[type-var]  # a dataclass
    short = replace(run, strategy=strategy)
    fold_of = folds_of(problem, FOLDS, run.seed)
    found_on: list[list[tuple[Int64s, NDArray[Any]]]] = [[] for _ in strengths]
    for fold in range(FOLDS):
        inside, outside = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
        part = replace(run.setting(problem.subset(inside), setting.start), stop=setting.stop)
        unseen = problem.subset(outside)
        for number, strength in enumerate(strengths):
            found = _penalised_find(short, part, penalty_of(part, strength))
            if found.interrupted:
                return None
            found_on[number].append((outside, unseen.picks(found.weights).statistics))
    return [_in_order(parts) for parts in found_on]


def _in_order(parts: Sequence[tuple[Int64s, NDArray[Any]]]) -> NDArray[Any]:
    """The statistics of all sentences, from those of the sentences of each fold."""
    sentences, statistics = zip(*parts, strict=True)
    ordered: NDArray[Any] = np.concatenate(statistics)[np.argsort(np.concatenate(sentences))]
    return ordered


def _rounded(strength: float) -> float:
    """The strength with two digits, as people would give it."""
    return float(f"{strength:.2g}")
