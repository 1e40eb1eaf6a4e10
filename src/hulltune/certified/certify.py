"""Certified search: the best weights within the constraints, and the certificate that they are."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from hulltune.arrays import Floats
from hulltune.certified.branch_and_bound import Outcome, branch_and_bound
from hulltune.certified.cells import best_on_the_line, extents
from hulltune.certified.limits import FINEST_GAP, Clock, Limits
from hulltune.certified.space import Space, space_of
from hulltune.interrupts import interrupts_set
from hulltune.search.certificate import Certificate
from hulltune.search.constraints import CompiledConstraints
from hulltune.search.problem import Problem
from hulltune.search.strategy import Found, Report, Setting, Status, Strategy
from hulltune.threads import Workers


@dataclass(frozen=True)
class Certified(Limits, Strategy):
    """Branch and bound over all weights, for a few free ones. It ends when no weights are better by more than ``gap``
    (in the unit of the metric), or after ``time`` seconds with what is proven by then.

    >>> from hulltune import Certified, Constraints, tune
    >>> from hulltune.simulate import simulated_task
    >>> task = simulated_task(sentences=20, candidates=10)
    >>> free = Constraints(fix={"forward": 1.0, "fluency": 2.0}, free=["backward", "hint"])
    >>> result = tune(task.lists, metric="wer", search=Certified(gap=0), constraints=free, start=task.optimum)
    >>> result.certificate.is_optimal, result.certificate.bound == result.score
    (True, True)
    """

    name: ClassVar[str] = "certified"
    asks_by_the_clock: ClassVar[bool] = True

    def find(self, setting: Setting, *, seed: int, threads: int, report: Report | None = None) -> Found:
        """The best weights and their certificate. Nothing is random, so the seed does not matter."""
        problem = setting.problem
        start_loss = problem.loss(setting.first, workers=Workers(threads))
        found = certify(
            problem, setting.constraints, setting.units, self, start=setting.first, threads=threads, report=report,
            stop=setting.stop,
        )  # fmt: skip
        outcome = found.outcome
        if report is not None:
            report(Status(1, 1, outcome.line_searches, found.loss, outcome.bound, outcome.boxes))
        return Found(
            weights=found.weights,
            start=setting.first,
            start_loss=start_loss,
            loss=found.loss,
            line_searches=outcome.line_searches,
            history=tuple(
                {"start": 0, "boxes": boxes, "line_searches": spent, "score": problem.metric.score_of(loss)}
                for boxes, spent, loss in outcome.history
            ),
            interrupted=outcome.stopped == "interrupt",
            # A search that is interrupted before it has a bound has nothing to certify.
            certificate=found.certificate if np.isfinite(outcome.bound) else None,
        )


@dataclass(frozen=True, eq=False)
class Proven:
    """Weights in the middle of their cell, their loss, the certificate, and the record of the search."""

    weights: Floats
    loss: float
    certificate: Certificate
    outcome: Outcome


def certify(
    problem: Problem,
    constraints: CompiledConstraints,
    units: Floats,
    limits: Limits,
    *,
    start: Floats | None = None,
    threads: int = 1,
    report: Report | None = None,
    stop: threading.Event | None = None,
) -> Proven:
    """The best weights within constraints, proven to within ``limits.gap``, or as near as the limits allow.

    The time is that of everything here. Ctrl-C, or who else sets ``stop``, ends the search with what is proven by then:
    at first that is the loss of ``start``, and the least loss that the metric can have.
    """
    clock, workers = Clock(limits.time, stop), Workers(threads)
    with interrupts_set(clock.stop):
        space = space_of(constraints, units)
        if space.is_a_line:
            outcome = _outcome_on_the_line(problem, space, limits, clock, workers)
        else:
            outcome = branch_and_bound(problem, space, limits, clock, start=start, workers=workers, report=report)
        weights = _normalised(problem, outcome, constraints, workers)
        certificate = _certificate(problem, outcome, weights, space, clock, workers)
    if clock.stop.is_set():
        outcome = replace(outcome, stopped="interrupt")
    return Proven(weights, outcome.loss, certificate, outcome)


def _outcome_on_the_line(problem: Problem, space: Space, limits: Limits, clock: Clock, workers: Workers) -> Outcome:
    """The best weights of one line. A single line search sees every cell, and is the proof."""
    weights, loss, bound = best_on_the_line(problem, space, clock, workers)
    return Outcome(
        weights=weights,
        loss=loss,
        bound=bound,
        boxes=1,
        line_searches=1,
        stopped="gap" if loss - bound <= max(limits.gap, FINEST_GAP * abs(loss)) else "rounding",
        history=((1, 1, loss),),
    )


def _certificate(
    problem: Problem, outcome: Outcome, weights: Floats, space: Space, clock: Clock, workers: Workers
) -> Certificate:
    sign = -1.0 if problem.metric.higher_is_better else 1.0
    names = problem.feature_names
    lines = {names[group[0]]: np.where(np.isin(np.arange(len(names)), group), 1.0, 0.0) for group in space.moving}
    cells = extents(problem, weights, lines, space.constraints, workers)
    return Certificate(
        value=sign * outcome.loss + 0.0,
        bound=sign * outcome.bound + 0.0,
        gap=outcome.loss - outcome.bound,
        region=space.region(),
        cell={names[k]: cells[names[group[0]]] for group in space.moving for k in group},
        boxes=outcome.boxes,
        seconds=clock.seconds,
        metric=problem.metric.signature,
        stopped=outcome.stopped,
        exact=bool(np.all(problem.table == np.rint(problem.table))),
    )


def _normalised(problem: Problem, outcome: Outcome, constraints: CompiledConstraints, workers: Workers) -> Floats:
    """The weights on the scale of the constraints, unless rounding changes the loss there."""
    weights = constraints.normalised(outcome.weights)
    if constraints.violation(weights) is None and problem.loss(weights, workers=workers) == outcome.loss:
        return weights
    return outcome.weights
