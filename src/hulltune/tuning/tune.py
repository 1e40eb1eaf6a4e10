"""Tune weights over lists or forests: many climbs from many starts, the best of them checked and described."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune._version import __version__
from hulltune.errors import InputError
from hulltune.interrupts import interrupts_set, is_interrupt
from hulltune.lines.compute import available_cpus
from hulltune.search.certified.certify import certify
from hulltune.search.certified.search import State
from hulltune.search.interface import Problem
from hulltune.search.problem import Picks, exact_sum
from hulltune.tuning.evaluation import baseline_kind, paired_bootstrap, without_each_feature
from hulltune.tuning.options import Found, Ground, Progress, Step, TuneOptions
from hulltune.tuning.oracle import oracle_around
from hulltune.tuning.race import climb_from_many_starts
from hulltune.tuning.result import HeldOut, TuneResult

Floats = NDArray[np.float64]


def tune_problem(
    problem: Problem,
    options: TuneOptions,
    *,
    start: Mapping[str, float] | Sequence[float] | None = None,
    model: Mapping[str, float] | None = None,
    heldout: Problem | None = None,
    folds: int = 0,
    others: Sequence[Problem] = (),
    progress: Callable[[Progress], None] | None = None,
) -> TuneResult:
    """Tune the weights of ``problem`` and describe the result.

    ``model`` are the weights of the decoder, whose choice is the baseline of forests where no start is given.
    ``heldout`` is scored with the tuned weights; ``folds`` tunes on all but one fold in turn and scores the rest;
    ``others`` are the same lists under metrics that were not tuned on. An interrupt (Ctrl-C) ends the search with the
    best so far. The seed alone decides the result: not the number of threads.
    """
    began = time.perf_counter()
    if folds:
        _check_folds(folds, len(problem.corpus))
    if options.oracle and not problem.metric.waits and problem.choices_are_all:
        problem.rows(problem.choices()[1])  # all are asked for in the end, and at once that is far faster
    ground = Ground.of(problem, options, start, model)
    baseline = problem.baseline(ground.compared)
    report = _reporter(problem, baseline.total, progress, began)
    found = _search(problem, options, ground, report)
    stop = threading.Event()
    with interrupts_set(stop):
        tuned, result = _result(problem, options, ground, baseline, found)
    if stop.is_set():
        result = replace(result, interrupted=True)
    searched = time.perf_counter()
    try:  # an interrupt from here on costs the description, never the weights
        result = _described(result, problem, options, baseline, tuned, others)
        if heldout is not None:
            result = replace(result, heldout=_held_out(heldout, found.weights, ground.compared, options))
        if folds and not result.interrupted:
            result = replace(result, heldout=cross_validate(problem, options, folds, start=start, model=model))
    except (KeyboardInterrupt, SystemError) as error:
        if not is_interrupt(error):
            raise
        result = replace(result, interrupted=True)
    ended = time.perf_counter()
    timings = {"searching": searched - began, "describing": ended - searched}
    return replace(result, seconds=ended - began, timings=timings)


def _result(
    problem: Problem, options: TuneOptions, ground: Ground, baseline: Picks, found: Found
) -> tuple[Picks, TuneResult]:
    """What the weights pick, and what is known of them by that alone."""
    tuned = problem.picks(found.weights)
    score = float(problem.metric.score(tuned.total))
    if float(problem.metric.loss(tuned.total)) != found.loss:  # the invariant that all rests on
        raise AssertionError(f"reranking scores {score}, but the search saw {found.loss}")
    names = problem.feature_names
    return tuned, TuneResult(
        weights=dict(zip(names, found.weights.tolist(), strict=True)),
        start=dict(zip(names, found.start.tolist(), strict=True)),
        score=score,
        baseline=float(problem.metric.score(baseline.total)),
        baseline_kind=baseline_kind(problem, by_model=ground.model is not None),
        start_score=problem.metric.score_of(found.start_loss),
        oracle=None,
        metric=problem.metric.signature,
        higher_is_better=problem.metric.higher_is_better,
        seed=options.seed,
        sentences=len(problem.corpus),
        candidates=problem.corpus.edges,
        line_searches=found.line_searches,
        seconds=0.0,
        version=__version__,
        history=found.history,
        interrupted=found.interrupted,
        certificate=found.certificate,
    )


def _described(
    result: TuneResult,
    problem: Problem,
    options: TuneOptions,
    baseline: Picks,
    tuned: Picks,
    others: Sequence[Problem],
) -> TuneResult:
    """The result with all that is known of its weights. A metric that waits for answers is not asked for more."""
    weights = np.array(list(result.weights.values()))
    best, kind = None, None
    if options.oracle and not problem.metric.waits:
        best, kind = oracle_around(problem, tuned, weights, threads=options.threads or available_cpus())
    return replace(
        result,
        gain=paired_bootstrap(
            problem.metric, baseline.statistics, tuned.statistics, samples=options.samples, seed=options.seed
        ),
        oracle=best,
        oracle_kind=kind,
        without={} if problem.metric.waits else without_each_feature(problem, weights),
        others={
            other.metric.signature: (
                float(other.metric.score(other.picked(baseline.candidates).total)),
                float(other.metric.score(other.picked(tuned.candidates).total)),
            )
            for other in others
        },
    )


def cross_validate(
    problem: Problem,
    options: TuneOptions,
    folds: int,
    *,
    start: Mapping[str, float] | Sequence[float] | None = None,
    model: Mapping[str, float] | None = None,
) -> HeldOut:
    """Every sentence scored with weights tuned on the folds it is not in. Folds are drawn at random by the seed."""
    sentences = len(problem.corpus)
    _check_folds(folds, sentences)
    fold_of = np.random.default_rng([options.seed, 7]).permutation(sentences) % folds
    statistics = problem.baseline(Ground.of(problem, options, start, model).compared).statistics
    tuned = statistics.copy()
    for fold in range(folds):
        inside, outside = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
        training = problem.subset(inside)
        found = _search(training, options, Ground.of(training, options, start), None)
        if found.interrupted:  # a part of the folds says nothing
            raise KeyboardInterrupt
        tuned[outside] = problem.subset(outside).picks(found.weights).statistics
    return _compare(problem, statistics, tuned, options, "folds")


def _check_folds(folds: int, sentences: int) -> None:
    if sentences < 2:
        raise InputError(f"folds: got {folds}, but there is only one sentence; expected at least two")
    if not 2 <= folds <= sentences:
        raise InputError(f"folds: expected 2 to {sentences} (one sentence a fold), got {folds}")


def _held_out(problem: Problem, weights: Floats, compared: Floats, options: TuneOptions) -> HeldOut:
    baseline = problem.baseline(compared)
    return _compare(problem, baseline.statistics, problem.picks(weights).statistics, options, "file")


def _compare(problem: Problem, baseline: NDArray[Any], tuned: NDArray[Any], options: TuneOptions, how: str) -> HeldOut:
    return HeldOut(
        how=how,
        sentences=len(baseline),
        baseline=float(problem.metric.score(exact_sum(baseline))),
        score=float(problem.metric.score(exact_sum(tuned))),
        gain=paired_bootstrap(problem.metric, baseline, tuned, samples=options.samples, seed=options.seed),
    )


def _reporter(
    problem: Problem, baseline: NDArray[Any], progress: Callable[[Progress], None] | None, began: float
) -> Callable[[Step], None] | None:
    if progress is None:
        return None
    baseline_score = float(problem.metric.score(baseline))

    def report(step: Step) -> None:
        bound = None if step.bound is None else problem.metric.score_of(step.bound)
        progress(
            Progress(
                starts_done=step.done,
                starts=step.starts,
                line_searches=step.line_searches,
                seconds=time.perf_counter() - began,
                best_score=problem.metric.score_of(step.loss),
                baseline=baseline_score,
                bound=bound,
                boxes=step.boxes,
            )
        )

    return report


def _certified(problem: Problem, options: TuneOptions, ground: Ground, report: Callable[[Step], None] | None) -> Found:
    """The best weights there are within the constraints, with the proof."""

    def show(state: State) -> None:
        if report is not None and np.isfinite(state.loss):
            report(Step(0, 1, state.line_searches, state.loss, state.bound, state.boxes))

    start_loss = float(problem.metric.loss(problem.picks(ground.first).total))
    found = certify(
        problem, ground.constraints, ground.units, options.limits, start=ground.first,
        threads=options.threads or available_cpus(), progress=show,
    )  # fmt: skip
    outcome = found.outcome
    if report is not None:
        report(Step(1, 1, outcome.line_searches, found.loss, outcome.bound, outcome.boxes))
    return Found(
        weights=found.weights,
        start=ground.first,
        start_loss=start_loss,
        loss=found.loss,
        line_searches=outcome.line_searches,
        history=tuple(
            {"start": 0, "boxes": boxes, "line_searches": spent, "score": problem.metric.score_of(loss)}
            for boxes, spent, loss in outcome.history
        ),
        interrupted=outcome.stopped == "interrupt",
        certificate=found.certificate if np.isfinite(outcome.bound) else None,  # interrupted before there is a bound
    )


def _search(
    problem: Problem,
    options: TuneOptions,
    ground: Ground,
    report: Callable[[Step], None] | None,
) -> Found:
    if options.search.search == "certified":
        return _certified(problem, options, ground, report)
    return climb_from_many_starts(problem, options, ground, report)
