"""The metric as a function of one number: the weight of a feature, or the place on a line between two weights."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from operator import ge
from typing import TYPE_CHECKING, Any

import numpy as np

from hulltune.arrays import Floats, as_number
from hulltune.errors import InputError, unknown_name
from hulltune.metrics.base import Metric
from hulltune.search.problem import Problem
from hulltune.surface import SLIVER
from hulltune.tuning.inputs import DataLike, ReferencesLike, WeightsLike, as_problem, weight_vector
from hulltune.tuning.text_tables import csv_text

if TYPE_CHECKING:
    from hulltune.report.picture import Picture

REACH = 1.4
"""A view reaches this many times as far from the best as the breakpoint in the middle, by distance."""


def checked_view(ends: Any, *, axes: int = 1) -> tuple[float, ...]:
    """The ends of a view as floats, two for each axis; InputError unless they are finite numbers in order.

    Whole numbers become floats, because kernels are compiled ahead for floats alone.
    """
    numbers = [as_number(end) for end in ends] if isinstance(ends, Iterable) else []
    floats = tuple(number for number in numbers if number is not None and math.isfinite(number))
    if len(floats) != len(numbers) or len(floats) != 2 * axes or any(map(ge, floats[::2], floats[1::2])):
        raise InputError(
            f"view: expected {2 * axes} finite numbers, the low end of each axis before its high end, got {ends!r}"
        )
    return floats


def picture_of(name: str, *arguments: Any, **options: Any) -> Picture:
    """The picture that a public function draws. Drawing is a later room, so the way there is by the front door."""
    picture: Picture = getattr(import_module("hulltune"), name)(*arguments, **options)
    return picture


@dataclass(frozen=True, eq=False)
class MetricSurface:
    """Exact scores along an axis: ``scores[i]`` holds between breakpoints i − 1 and i."""

    axis: str
    breakpoints: Floats
    scores: Floats
    marks: tuple[tuple[str, float], ...]
    """Named places on the axis, such as the present weight."""
    metric: str
    higher_is_better: bool

    @property
    def best(self) -> tuple[float, float, float]:
        """The best score and the ends of the widest stretch that has it, a bounded one if there is any.

        Neighbouring intervals with the best score are one stretch. Slivers do not count: rounding leaves them where
        several sentences change at one place, and no weights lie in them.
        """
        values = self.scores if self.higher_is_better else -self.scores
        ends = np.concatenate([[-math.inf], self.breakpoints, [math.inf]])
        sliver = ends[1:] - ends[:-1] < SLIVER * np.minimum(np.abs(ends[1:]), np.abs(ends[:-1]))
        real = np.flatnonzero(~sliver)
        at_best = values[real] == values[real].max()
        starts = np.flatnonzero(at_best & ~np.concatenate([[False], at_best[:-1]]))
        lasts = np.flatnonzero(at_best & ~np.concatenate([at_best[1:], [False]]))
        lefts, rights = ends[real[starts]], ends[real[lasts] + 1]
        bounded = np.flatnonzero(np.isfinite(rights - lefts))
        chosen = bounded if len(bounded) else np.arange(len(lefts))
        widest = int(chosen[np.argmax((rights - lefts)[chosen])])
        return float(self.scores[real[starts[widest]]]), float(lefts[widest]), float(rights[widest])

    def view(self) -> tuple[float, float]:
        """The ends of a range around the best interval: with the marks, and with half of the breakpoints.

        Breakpoints far away are many where a weight may grow without bounds; most of what matters is near the best.
        """
        ends = [end for end in self.best[1:] if math.isfinite(end)]
        places = [*(place for _, place in self.marks), *ends]
        if not places and not len(self.breakpoints):
            return -1.0, 1.0
        if len(self.breakpoints):
            middle = sum(ends) / len(ends) if ends else float(np.median(self.breakpoints))
            reach = REACH * float(np.median(np.abs(self.breakpoints - middle)))
            places += [middle - reach, middle + reach]
        low, high = min(places), max(places)
        room = 0.04 * (high - low) or max(1.0, abs(high))
        return low - room, high + room

    def close_up(self) -> tuple[float, float] | None:
        """The ends of a range a few times as wide as the best interval; None if that has no ends."""
        _, left, right = self.best
        if not (math.isfinite(left) and math.isfinite(right)):
            return None
        room = 1.5 * (right - left)
        return left - room, right + room

    def within(self, low: float, high: float) -> tuple[Floats, Floats]:
        """The steps of a range: its ends with the breakpoints in between, and the scores between these."""
        low, high = checked_view((low, high))
        first = int(np.searchsorted(self.breakpoints, low, side="right"))
        last = int(np.searchsorted(self.breakpoints, high, side="left"))
        return np.concatenate([[low], self.breakpoints[first:last], [high]]), self.scores[first : last + 1]

    def plot(self, *, view: tuple[float, float] | None = None) -> Picture:
        """A picture of the surface, which notebooks show; ``view`` are the ends of the part to draw."""
        return picture_of("plot_surface", self, view=view)

    def to_csv(self) -> str:
        """The intervals as CSV lines ``from,to,score``, from left to right."""
        ends = [-math.inf, *self.breakpoints.tolist(), math.inf]
        rows = zip(ends[:-1], ends[1:], self.scores.tolist(), strict=True)
        return csv_text([("from", "to", "score"), *(map(repr, row) for row in rows)])


def metric_surface(
    data: Problem | DataLike,
    weights: WeightsLike | Floats,
    feature: str | None = None,
    *,
    to: WeightsLike | Floats | None = None,
    references: ReferencesLike = None,
    metric: str | Metric = "bleu",
) -> MetricSurface:
    """The metric for every weight of a ``feature`` while others stay, or on the line from the weights ``to`` others.

    It is exact everywhere: one line search. ``data``, ``references`` and ``metric`` are as in ``tune``.

    >>> from hulltune import metric_surface
    >>> from hulltune.simulate import simulated_task
    >>> task = simulated_task(sentences=20, candidates=10)
    >>> surface = metric_surface(task.lists, task.optimum, "forward", metric="wer")
    >>> score, left, right = surface.best
    >>> left < task.optimum["forward"] < right
    True
    """
    if (feature is None) == (to is None):
        raise InputError("feature, to: give one of them, the feature whose weight changes or the weights to go to")
    problem = as_problem(data, references, metric)
    here = weight_vector(problem, weights)
    if feature is not None:
        return along_feature(problem, here, feature)
    assert to is not None
    return between(problem, here, weight_vector(problem, to, "to"))


def along_feature(problem: Problem, weights: Floats, feature: str) -> MetricSurface:
    """The score for every weight of a feature, while all others stay."""
    if feature not in problem.feature_names:
        raise unknown_name("feature", feature, problem.feature_names)
    column = problem.feature_names.index(feature)
    origin, direction = weights.copy(), np.zeros(len(weights))
    origin[column], direction[column] = 0.0, 1.0  # so that the step is the weight itself
    marks = ((f"now {weights[column]:.4g}", float(weights[column])),)
    return _surface(problem, origin, direction, f"weight of {feature}", marks)


def between(problem: Problem, weights: Floats, others: Floats) -> MetricSurface:
    """The score on the line through two sets of weights: 0 at the first, 1 at the second."""
    if np.array_equal(weights, others):
        raise InputError("both sets of weights are the same, so there is no line between them; give two different sets")
    marks = (("first weights", 0.0), ("second weights", 1.0))
    return _surface(problem, weights, others - weights, "way from the first weights (0) to the second (1)", marks)


def _surface(
    problem: Problem, origin: Floats, direction: Floats, axis: str, marks: tuple[tuple[str, float], ...]
) -> MetricSurface:
    (surface,) = problem.surfaces(origin, direction[None, :], np.array([[-math.inf, math.inf]]))
    scores = np.asarray(problem.metric.score(surface.statistics), dtype=np.float64)
    return MetricSurface(
        axis, surface.breakpoints, scores, marks, problem.metric.signature, problem.metric.higher_is_better
    )
