"""Tune weights over lists or forests: many climbs from many starts, the best of them checked and described."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune._version import __version__
from hulltune.errors import InputError
from hulltune.forest.forest import feature_vector
from hulltune.lines.compute import available_cpus
from hulltune.search.certified.certificate import Certificate
from hulltune.search.certified.certify import certify
from hulltune.search.certified.search import Limits, State
from hulltune.search.certified.subspace import MOST_BOXES, climb_in_subspaces
from hulltune.search.constraints import FARTHEST, CompiledConstraints, Constraints
from hulltune.search.directions import feature_units, random_directions
from hulltune.search.gradient import expected_metric_direction
from hulltune.search.interface import Problem
from hulltune.search.optimise import Position, SearchOptions, climb
from hulltune.search.problem import Picks, exact_sum
from hulltune.tuning.evaluation import baseline_kind, paired_bootstrap, without_each_feature
from hulltune.tuning.oracle import oracle_around
from hulltune.tuning.result import HeldOut, TuneResult

Floats = NDArray[np.float64]

TOGETHER = 4
"""Climbs around the best so far that race each other."""
NEAR = (0.33, 0.1)
"""How far from the best so far they start, in turn: a share of the mean size of the scaled weights."""
MOST_ROUNDS = 8
"""Of climbing before a race is decided anew."""


@dataclass(frozen=True)
class Progress:
    """Where a run is: for a progress bar."""

    starts_done: int
    starts: int
    line_searches: int
    seconds: float
    best_score: float
    baseline: float
    bound: float | None = None
    """What no weights score better than, as far as it is proven; None if nothing is."""
    boxes: int = 0
    """Boxes of weights that a certified search has looked at."""


@dataclass(frozen=True)
class TuneOptions:
    """Everything that can be chosen about a run but its data."""

    constraints: Constraints = field(default_factory=Constraints)
    search: SearchOptions = field(default_factory=SearchOptions)
    restarts: int = 39
    """Climbs beside that from the start: a fifth from random weights, the others from around the best so far."""
    seed: int = 1
    threads: int | None = None
    samples: int = 1000
    """Bootstrap samples."""
    limits: Limits = Limits()  # noqa: RUF009  # frozen
    """When a certified search stops."""
    oracle: bool = True
    """Whether to look for the best picks, which asks the metric for every candidate."""

    def __post_init__(self) -> None:
        if self.restarts < 0:
            raise InputError(f"restarts: expected 0 or more, got {self.restarts}")
        if self.threads is not None and self.threads < 1:
            raise InputError(f"threads: expected at least 1, got {self.threads}")
        if self.seed < 0:
            raise InputError(f"seed: expected a whole number of at least 0, got {self.seed}")


@dataclass(frozen=True, eq=False)
class _Found:
    """The outcome of all climbs."""

    weights: Floats
    start: Floats
    start_loss: float
    loss: float
    line_searches: int
    history: tuple[Mapping[str, float], ...]
    interrupted: bool
    certificate: Certificate | None = None


@dataclass(frozen=True, eq=False)
class _Ground:
    """What a search stands on: the constraints, the units of features, and the first weights."""

    constraints: CompiledConstraints
    units: Floats
    first: Floats

    @staticmethod
    def of(problem: Problem, options: TuneOptions, start: Mapping[str, float] | Sequence[float] | None) -> _Ground:
        constraints = options.constraints.compile(problem.feature_names)
        units = feature_units(problem.corpus)
        return _Ground(constraints, units, _first_weights(problem, constraints, units, start))


def tune_problem(
    problem: Problem,
    options: TuneOptions,
    *,
    start: Mapping[str, float] | Sequence[float] | None = None,
    heldout: Problem | None = None,
    folds: int = 0,
    others: Sequence[Problem] = (),
    progress: Callable[[Progress], None] | None = None,
) -> TuneResult:
    """Tune the weights of ``problem`` and describe the result.

    ``heldout`` is scored with the tuned weights; ``folds`` tunes on all but one fold in turn and scores the rest;
    ``others`` are the same lists under metrics that were not tuned on. An interrupt (Ctrl-C) ends the search with the
    best so far. The seed alone decides the result: not the number of threads.
    """
    began = time.perf_counter()
    if folds:
        _check_folds(folds, len(problem.corpus))
    if options.oracle and not problem.metric.waits and problem.choices_are_all:
        problem.rows(problem.choices()[1])  # all are asked for in the end, and at once that is far faster
    ground = _Ground.of(problem, options, start)
    baseline = problem.baseline(ground.first)
    report = _reporter(problem, baseline.total, progress, began)
    found = _search(problem, options, ground, report)
    tuned = problem.picks(found.weights)
    score = float(problem.metric.score(tuned.total))
    if float(problem.metric.loss(tuned.total)) != found.loss:  # the invariant that all rests on
        raise AssertionError(f"reranking scores {score}, but the search saw {found.loss}")
    searched = time.perf_counter()
    names = problem.feature_names
    result = TuneResult(
        weights=dict(zip(names, found.weights.tolist(), strict=True)),
        start=dict(zip(names, found.start.tolist(), strict=True)),
        score=score,
        baseline=float(problem.metric.score(baseline.total)),
        baseline_kind=baseline_kind(problem),
        start_score=_as_score(problem, found.start_loss),
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
    try:  # an interrupt from here on costs the description, never the weights
        result = _described(result, problem, options, baseline, tuned, others)
        if heldout is not None:
            result = replace(result, heldout=_held_out(heldout, found, options))
        if folds and not found.interrupted:
            result = replace(result, heldout=cross_validate(problem, options, folds, start=start))
    except KeyboardInterrupt:
        result = replace(result, interrupted=True)
    ended = time.perf_counter()
    timings = {"searching": searched - began, "describing": ended - searched}
    return replace(result, seconds=ended - began, timings=timings)


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
) -> HeldOut:
    """Every sentence scored with weights tuned on the folds it is not in. Folds are drawn at random by the seed."""
    sentences = len(problem.corpus)
    _check_folds(folds, sentences)
    fold_of = np.random.default_rng([options.seed, 7]).permutation(sentences) % folds
    statistics = problem.baseline(_Ground.of(problem, options, start).first).statistics
    tuned = statistics.copy()
    for fold in range(folds):
        inside, outside = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
        training = problem.subset(inside)
        found = _search(training, options, _Ground.of(training, options, start), None)
        if found.interrupted:  # a part of the folds says nothing
            raise KeyboardInterrupt
        tuned[outside] = problem.subset(outside).picks(found.weights).statistics
    return _compare(problem, statistics, tuned, options, "folds")


def _check_folds(folds: int, sentences: int) -> None:
    if not 2 <= folds <= sentences:
        raise InputError(f"folds: expected 2 to {sentences} (one sentence a fold), got {folds}")


def _held_out(problem: Problem, found: _Found, options: TuneOptions) -> HeldOut:
    baseline = problem.baseline(found.start)
    return _compare(problem, baseline.statistics, problem.picks(found.weights).statistics, options, "file")


def _compare(problem: Problem, baseline: NDArray[Any], tuned: NDArray[Any], options: TuneOptions, how: str) -> HeldOut:
    return HeldOut(
        how=how,
        sentences=len(baseline),
        baseline=float(problem.metric.score(exact_sum(baseline))),
        score=float(problem.metric.score(exact_sum(tuned))),
        gain=paired_bootstrap(problem.metric, baseline, tuned, samples=options.samples, seed=options.seed),
    )


def _as_score(problem: Problem, loss: float) -> float:
    return -loss if problem.metric.higher_is_better else loss


def _reporter(
    problem: Problem, baseline: NDArray[Any], progress: Callable[[Progress], None] | None, began: float
) -> Callable[[_Step], None] | None:
    if progress is None:
        return None
    baseline_score = float(problem.metric.score(baseline))

    def report(step: _Step) -> None:
        bound = None if step.bound is None else _as_score(problem, step.bound)
        progress(
            Progress(
                starts_done=step.done,
                starts=step.starts,
                line_searches=step.line_searches,
                seconds=time.perf_counter() - began,
                best_score=_as_score(problem, step.loss),
                baseline=baseline_score,
                bound=bound,
                boxes=step.boxes,
            )
        )

    return report


@dataclass(frozen=True)
class _Step:
    """What a search reports of itself, in losses."""

    done: int
    starts: int
    line_searches: int
    loss: float
    bound: float | None = None
    boxes: int = 0


def _certified(
    problem: Problem, options: TuneOptions, ground: _Ground, report: Callable[[_Step], None] | None
) -> _Found:
    """The best weights there are within the constraints, with the proof."""

    def show(state: State) -> None:
        if report is not None and np.isfinite(state.loss):
            report(_Step(0, 1, state.line_searches, state.loss, state.bound, state.boxes))

    found = certify(
        problem, ground.constraints, ground.units, options.limits, start=ground.first,
        threads=options.threads or available_cpus(), progress=show,
    )  # fmt: skip
    outcome = found.outcome
    if report is not None:
        report(_Step(1, 1, outcome.line_searches, found.loss, outcome.bound, outcome.boxes))
    return _Found(
        weights=found.weights,
        start=ground.first,
        start_loss=float(problem.metric.loss(problem.picks(ground.first).total)),
        loss=found.loss,
        line_searches=outcome.line_searches,
        history=tuple(
            {"start": 0, "boxes": boxes, "line_searches": spent, "score": _as_score(problem, loss)}
            for boxes, spent, loss in outcome.history
        ),
        interrupted=outcome.stopped == "interrupt",
        certificate=found.certificate,
    )


def _search(
    problem: Problem,
    options: TuneOptions,
    ground: _Ground,
    report: Callable[[_Step], None] | None,
) -> _Found:
    """All climbs: from the start and from random weights first, then from around the best so far, a few at a time.

    They race: after some rounds only the better ones go on (successive halving, Jamieson & Talwalkar 2016). On real and
    simulated lists that reaches the scores of climbing from every start to the end with two fifths of the searches.
    """
    if options.search.search == "certified":
        return _certified(problem, options, ground, report)
    constraints, units, first = ground.constraints, ground.units, ground.first
    reach = FARTHEST * np.maximum(np.divide(1.0, units, out=np.ones_like(units), where=units > 0.0), np.abs(first))
    rngs = [np.random.default_rng([options.seed, number]) for number in range(options.restarts + 1)]
    far = -(-options.restarts // 5)
    run = _Run(problem, options, constraints, units, reach, report)
    starts = [first] + [_random_start(constraints, units, rngs[i]) for i in range(1, far + 1)]
    run.race([(number, weights, rngs[number]) for number, weights in enumerate(starts)], rounds=2, share=2)
    for group, begin in enumerate(range(far + 1, options.restarts + 1, TOGETHER)):
        if run.stop.is_set():
            break
        best, distance = run.best().weights, NEAR[group % len(NEAR)]
        numbers = range(begin, min(begin + TOGETHER, options.restarts + 1))
        near = [(number, _near(constraints, units, best, distance, rngs[number]), rngs[number]) for number in numbers]
        run.race(near, rounds=3, share=TOGETHER)
    best_position = run.best()
    start_position = run.paths[0][0]
    return _Found(
        weights=best_position.weights,
        start=start_position.weights,
        start_loss=start_position.loss,
        loss=best_position.loss,
        line_searches=sum(path[-1].line_searches for path in run.paths.values()),
        history=run.history(),
        interrupted=run.stop.is_set(),
    )


class _Climb:
    """One climb, a few rounds at a time."""

    def __init__(self, number: int, positions: Iterator[Position]) -> None:
        self.number, self.path = number, list(islice(positions, 1))
        self._positions = positions

    def go_on(self, rounds: int | None, stop: threading.Event) -> None:
        """For some rounds, or to the end."""
        for position in islice(self._positions, rounds):
            self.path.append(position)
            if stop.is_set():
                return


class _Run:
    """Climbs in parallel threads. Each has its own random numbers, so that threads change nothing but the time."""

    def __init__(
        self,
        problem: Problem,
        options: TuneOptions,
        constraints: CompiledConstraints,
        units: Floats,
        reach: Floats,
        report: Callable[[_Step], None] | None,
    ) -> None:
        self.problem, self.options, self.constraints = problem, options, constraints
        self.units, self.reach, self.report = units, reach, report
        self.paths: dict[int, list[Position]] = {}
        self.finished = 0
        self.stop = threading.Event()
        self.threads = options.threads or available_cpus()

    def race(self, starts: list[tuple[int, Floats, np.random.Generator]], *, rounds: int, share: int) -> None:
        """Climb from all starts for ``rounds`` rounds, go on from the best of them (one in ``share``) for twice as
        many, and so on; the last one climbs to its end. Of equals the first is better.
        """
        left: list[_Climb] = []
        self._in_threads([partial(self._begin, left, *start) for start in starts])
        while left and not self.stop.is_set():
            last = len(left) == 1
            self._in_threads([partial(each.go_on, None if last else rounds, self.stop) for each in left])
            if last:
                break
            left = sorted(left, key=lambda each: (each.path[-1].loss, each.number))[: max(1, len(left) // share)]
            rounds = min(2 * rounds, MOST_ROUNDS)
        self.finished += len(starts)
        self._report()

    def _begin(self, begun: list[_Climb], number: int, weights: Floats, rng: np.random.Generator) -> None:
        if self.stop.is_set() and number > 0:  # the first climb always says where it starts
            return
        new = _Climb(number, self._positions(weights, rng))
        self.paths[number] = new.path
        begun.append(new)

    def _in_threads(self, tasks: list[Callable[[], None]]) -> None:
        with ThreadPoolExecutor(max(1, min(self.threads, len(tasks)))) as pool:
            waiting: set[Future[None]] = {pool.submit(task) for task in tasks}
            while waiting:
                try:
                    done, waiting = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
                    for future in done:
                        future.result()
                    self._report()
                except KeyboardInterrupt:
                    self.stop.set()
                except BaseException:
                    self.stop.set()
                    raise

    def _positions(self, weights: Floats, rng: np.random.Generator) -> Iterator[Position]:
        if self.options.search.search == "subspace":
            # Each subspace is searched to its optimum, but not for hours.
            limits = replace(self.options.limits, boxes=min(self.options.limits.boxes, MOST_BOXES))
            return climb_in_subspaces(self.problem, weights, self.constraints, self.units, rng, limits)
        return climb(
            self.problem, weights, self.constraints, self.options.search, self.units, rng, reach=self.reach,
            threads=max(1, self.threads // TOGETHER),
            more_directions=self._gradient() if self.options.search.search == "gradient" else None,
        )  # fmt: skip

    def _gradient(self) -> Callable[[Floats], list[Floats]]:
        return lambda weights: [expected_metric_direction(self.problem, weights, units=self.units)]

    def best(self) -> Position:
        """The smallest loss; of equals the climb with the smallest number."""
        ends = [(path[-1].loss, number) for number, path in self.paths.items() if path]
        return self.paths[min(ends)[1]][-1]

    def history(self) -> tuple[Mapping[str, float], ...]:
        """Every improvement over all climbs before it."""
        events: list[Mapping[str, float]] = []
        spent, best = 0, np.inf
        for number in sorted(self.paths):
            for position in self.paths[number]:
                if position.loss < best:
                    best = position.loss
                    events.append(
                        {"start": number, "line_searches": spent + position.line_searches,
                         "score": _as_score(self.problem, best)}
                    )  # fmt: skip
            spent += self.paths[number][-1].line_searches
        return tuple(events)

    def _report(self) -> None:
        paths = [path for path in list(self.paths.values()) if path]
        if self.report is not None and paths:
            spent = sum(path[-1].line_searches for path in paths)
            best = min(path[-1].loss for path in paths)
            self.report(_Step(self.finished, self.options.restarts + 1, spent, best))


def _first_weights(
    problem: Problem,
    constraints: CompiledConstraints,
    units: Floats,
    start: Mapping[str, float] | Sequence[float] | None,
) -> Floats:
    if start is None:
        weights = constraints.start(units)
        if not np.any(weights):
            raise InputError("constraints: every weight is fixed at 0, or no feature differs between candidates")
        return weights
    weights = feature_vector(start, problem.feature_names, "start")
    violation = constraints.violation(weights)
    if violation is not None:
        raise InputError(f"start: {violation}")
    if not np.any(weights):
        raise InputError("start: all weights are 0, which ties all candidates; give at least one another value")
    return weights


def _random_start(constraints: CompiledConstraints, units: Floats, rng: np.random.Generator) -> Floats:
    return _feasible(constraints, random_directions(1, units, rng)[0], constraints.start(units))


def _near(
    constraints: CompiledConstraints, units: Floats, best: Floats, distance: float, rng: np.random.Generator
) -> Floats:
    """Weights around the best: every scaled weight moved by a share of their mean size."""
    size = float(np.mean(np.abs(best * units)))
    return _feasible(constraints, best + random_directions(1, units, rng)[0] * size * distance, best)


def _feasible(constraints: CompiledConstraints, weights: Floats, fallback: Floats) -> Floats:
    """A start within the constraints: mirrored at bounds of 0, otherwise as near as may be."""
    feasible = weights.copy()
    for group in constraints.groups:
        value = float(weights[group].mean())
        low, high = float(constraints.lower[group[0]]), float(constraints.upper[group[0]])
        if not low <= value <= high and low <= -value <= high:
            value = -value
        feasible[group] = min(max(value, low), high)
    return feasible if np.any(feasible) else fallback
