"""The metric as a function of one number, the weight of a feature or the place on a line between two weights, and as a
function of two weights, exact along every row of the picture.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from operator import ge
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Bools, Floats, as_number
from hulltune.certified.certify import Certified
from hulltune.errors import InputError, check_most, unknown_name
from hulltune.metrics.base import Metric
from hulltune.search.certificate import Certificate
from hulltune.search.constraints import Constraints
from hulltune.search.problem import Problem
from hulltune.search.strategy import Setting
from hulltune.surface import SLIVER
from hulltune.threads import check_threads
from hulltune.tuning.inputs import DataLike, ReferencesLike, WeightsLike, as_problem, weight_vector
from hulltune.tuning.sensitivity import Compared
from hulltune.tuning.text_tables import csv_text

if TYPE_CHECKING:
    from hulltune.report.picture import Picture

REACH = 1.4
"""A view reaches this many times as far from the best as the breakpoint in the middle, by distance."""
MOST_POINTS = 10_000
"""The most rows of a picture, or columns or rows of a grid: each row is a line search, each point a decoding."""
CLOSER = 0.6
"""The view of a plane is so much closer to the optimum than that of a line, because colours show more than one line."""
WAY: tuple[tuple[str, float], ...] = (("first weights", 0.0), ("second weights", 1.0))
"""The marks on the line between two sets of weights."""
View = tuple[float, float, float, float]
"""Left, right, bottom, top."""


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
        column = _column(problem, feature)
        origin, direction = _at(here, [column], 0.0), np.eye(len(here))[column]  # the step is the weight itself
        now: tuple[tuple[str, float], ...] = ((f"now {here[column]:.4g}", float(here[column])),)
        axis, marks = f"weight of {feature}", now
    else:
        assert to is not None
        origin, direction = here, weight_vector(problem, to, "to") - here
        if not np.any(direction):
            raise InputError("both sets of weights are the same, so there is no line between them; give two others")
        axis, marks = "way from the first weights (0) to the second (1)", WAY
    (surface,) = problem.surfaces(origin, direction[None, :], np.array([[-math.inf, math.inf]]))
    chosen, scores = problem.metric, np.asarray(problem.metric.score(surface.statistics), dtype=np.float64)
    return MetricSurface(axis, surface.breakpoints, scores, marks, chosen.signature, chosen.higher_is_better)


# Two weights.


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
    by_chance: tuple[Bools, ...]
    """For each interval, whether its score is worse than ``now_score`` by less than chance."""
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
        return self._pixels(self.scores, columns)

    def chance(self, columns: int) -> Bools:
        """The image of ``by_chance``."""
        return self._pixels(self.by_chance, columns)

    def _pixels(self, rows: Sequence[NDArray[Any]], columns: int) -> NDArray[Any]:
        left, right = self.view[:2]
        middles = left + (np.arange(columns) + 0.5) * (right - left) / columns
        pairs = zip(self.breakpoints, rows, strict=True)
        return np.array([values[np.searchsorted(breakpoints, middles, side="right")] for breakpoints, values in pairs])

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
    seconds: float = 120.0,
    threads: int | None = 1,
) -> MetricPlane:
    """The exact surface over the weights of two features, and its certified optimum.

    ``data``, ``references`` and ``metric`` are as in ``tune``. ``view`` is the part to show (by default the weights,
    the optimum and room around them), in ``rows`` lines that are exact from end to end. ``grid`` is a number of columns
    and rows of points to compare with. The optimum is what is proven within so many ``seconds``.

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
    setting = Setting.of(problem, Constraints(fix=held, scale="none"), here.tolist() if np.any(here) else None)
    found = Certified(gap=0.0, time=seconds).find(setting, seed=1, threads=check_threads(threads))
    if found.certificate is None:
        raise InputError(f"plane: nothing was proven within {seconds:g} s; give it more seconds")
    best = (float(found.weights[columns[0]]), float(found.weights[columns[1]]))
    now = (float(here[columns[0]]), float(here[columns[1]]))
    if not any(held.values()):  # only the direction matters, so the optimum is shown at the size of the weights
        size = max(map(abs, now)) / max(map(abs, best)) if any(now) else 1.0
        best = (best[0] * size, best[1] * size)
    shown = view or _view_around(problem, here, columns, now, best)
    heights = shown[2] + (np.arange(rows) + 0.5) * (shown[3] - shown[2]) / rows
    compared = Compared.of(problem, here)
    breakpoints, scores, by_chance = zip(
        *(_row(compared, here, columns, float(height), shown) for height in heights), strict=True
    )
    points = _grid_points(shown, grid)
    return MetricPlane(
        axes=features,
        view=shown,
        heights=heights,
        breakpoints=breakpoints,
        scores=scores,
        by_chance=by_chance,
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


def _at(weights: Floats, columns: list[int], point: Floats | tuple[float, float] | float) -> Floats:
    moved = weights.copy()
    moved[columns] = point
    return moved


def _row(
    compared: Compared, weights: Floats, columns: list[int], height: float, view: View
) -> tuple[Floats, Floats, Bools]:
    """The breakpoints and scores at one height, from left to right, and which are worse by less than chance."""
    problem, direction = compared.problem, np.eye(len(weights))[columns[:1]]
    (line,) = problem.learned_lines(_at(weights, columns, (0.0, height)), direction, np.array([view[:2]]))
    surface = problem.surface(line)
    scores = np.asarray(problem.metric.score(surface.statistics), dtype=np.float64)
    return surface.breakpoints, scores, compared.hardly_worse(line, surface)


def _view_around(
    problem: Problem, weights: Floats, columns: list[int], now: tuple[float, float], best: tuple[float, float]
) -> View:
    """The part of the plane around the optimum and the weights now, as far as the metric changes along each axis."""
    at_best = _at(weights, columns, best)
    ends: list[float] = []
    for k in (0, 1):
        low, high = metric_surface(problem, at_best, problem.feature_names[columns[k]]).view()
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
