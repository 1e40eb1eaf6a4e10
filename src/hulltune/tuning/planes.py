"""The metric as a function of two weights, exact along every row of the picture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hulltune.arrays import Floats
from hulltune.errors import InputError, check_most, unknown_name
from hulltune.search.certified.certificate import Certificate
from hulltune.search.certified.certify import certify
from hulltune.search.certified.search import Limits
from hulltune.search.constraints import Constraints
from hulltune.search.directions import feature_units
from hulltune.search.problem import Problem

MOST_POINTS = 10_000
"""The most rows of a picture, or columns or rows of a grid: each row is a line search, each point a decoding."""
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

    @property
    def best_of_grid(self) -> tuple[float, float, float] | None:
        """The best grid point and its score, if there is a grid."""
        if not len(self.grid):
            return None
        values = self.grid_scores if self.higher_is_better else -self.grid_scores
        best = int(np.argmax(values))
        return float(self.grid[best, 0]), float(self.grid[best, 1]), float(self.grid_scores[best])


def metric_plane(
    problem: Problem,
    weights: Floats,
    features: tuple[str, str],
    *,
    view: View | None = None,
    rows: int = 400,
    grid: tuple[int, int] | None = None,
    limits: Limits | None = None,
    threads: int = 1,
) -> MetricPlane:
    """The exact surface over the weights of two features, and its certified optimum.

    ``view`` is the part to show (by default the weights, the optimum and room around them). ``grid`` is a number of
    columns and rows of points to compare with.
    """
    check_most("rows", rows, MOST_POINTS)
    check_most("grid", max(grid or (0,)), MOST_POINTS)
    columns = [_column(problem, name) for name in features]
    if columns[0] == columns[1]:
        raise InputError(f"plane: expected two different features, got {features[0]!r} twice")
    held = {name: float(weights[k]) for k, name in enumerate(problem.feature_names) if k not in columns}
    constraints = Constraints(fix=held, scale="none").compile(problem.feature_names)
    found = certify(
        problem, constraints, feature_units(problem.corpus), limits or Limits(gap=0.0, time=120.0),
        start=weights if np.any(weights) else None, threads=threads,
    )  # fmt: skip
    best = (float(found.weights[columns[0]]), float(found.weights[columns[1]]))
    now = (float(weights[columns[0]]), float(weights[columns[1]]))
    if not any(held.values()):  # only the direction matters, so the optimum is shown at the size of the weights
        size = max(map(abs, now)) / max(map(abs, best)) if any(now) else 1.0
        best = (best[0] * size, best[1] * size)
    shown = view or _view_around(now, best)
    heights = shown[2] + (np.arange(rows) + 0.5) * (shown[3] - shown[2]) / rows
    lines = [_row(problem, weights, columns, float(height), shown) for height in heights]
    points = _grid_points(shown, grid)
    return MetricPlane(
        axes=features,
        view=shown,
        heights=heights,
        breakpoints=tuple(breakpoints for breakpoints, _ in lines),
        scores=tuple(scores for _, scores in lines),
        now=now,
        now_score=problem.score(weights),
        best=best,
        certificate=found.certificate,
        higher_is_better=problem.metric.higher_is_better,
        grid=points,
        grid_scores=np.array([problem.score(_at(weights, columns, point)) for point in points]),
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


def _view_around(now: tuple[float, float], best: tuple[float, float]) -> View:
    """The part of the plane with both points, the origin and some room."""
    ends: list[float] = []
    for k in (0, 1):
        low, high = min(0.0, now[k], best[k]), max(0.0, now[k], best[k])
        room = 0.35 * (high - low) or 1.0
        ends += [low - room, high + room]
    return ends[0], ends[1], ends[2], ends[3]


def _grid_points(view: View, grid: tuple[int, int] | None) -> Floats:
    if grid is None:
        return np.empty((0, 2))
    if min(grid) < 2:
        raise InputError(f"grid: expected at least 2 by 2 points, got {grid[0]} by {grid[1]}")
    xs, ys = np.linspace(view[0], view[1], grid[0]), np.linspace(view[2], view[3], grid[1])
    return np.array([(x, y) for y in ys for x in xs])
