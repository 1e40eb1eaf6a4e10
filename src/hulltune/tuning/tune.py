"""Tune weights: search with a strategy, check the result by reranking anew, and describe it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hulltune._version import __version__
from hulltune.arrays import Bools, Int64s, take_plain_numbers
from hulltune.data.dataset import Dataset
from hulltune.errors import InputError
from hulltune.formats.read import read
from hulltune.interrupts import interrupts_set
from hulltune.metrics.base import Metric
from hulltune.metrics.counts import error_counts
from hulltune.metrics.registry import get_metric
from hulltune.metrics.store import Store, opened
from hulltune.options import Tuning, by_keyword
from hulltune.search.constraints import Constraints
from hulltune.search.outputs import Outputs
from hulltune.search.problem import Picks, Problem
from hulltune.search.strategy import Found, Report, Setting, Start, Status, Strategy
from hulltune.threads import Workers, check_threads
from hulltune.tuning.evaluation import (
    baseline_kind,
    check_folds,
    counts_by_name,
    cross_validate,
    held_out,
    paired_bootstrap,
    without_each_feature,
)
from hulltune.tuning.inputs import DataLike, ReferencesLike, as_references, as_weights, judged, like
from hulltune.tuning.oracle import Oracle, oracle_of
from hulltune.tuning.picks import Reranked
from hulltune.tuning.regularising import automatic, checked_strength, described, penalised_find, penalty_of
from hulltune.tuning.reranking import rerank
from hulltune.tuning.result import Regularisation, Replicates, TuneResult
from hulltune.tuning.sensitivity import checked_tolerance, sensitivity, usual_tolerance
from hulltune.tuning.strategies import get_strategy

TEXT_METRICS = ("bleu", "chrf", "ter", "wer")
"""Metrics that are shown beside each other: tuning for one of them may harm the rest."""


@dataclass(frozen=True)
class Progress:
    """The progress of a run, in scores of the metric."""

    starts_done: int
    starts: int
    line_searches: int
    seconds: float
    best_score: float
    baseline: float
    bound: float | None = None
    """A proven bound: no weights score better. None if nothing is proven."""
    boxes: int = 0
    """The number of boxes of weights that a certified search has evaluated."""


ShowProgress = Callable[[Progress], None]


@by_keyword(Tuning)
def tune(data: DataLike, references: ReferencesLike, tuning: Tuning) -> TuneResult:
    """Tune the weights of a linear model over candidate lists, lattices or hypergraphs, exactly, against a metric.

    ``data`` is a Dataset, or anything that ``read`` takes. ``references`` is a file (several as Path objects) or
    texts; None if the data carry them, or if the metric needs none. ``metric`` is a name, an expression or a Metric;
    "mean:column=correct" averages a column of the candidates, which is then no feature.

    ``search`` is a Strategy, or the name of one with its default options: "cma" (LineCma), "random" (Climb),
    "coordinate", "powell", "gradient", or "certified", which proves that no weights are better
    (``result.certificate``). The result depends on the seed, but not on ``threads``. Ctrl-C ends the search with the
    best weights so far (``result.interrupted``).

    >>> from hulltune import Constraints, tune
    >>> from hulltune.simulate import simulated_task
    >>> task = simulated_task(sentences=20, candidates=10)
    >>> result = tune(task.lists, metric="wer", constraints=Constraints(fix={"forward": 1.0}))
    >>> result.weights["forward"], result.oracle <= result.score <= result.start_score
    (1.0, True)
    """
    began = time.perf_counter()
    chosen, threads, questions = get_metric(tuning.metric), check_threads(tuning.threads), tuning.questions
    run = Run(
        strategy=get_strategy(tuning.search),
        constraints=tuning.constraints or Constraints(),
        seed=tuning.seed,
        threads=threads,
        oracle=tuning.oracle,
        tolerance=tuning.tolerance,
        regularise=tuning.regularise,
    )
    with ExitStack() as stack:
        kept = stack.enter_context(opened(tuning.store))
        found = read(data, threads=threads)
        shown = other_metrics(chosen, tuning.also)
        dataset = judged(found, as_references(references), chosen, *shown)
        problem, *others = _problems(dataset, [chosen, *shown], kept, questions, threads)
        unseen = None
        if tuning.heldout is not None:
            unseen = Problem.of(like(dataset, tuning.heldout, chosen), chosen, store=kept, questions=questions)
        taken = time.perf_counter()
        first = None if tuning.start is None else as_weights(tuning.start)
        result = run.tune(
            problem,
            start=first,
            model=dataset.model,
            heldout=unseen,
            folds=tuning.folds,
            others=others,
            progress=_of_several(tuning.progress, 0, tuning.replicates),
        )
        stop = threading.Event()
        with interrupts_set(stop):  # an interrupt must not skip the check, nor lose the weights during it
            result = replace(result, outputs=_checked_outputs(dataset, problem, result, threads))
        if stop.is_set():
            result = replace(result, interrupted=True)
        if tuning.replicates > 1 and not result.interrupted:
            result = run.replicate(
                result,
                problem,
                tuning.replicates,
                start=first,
                model=dataset.model,
                heldout=unseen,
                progress=tuning.progress,
            )
    timings = {"reading": taken - began, **result.timings}
    return replace(result, seconds=time.perf_counter() - began, timings=timings).with_problem(problem)


def other_metrics(metric: Metric, also: Sequence[str | Metric] | None) -> list[Metric]:
    """The metrics to be shown beside the tuned one."""
    if also is None:
        also = TEXT_METRICS if metric.name in TEXT_METRICS else ()
    return [other for other in map(get_metric, also) if other.signature != metric.signature]


def _problems(
    dataset: Dataset, metrics: Sequence[Metric], store: Store | None, questions: str | Path | None, threads: int
) -> list[Problem]:
    """The problem of each metric over a dataset that has the columns of all as qualities; the first one may ask
    ``questions``. All share the numbers of outputs. References are prepared in threads where all metrics allow it.
    """
    outputs = Outputs(dataset.corpus)

    def problem_of(place: int) -> Problem:
        asked = questions if place == 0 else None
        return Problem.of(dataset, metrics[place], outputs=outputs, store=store, questions=asked)

    beside = store is None and all(metric.threaded for metric in metrics)
    return Workers(threads if beside else 1).map(problem_of, range(len(metrics)))


def _checked_outputs(dataset: Dataset, problem: Problem, result: TuneResult, threads: int) -> Reranked:
    """The data reranked anew with the weights of the result: the outputs must be those of the search."""
    picks = problem.picks(np.array(list(result.weights.values())), workers=Workers(threads)).outputs
    outputs = rerank(dataset, result.weights, threads=threads)
    # The texts of hypotheses at the same place of a list need no look.
    sentences = np.flatnonzero(~_at_the_same_places(problem, picks, outputs.indices))
    texts = np.full(len(sentences), "", dtype=object)
    chosen = picks[sentences] >= 0
    texts[chosen] = problem.outputs.described(picks[sentences][chosen])[1]
    for sentence, text in zip(sentences.tolist(), texts.tolist(), strict=True):
        again = outputs[sentence]
        if again != text:
            raise RuntimeError(
                f"reranking with the tuned weights picks {again[:80]!r} for sentence {sentence}, "
                f"but the search had {text[:80]!r}"
            )
    return outputs


def _at_the_same_places(problem: Problem, picks: Int64s, indices: Int64s | None) -> Bools:
    """For each sentence, whether the pick is the hypothesis of its list that has an index; not for forests."""
    if indices is None or not problem.outputs.closed:
        return np.zeros(len(picks), dtype=np.bool_)
    same: Bools = (indices >= 0) & (picks >= 0)
    same[same] = problem.outputs.corpus.edge_ids[picks[same]] == indices[same]
    return same


@dataclass(frozen=True)
class Run:
    """The options of a run: everything but its data."""

    strategy: Strategy
    constraints: Constraints
    seed: int = 1
    threads: int = 1
    oracle: bool = True
    """Whether to look for the best picks, which needs the statistics of every candidate."""
    samples: int = 1000
    """The number of bootstrap samples."""
    tolerance: float | None = None
    """The tolerance of the sensitivity; see Sensitivity."""
    regularise: float | str | None = None
    """The strength of regularisation, "auto" to find it by cross-validation, or None for none; see Penalty."""

    def __post_init__(self) -> None:
        take_plain_numbers(self)
        if self.seed < 0:
            raise InputError(f"seed: expected a whole number of at least 0, got {self.seed}")
        object.__setattr__(self, "regularise", checked_strength(self.regularise, self.strategy))
        if self.tolerance is not None:
            object.__setattr__(self, "tolerance", checked_tolerance(self.tolerance))

    @property
    def workers(self) -> Workers:
        """The threads of all that is no search."""
        return Workers(self.threads)

    def setting(self, problem: Problem, start: Start, model: Any = None) -> Setting:
        """The setting in which the strategy searches a problem."""
        return Setting.of(problem, self.constraints, start, model, workers=self.workers)

    def find(
        self, setting: Setting, report: Report | None = None, *, start: Start = None
    ) -> tuple[Found, Regularisation | None]:
        """The weights that the strategy finds, and their penalty if the run is regularised."""
        if self.regularise is None:
            return self.strategy.find(setting, seed=self.seed, threads=self.threads, report=report), None
        if isinstance(self.regularise, str):
            return automatic(self, setting, start=start, report=report)
        penalty = penalty_of(setting, start, self.regularise)
        found = penalised_find(self, setting, penalty, report)
        return found, described(found, penalty)

    def tune(
        self,
        problem: Problem,
        *,
        start: Start = None,
        model: Any = None,
        heldout: Problem | None = None,
        folds: int = 0,
        others: Sequence[Problem] = (),
        progress: ShowProgress | None = None,
    ) -> TuneResult:
        """Tune the weights of ``problem`` and describe the result.

        ``model`` has the weights of the decoder; without a start, they choose the baseline of forests. ``others`` are
        problems of the sentences with metrics that are not tuned on. An interrupt ends the search with the best so far.
        """
        began = time.perf_counter()
        if not problem.feature_names:
            raise InputError("lists: the candidates have no features, so there is nothing to weigh; add some")
        if folds:
            check_folds(folds, len(problem.corpus))
        best = None
        if self.oracle and not problem.metric.waits and not self.strategy.asks_by_the_clock:
            best = oracle_of(problem, threads=self.threads)  # its bound may end the search
        stop = threading.Event()
        with interrupts_set(stop):
            setting = replace(self.setting(problem, start, model), stop=stop)
            if best is not None and best.bound is not None:
                setting = replace(setting, least_loss=problem.metric.score_of(best.bound))
            baseline = problem.baseline(setting.compared, workers=self.workers)
            report = _reporter(problem.metric, baseline, progress, began)
            found, regularisation = self.find(setting, report, start=start)
            tuned, result = self._result(setting, start, baseline, found)
            result = replace(result, regularisation=regularisation)
        if stop.is_set():
            result = replace(result, interrupted=True)
        searched = time.perf_counter()
        try:  # an interrupt from here on loses the description, never the weights
            if self.oracle and not problem.metric.waits and best is None:
                best = oracle_of(problem, threads=self.threads)
            result = self._described(_with_oracle(result, best), setting, baseline, tuned, others)
            if heldout is not None:
                unseen = held_out(
                    heldout, found.weights, found.start, setting.compared, samples=self.samples, seed=self.seed
                )
                result = replace(result, heldout=unseen)
            if folds and not result.interrupted:
                run = self.with_strength_of(result)
                result = replace(result, heldout=cross_validate(run, problem, folds, start=start, model=model))
        except KeyboardInterrupt:
            result = replace(result, interrupted=True)
        ended = time.perf_counter()
        timings = {"searching": searched - began, "describing": ended - searched}
        return replace(result, seconds=ended - began, timings=timings)

    def with_strength_of(self, result: TuneResult) -> Run:
        """The run with the strength of regularisation that a result has, whoever chose it."""
        strength = None if result.regularisation is None else result.regularisation.strength
        return replace(self, regularise=strength)

    def replicate(
        self,
        result: TuneResult,
        problem: Problem,
        count: int,
        *,
        start: Start,
        model: Any,
        heldout: Problem | None,
        progress: ShowProgress | None,
    ) -> TuneResult:
        """The result with the scores of further seeds, their mean and standard deviation (Clark et al. 2011)."""
        runs, seeds = [result], [self.seed]
        for number in range(1, count):
            again = replace(self.with_strength_of(result), seed=self.seed + number, oracle=False, samples=1)
            try:
                found = again.tune(
                    problem, start=start, model=model, heldout=heldout, progress=_of_several(progress, number, count)
                )
            except KeyboardInterrupt:  # during a search, ``tune`` handles it itself
                return replace(result, interrupted=True)
            if found.interrupted:
                return replace(result, interrupted=True)
            runs.append(found)
            seeds.append(again.seed)
        scores = [run.score for run in runs]
        unseen = tuple(run.heldout.score for run in runs if run.heldout is not None) if heldout is not None else ()
        mean, deviation = float(np.mean(scores)), float(np.std(scores, ddof=1))
        return replace(result, replicates=Replicates(tuple(seeds), tuple(scores), mean, deviation, unseen))

    def _result(self, setting: Setting, start: Start, baseline: Picks, found: Found) -> tuple[Picks, TuneResult]:
        """The picks of the weights, and the result without its description."""
        problem = setting.problem
        tuned = problem.picks(found.weights, workers=self.workers)
        score = float(problem.metric.score(tuned.total))
        if float(problem.metric.loss(tuned.total)) != found.loss:  # every search must report the loss of decoding
            raise AssertionError(f"reranking scores {score}, but the search saw {found.loss}")
        names = problem.feature_names
        is_rate = error_counts(problem.metric, tuned.statistics) is not None
        started = problem.picks(found.start, workers=self.workers).statistics if is_rate else None
        return tuned, TuneResult(
            weights=dict(zip(names, found.weights.tolist(), strict=True)),
            start=dict(zip(names, found.start.tolist(), strict=True)),
            score=score,
            baseline=float(problem.metric.score(baseline.total)),
            baseline_kind=baseline_kind(problem, by_model=setting.model is not None),
            start_score=problem.metric.score_of(found.start_loss),
            start_kind=TuneResult.start_kind if start is None else "the weights given",
            oracle=None,
            metric=problem.metric.signature,
            higher_is_better=problem.metric.higher_is_better,
            seed=self.seed,
            sentences=len(problem.corpus),
            candidates=problem.corpus.edges,
            line_searches=found.line_searches,
            seconds=0.0,
            version=__version__,
            history=found.history,
            interrupted=found.interrupted,
            certificate=found.certificate,
            counts=counts_by_name(problem.metric, baseline=baseline.statistics, start=started, tuned=tuned.statistics),
            ended=found.ended,
        )

    def _described(
        self,
        result: TuneResult,
        setting: Setting,
        baseline: Picks,
        tuned: Picks,
        others: Sequence[Problem],
    ) -> TuneResult:
        """The result with its description. A metric that waits for answers is not asked for more outputs."""
        problem, weights, workers = setting.problem, np.array(list(result.weights.values())), self.workers
        without, ranges = dict[str, float](), None
        if not problem.metric.waits:
            without = without_each_feature(problem, weights, setting.units, workers=workers)
            groups = [
                group for group in setting.constraints.free_groups if problem.feature_names[int(group[0])] in without
            ]
            usual = usual_tolerance(result.score, result.baseline)
            tolerance = usual if self.tolerance is None else self.tolerance
            ranges = sensitivity(
                problem, weights, tolerance, constraints=setting.constraints, groups=groups, workers=workers
            )
        return replace(
            result,
            gain=paired_bootstrap(
                problem.metric,
                baseline.statistics,
                tuned.statistics,
                samples=self.samples,
                seed=self.seed,
                workers=workers,
            ),
            without=without,
            sensitivity=ranges,
            others={
                other.metric.signature: (
                    float(other.metric.score(other.picked(baseline.outputs, workers=workers).total)),
                    float(other.metric.score(other.picked(tuned.outputs, workers=workers).total)),
                )
                for other in others
            },
        )


def _with_oracle(result: TuneResult, best: Oracle | None) -> TuneResult:
    """The result with the best picks: those of a search, or of the tuned weights in case they are better."""
    if best is None:
        return result
    score, kind = best.score, best.kind
    if (result.score > score) if result.higher_is_better else (result.score < score):
        score, kind = result.score, f"the tuned picks, which are better than those of a search: {kind}"
    return replace(result, oracle=score, oracle_kind=kind, oracle_bound=best.bound)


def _reporter(metric: Metric, baseline: Picks, progress: ShowProgress | None, began: float) -> Report | None:
    """A function that turns the status of a search, in losses, into progress, in scores."""
    if progress is None:
        return None
    baseline_score = float(metric.score(baseline.total))

    def report(status: Status) -> None:
        progress(
            Progress(
                starts_done=status.done,
                starts=status.starts,
                line_searches=status.line_searches,
                seconds=time.perf_counter() - began,
                best_score=metric.score_of(status.loss),
                baseline=baseline_score,
                bound=None if status.bound is None else metric.score_of(status.bound),
                boxes=status.boxes,
            )
        )

    return report


def _of_several(progress: ShowProgress | None, number: int, count: int) -> ShowProgress | None:
    """A function that shows the progress of run ``number`` of ``count`` runs as progress of all runs."""
    if progress is None or count == 1:
        return progress

    def report(step: Progress) -> None:
        progress(replace(step, starts_done=number * step.starts + step.starts_done, starts=count * step.starts))

    return report
