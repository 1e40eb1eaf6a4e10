"""Best-first branch and bound: split the box with the best bound until no bound is better than the best loss found."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hulltune.arrays import Floats, take_plain_numbers
from hulltune.certified.boxes import Box, Queue
from hulltune.certified.candidates import candidates_of
from hulltune.certified.cell import middle_of_cell
from hulltune.certified.clock import Clock, Over
from hulltune.certified.evaluate import first_boxes, split
from hulltune.certified.pools import check_free, pool_of
from hulltune.certified.space import Space
from hulltune.defaults import GAP
from hulltune.errors import InputError
from hulltune.interrupts import is_interrupt
from hulltune.search.policies import Policy
from hulltune.search.problem import Problem
from hulltune.search.steps import search_lines
from hulltune.threads import ALONE, Workers

BATCH = 32
"""Boxes split at a time. It does not depend on the threads, so the result does not either."""
MOST_HELD = 1 << 28
"""The most candidates in all waiting boxes, about 1 GB. Beyond that the search ends with what is proven."""
ROUNDS = 20
FINEST_GAP = 2.0**-40
"""The least gap, as a share of the loss, that inexact bounds have to reach: they are moved outward by less."""


@dataclass(frozen=True)
class Limits:
    """The limits of a search: the gap between value and bound (in the unit of the metric), and the time in seconds."""

    gap: float = GAP
    """The gap between value and bound at which the search ends, in the unit of the metric."""
    time: float = math.inf
    """The seconds after which it ends with what is proven by then."""

    def __post_init__(self) -> None:
        take_plain_numbers(self)
        if not 0.0 <= self.gap < math.inf:
            raise InputError(f"gap: expected a number of at least 0, got {self.gap}")
        if not self.time > 0.0:
            raise InputError(f"time: expected a positive number of seconds, got {self.time}")


@dataclass(frozen=True)
class State:
    """The progress of a search."""

    loss: float
    bound: float
    boxes: int
    line_searches: int


@dataclass(frozen=True, eq=False)
class Outcome:
    """Weights, their loss when decoding, and a bound: no weights of the space have a smaller loss."""

    weights: Floats
    loss: float
    bound: float
    boxes: int
    line_searches: int
    seconds: float
    stopped: str
    """"gap", "time", "memory", "rounding" or "interrupt"."""
    history: tuple[tuple[int, int, float], ...]
    """Every improvement: boxes and line searches spent so far, and the loss."""


class _Search:
    """The state of one search. Only the kernels run in threads."""

    def __init__(self, problem: Problem, space: Space, clock: Clock, workers: Workers) -> None:
        self.problem, self.space, self.clock, self.workers = problem, space, clock, workers
        self.reach = space.reach
        self.lines = space.lines
        self.scales = np.abs(space.axes).max(axis=1)
        self.queue = Queue()
        self.best: tuple[Floats, float] = np.empty(0), math.inf  # one object: an interrupt never sees half a change
        self.first: tuple[Floats, float] = np.empty(0), math.inf  # the answer if there is no time for a better one
        self.reserve = 0.0  # the seconds that it takes to move the best weights to the middle of their cell
        self.closed = math.inf  # the least bound of boxes that are too thin to be split
        self.boxes = self.line_searches = 0
        self.taken: list[Box] = []
        self.covered = False  # whether the boxes cover the space: an interrupt may come before that
        self.history: list[tuple[int, int, float]] = []

    @property
    def weights(self) -> Floats:
        """The best weights so far."""
        return self.best[0]

    @property
    def loss(self) -> float:
        """The loss of the best weights so far."""
        return self.best[1]

    @property
    def bound(self) -> float:
        """The loss that is proven to be a bound now: a box that is being split counts until its parts do.

        Before boxes cover the space, nothing is known but the least loss of the metric.
        """
        if not self.covered:
            return min(self.loss, self.problem.metric.least_loss)
        taken = min((box.bound for box in self.taken), default=math.inf)
        return min(self.loss, self.queue.bound, self.closed, taken)

    def target(self, limits: Limits) -> float:
        """The loss that bounds have to reach for the search to end; no nearer to the best than rounding allows."""
        return self.loss - max(limits.gap, FINEST_GAP * abs(self.loss)) if math.isfinite(self.loss) else math.inf

    def offer(self, weights: Floats) -> None:
        """Take the weights if decoding gives a smaller loss, and climb from there along the axes."""
        if self.space.constraints.violation(weights) is not None:
            return
        loss = self._loss_of(weights)
        if not loss < self.loss:
            return
        self.best = weights, loss
        constraints = self.space.constraints
        for _ in range(ROUNDS):
            self.clock.look()
            moves = search_lines(
                self.problem, self.weights, self.loss, self.lines, constraints, Policy(),
                reach=self.reach, workers=self.workers,
            )  # fmt: skip
            self.line_searches += len(moves)
            before = self.loss
            for move in sorted(moves, key=lambda move: move.loss):
                if not move.loss < self.loss:
                    break
                loss = self._loss_of(move.weights)
                if loss < self.loss:
                    self.best = move.weights, loss
                    break
            if not self.loss < before:
                break
        self.history.append((self.boxes, self.line_searches, self.loss))

    def offer_start(self, weights: Floats) -> None:
        """Offer weights that may lie on a tie. A tie belongs to no cell, so the weights are moved off it first."""
        if self.space.constraints.violation(weights) is None:
            loss = self._loss_of(weights)
            self.first = weights, loss
            began = self.clock.seconds
            centred, _ = self._centred(weights, loss)
            self.reserve = min(self.clock.seconds - began, self.clock.limit / 8.0)
            self.offer(centred)

    def answer(self) -> tuple[Floats, float]:
        """The best weights and their loss: there is an answer, however early the search ends."""
        if math.isfinite(self.loss):
            return self.best
        if not math.isfinite(self.first[1]):
            faces = self.space.faces
            for weights in map(self.space.weights, [*(faces.lows + faces.highs) / 2.0, *faces.lows, *faces.highs]):
                if self.space.constraints.violation(weights) is None and np.any(weights):
                    self.first = weights, self._loss_of(weights)
                    break
        return self.first

    def settle(self) -> None:
        """Move the best weights to the middle of their cell.

        Boxes were dropped because of the loss until now. It stays a bound, even if the weights were on a tie and the
        cells beside it are worse.
        """
        self.closed = self.bound
        self.best = self._centred(*self.best)

    def _loss_of(self, weights: Floats) -> float:
        return self.problem.loss(weights, workers=self.workers)

    def _centred(self, weights: Floats, loss: float) -> tuple[Floats, float]:
        return middle_of_cell(
            self.problem, weights, loss, self.lines, self.scales, self.space.constraints, self.clock, self.workers
        )

    def receive(self, boxes: list[Box], losses: Floats) -> None:
        """Queue the boxes that may be better than the best weights so far, and offer the best of their centres."""
        self.boxes += len(boxes)
        if len(boxes):
            best = int(np.argmin(losses))
            if losses[best] < self.loss:
                self.offer(self.space.weights(boxes[best].centre))
        for box in boxes:
            if box.bound < self.loss:
                self.queue.put(box)


def branch_and_bound(
    problem: Problem,
    space: Space,
    limits: Limits,
    clock: Clock,
    *,
    start: Floats | None = None,
    workers: Workers = ALONE,
    progress: Callable[[State], None] | None = None,
) -> Outcome:
    """The best weights of the space to within ``limits.gap``, or as near as the clock allows.

    The search begins with the weights ``start``, if they are in the space. An interrupt ends it with what is proven.
    """
    check_free(problem, space)
    search = _Search(problem, space, clock, workers)
    try:
        stopped = _search(search, limits, start, progress)
    except Over as over:
        stopped = over.reason
    except (KeyboardInterrupt, SystemError) as error:  # repeated, or raised by who is told of the progress
        if not is_interrupt(error):
            raise
        stopped = "interrupt"
    if stopped in ("time", "interrupt") and math.isfinite(search.loss):
        search.settle()
    weights, loss = search.answer()
    if not math.isfinite(loss):
        raise InputError(f"certify: found no weights within the constraints in {clock.seconds:.2g} s; give a start")
    return Outcome(
        weights=weights,
        loss=loss,
        bound=min(loss, search.bound),
        boxes=search.boxes,
        line_searches=search.line_searches,
        seconds=clock.seconds,
        stopped=stopped,
        history=tuple(search.history) or ((search.boxes, search.line_searches, loss),),
    )


def _search(
    search: _Search,
    limits: Limits,
    start: Floats | None,
    progress: Callable[[State], None] | None,
) -> str:
    """Search until the gap is closed, or as far as rounding and memory allow; returns the reason to stop."""
    problem, space, clock, metric = search.problem, search.space, search.clock, search.problem.metric
    if start is not None:
        search.offer_start(start)
    candidates = candidates_of(problem, pool_of(problem, space, clock), space, clock, search.workers)
    faces = first_boxes(candidates, space.faces, metric, search.loss, clock, search.workers)
    search.receive(faces.boxes, faces.losses)
    search.covered = True
    while True:
        if progress is not None:
            progress(State(search.loss, search.bound, search.boxes, search.line_searches))
        reason = _reason(search, limits)
        if reason is not None:
            break
        clock.look(reserve=search.reserve)
        search.queue.take(BATCH, search.target(limits), into=search.taken)
        children, thin = split(candidates, metric, search.taken, search.loss, clock, search.workers)
        search.receive(children.boxes, children.losses)
        search.closed = min([search.closed, *(box.bound for box in thin)])
        search.taken = []
    search.settle()
    return "rounding" if reason == "gap" and search.bound < search.target(limits) else reason


def _reason(search: _Search, limits: Limits) -> str | None:
    """The reason to stop now, if there is one."""
    if search.bound >= search.target(limits):
        return "gap"
    if not search.queue.bound < search.target(limits):
        return "rounding"
    return "memory" if search.queue.held > MOST_HELD else None
