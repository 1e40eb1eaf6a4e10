"""Evaluation of tuned weights: the noise in the gain, the worth of each feature, and sentences not tuned on."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Floats, Int64s, plain_sum
from hulltune.data.features import as_sparse
from hulltune.data.normalising import RRF_CONSTANT
from hulltune.errors import InputError
from hulltune.metrics.base import Metric
from hulltune.metrics.counts import ErrorCounts, error_counts
from hulltune.metrics.orders import order_metrics
from hulltune.search.problem import Problem, exact_sum
from hulltune.search.strategy import Found, Setting
from hulltune.threads import ALONE, Workers
from hulltune.tuning.result import HeldOut, Interval, Single, Unjudged

if TYPE_CHECKING:
    from hulltune.tuning.regularising import Run

BLOCK = 1 << 20
"""The counts of sentences in the samples of one block. Each block has random numbers of its own, so threads may share
the blocks; the numbers of a first block, which is all there is for a thousand sentences, are those of the seed.
"""


MOST_REMOVED = 1000
"""Up to this many features each is left out once, to see what it is worth; of more, a tenth of so many."""
MOST_SINGLE = 100
"""So many features at most are tried alone, with both signs: each is two decodings of the corpus."""
USUAL_DEPTH = 10
"""So many documents are looked at for judgements where the metric looks at all."""
COUNTED = ("baseline", "start", "tuned")
"""The picks whose errors are counted, in the order of the table."""


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


def baseline_kind(problem: Problem, *, by_model: bool = False, equal: bool = False) -> str:
    """The description of what ``problem.baseline`` picks; ``by_model`` if its weights come from the files, and
    ``equal`` if nobody gave any.
    """
    if problem.orders is not None:
        return "equal weights" if equal else "the start weights"
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
    most = len(weights) if len(weights) <= MOST_REMOVED else MOST_REMOVED // 10
    for k in _weightiest(weights, units, most):
        name = problem.feature_names[k]
        reduced = weights.copy()
        reduced[k] = 0.0
        gains[name] = full - problem.loss(reduced, workers=workers) if weights[k] != 0.0 else 0.0
    return gains


def _weightiest(weights: Floats, units: Floats, most: int) -> list[int]:
    """The features with the largest weights over scaled features, in their order."""
    chosen: list[int] = np.sort(np.argsort(-np.abs(weights * units), kind="stable")[:most]).tolist()
    return chosen


# Baselines that need no tuning.


@dataclass(frozen=True, eq=False)
class SingleFeatures:
    """Each feature alone, with both signs; of more than MOST_SINGLE, those with the largest weights found."""

    problem: Problem
    features: list[int]
    vectors: list[Floats]
    """The weights of each feature with both signs."""
    workers: Workers

    @staticmethod
    def of(problem: Problem, weights: Floats, units: Floats, *, workers: Workers = ALONE) -> SingleFeatures:
        """All that may be the best; none of a single feature, and none for a metric that waits for answers."""
        some = [] if len(weights) == 1 or problem.metric.waits else _weightiest(weights, units, MOST_SINGLE)
        vectors = [sign * np.eye(1, len(weights), k)[0] for k in some for sign in (1.0, -1.0)]
        return SingleFeatures(problem, some, vectors, workers)

    def losses(self, parts: Sequence[Int64s]) -> Floats:
        """The losses of each of ``vectors``, a row, on each part of the sentences."""
        found = np.empty((len(self.vectors), len(parts)))
        for row, vector in zip(found, self.vectors, strict=True):
            statistics = self.problem.picks(vector, workers=self.workers).statistics
            row[:] = [self.problem.metric.loss(exact_sum(statistics[part])) for part in parts]
        return found

    def best(self, losses: Floats) -> Floats | None:
        """The weights of the single feature with the least of these losses, of equals the first; None without any."""
        return self.vectors[int(np.argmin(losses))] if self.vectors else None

    def perfect(self, losses: Floats, oracle: float) -> list[int]:
        """The features that alone score as well as the oracle."""
        metric = self.problem.metric
        scores = np.array([metric.score_of(loss) for loss in losses.tolist()]).reshape(-1, 2)
        reached = np.any(scores >= oracle if metric.higher_is_better else scores <= oracle, axis=1)
        return [k for k, is_perfect in zip(self.features, reached.tolist(), strict=True) if is_perfect]

    def described(self, best: Floats) -> Single:
        """The best single feature, by its weights."""
        k = int(np.flatnonzero(best)[0])
        return Single(self.problem.feature_names[k], int(best[k]), self.problem.score(best, workers=self.workers))


def random_score(problem: Problem) -> float | None:
    """The expected score of a random candidate of each list, where their order means nothing; else None.

    A metric that reads a column, or accuracy, judges samples of a language model, whose first one is as good as any.
    """
    metric = problem.metric
    if (
        metric.waits
        or problem.orders is not None
        or not problem.is_lists
        or not (metric.reads or metric.name == "accuracy")
    ):
        return None
    edges = problem.corpus.sentence_edges
    rows = problem.rows(problem.sentences.outputs_of_edges(np.arange(edges[-1])))
    filled = np.flatnonzero(np.diff(edges))
    sums = np.add.reduceat(problem.table[rows].astype(np.float64), edges[:-1][filled])
    means = [sums / np.diff(edges)[filled, None], problem.table[problem.empty[problem.empty >= 0]]]
    return float(metric.score(exact_sum(np.concatenate(means).astype(np.float64))))


def fused_by_ranks(problem: Problem) -> NDArray[Any] | None:
    """The statistics of reciprocal rank fusion, where the data are runs of rankers, or scores made comparable."""
    dataset = problem.dataset
    are_runs = any(each.format == "trec" for each in dataset.provenance)
    if problem.orders is None or not (are_runs or (dataset.normalisation or "none").split()[0] != "none"):
        return None
    return problem.orders.in_order(problem.orders.by_reciprocal_ranks(RRF_CONSTANT))


def unjudged(problem: Problem, baseline: Floats, tuned: Floats) -> Unjudged | None:
    """The shares of first documents without judgements, where answers are orders: as many as the metric looks at."""
    orders = problem.orders
    if orders is None:
        return None
    depth = max((each.depth or USUAL_DEPTH for each in order_metrics(problem.metric)), default=USUAL_DEPTH)
    return Unjudged(depth, *(orders.unjudged(orders.order(each), depth) for each in (baseline, tuned)))


# Sentences that were not tuned on: held-out data, or folds.


def held_out(problem: Problem, found: Found, compared: Floats, single: Floats | None, seed: int) -> HeldOut:
    """The scores of the weights found on held-out sentences, of the baseline (see Problem.baseline), the start weights
    and the best single feature of the data that were tuned on.
    """
    rows = {"baseline": problem.baseline(compared), "tuned": problem.picks(found.weights)}
    if not problem.metric.waits:
        rows["start"] = problem.picks(found.start)
    if single is not None:
        rows["single"] = problem.picks(single)
    statistics = {name: each.statistics for name, each in rows.items()}
    return _on_unseen(problem.metric, statistics | _fused(problem), seed)


def _fused(problem: Problem) -> dict[str, NDArray[Any]]:
    statistics = fused_by_ranks(problem)
    return {} if statistics is None else {"rrf": statistics}


def cross_validate(run: Run, setting: Setting, folds: int, singles: SingleFeatures) -> HeldOut:
    """Scores of every sentence with weights tuned on the other folds, with those that this tuning started from, and
    with the single feature that is the best on the other folds. The seed draws the folds at random.

    The fold of a sentence follows from its content, not from its place in the data.
    """
    problem = setting.problem
    fold_of = folds_of(problem, folds, run.seed)
    baseline = problem.baseline(setting.compared).statistics
    rows = {"baseline": baseline, "tuned": baseline.copy()}
    if not problem.metric.waits:
        rows["start"] = baseline.copy()
    losses = singles.losses([np.flatnonzero(fold_of != fold) for fold in range(folds)])
    for fold in range(folds):
        outside, single = fold_of == fold, singles.best(losses[:, fold])
        if single is not None:
            rows.setdefault("single", baseline.copy())[outside] = problem.picks(single).statistics[outside]
    for fold in range(folds):
        inside, outside = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
        found, _ = run.find(run.setting(problem.subset(inside), setting.start))
        if found.interrupted:  # a part of the folds is no estimate
            raise KeyboardInterrupt
        unseen = problem.subset(outside)
        rows["tuned"][outside] = unseen.picks(found.weights).statistics
        if "start" in rows:
            rows["start"][outside] = unseen.picks(found.start).statistics
    return _on_unseen(problem.metric, rows | _fused(problem), run.seed)


def folds_of(problem: Problem, folds: int, seed: int) -> Int64s:
    """The fold of each sentence, drawn at random by the seed and its content, whatever its place in the data."""
    sentences = len(problem.corpus)
    fold_of = np.empty(sentences, dtype=np.int64)
    fold_of[_by_content(problem)] = np.random.default_rng([seed, 7]).permutation(sentences) % folds
    return fold_of


def _by_content(problem: Problem) -> list[int]:
    """The sentences in an order that follows from their references and hypotheses alone."""
    corpus = problem.corpus
    edges, labels = corpus.sentence_edges.tolist(), corpus.label_offsets
    keys = []
    for sentence, references in enumerate(problem.references):
        first, last = edges[sentence], edges[sentence + 1]
        words = corpus.labels[labels[first] : labels[last]]
        content = hashlib.blake2b(repr(tuple(references)).encode("utf-8", "backslashreplace"), digest_size=16)
        features = as_sparse(
            corpus.features.rows(first, last)
        ).tidy()  # so that how they are stored makes no difference
        for part in (features.offsets, features.columns, features.values.astype(np.float64)):
            content.update(part.tobytes())
        content.update(corpus.tails[corpus.tail_offsets[first] : corpus.tail_offsets[last]].tobytes())
        content.update(repr(corpus.vocabulary.words(words[words >= 0])).encode("utf-8", "backslashreplace"))
        keys.append(content.digest())
    return sorted(range(len(keys)), key=keys.__getitem__)


def check_folds(folds: int, sentences: int) -> None:
    """Refuse a number of folds that does not fit the number of sentences."""
    if sentences < 2:
        raise InputError(f"folds: got {folds}, but there is only one sentence; expected at least two")
    if not 2 <= folds <= sentences:
        raise InputError(f"folds: expected 2 to {sentences} (one sentence a fold), got {folds}")


def _on_unseen(metric: Metric, rows: Mapping[str, NDArray[Any]], seed: int) -> HeldOut:
    """The scores of picks by name, whose statistics are rows of the sentences, and the gains of the tuned ones."""
    scores = {name: float(metric.score(exact_sum(statistics))) for name, statistics in rows.items()}
    gains = {name: paired_bootstrap(metric, rows[name], rows["tuned"], seed=seed) for name in rows if name != "tuned"}
    return HeldOut(
        sentences=len(rows["tuned"]),
        baseline=scores["baseline"],
        score=scores["tuned"],
        gain=gains["baseline"],
        start=scores.get("start"),
        gain_over_start=gains.get("start"),
        single=scores.get("single"),
        gain_over_single=gains.get("single"),
        rrf=scores.get("rrf"),
        gain_over_rrf=gains.get("rrf"),
        counts=counts_by_name(metric, **{name: rows[name] for name in COUNTED if name in rows}),
    )


def counts_by_name(metric: Metric, **statistics: NDArray[Any] | None) -> dict[str, ErrorCounts]:
    """The error counts of several picks by name, from the statistics of each sentence; none for other metrics."""
    found = {name: error_counts(metric, rows) for name, rows in statistics.items() if rows is not None}
    return {name: counts for name, counts in found.items() if counts is not None}
