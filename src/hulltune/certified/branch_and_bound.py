"""Best-first branch and bound: split the box with the best bound until no bound is better than the best loss found."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hulltune.arrays import Floats
from hulltune.certified.boxes import Box, Children, Parts, Queue, cut, evaluated, first_parts
from hulltune.certified.candidates import Candidates, candidates_of
from hulltune.certified.cells import middle_of_cell
from hulltune.certified.limits import FINEST_GAP, Clock, Limits, Over
from hulltune.certified.pools import check_free, pool_of
from hulltune.certified.space import Space
from hulltune.errors import InputError
from hulltune.search.problem import Problem
from hulltune.search.steps import Policy, search_lines
from hulltune.search.strategy import Report, Status
from hulltune.threads import ALONE, Workers

BATCH = 32
"""Boxes split at a time. It does not depend on the threads, so the result does not either."""
MOST_HELD = 1 << 28
"""The most candidates in all waiting boxes, about 1 GB. Beyond that the search ends with what is proven."""
ROUNDS = 20


@dataclass(frozen=True, eq=False)
class Outcome:
    """Weights, their loss when decoding, and a bound: no weights of the space have a smaller loss."""

    weights: Floats
    loss: float
    bound: float
    boxes: int
    line_searches: int
    stopped: str
    """"gap", "time", "memory", "rounding" or "interrupt"."""
    history: tuple[tuple[int, int, float], ...]
    """Every improvement: boxes and line searches spent so far, and the loss."""


class _BranchAndBound:
    """The state of one search. Only the kernels run in threads."""

    def __init__(self, problem: Problem, space: Space, limits: Limits, clock: Clock, workers: Workers) -> None:
        self.problem, self.space, self.limits, self.clock, self.workers = problem, space, limits, clock, workers
        self.queue = Queue()
        self.best: tuple[Floats, float] = np.empty(0), math.inf  # one object: an interrupt never sees half a change
        self.first: tuple[Floats, float] = np.empty(0), math.inf  # the answer if there is no time for a better one
        self.reserve = 0.0  # the seconds that it takes to move the best weights to the middle of their cell
        self.closed = math.inf  # the least bound of boxes that are too thin to be split
        self.boxes = self.line_searches = 0
        self.taken: list[Box] = []
        self.covered = False  # whether the boxes cover the space: an interrupt may come before that
        self.history: list[tuple[int, int, float]] = []

    def run(self, start: Floats | None, report: Report | None) -> str:
        """Search until the gap is closed, or as far as rounding and memory allow; returns the reason to stop."""
        problem, space, clock = self.problem, self.space, self.clock
        if start is not None:
            self.offer_start(start)
        candidates = candidates_of(problem, pool_of(problem, space, clock), space, clock, self.workers)
        self.receive(self._evaluated(candidates, first_parts(candidates, space.faces)))
        self.covered = True
        while True:
            if report is not None and math.isfinite(self.loss):
                report(Status(0, 1, self.line_searches, self.loss, self.bound, self.boxes))
            if self.bound >= self.target:
                reason = "gap"
                break
            if not self.queue.bound < self.target:  # what is left is too thin to be split
                reason = "rounding"
                break
            if self.queue.held > MOST_HELD:
                reason = "memory"
                break
            clock.look(reserve=self.reserve)
            self.queue.take(BATCH, self.target, into=self.taken)
            parts = cut(self.taken)
            self.receive(self._evaluated(candidates, parts))
            divided = set(parts.numbers.tolist())
            thin = [box.bound for number, box in enumerate(self.taken) if number not in divided]
            self.closed = min([self.closed, *thin])
            self.taken = []
        self.settle()
        return "rounding" if reason == "gap" and self.bound < self.target else reason

    def _evaluated(self, candidates: Candidates, parts: Parts) -> Children:
        return evaluated(candidates, self.problem.metric, parts, self.loss, self.clock, self.workers)

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

    @property
    def target(self) -> float:
        """The loss that bounds have to reach for the search to end; no nearer to the best than rounding allows."""
        return self.loss - max(self.limits.gap, FINEST_GAP * abs(self.loss)) if math.isfinite(self.loss) else math.inf

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
                self.problem, self.weights, self.loss, self.space.lines, constraints, Policy(),
                reach=self.space.reach, workers=self.workers,
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
        return middle_of_cell(self.problem, weights, loss, self.space, self.clock, self.workers)

    def receive(self, children: Children) -> None:
        """Queue the boxes that may be better than the best weights so far, and offer the best of their centres."""
        self.boxes += len(children.boxes)
        if len(children.boxes):
            best = int(np.argmin(children.losses))
            if children.losses[best] < self.loss:
                self.offer(self.space.weights(children.boxes[best].centre))
        for box in children.boxes:
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
    report: Report | None = None,
) -> Outcome:
    """The best weights of the space to within ``limits.gap``, or as near as the clock allows.

    The search begins with the weights ``start``, if they are in the space. An interrupt ends it with what is proven.
    """
    check_free(problem, space)
    search = _BranchAndBound(problem, space, limits, clock, workers)
    try:
        stopped = search.run(start, report)
    except Over as over:
        stopped = over.reason
    except KeyboardInterrupt:  # repeated, or raised by who is told of the progress
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
        stopped=stopped,
        history=tuple(search.history) or ((search.boxes, search.line_searches, loss),),
    )
