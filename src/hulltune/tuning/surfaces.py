"""The metric as a function of one number: the weight of a feature, or the place on a line between two weights."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass

import numpy as np

from hulltune.arrays import Floats
from hulltune.errors import InputError, unknown_name
from hulltune.search.problem import Problem

SLIVER = 2.0**-40


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
        """The best score and the ends of the widest interval that has it, a bounded one if there is any.

        Slivers do not count: rounding leaves them where several sentences change at one place, and no weights lie in
        them.
        """
        values = self.scores if self.higher_is_better else -self.scores
        ends = np.concatenate([[-math.inf], self.breakpoints, [math.inf]])
        widths = ends[1:] - ends[:-1]
        real = ~(widths < SLIVER * np.minimum(np.abs(ends[1:]), np.abs(ends[:-1])))
        at_best = np.flatnonzero(real & (values == values[real].max()))
        bounded = at_best[np.isfinite(widths[at_best])]
        chosen = bounded if len(bounded) else at_best
        widest = int(chosen[np.argmax(widths[chosen])])
        return float(self.scores[widest]), float(ends[widest]), float(ends[widest + 1])

    def view(self) -> tuple[float, float]:
        """The ends of a range with the marks, the best interval and the middle nine tenths of the breakpoints."""
        places = [place for _, place in self.marks]
        places += [end for end in self.best[1:] if math.isfinite(end)]
        if len(self.breakpoints):
            places += np.quantile(self.breakpoints, [0.05, 0.95]).tolist()
        if not places:
            return -1.0, 1.0
        low, high = min(places), max(places)
        room = 0.08 * (high - low) or max(1.0, abs(high))
        return low - room, high + room

    def to_csv(self) -> str:
        """The intervals as CSV lines ``from,to,score``, from left to right."""
        ends = [-math.inf, *self.breakpoints.tolist(), math.inf]
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["from", "to", "score"])
        for left, right, score in zip(ends[:-1], ends[1:], self.scores.tolist(), strict=True):
            writer.writerow([repr(left), repr(right), repr(score)])
        return text.getvalue()


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
