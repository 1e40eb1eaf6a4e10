"""The public functions: tune weights over candidate lists, rerank with weights, and score them."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hulltune.data.dataset import Dataset
from hulltune.data.forest import feature_vector
from hulltune.defaults import DIRECTIONS, GAP, RESTARTS
from hulltune.errors import InputError, unknown_name
from hulltune.formats.read import read
from hulltune.interrupts import interrupts_set, is_interrupt
from hulltune.metrics.base import Metric
from hulltune.metrics.registry import get_metric
from hulltune.metrics.store import Store
from hulltune.search.certified.search import Limits
from hulltune.search.constraints import Constraints
from hulltune.search.interface import Problem
from hulltune.search.optimise import SearchOptions
from hulltune.search.policies import Policy
from hulltune.tuning.inputs import (
    DataLike,
    ReferencesLike,
    WeightsLike,
    as_dataset,
    as_weights,
    like,
    problem_of,
    score_anew,
)
from hulltune.tuning.options import Progress, TuneOptions
from hulltune.tuning.reranking import best_outputs
from hulltune.tuning.result import Replicates, TuneResult
from hulltune.tuning.tune import tune_problem

TEXT_METRICS = ("bleu", "chrf", "ter", "wer")
"""Shown beside each other: whoever tunes for one of them wants to know what it did to the rest."""


def tune(
    lists: DataLike,
    references: ReferencesLike = None,
    *,
    metric: str | Metric = "bleu",
    start: WeightsLike | None = None,
    free: Sequence[str] | None = None,
    fixed: Mapping[str, float] | None = None,
    minimum: Mapping[str, float] | None = None,
    maximum: Mapping[str, float] | None = None,
    signs: Mapping[str, str] | None = None,
    tied: Sequence[Sequence[str]] = (),
    scale: str = "l1",
    search: str = "random",
    directions: int = DIRECTIONS,
    restarts: int = RESTARTS,
    policy: str | Policy = "middle",
    smoothing: str = "none",
    gap: float = GAP,
    seconds: float = math.inf,
    seed: int = 1,
    threads: int | None = None,
    heldout: DataLike | None = None,
    heldout_references: ReferencesLike = None,
    folds: int = 0,
    replicates: int = 1,
    others: Sequence[str | Metric] | None = None,
    oracle: bool = True,
    store: Store | str | Path | None = None,
    questions: str | Path | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> TuneResult:
    """Tune the weights of a linear model over candidate lists or forests, exactly, against a metric.

    Data: ``lists`` is a Dataset, or whatever ``read`` takes; ``references`` a file (several as Path objects) or texts,
    or None where the lists carry them.

    Model: ``start`` are the first weights (equal ones over scaled features by default). ``fixed``, ``minimum``,
    ``maximum``, ``signs`` ("+" or "-") and ``tied`` constrain weights by feature name; ``scale`` is "l1", "l2" or
    "none". With ``free`` only these are tuned; others that are not ``fixed`` stay at the start, or at 0 without one.

    Search: see SearchOptions and Policy. The seed alone decides the result, whatever ``threads``. A certified search
    ends when value and bound are within ``gap`` (in the unit of the metric), or after ``seconds``; what it proves is
    ``result.certificate``.

    Answer: ``heldout`` lists are scored with the weights, ``folds`` cross-validates. ``replicates`` runs as many seeds
    from ``seed`` on; the result is that of the first, and ``result.replicates`` says how the others fared. ``others``
    are metrics that are not tuned on (None: the common text metrics, if ``metric`` is one). ``store`` keeps statistics
    across runs; ``questions`` is where a metric that waits for answers puts its questions. Ctrl-C ends the search with
    the best so far (``result.interrupted``).
    """
    began = time.perf_counter()
    if replicates < 1:
        raise InputError(f"replicates: expected at least 1, got {replicates}")
    if heldout is not None and folds:
        raise InputError("heldout, folds: give one of them; held-out lists are not tuned on anyway")
    metric = get_metric(metric)
    if not 0.0 <= gap < math.inf:
        raise InputError(f"gap: expected a number of at least 0, got {gap}")
    if not seconds > 0.0:
        raise InputError(f"seconds: expected a positive number, got {seconds}")
    options = TuneOptions(
        constraints=Constraints(
            fixed=fixed or {}, minimum=minimum or {}, maximum=maximum or {}, signs=signs or {}, tied=tied, scale=scale
        ),
        limits=Limits(gap=gap, seconds=seconds),
        search=SearchOptions(search=search, directions=directions, policy=_policy(policy, smoothing)),
        restarts=restarts,
        seed=seed,
        threads=threads,
        oracle=oracle,
    )
    with ExitStack() as stack:
        kept = stack.enter_context(Store(store)) if isinstance(store, (str, Path)) else store
        data = as_dataset(lists, references)
        if not data.feature_names:
            raise InputError("lists: the candidates have no features, so there is nothing to weigh; add some")
        problem = problem_of(data, metric, store=kept, questions=questions)
        unseen = None
        if heldout is not None:
            unseen = problem_of(like(data, heldout, heldout_references), metric, store=kept, questions=questions)
        was_read = time.perf_counter()
        first = None if start is None else as_weights(start)
        if free is not None:
            held = _held(free, fixed or {}, first, data.feature_names)
            options = replace(options, constraints=replace(options.constraints, fixed=held))
        result = tune_problem(
            problem,
            options,
            start=first,
            model=data.model,
            heldout=unseen,
            folds=folds,
            others=_others(data, problem, others, kept),
            progress=_of_several(progress, 0, replicates),
        )
        stop = threading.Event()
        with interrupts_set(stop):  # an interrupt does not cost the check, nor the check the weights
            _check_reranking(data, problem, result)
        if stop.is_set():
            result = replace(result, interrupted=True)
        if replicates > 1 and not result.interrupted:
            result = _replicated(result, problem, options, replicates, first, data.model, unseen, progress)
    reading = was_read - began
    return replace(result, seconds=time.perf_counter() - began, timings={"reading": reading, **result.timings})


def score(
    lists: DataLike,
    weights: WeightsLike,
    references: ReferencesLike = None,
    *,
    metric: str | Metric = "bleu",
    threads: int | None = None,
) -> float:
    """The metric of what reranking with ``weights`` picks: exactly what ``tune`` reports for its own."""
    problem: Problem = problem_of(as_dataset(lists, references), metric)
    return problem.score(feature_vector(as_weights(weights), problem.feature_names, "weights"), threads=threads or 1)


def rerank(lists: DataLike, weights: WeightsLike) -> list[str]:
    """The best text of every sentence under ``weights``; of equals the first in its list (in a forest: by the order of
    edges, from the root down), and "" where there is nothing to choose from.
    """
    return best_outputs(read(lists), as_weights(weights))


def _check_reranking(data: Dataset, problem: Any, result: TuneResult) -> None:
    """Rerank the data anew, with the weights as the result states them: the score must be the same to the bit."""
    again = score_anew(data, problem, result.weights)
    if again != result.score:
        raise RuntimeError(f"reranking with the tuned weights scores {again!r}, but {result.score!r} was reported")


def _held(
    free: Sequence[str],
    fixed: Mapping[str, float],
    start: Mapping[str, float] | Sequence[float] | None,
    names: Sequence[str],
) -> dict[str, float]:
    """All weights but the free ones, fixed: as they are given, at the start, or at 0."""
    for name in free:
        if name not in names:
            raise unknown_name("feature in free:", name, names)
        if name in fixed:
            raise InputError(f"free, fixed: {name!r} cannot be both")
    values = np.zeros(len(names)) if start is None else feature_vector(start, tuple(names), "start")
    held = {name: float(value) for name, value in zip(names, values, strict=True) if name not in free}
    return {**held, **fixed}


def _policy(policy: str | Policy, smoothing: str) -> Policy:
    if isinstance(policy, Policy):
        if smoothing != "none" and smoothing != policy.smoothing:
            raise InputError(f"smoothing: got {smoothing!r}, but the policy has {policy.smoothing!r}")
        return policy
    return Policy(policy, smoothing=smoothing)


def _others(data: Dataset, problem: Any, others: Sequence[str | Metric] | None, store: Store | None) -> list[Problem]:
    """Problems over the same dataset under other metrics; the tuned one is left out."""
    metric = problem.metric
    if others is None:
        others = TEXT_METRICS if metric.name in TEXT_METRICS else ()
    found = [get_metric(other) for other in others]
    return [
        problem_of(data, other, store=store, beside=problem) for other in found if other.signature != metric.signature
    ]


def _replicated(
    result: TuneResult,
    problem: Problem,
    options: TuneOptions,
    count: int,
    start: Mapping[str, float] | Sequence[float] | None,
    model: Mapping[str, float] | None,
    heldout: Problem | None,
    progress: Callable[[Progress], None] | None,
) -> TuneResult:
    """The same with further seeds: their scores, the mean and the standard deviation (Clark et al. 2011)."""
    runs, seeds = [result], [options.seed]
    searches = result.line_searches
    for number in range(1, count):
        seed = options.seed + number
        try:
            run = tune_problem(
                problem,
                replace(options, seed=seed, oracle=False, samples=1),
                start=start,
                model=model,
                heldout=heldout,
                progress=_of_several(progress, number, count),
            )
        except (KeyboardInterrupt, SystemError) as error:  # before or after its search
            if not is_interrupt(error):
                raise
            return replace(result, interrupted=True)
        if run.interrupted:
            return replace(result, interrupted=True)
        runs.append(run)
        seeds.append(seed)
        searches += run.line_searches
    scores = [run.score for run in runs]
    unseen = tuple(run.heldout.score for run in runs if run.heldout is not None) if heldout is not None else ()
    stability = Replicates(tuple(seeds), tuple(scores), float(np.mean(scores)), float(np.std(scores, ddof=1)), unseen)
    return replace(result, replicates=stability)


def _of_several(
    progress: Callable[[Progress], None] | None, number: int, count: int
) -> Callable[[Progress], None] | None:
    """Progress of run ``number`` of ``count`` runs as progress of all of them."""
    if progress is None or count == 1:
        return progress

    def report(step: Progress) -> None:
        progress(replace(step, starts_done=number * step.starts + step.starts_done, starts=count * step.starts))

    return report
