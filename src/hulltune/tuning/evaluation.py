"""Evaluation of tuned weights: the noise in the gain, and the worth of each feature."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Floats, plain_sum
from hulltune.metrics.base import Metric
from hulltune.search.problem import Problem
from hulltune.threads import ALONE, Workers

BLOCK = 1 << 20
"""The counts of sentences in the samples of one block. Each block has random numbers of its own, so threads may share
the blocks; the numbers of a first block, which is all there is for a thousand sentences, are those of the seed.
"""


@dataclass(frozen=True)
class Interval:
    """A 95% interval of a gain, positive where the score is better, from ``samples`` bootstrap samples."""

    low: float
    high: float
    samples: int
    seed: int


MOST_REMOVED = 1000
"""Up to this many features each is left out once, to see what it is worth; of more, a tenth of so many."""


def _most_removed(features: int) -> int:
    return features if features <= MOST_REMOVED else MOST_REMOVED // 10


def paired_bootstrap(
    metric: Metric,
    baseline: NDArray[Any],
    tuned: NDArray[Any],
    *,
    samples: int = 1000,
    seed: int = 1,
    workers: Workers = ALONE,
) -> Interval:
    """The 95% interval of the gain of ``tuned`` over ``baseline`` for resampled sentences (Koehn 2004), see _gains."""
    gains = _gains(metric, baseline, tuned, samples, seed, workers)
    return Interval(_percentile(gains, 0.025), _percentile(gains, 0.975), samples, seed)


def standard_error(
    metric: Metric, baseline: NDArray[Any], tuned: NDArray[Any], *, samples: int = 1000, seed: int = 1
) -> float:
    """The standard error of the gain of ``tuned`` over ``baseline``: the deviation over resampled sentences."""
    gains = _gains(metric, baseline, tuned, samples, seed, ALONE)
    mean = plain_sum(gains) / samples
    return math.sqrt(plain_sum((gain - mean) ** 2 for gain in gains) / (samples - 1))


def _gains(
    metric: Metric, baseline: NDArray[Any], tuned: NDArray[Any], samples: int, seed: int, workers: Workers
) -> list[float]:
    """The gain of ``tuned`` over ``baseline`` in each sample of the sentences: the difference of their scores, positive
    where ``tuned`` is better, whatever the direction of the metric.

    ``baseline`` and ``tuned`` are (sentences, statistics). O(samples × sentences × statistics). Sentences are taken in
    the order of their statistics, so that samples do not depend on their order in the data: those with equal
    statistics can change places.
    """
    order = np.lexsort(np.hstack([baseline, tuned]).T)
    baseline, tuned = baseline[order], tuned[order]
    sentences = len(baseline)
    chances = np.full(sentences, 1.0 / sentences)
    block = max(1, BLOCK // sentences)

    def gains_of(start: int) -> list[float]:
        rng = np.random.default_rng([seed, start // block] if start else seed)
        counts = rng.multinomial(sentences, chances, size=min(block, samples - start))
        found: list[float] = (metric.loss(_sums(counts, baseline)) - metric.loss(_sums(counts, tuned))).tolist()
        return found

    return [gain for some in workers.map(gains_of, range(0, samples, block)) for gain in some]


def _sums(counts: NDArray[np.int64], statistics: NDArray[Any]) -> NDArray[Any]:
    """The statistics of each sample; reals are added from the first sentence to the last, on every machine."""
    if statistics.dtype.kind in "biu":
        sums: NDArray[Any] = counts @ statistics.astype(np.int64)
        return sums
    return np.stack([np.add.accumulate(counts * column, axis=1)[:, -1] for column in statistics.T], axis=1)


def _percentile(values: list[float], share: float) -> float:
    """The value below which a share of the values lies, interpolated between its neighbours."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    before = math.floor(place)
    after = min(before + 1, len(ordered) - 1)
    return ordered[before] + (ordered[after] - ordered[before]) * (place - before)


def baseline_kind(problem: Problem, *, by_model: bool = False) -> str:
    """The description of what ``problem.baseline`` picks; ``by_model`` if its weights come from the files."""
    if problem.has_own_choice:
        return "the lists' own first choice"
    lists = problem.has_some_own_choice
    whose = "the choice of the files' own scales" if by_model else "the start weights' choice"
    return whose + (", and the lists' own first choice" if lists else "")


def without_each_feature(
    problem: Problem, weights: Floats, units: Floats, *, workers: Workers = ALONE
) -> dict[str, float]:
    """The gain, positive where the score is better, when the weight of one feature is set to 0 and all others stay.
    Each is a decoding of the corpus, so of more than MOST_REMOVED features it is done for those with the largest
    weights over scaled features.
    """
    full = problem.loss(weights, workers=workers)
    gains = {}
    chosen = np.argsort(-np.abs(weights * units), kind="stable")[: _most_removed(len(weights))]
    for k in np.sort(chosen).tolist():
        name = problem.feature_names[k]
        reduced = weights.copy()
        reduced[k] = 0.0
        gains[name] = full - problem.loss(reduced, workers=workers) if weights[k] != 0.0 else 0.0
    return gains
