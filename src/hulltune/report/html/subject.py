"""The subject of a page: weights with the data that they are judged on, and what is known about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from hulltune._version import __version__
from hulltune.arrays import Floats
from hulltune.errors import InputError
from hulltune.metrics.base import Metric
from hulltune.search.constraints import Constraints
from hulltune.search.directions import feature_units
from hulltune.search.problem import Problem
from hulltune.search.strategy import Setting
from hulltune.tuning.evaluation import baseline_kind, counts_by_name, paired_bootstrap, without_each_feature
from hulltune.tuning.inputs import WeightsLike, weight_vector
from hulltune.tuning.result import TuneResult
from hulltune.tuning.sensitivity import sensitivity
from hulltune.tuning.tune import other_metrics

MOST_LINES = 64
"""The most weights that a page has a line for: those that are worth most."""
MOST_OF_PLANES = 50_000
"""The most candidates with planes over three pairs of weights, which take three times the time and room of one."""
MOST_SHOWN = 64
"""The most features whose values a page has; the others are one number."""


@dataclass(frozen=True, eq=False)
class Subject:
    """Weights, their data and metric, and other metrics to show beside it."""

    problem: Problem
    result: TuneResult
    """The result that the page tells; of weights that were not tuned here, their scores and ranges."""
    is_tuned: bool
    """Whether the weights were tuned on these data."""
    others: tuple[Problem, ...] = ()
    command: str | None = None

    @property
    def weights(self) -> Floats:
        """The weights in the order of the features."""
        return np.array([self.result.weights[name] for name in self.problem.feature_names])

    @property
    def compared(self) -> Floats | None:
        """The weights of the baseline of forests; None where all sentences have a choice of their own."""
        if self.problem.has_own_choice:
            return None
        if self.problem.orders is not None and not self.is_tuned:
            return Setting.of(self.problem, Constraints(), None).first
        return baseline_weights(self.problem, self.result)

    def groups(self) -> list[tuple[int, ...]]:
        """The free weights, tied ones together, in the order of the features; of many, those worth most."""
        names = self.problem.feature_names
        ranges = {} if self.result.sensitivity is None else dict(self.result.sensitivity.ranges)
        groups: dict[object, list[int]] = {}
        for k, name in enumerate(names):
            if name not in ranges:
                continue
            # Tied weights are equal, and so are their ranges, to the bit.
            ends = ranges[name]
            key: object = k if ends == (None, None) else (self.result.weights[name], ends)
            groups.setdefault(key, []).append(k)
        worth = {tuple(group): max(self._worth(names[k]) for k in group) for group in groups.values()}
        best = sorted(worth, key=lambda group: (-worth[group], group))[:MOST_LINES]
        return sorted(best)

    def _worth(self, name: str) -> float:
        return abs(self.result.without.get(name, 0.0))

    def pairs(self, groups: Sequence[tuple[int, ...]]) -> list[tuple[int, int]]:
        """The two weights of each plane: those that are worth most, and for lists of usual size also each of them with
        the next; none if there are not two.
        """
        names = self.problem.feature_names
        alone = [group[0] for group in groups if len(group) == 1]
        best = sorted(alone, key=lambda k: (-self._worth(names[k]), k))
        few = self.problem.is_lists and self.problem.corpus.edges <= MOST_OF_PLANES
        chosen = best[: 3 if few else 2]
        return [(min(pair), max(pair)) for pair in combinations(chosen, 2)]

    def shown(self, groups: Sequence[tuple[int, ...]], units: Floats) -> list[int]:
        """The features whose values the page has: those with a line, and those with the largest weights."""
        chosen = {k for group in groups for k in group}
        for k in np.argsort(-np.abs(self.weights * units), kind="stable").tolist():
            if len(chosen) >= MOST_SHOWN:
                break
            chosen.add(k)
        return sorted(chosen)


def baseline_weights(problem: Problem, result: TuneResult) -> Floats:
    """The weights that choose the baseline of forests: those of the files, or the start."""
    model = problem.dataset.model
    if model is not None and "files' own scales" in result.baseline_kind:
        return np.array([model.get(name, 0.0) for name in problem.feature_names])
    return np.array([result.start[name] for name in problem.feature_names])


def subject_of(
    result: TuneResult | WeightsLike,
    problem: Problem,
    *,
    also: Sequence[str | Metric] | None = None,
    command: str | None = None,
) -> Subject:
    """The subject of a result on the data that it was tuned on; or, of other data or of weights alone, their scores
    and ranges on these data.
    """
    if problem.metric.waits:
        raise InputError(
            f"report: {problem.metric.name} waits for answers, and a report needs those for every output that wins "
            "somewhere; give another metric"
        )
    if not problem.feature_names:
        raise InputError("report: the candidates have no features, so there is no weight to move")
    others = tuple(
        Problem.of(problem.dataset, other, outputs=problem.outputs)
        for other in other_metrics(problem.metric, also)
        if not other.waits and not other.reads
    )
    if isinstance(result, TuneResult) and _is_of(result, problem):
        return Subject(problem, result, True, others, command)
    return Subject(problem, described(problem, weight_vector(problem, result)), False, others, command)


def _is_of(result: TuneResult, problem: Problem) -> bool:
    """Whether a result comes from these data and this metric, as far as scores tell."""
    if set(result.weights) != set(problem.feature_names) or result.metric != problem.metric.signature:
        return False
    weights = np.array([result.weights[name] for name in problem.feature_names])
    return result.sentences == len(problem.corpus) and result.score == problem.score(weights)


def described(problem: Problem, weights: Floats) -> TuneResult:
    """The scores, ranges and worth of weights that were not tuned here, as a result without a search."""
    model = problem.dataset.model
    compared = weights if model is None else np.array([model.get(name, 0.0) for name in problem.feature_names])
    if problem.orders is not None:
        compared = Setting.of(problem, Constraints(), None).first
    baseline, picks = problem.baseline(compared), problem.picks(weights)
    named = dict(zip(problem.feature_names, weights.tolist(), strict=True))
    score, before = (float(problem.metric.score(each.total)) for each in (picks, baseline))
    result = TuneResult(
        weights=named,
        start=named,
        score=score,
        baseline=before,
        baseline_kind=baseline_kind(problem, by_model=model is not None, equal=True),
        start_score=score,
        oracle=None,
        metric=problem.metric.signature,
        higher_is_better=problem.metric.higher_is_better,
        seed=0,
        sentences=len(problem.corpus),
        candidates=problem.corpus.edges,
        line_searches=0,
        seconds=0.0,
        version=__version__,
        gain=paired_bootstrap(problem.metric, baseline.statistics, picks.statistics),
        without=without_each_feature(problem, weights, feature_units(problem.corpus)),
        counts=counts_by_name(problem.metric, baseline=baseline.statistics, tuned=picks.statistics),
    )
    few = [np.array([k]) for k, name in enumerate(problem.feature_names) if name in result.without]
    ranges = sensitivity(problem, weights, groups=few)
    return replace(result, sensitivity=ranges)
