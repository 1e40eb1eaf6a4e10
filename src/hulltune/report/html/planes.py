"""The metric over two weights, as cells in which the handle of a page may stand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hulltune.arrays import Floats
from hulltune.certified.limits import Limits
from hulltune.report.html.winners import Searched, Winners
from hulltune.search.problem import Problem
from hulltune.tuning.surfaces import MetricPlane, metric_plane

ROWS, COLUMNS = 64, 96
"""The cells of a plane. Each row is a line search of the corpus, and every sentence has a winner in each cell."""
LIMITS = Limits(gap=0.0, time=20.0)
"""The proof of a plane takes well under a second for lists. What is proven within the time is told."""
GRID = (6, 6)
"""The columns and rows of the grid that people would have searched."""


@dataclass(frozen=True, eq=False)
class PagePlane:
    """Exact scores at the middles of cells over two weights, while all others stay."""

    pair: tuple[int, int]
    plane: MetricPlane
    middles: Floats
    """The weight of the first feature in each column; ``plane.heights`` are those of the second in each row."""
    scores: Floats
    """(rows, columns), from bottom to top and from left to right."""

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
    plane = metric_plane(problem, weights, names, rows=rows, grid=GRID, limits=LIMITS)
    left, right = plane.view[:2]
    middles = left + (np.arange(columns) + 0.5) * (right - left) / columns
    return PagePlane(pair, plane, middles, plane.raster(columns))
