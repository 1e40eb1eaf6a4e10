"""Certified search: the best weights within the constraints, and the certificate that they are."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from hulltune.arrays import Floats, take_plain_numbers
from hulltune.certified.branch_and_bound import BranchAndBound
from hulltune.certified.cells import extents
from hulltune.certified.clock import Clock
from hulltune.certified.space import space_of
from hulltune.errors import InputError
from hulltune.interrupts import interrupts_set
from hulltune.names import GAP
from hulltune.search.certificate import Certificate
from hulltune.search.strategy import Found, Report, Setting, Status, Strategy
from hulltune.threads import Workers


@dataclass(frozen=True)
class Certified(Strategy):
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

    def find(self, setting: Setting, *, seed: int, threads: int, report: Report | None = None) -> Found:
        """The best weights and their certificate. Nothing is random, so the seed does not matter.

        The time is that of everything here. Ctrl-C, or who else sets the setting's ``stop``, ends the search with what
        is proven by then: at first that is the loss of the start, and the least loss that the metric can have.
        """
        clock, setting = Clock(self.time, setting.stop), replace(setting, workers=Workers(threads))
        with interrupts_set(clock.stop):
            space = space_of(setting.constraints, setting.units)
            search = BranchAndBound(setting, space, self.gap, clock)
            search.run(report)
            best, bound = search.best, search.bound
            weights = _normalised(setting, best.weights, best.loss)
            certificate = None
            if math.isfinite(bound):  # a search that ends before it has a bound has nothing to certify
                problem = setting.problem
                certificate = Certificate(
                    value=problem.metric.score_of(best.loss) + 0.0,
                    bound=problem.metric.score_of(bound) + 0.0,
                    gap=best.loss - bound,
                    region=space.region(),
                    cell=extents(setting, weights, space),
                    boxes=search.boxes,
                    seconds=clock.seconds,
                    metric=problem.metric.signature,
                    stopped=search.stopped,
                    exact=(problem.is_lists or space.is_a_line)
                    and bool(np.all(problem.table == np.rint(problem.table))),
                )
        if report is not None:
            report(Status(1, 1, best.line_searches, best.loss, bound, search.boxes))
        history = search.history or [(search.boxes, best.line_searches, best.loss)]
        return Found(
            weights=weights,
            start=setting.first,
            start_loss=search.first.loss,
            loss=best.loss,
            line_searches=best.line_searches,
            history=tuple(
                {"start": 0, "boxes": boxes, "line_searches": spent, "score": setting.problem.metric.score_of(loss)}
                for boxes, spent, loss in history
            ),
            interrupted=search.stopped == "interrupt" or clock.stop.is_set(),
            certificate=certificate,
        )


def _normalised(setting: Setting, weights: Floats, loss: float) -> Floats:
    """The weights on the scale of the constraints, unless rounding changes the loss there."""
    normalised = setting.constraints.normalised(weights)
    if setting.constraints.violation(normalised) is None and setting.loss(normalised) == loss:
        return normalised
    return weights
