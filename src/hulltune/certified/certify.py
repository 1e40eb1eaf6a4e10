"""Certify: the best weights of a problem within constraints, and the certificate that they are."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from hulltune.arrays import Floats
from hulltune.certified.cell import extents
from hulltune.certified.clock import Clock
from hulltune.certified.on_a_line import best_on_the_line, is_a_line
from hulltune.certified.search import Limits, Outcome, State, branch_and_bound
from hulltune.certified.space import Space, space_of
from hulltune.interrupts import interrupts_set
from hulltune.search.certificate import Certificate
from hulltune.search.constraints import CompiledConstraints
from hulltune.search.problem import Problem
from hulltune.threads import Workers


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
    progress: Callable[[State], None] | None = None,
    stop: threading.Event | None = None,
) -> Proven:
    """The best weights within constraints, proven to within ``limits.gap``, or as near as the limits allow.

    The time is that of everything here. Ctrl-C, or who else sets ``stop``, ends the search with what is proven by then:
    at first that is the loss of ``start``, and the least loss that the metric can have.
    """
    clock, workers = Clock(limits.time, stop), Workers(threads)
    with interrupts_set(clock.stop):
        space = space_of(constraints, units)
        if is_a_line(space):
            outcome = best_on_the_line(problem, space, limits, clock, workers)
        else:
            outcome = branch_and_bound(problem, space, limits, clock, start=start, workers=workers, progress=progress)
        weights = _normalised(problem, outcome, constraints, workers)
        certificate = replace(_certificate(problem, outcome, weights, space, workers), seconds=clock.seconds)
    if clock.stop.is_set():
        outcome = replace(outcome, stopped="interrupt")
    return Proven(weights, outcome.loss, certificate, outcome)


def _certificate(problem: Problem, outcome: Outcome, weights: Floats, space: Space, workers: Workers) -> Certificate:
    sign = -1.0 if problem.metric.higher_is_better else 1.0
    names = problem.feature_names
    lines = {names[group[0]]: np.where(np.isin(np.arange(len(names)), group), 1.0, 0.0) for group in space.moving}
    return Certificate(
        value=sign * outcome.loss + 0.0,
        bound=sign * outcome.bound + 0.0,
        gap=outcome.loss - outcome.bound,
        region=space.region(),
        cell=_cells(problem, weights, lines, space, workers),
        boxes=outcome.boxes,
        seconds=outcome.seconds,
        metric=problem.metric.signature,
        stopped=outcome.stopped,
        exact=bool(np.all(problem.table == np.rint(problem.table))),
    )


def _cells(
    problem: Problem, weights: Floats, lines: dict[str, Floats], space: Space, workers: Workers
) -> dict[str, tuple[float | None, float | None]]:
    found = extents(problem, weights, lines, space.constraints, workers)
    names = problem.feature_names
    return {names[k]: found[names[group[0]]] for group in space.moving for k in group}


def _normalised(problem: Problem, outcome: Outcome, constraints: CompiledConstraints, workers: Workers) -> Floats:
    """The weights on the scale of the constraints, unless rounding changes the loss there."""
    weights = constraints.normalised(outcome.weights)
    if constraints.violation(weights) is None and problem.loss(weights, workers=workers) == outcome.loss:
        return weights
    return outcome.weights
