"""The places where the handle of a page may stand: intervals along each free weight, and cells over two of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hulltune.arrays import Bools, Floats, Int64s
from hulltune.report.html.winners import Searched, Winners
from hulltune.search.orders import WHOLE_LINE
from hulltune.search.problem import Problem
from hulltune.surface import ErrorSurface
from hulltune.tuning.surfaces import MetricPlane, MetricSurface, metric_plane

KEPT_BITS = 36
"""The bits of a breakpoint's mantissa that a page keeps: eleven digits. The others are as good as random, and half of
the size of the file.
"""
MARGIN = 2.0**-34
"""The handle stays so far away from a breakpoint, as a share of its place: there, rounding decides who wins."""
ROOM = 8.0
"""An interval has room for the handle if it is so many times as wide as the margin."""

ROWS, COLUMNS = 64, 96
"""The cells of a plane. Each row is a line search of the corpus, and every sentence has a winner in each cell."""
SECONDS = 20.0
"""The time for the proof of a plane, which takes well under a second for lists. What is proven within it is told."""
GRID = (6, 6)
"""The columns and rows of the grid that people would have searched."""


@dataclass(frozen=True, eq=False)
class PageLine:
    """Exact scores along a free weight, or along a group of tied ones, while all other weights stay.

    ``scores[i]`` holds between ``edges[i − 1]`` and ``edges[i]``, where no output of any sentence changes. It is NaN
    in a gap: a stretch in which the handle cannot stand, because it is narrower than rounding, or was left out.
    """

    name: str
    group: tuple[int, ...]
    """The features whose weight this is."""
    now: float
    edges: Floats
    scores: Floats
    others: tuple[Floats, ...]
    """The scores of other metrics, like ``scores``."""
    intervals: int
    """The number of intervals of the line, with those that were left out."""
    thinned: bool
    """Whether intervals with room for the handle were left out, because there are so many."""
    margin: float
    """The least distance of the handle from a breakpoint, in addition to the share of its place (MARGIN)."""
    surface: MetricSurface
    winners: Winners | None
    """None where answers are orders: a page tells of these by themselves."""

    @property
    def left_out(self) -> int:
        """The number of intervals that are not on the page."""
        return self.intervals - int(np.count_nonzero(~np.isnan(self.scores)))

    def starts(self, lefts: Floats) -> Int64s:
        """For segments that begin at ``lefts``: the first interval in which the handle can stand in each."""
        begins: Int64s = np.searchsorted(self.edges, rounded(lefts), side="left") + 1
        begins[np.isneginf(lefts)] = 0
        return begins


def rounded(places: Floats) -> Floats:
    """Places on a line with KEPT_BITS of their mantissas; infinite ones stay."""
    dropped = np.uint64(52 - KEPT_BITS)
    bits = np.ascontiguousarray(places, dtype=np.float64).view(np.uint64)
    half = np.uint64(1) << (dropped - np.uint64(1))
    nearest: Floats = (((bits + half) >> dropped) << dropped).view(np.float64)
    return np.where(np.isfinite(places), nearest, places)


def page_line(
    searched: Searched,
    weights: Floats,
    group: Sequence[int],
    others: Sequence[Problem] = (),
    *,
    most: int,
) -> PageLine:
    """The line of a weight. Of more than ``most`` intervals, the best and the worst of each stretch are kept."""
    problem = searched.problem
    names = " = ".join(problem.feature_names[k] for k in group)
    now = float(weights[group[0]])
    origin, direction = weights.copy(), np.zeros(len(weights))
    origin[list(group)], direction[list(group)] = 0.0, 1.0  # so that the step is the weight itself
    winners = None if problem.orders is not None else searched.along(origin, direction)
    found = [
        each.surfaces(origin, direction[None], WHOLE_LINE)[0]
        if winners is None or each.orders is not None
        else winners.surface(each)
        for each in (problem, *others)
    ]
    changes = [*(each.breakpoints for each in found), *([] if winners is None else [winners.lefts])]
    places = np.unique(np.concatenate(changes))
    places = places[np.isfinite(places)]
    surfaces = [
        _surface(each, surface, f"weight of {names}", now)
        for each, surface in zip((problem, *others), found, strict=True)
    ]
    surface, scores = surfaces[0], [_scores_between(each, places) for each in surfaces]
    edges = rounded(places)
    margin = float(np.ldexp(np.median(np.abs(edges)), -44)) if len(edges) else 0.0
    wide = _has_room(edges, margin)
    here = int(np.searchsorted(places, now, side="right"))
    kept = _some(scores[0], wide, most, here, higher=surface.higher_is_better)
    edges, scores = without_gaps(edges, kept, scores)
    return PageLine(
        name=names,
        group=tuple(group),
        now=now,
        edges=edges,
        scores=scores[0],
        others=tuple(scores[1:]),
        intervals=len(places) + 1,
        thinned=bool(kept.sum() < wide.sum()),
        margin=margin,
        surface=surface,
        winners=winners,
    )


def _surface(problem: Problem, found: ErrorSurface, axis: str, now: float) -> MetricSurface:
    """The surface of the metric, as ``metric_surface`` gives it."""
    scores = np.asarray(problem.metric.score(found.statistics), dtype=np.float64)
    metric: Any = problem.metric
    return MetricSurface(
        axis, found.breakpoints, scores, ((f"now {now:.4g}", now),), metric.signature, metric.higher_is_better
    )


def _scores_between(surface: MetricSurface, places: Floats) -> Floats:
    """The scores between places, among which are all at which the surface changes."""
    found: Floats = surface.scores[np.searchsorted(surface.breakpoints, np.append(-math.inf, places), side="right")]
    return found


def _has_room(edges: Floats, margin: float) -> Bools:
    """Whether each interval is wide enough for the handle."""
    ends = np.concatenate([[-math.inf], edges, [math.inf]])
    sizes = np.where(np.isfinite(ends), np.abs(ends), 0.0)
    needed = ROOM * (MARGIN * np.maximum(sizes[1:], sizes[:-1]) + margin)
    wide: Bools = ends[1:] - ends[:-1] > needed
    return wide


def _some(scores: Floats, wide: Bools, most: int, here: int, *, higher: bool) -> Bools:
    """Marks of the intervals to keep: of those with room, at most about ``most``.

    The line is cut into stretches of as many intervals; the best and the worst of each stay, so that a picture of them
    shows how far the metric goes up and down, and so does the interval ``here``.
    """
    (usable,) = np.nonzero(wide)
    if len(usable) <= most:
        return wide
    kept = np.zeros(len(scores), dtype=bool)
    starts = np.linspace(0, len(usable), max(most // 2, 1) + 1).astype(np.int64)[:-1]
    stretch = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(usable))))
    order = np.lexsort((scores[usable], stretch))
    ends = np.append(starts[1:], len(usable)) - 1
    kept[usable[order[starts]]] = True
    kept[usable[order[ends]]] = True
    values = scores if higher else -scores
    kept[usable[np.argmax(values[usable])]] = True
    kept[here] |= wide[here]
    return kept


def without_gaps(edges: Floats, kept: Bools, columns: Sequence[Floats]) -> tuple[Floats, list[Floats]]:
    """Edges and values with every run of intervals that are not kept as one gap, whose values are NaN."""
    first_of_run = kept | np.concatenate([[True], kept[:-1]])
    values = [np.where(kept, column, np.nan)[first_of_run] for column in columns]
    return edges[first_of_run[1:]], values


@dataclass(frozen=True, eq=False)
class PagePlane:
    """Exact scores at the middles of cells over two weights, while all others stay."""

    pair: tuple[int, int]
    plane: MetricPlane
    middles: Floats
    """The weight of the first feature in each column; ``plane.heights`` are those of the second in each row."""
    scores: Floats
    """(rows, columns), from bottom to top and from left to right."""
    chance: Bools
    """For each cell, whether its score is worse by less than chance."""

    def winners(self, searched: Searched, weights: Floats) -> list[Winners]:
        """The winners along each row of cells."""
        found = []
        for height in self.plane.heights.tolist():
            origin, direction = weights.copy(), np.zeros(len(weights))
            origin[list(self.pair)], direction[self.pair[0]] = (0.0, height), 1.0
            found.append(searched.along(origin, direction, self.plane.view[:2]))
        return found


def page_plane(
    problem: Problem, weights: Floats, pair: tuple[int, int], *, rows: int = ROWS, columns: int = COLUMNS
) -> PagePlane:
    """The plane of two weights with its optimum, and with the grid that people would have searched."""
    names = (problem.feature_names[pair[0]], problem.feature_names[pair[1]])
    plane = metric_plane(problem, weights, names, rows=rows, grid=GRID, seconds=SECONDS)
    left, right = plane.view[:2]
    middles = left + (np.arange(columns) + 0.5) * (right - left) / columns
    return PagePlane(pair, plane, middles, plane.raster(columns), plane.chance(columns))
