"""Validation: scores on sentences that were not tuned on, by held-out data or by folds."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Floats, Int64s
from hulltune.data.features import as_sparse
from hulltune.errors import InputError
from hulltune.metrics.base import Metric
from hulltune.metrics.counts import ErrorCounts, error_counts
from hulltune.search.problem import Problem, exact_sum
from hulltune.search.strategy import Start
from hulltune.tuning.evaluation import paired_bootstrap
from hulltune.tuning.result import HeldOut

if TYPE_CHECKING:
    from hulltune.tuning.tune import Run


def held_out(problem: Problem, weights: Floats, start: Floats, compared: Floats, *, samples: int, seed: int) -> HeldOut:
    """The scores of weights on held-out sentences, of the start weights, and of the baseline (see Problem.baseline)."""
    baseline, tuned = problem.baseline(compared).statistics, problem.picks(weights).statistics
    started = None if problem.metric.waits else problem.picks(start).statistics
    return _compared(problem.metric, baseline, started, tuned, "file", samples, seed)


def cross_validate(run: Run, problem: Problem, folds: int, *, start: Start = None, model: Any = None) -> HeldOut:
    """Scores of every sentence with weights tuned on the other folds, and with those that this tuning started from.
    The seed draws the folds at random.

    The fold of a sentence follows from its content, not from its place in the data.
    """
    sentences = len(problem.corpus)
    check_folds(folds, sentences)
    fold_of = folds_of(problem, folds, run.seed)
    baseline = problem.baseline(run.setting(problem, start, model).compared).statistics
    tuned = baseline.copy()
    started = None if problem.metric.waits else baseline.copy()
    for fold in range(folds):
        inside, outside = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
        found, _ = run.find(run.setting(problem.subset(inside), start), start=start)
        if found.interrupted:  # a part of the folds is no estimate
            raise KeyboardInterrupt
        unseen = problem.subset(outside)
        tuned[outside] = unseen.picks(found.weights).statistics
        if started is not None:
            started[outside] = unseen.picks(found.start).statistics
    return _compared(problem.metric, baseline, started, tuned, "folds", run.samples, run.seed)


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


def _compared(
    metric: Metric,
    baseline: NDArray[Any],
    started: NDArray[Any] | None,
    tuned: NDArray[Any],
    how: str,
    samples: int,
    seed: int,
) -> HeldOut:
    return HeldOut(
        how=how,
        sentences=len(baseline),
        baseline=float(metric.score(exact_sum(baseline))),
        score=float(metric.score(exact_sum(tuned))),
        gain=paired_bootstrap(metric, baseline, tuned, samples=samples, seed=seed),
        start=None if started is None else float(metric.score(exact_sum(started))),
        gain_over_start=None
        if started is None
        else paired_bootstrap(metric, started, tuned, samples=samples, seed=seed),
        counts=counts_by_name(metric, baseline=baseline, start=started, tuned=tuned),
    )


def counts_by_name(metric: Metric, **statistics: NDArray[Any] | None) -> dict[str, ErrorCounts]:
    """The error counts of several picks by name, from the statistics of each sentence; none for other metrics."""
    found = {name: error_counts(metric, rows) for name, rows in statistics.items() if rows is not None}
    return {name: counts for name, counts in found.items() if counts is not None}
