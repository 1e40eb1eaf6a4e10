"""Best-first branch and bound: split the box with the best bound until no bound is better than the best loss found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from hulltune.arrays import Floats
from hulltune.certified.boxes import FINEST_GAP, Bounded, Choices, Cover, Queue
from hulltune.certified.cells import best_on_the_line, middle_of_cell
from hulltune.certified.clock import Clock, Over
from hulltune.certified.orders import OrderCover
from hulltune.certified.pools import check_free
from hulltune.certified.space import Space
from hulltune.search.steps import Position, best_step
from hulltune.search.strategy import Report, Setting, Status

BATCH = 32
"""Boxes split at a time. It does not depend on the threads, so the result does not either."""
MOST_HELD = 1 << 28
"""The most candidates in all waiting boxes, about 1 GB. Beyond that the search ends with what is proven."""
ROUNDS = 20


class BranchAndBound:
    """One search, and what it knows at any time: the best position, and a bound that no weights of the space pass.

    Only the kernels run in threads.
    """

    def __init__(self, setting: Setting, space: Space, gap: float, clock: Clock) -> None:
        check_free(setting.problem, space)
        # Steps lead to weights as they are, which lie in the space: bringing them to a norm would only round them.
        unscaled = replace(setting.constraints, scale="none")
        self.setting = replace(setting, constraints=unscaled, reach=space.reach)
        self.space, self.gap, self.clock = space, gap, clock
        self.first = Position(setting.first, setting.loss(setting.first))
        self.best = Position(setting.first, math.inf)  # one object: an interrupt never sees half a change
        self.boxes = 0
        self.stopped = ""
        """"gap", "time", "memory", "rounding" or "interrupt"."""
        self.history: list[tuple[int, int, float]] = []
        """Every improvement: boxes and line searches spent so far, and the loss."""
        self._queue = Queue()
        self._taken: list[Bounded] = []
        self._finest = FINEST_GAP
        self._covered = False  # whether the boxes cover the space: an interrupt may come before that
        self._closed = math.inf  # the least bound of boxes that are too thin to be split
        self._reserve = 0.0  # the seconds that it takes to move the best weights to the middle of their cell

    def run(self, report: Report | None) -> None:
        """Search until the gap is closed, or as far as rounding, memory and the clock allow.

        An interrupt ends the search with what is proven.
        """
        try:
            self.stopped = self._line() if self.space.is_a_line else self._search(report)
        except Over as over:
            self.stopped = over.reason
        except KeyboardInterrupt:  # repeated, or raised by who is told of the progress
            self.stopped = "interrupt"
        if math.isinf(self.best.loss):  # there was no time for anything: the answer is the start
            self.best = self.first
        elif self.stopped in ("time", "interrupt"):
            self.settle()

    @property
    def bound(self) -> float:
        """The loss that is proven to be a bound now: a box that is being split counts until its parts do.

        Before boxes cover the space, nothing is known but the least loss of the metric.
        """
        if not self._covered:
            return min(self.best.loss, self.setting.problem.metric.least_loss)
        taken = min((box.bound for box in self._taken), default=math.inf)
        return min(self.best.loss, self._queue.bound, self._closed, taken)

    @property
    def _target(self) -> float:
        """The loss that bounds have to reach for the search to end; no nearer to the best than rounding allows."""
        loss = self.best.loss
        return loss - max(self.gap, self._finest * abs(loss)) if math.isfinite(loss) else math.inf

    def _line(self) -> str:
        """Search a space of one line. A single line search sees every cell, and is the proof."""
        self.best, self._closed = best_on_the_line(self.setting, self.space, self.clock)
        self._covered, self.boxes = True, 1
        self.history.append((1, 1, self.best.loss))
        return "gap" if self.bound >= self._target else "rounding"

    def _search(self, report: Report | None) -> str:
        """Split boxes until there is a reason to stop, which is returned."""
        setting, clock = self.setting, self.clock
        began = clock.seconds
        centred = self._centred(self.first)  # a tie belongs to no cell
        self._reserve = min(clock.seconds - began, clock.limit / 8.0)
        self.offer(centred.weights)
        orders = setting.problem.orders
        cover: Cover = (
            Choices(setting, self.space, clock) if orders is None else OrderCover(setting, orders, self.space)
        )
        self._finest = cover.finest
        self.receive(cover.first(self.best.loss))
        self._covered = True
        while not (reason := self._reason_to_stop()):
            if report is not None and math.isfinite(self.best.loss):
                report(Status(0, 1, self.best.line_searches, self.best.loss, self.bound, self.boxes))
            clock.look(reserve=self._reserve)
            self._queue.take(BATCH, self._target, into=self._taken)
            boxes, thin = cover.split(self._taken, self.best.loss)
            self.receive(boxes)
            self._closed = min(self._closed, thin)
            self._taken = []
        self.settle()
        return "rounding" if reason == "gap" and self.bound < self._target else reason

    def _reason_to_stop(self) -> str:
        """The reason to split no more boxes; nothing if there is none."""
        if self.bound >= self._target:
            return "gap"
        if not self._queue.bound < self._target:  # what is left is too thin to be split
            return "rounding"
        return "memory" if self._queue.held > MOST_HELD else ""

    def receive(self, boxes: Sequence[Bounded]) -> None:
        """Queue the boxes that may be better than the best weights so far, and offer the best of their centres."""
        self.boxes += len(boxes)
        best = min(boxes, key=lambda box: box.loss, default=None)
        if best is not None and best.loss < self.best.loss:
            self.offer(self.space.weights(best.centre))
        for box in boxes:
            if box.bound < self.best.loss:
                self._queue.put(box)

    def offer(self, weights: Floats) -> None:
        """Take the weights if decoding gives a smaller loss, and climb from there along the axes."""
        if self.setting.constraints.violation(weights) is not None:
            return
        loss = self.setting.loss(weights)
        if not loss < self.best.loss:
            return
        self.best = replace(self.best, weights=weights, loss=loss)
        for _ in range(ROUNDS):
            self.clock.look()
            before = self.best.loss
            self.best, _ = best_step(self.setting, self.best, self.space.lines)
            if not self.best.loss < before:
                break
        self.history.append((self.boxes, self.best.line_searches, self.best.loss))

    def settle(self) -> None:
        """Move the best weights to the middle of their cell.

        Boxes were dropped because of the loss until now. It stays a bound, even if the weights were on a tie and the
        cells beside it are worse.
        """
        self._closed = self.bound
        self.best = self._centred(self.best)

    def _centred(self, position: Position) -> Position:
        return middle_of_cell(self.setting, position, self.space, self.clock)
