"""The metric as a function of two weights, exact along every row of the picture."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hulltune.arrays import Floats
from hulltune.certified.certify import certify
from hulltune.certified.limits import Limits
from hulltune.errors import InputError, check_most, unknown_name
from hulltune.metrics.base import Metric
from hulltune.search.certificate import Certificate
from hulltune.search.constraints import Constraints
from hulltune.search.directions import feature_units
from hulltune.search.problem import Problem
from hulltune.threads import check_threads
from hulltune.tuning.inputs import DataLike, ReferencesLike, WeightsLike, as_problem, weight_vector
from hulltune.tuning.surfaces import along_feature, checked_view, picture_of
from hulltune.tuning.text_tables import csv_text

if TYPE_CHECKING:
    from hulltune.report.picture import Picture

MOST_POINTS = 10_000
"""The most rows of a picture, or columns or rows of a grid: each row is a line search, each point a decoding."""
CLOSER = 0.6
"""The view of a plane is so much closer to the optimum than that of a line, because colours show more than one line."""
View = tuple[float, float, float, float]
"""Left, right, bottom, top."""


@dataclass(frozen=True, eq=False)
class MetricPlane:
    """Scores over two weights while the others stay.

    Row i of the picture is the line at height ``heights[i]``. Its scores change exactly at ``breakpoints[i]``, and are
    ``scores[i]`` between them (one more than breakpoints).
    """

    axes: tuple[str, str]
    view: View
    heights: Floats
    breakpoints: tuple[Floats, ...]
    scores: tuple[Floats, ...]
    now: tuple[float, float]
    """The two weights before any search."""
    now_score: float
    best: tuple[float, float]
    certificate: Certificate
    higher_is_better: bool
    grid: Floats
    """(points, 2): the points of a grid search, for comparison."""
    grid_scores: Floats

    def raster(self, columns: int) -> Floats:
        """The scores as an image: (rows, columns), each pixel with the score at its middle."""
        left, right = self.view[:2]
        middles = left + (np.arange(columns) + 0.5) * (right - left) / columns
        rows = zip(self.breakpoints, self.scores, strict=True)
        return np.array([scores[np.searchsorted(breakpoints, middles, side="right")] for breakpoints, scores in rows])

    def to_csv(self) -> str:
        """The plane as CSV: a line for each interval of each row, with the weight of the second feature, the ends of
        the first feature's weight, and the score in between.
        """
        left, right = self.view[:2]
        rows: list[Iterable[str]] = [(self.axes[1], f"{self.axes[0]} from", f"{self.axes[0]} to", "score")]
        for height, breakpoints, scores in zip(self.heights.tolist(), self.breakpoints, self.scores, strict=True):
            ends = [left, *breakpoints.tolist(), right]
            rows += (map(repr, (height, *each)) for each in zip(ends[:-1], ends[1:], scores.tolist(), strict=True))
        return csv_text(rows)

    def plot(self) -> Picture:
        """A picture of the plane, which notebooks show: better is lighter, with the optimum and the weights now."""
        return picture_of("plot_plane", self)

    @property
    def best_of_grid(self) -> tuple[float, float, float] | None:
        """The best grid point and its score, if there is a grid."""
        if not len(self.grid):
            return None
        values = self.grid_scores if self.higher_is_better else -self.grid_scores
        best = int(np.argmax(values))
        return float(self.grid[best, 0]), float(self.grid[best, 1]), float(self.grid_scores[best])


def metric_plane(
    data: Problem | DataLike,
    weights: WeightsLike | Floats,
    features: tuple[str, str],
    *,
    references: ReferencesLike = None,
    metric: str | Metric = "bleu",
    view: View | None = None,
    rows: int = 400,
    grid: tuple[int, int] | None = None,
    limits: Limits | None = None,
    threads: int | None = 1,
) -> MetricPlane:
    """The exact surface over the weights of two features, and its certified optimum.

    ``data``, ``references`` and ``metric`` are as in ``tune``. ``view`` is the part to show (by default the weights,
    the optimum and room around them), in ``rows`` lines that are exact from end to end. ``grid`` is a number of columns
    and rows of points to compare with.

    >>> from hulltune import metric_plane
    >>> from hulltune.simulate import simulated_task
    >>> task = simulated_task(sentences=20, candidates=10)
    >>> plane = metric_plane(task.lists, task.optimum, ("forward", "backward"), metric="wer", rows=20)
    >>> plane.certificate.is_optimal, plane.raster(30).shape
    (True, (20, 30))
    """
    check_most("rows", rows, MOST_POINTS)
    check_most("grid", max(grid or (0,)), MOST_POINTS)
    if view is not None:
        left, right, low, high = checked_view(view, axes=2)
        view = (left, right, low, high)
    problem = as_problem(data, references, metric)
    here = weight_vector(problem, weights)
    columns = [_column(problem, name) for name in features]
    if columns[0] == columns[1]:
        raise InputError(f"plane: expected two different features, got {features[0]!r} twice")
    held = {name: float(here[k]) for k, name in enumerate(problem.feature_names) if k not in columns}
    constraints = Constraints(fix=held, scale="none").compile(problem.feature_names)
    found = certify(
        problem, constraints, feature_units(problem.corpus), limits or Limits(gap=0.0, time=120.0),
        start=here if np.any(here) else None, threads=check_threads(threads),
    )  # fmt: skip
    best = (float(found.weights[columns[0]]), float(found.weights[columns[1]]))
    now = (float(here[columns[0]]), float(here[columns[1]]))
    if not any(held.values()):  # only the direction matters, so the optimum is shown at the size of the weights
        size = max(map(abs, now)) / max(map(abs, best)) if any(now) else 1.0
        best = (best[0] * size, best[1] * size)
    shown = view or _view_around(problem, here, columns, now, best)
    heights = shown[2] + (np.arange(rows) + 0.5) * (shown[3] - shown[2]) / rows
    lines = [_row(problem, here, columns, float(height), shown) for height in heights]
    points = _grid_points(shown, grid)
    return MetricPlane(
        axes=features,
        view=shown,
        heights=heights,
        breakpoints=tuple(breakpoints for breakpoints, _ in lines),
        scores=tuple(scores for _, scores in lines),
        now=now,
        now_score=problem.score(here),
        best=best,
        certificate=found.certificate,
        higher_is_better=problem.metric.higher_is_better,
        grid=points,
        grid_scores=np.array([problem.score(_at(here, columns, point)) for point in points]),
    )


def _column(problem: Problem, name: str) -> int:
    if name not in problem.feature_names:
        raise unknown_name("feature", name, problem.feature_names)
    return problem.feature_names.index(name)


def _at(weights: Floats, columns: list[int], point: Floats | tuple[float, float]) -> Floats:
    moved = weights.copy()
    moved[columns] = point
    return moved


def _row(problem: Problem, weights: Floats, columns: list[int], height: float, view: View) -> tuple[Floats, Floats]:
    """The breakpoints and scores at one height, from left to right."""
    origin, direction = _at(weights, columns, (0.0, height)), np.zeros(len(weights))
    direction[columns[0]] = 1.0
    (surface,) = problem.surfaces(origin, direction[None], np.array([view[:2]]))
    return surface.breakpoints, np.asarray(problem.metric.score(surface.statistics), dtype=np.float64)


def _view_around(
    problem: Problem, weights: Floats, columns: list[int], now: tuple[float, float], best: tuple[float, float]
) -> View:
    """The part of the plane around the optimum and the weights now, as far as the metric changes along each axis."""
    at_best = _at(weights, columns, best)
    ends: list[float] = []
    for k in (0, 1):
        low, high = along_feature(problem, at_best, problem.feature_names[columns[k]]).view()
        low, high = best[k] - CLOSER * (best[k] - low), best[k] + CLOSER * (high - best[k])
        low, high = min(low, now[k], best[k]), max(high, now[k], best[k])
        room = 0.05 * (high - low)
        ends += [low - room, high + room]
    return ends[0], ends[1], ends[2], ends[3]


def _grid_points(view: View, grid: tuple[int, int] | None) -> Floats:
    if grid is None:
        return np.empty((0, 2))
    if min(grid) < 2:
        raise InputError(f"grid: expected at least 2 by 2 points, got {grid[0]} by {grid[1]}")
    xs, ys = np.linspace(view[0], view[1], grid[0]), np.linspace(view[2], view[3], grid[1])
    return np.array([(x, y) for y in ys for x in xs])
