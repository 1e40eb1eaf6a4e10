"""Certified search as a strategy: the best weights within the constraints, with a proof."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hulltune.certified.certify import certify
from hulltune.certified.search import Limits, State
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

        def show(state: State) -> None:
            if report is not None and np.isfinite(state.loss):
                report(Status(0, 1, state.line_searches, state.loss, state.bound, state.boxes))

        start_loss = problem.loss(setting.first, workers=Workers(threads))
        found = certify(
            problem, setting.constraints, setting.units, self, start=setting.first, threads=threads, progress=show,
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
