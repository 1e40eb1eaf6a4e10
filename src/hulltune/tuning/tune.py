"""Tune weights: search with a strategy, check the result by reranking anew, and describe it."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hulltune._version import __version__
from hulltune.arrays import Bools, Floats, Int64s
from hulltune.data.dataset import Dataset
from hulltune.errors import InputError, Note
from hulltune.formats.read import read
from hulltune.interrupts import interrupts_set
from hulltune.metrics.base import Metric
from hulltune.metrics.counts import error_counts
from hulltune.metrics.registry import get_metric
from hulltune.metrics.store import Store, opened
from hulltune.options import Tuning, by_keyword
from hulltune.search.outputs import Outputs
from hulltune.search.problem import Picks, Problem
from hulltune.search.strategy import Found, Report, Setting, Start, Status
from hulltune.threads import Workers
from hulltune.tuning.evaluation import (
    SingleFeatures,
    baseline_kind,
    check_folds,
    counts_by_name,
    cross_validate,
    held_out,
    paired_bootstrap,
    random_score,
    unjudged,
    without_each_feature,
)
from hulltune.tuning.inputs import DataLike, ReferencesLike, as_references, as_weights, judged, like
from hulltune.tuning.leaks import leak_warning
from hulltune.tuning.oracle import Oracle, oracle_of
from hulltune.tuning.picks import Reranked
from hulltune.tuning.regularising import Run
from hulltune.tuning.reranking import rerank
from hulltune.tuning.result import Regularisation, Replicates, TuneResult
from hulltune.tuning.sensitivity import Sensitivity, sensitivity

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
    with opened(tuning.store) as store:
        return _tuned(_Task.of(data, references, tuning, store))


def other_metrics(metric: Metric, also: Sequence[str | Metric] | None) -> list[Metric]:
    """The metrics to be shown beside the tuned one."""
    if also is None:
        also = TEXT_METRICS if metric.name in TEXT_METRICS else ()
    return [other for other in map(get_metric, also) if other.signature != metric.signature]


@dataclass(frozen=True, eq=False)
class _Task:
    """What a call of ``tune`` is about: its options, and the data that were read for it."""

    tuning: Tuning
    run: Run
    dataset: Dataset
    problem: Problem
    others: Sequence[Problem]
    """The sentences with metrics that are not tuned on."""
    heldout: Problem | None
    start: Start
    began: float
    """The moment of the call."""
    read: float
    """The moment when everything was read."""

    @staticmethod
    def of(data: DataLike, references: ReferencesLike, tuning: Tuning, store: Store | None) -> _Task:
        """Read everything. References are prepared in threads where all metrics allow it."""
        began = time.perf_counter()
        run, metric = Run.of(tuning), get_metric(tuning.metric)
        metrics = [metric, *other_metrics(metric, tuning.also)]
        dataset = judged(read(data, threads=run.threads), as_references(references), *metrics)
        if not dataset.feature_names:
            raise InputError("lists: the candidates have no features, so there is nothing to weigh; add some")
        if tuning.folds:
            check_folds(tuning.folds, len(dataset))
        outputs = Outputs(dataset.corpus)  # all problems share the numbers of outputs

        def problem_of(metric: Metric) -> Problem:
            asked = tuning.questions if metric is metrics[0] else None
            return Problem.of(dataset, metric, outputs=outputs, store=store, questions=asked)

        beside = store is None and all(metric.threaded for metric in metrics)
        problem, *others = Workers(run.threads if beside else 1).map(problem_of, metrics)
        unseen = None
        if tuning.heldout is not None:
            unseen = Problem.of(like(dataset, tuning.heldout, metric), metric, store=store, questions=tuning.questions)
        start = None if tuning.start is None else as_weights(tuning.start)
        return _Task(tuning, run, dataset, problem, others, unseen, start, began, time.perf_counter())

    def oracle(self) -> Oracle | None:
        """The best picks, if they are wanted and the metric need not wait for answers."""
        if not self.tuning.oracle or self.problem.metric.waits:
            return None
        return oracle_of(self.problem, threads=self.run.threads)

    def reporter(self, baseline: float, number: int = 0) -> Report | None:
        """A function that turns the status of run ``number``, in losses, into the progress of all runs, in scores."""
        metric, progress, count = self.problem.metric, self.tuning.progress, self.tuning.replicates
        if progress is None:
            return None

        def report(status: Status) -> None:
            progress(
                Progress(
                    starts_done=number * status.starts + status.done,
                    starts=count * status.starts,
                    line_searches=status.line_searches,
                    seconds=time.perf_counter() - self.began,
                    best_score=metric.score_of(status.loss),
                    baseline=baseline,
                    bound=None if status.bound is None else metric.score_of(status.bound),
                    boxes=status.boxes,
                )
            )

        return report


def _tuned(task: _Task) -> TuneResult:
    """The result of a task: search, check the weights found, and describe them."""
    run, problem, metric = task.run, task.problem, task.problem.metric
    best = None if run.strategy.asks_by_the_clock else task.oracle()  # its bound may end the search
    stop = threading.Event()
    with interrupts_set(stop):  # an interrupt must not skip the check, nor lose the weights during it
        setting = replace(run.setting(problem, task.start, task.dataset.model), stop=stop)
        if best is not None and best.bound is not None:
            setting = replace(setting, least_loss=metric.score_of(best.bound))
        baseline = problem.baseline(setting.compared, workers=run.workers)
        found, regularisation = run.find(setting, task.reporter(float(metric.score(baseline.total))))
        picks = problem.picks(found.weights, workers=run.workers)
        tuned = _Tuned(task, setting, baseline, found, picks, regularisation)
        fields = {**tuned.fields(), "outputs": _checked_outputs(task, found, picks)}
    interrupted = found.interrupted or stop.is_set()
    searched = time.perf_counter()
    try:  # an interrupt from here on loses what is not told yet, never the weights
        fields.update(tuned.description(best, interrupted=interrupted))
    except KeyboardInterrupt:
        interrupted = True
    ended = time.perf_counter()
    result = TuneResult(
        **fields,
        interrupted=interrupted,
        seconds=ended - task.began,
        timings={
            "reading": task.read - task.began,
            "searching": searched - task.read,
            "describing": ended - searched,
        },
    )
    return result.with_problem(problem)


def _checked_outputs(task: _Task, found: Found, picks: Picks) -> Reranked:
    """The data reranked anew with the weights that were found: loss and outputs must be those of the search."""
    problem = task.problem
    if float(problem.metric.loss(picks.total)) != found.loss:  # every search must report the loss of decoding
        score = problem.metric.score(picks.total)
        raise AssertionError(f"reranking scores {score}, but the search saw {found.loss}")
    outputs = rerank(task.dataset, found.weights.tolist(), threads=task.run.threads)
    # The texts of hypotheses at the same place of a list need no look.
    sentences = np.flatnonzero(~_at_the_same_places(problem, picks.outputs, outputs.indices))
    texts = np.full(len(sentences), "", dtype=object)
    numbers = picks.outputs[sentences]
    texts[numbers >= 0] = problem.outputs.described(numbers[numbers >= 0])[1]
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


@dataclass(frozen=True, eq=False)
class _Tuned:
    """Weights that were found, and the picks that they are compared with."""

    task: _Task
    setting: Setting
    baseline: Picks
    found: Found
    picks: Picks
    regularisation: Regularisation | None

    def fields(self) -> dict[str, Any]:
        """The fields of the result that are known after the search."""
        problem, metric, found = self.task.problem, self.task.problem.metric, self.found
        is_rate = error_counts(metric, self.picks.statistics) is not None
        started = problem.picks(found.start, workers=self.task.run.workers).statistics if is_rate else None
        return {
            "weights": self._by_name(found.weights),
            "start": self._by_name(found.start),
            "score": float(metric.score(self.picks.total)),
            "baseline": float(metric.score(self.baseline.total)),
            "baseline_kind": baseline_kind(
                problem, by_model=self.setting.model is not None, equal=self.task.start is None
            ),
            "start_score": metric.score_of(found.start_loss),
            "start_kind": TuneResult.start_kind if self.task.start is None else "the weights given",
            "oracle": None,
            "metric": metric.signature,
            "higher_is_better": metric.higher_is_better,
            "seed": self.task.run.seed,
            "sentences": len(problem.corpus),
            "candidates": problem.corpus.edges,
            "line_searches": found.line_searches,
            "version": __version__,
            "history": found.history,
            "certificate": found.certificate,
            "counts": counts_by_name(
                metric, baseline=self.baseline.statistics, start=started, tuned=self.picks.statistics
            ),
            "ended": found.ended,
            "regularisation": self.regularisation,
            "normalisation": self.task.dataset.normalisation,
            "positive": bool(np.all(self.setting.constraints.lower >= 0.0)),
        }

    def _by_name(self, weights: Floats) -> dict[str, float]:
        return dict(zip(self.task.problem.feature_names, weights.tolist(), strict=True))

    def description(self, best: Oracle | None, *, interrupted: bool) -> Iterator[tuple[str, Any]]:
        """The other fields of the result, one after the other, so that an interrupt keeps those that were told.

        A metric that waits for answers is not asked for more outputs.
        """
        task, setting, found = self.task, self.setting, self.found
        problem, seed, workers = task.problem, task.run.seed, task.run.workers
        best = best or task.oracle()
        yield from self._oracle(best)
        without, ranges = dict[str, float](), None
        if not problem.metric.waits:
            without = without_each_feature(problem, found.weights, setting.units, workers=workers)
            ranges = self._sensitivity(without)
        statistics = self.baseline.statistics, self.picks.statistics
        yield "gain", paired_bootstrap(problem.metric, *statistics, seed=seed, workers=workers)
        yield "without", without
        yield "sensitivity", ranges
        yield "others", {other.metric.signature: self._scores(other) for other in task.others}
        yield "random", random_score(problem)
        yield "unjudged", unjudged(problem, setting.compared, found.weights)
        singles = SingleFeatures.of(problem, found.weights, setting.units, workers=workers)
        losses = singles.losses([np.arange(len(problem.corpus))])[:, 0]
        single = singles.best(losses)
        yield "single", None if single is None else singles.described(single)
        exact = best.score if best is not None and best.exact else None
        if exact == float(problem.metric.score(self.baseline.total)):  # then anything is perfect
            exact = None
        perfect = [] if exact is None else singles.perfect(losses, exact)
        if (suspected := leak_warning(problem, singles.features, perfect)) is not None:
            warnings.warn(suspected, Note, stacklevel=2)
        if task.heldout is not None and not (interrupted and problem.metric.waits):
            yield "heldout", held_out(task.heldout, found, setting.compared, single, seed)
        if interrupted:
            return
        again = task.run.with_strength_of(self.regularisation)
        if task.tuning.folds:
            yield "folds", cross_validate(again, setting, task.tuning.folds, singles)
        if task.tuning.replicates > 1:
            yield "replicates", self._replicates(again)

    def _oracle(self, best: Oracle | None) -> Iterator[tuple[str, Any]]:
        """The best picks: those of a search, or of the tuned weights in case they are better."""
        if best is None:
            return
        metric, score, kind = self.task.problem.metric, best.score, best.kind
        own = float(metric.score(self.picks.total))
        if (own > score) if metric.higher_is_better else (own < score):
            score, kind = own, f"the tuned picks, which are better than those of a search: {kind}"
        yield from (("oracle", score), ("oracle_kind", kind), ("oracle_bound", best.bound))

    def _sensitivity(self, shown: Mapping[str, float]) -> Sensitivity:
        """The range of each free weight that is ``shown``."""
        problem, constraints = self.task.problem, self.setting.constraints
        groups = [group for group in constraints.free_groups if problem.feature_names[int(group[0])] in shown]
        return sensitivity(
            problem, self.found.weights, self.task.tuning.tolerance, constraints=constraints, groups=groups,
            workers=self.task.run.workers,
        )  # fmt: skip

    def _scores(self, other: Problem) -> tuple[float, float]:
        """The scores of the baseline and of the tuned picks with another metric."""
        workers = self.task.run.workers
        sides = (self.baseline, self.setting.compared), (self.picks, self.found.weights)
        before, after = (
            float(other.metric.score(other.judged(picks, weights, workers=workers).total)) for picks, weights in sides
        )
        return before, after

    def _replicates(self, run: Run) -> Replicates:
        """The scores of this and further seeds, their mean and standard deviation (Clark et al. 2011)."""
        task, metric = self.task, self.task.problem.metric
        seeds = range(run.seed, run.seed + task.tuning.replicates)
        found = [self.found]
        for number, seed in enumerate(seeds[1:], start=1):
            report = task.reporter(float(metric.score(self.baseline.total)), number)
            found.append(replace(run, seed=seed).find(self.setting, report)[0])
            if found[-1].interrupted:
                raise KeyboardInterrupt
        scores = tuple(metric.score_of(each.loss) for each in found)
        unseen = () if task.heldout is None else tuple(task.heldout.score(each.weights) for each in found)
        return Replicates(tuple(seeds), scores, float(np.mean(scores)), float(np.std(scores, ddof=1)), unseen)
