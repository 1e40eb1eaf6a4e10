"""Pools: the candidates of every sentence that can win in a region of weights, with the features of each.

The pool of a list holds all its hypotheses. The pool of a forest holds enough derivations that no other one wins
anywhere in the region. It begins with a few. Its best score is a convex function over the region, linear on cells whose
corners can be listed (Qhull). The best score of the whole forest is convex, too, and nowhere less. If both are equal at
every corner of every cell, they are equal everywhere: between the corners of a cell, a convex function does not exceed
the linear one through its values there. Where they differ at a corner, the derivation that wins there joins the pool,
and the corners are listed anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hulltune.arrays import Floats, Int64s
from hulltune.certified.clock import Clock
from hulltune.certified.space import Space
from hulltune.data.features import DenseFeatures, Features
from hulltune.errors import InputError
from hulltune.geometry.hulls import upper_envelope
from hulltune.search.problem import Problem

SAME = 2.0**-36
"""Scores that differ by less than this share of the largest are equal up to the rounding of scores and corners."""
SNAP = 2.0**-42
"""Sums of a feature are rounded to this share of the largest, so that equal terms in another order have equal sums."""
MOST_FREE = 3
"""The most free weights beside a fixed one: in more dimensions there are too many corners."""


@dataclass(frozen=True, eq=False)
class Pool:
    """Candidates of all sentences, in the order in which ties are broken.

    Sentence s has the candidates ``offsets[s]`` up to ``offsets[s + 1]``; ``numbers`` are their outputs in the problem.
    """

    offsets: Int64s
    numbers: Int64s
    features: Features
    """A row for each candidate."""
    rounding: float = 1.0
    """The rounding error of the features, as a multiple of that of a list's."""


def pool_of(problem: Problem, space: Space, clock: Clock) -> Pool:
    """All hypotheses of lists; or for each sentence with forests, derivations that no other beats anywhere on the faces
    of the space.
    """
    if problem.is_lists:
        return Pool(*problem.choices(), problem.corpus.features)
    numbers, features, sizes = [], [], []
    for sentence in range(len(problem.corpus)):
        outputs, sums = _SentencePool(problem.subset(np.array([sentence])), space, clock).complete()
        numbers.append(outputs)
        features.append(sums)
        sizes.append(len(outputs))
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Pool(offsets, np.concatenate(numbers), DenseFeatures(np.concatenate(features)), rounding=SAME / 2.0**-46)


def check_free(problem: Problem, space: Space) -> None:
    """Refuse too many free weights of forests."""
    if not problem.is_lists and space.axes.shape[1] > MOST_FREE + 1:
        raise InputError(
            f"certify: {len(space.moving)} weights of forests are free; expected at most {MOST_FREE} "
            "(hold others with free or fix, or certify lists)"
        )


class _SentencePool:
    """The derivations of one sentence met so far: their outputs, summed features, and scores over the coordinates."""

    def __init__(self, problem: Problem, space: Space, clock: Clock) -> None:
        self.problem, self.space, self.clock = problem, space, clock
        self.outputs = np.empty(0, dtype=np.int64)
        self.sums = np.empty((0, len(problem.feature_names)))
        self.points = np.empty((0, space.axes.shape[1]))
        self._steps: Floats | None = None

    def _snapped(self, sums: Floats) -> Floats:
        """Sums rounded to steps, which depend on the sentence alone."""
        if self._steps is None:
            self._steps = np.ldexp(1.0, np.frexp(np.abs(sums).max(axis=0))[1]) * SNAP
        snapped: Floats = np.rint(sums / self._steps) * self._steps
        return snapped

    def complete(self) -> tuple[Int64s, Floats]:
        """The outputs that can win on the faces, and the sums of their features."""
        if not self.problem.corpus.edges:
            return self.outputs, self.sums
        self._meet(_corners_of_faces(self.space))
        for low, high in zip(self.space.lows, self.space.highs, strict=True):
            seen = np.empty((0, len(low)))
            while True:
                self.clock.look()
                corners = _new(_envelope_corners(self.points, low, high), seen)
                if not len(corners) or not self._meet(corners):
                    break
                seen = np.concatenate([seen, corners])
        return self.outputs, self.sums

    def _meet(self, corners: Floats) -> bool:
        """Decode at some points, and add what beats the pool there; False if nothing does."""
        # From 0 along the weights all scores grow in proportion, so each line is one decoding.
        intervals = np.tile([1.0, 2.0], (len(corners), 1))
        nothing = np.zeros(len(self.space.axes))
        found = self.problem.derivations(nothing, corners @ self.space.axes.T, intervals)
        snapped = self._snapped(found.sums)
        new = snapped @ self.space.axes
        before = (corners @ self.points.T).max(axis=1) if len(self.points) else np.full(len(corners), -np.inf)
        scores = corners @ new.T
        sizes = SAME * (np.abs(corners) @ np.abs(new).max(axis=0))
        better = np.any(scores > (before + sizes)[:, None], axis=0)
        fresh = np.flatnonzero(better)
        _, first = np.unique(new[fresh], axis=0, return_index=True)
        fresh = fresh[np.sort(first)]
        self.outputs = np.concatenate([self.outputs, found.outputs[fresh]])
        self.sums = np.concatenate([self.sums, snapped[fresh]])
        self.points = np.concatenate([self.points, new[fresh]])
        return bool(len(fresh))


def _corners_of_faces(space: Space) -> Floats:
    """The corners of all faces."""
    width = space.lows.shape[1]
    choices = np.array(np.meshgrid(*[[0, 1]] * width)).reshape(width, -1).T.astype(bool)
    ends = zip(space.lows, space.highs, strict=True)
    return np.unique([np.where(choice, high, low) for low, high in ends for choice in choices], axis=0)


def _new(corners: Floats, seen: Floats) -> Floats:
    """The corners that are not among those seen."""
    known = {corner.tobytes() for corner in seen}
    fresh = [corner for corner in corners if corner.tobytes() not in known]
    return np.array(fresh).reshape(-1, corners.shape[1])


def _envelope_corners(points: Floats, low: Floats, high: Floats) -> Floats:
    """The corners, within a box, of the cells on which a single point scores most."""
    free = np.flatnonzero(high > low)
    if not len(free):  # only the sign of a single weight matters: the box is a point
        return low[None]
    constant = points[:, high <= low] @ low[high <= low]
    slopes = points[:, free] * ((high - low)[free] / 2.0)
    middle = constant + points[:, free] @ ((low + high)[free] / 2.0)
    # Coordinates y go from −1 to 1. The region is z ≥ slopes · y + middle, below a lid.
    scale = float(np.abs(middle - middle.max()).max() + np.abs(slopes).sum(axis=1).max()) or 1.0
    slopes, heights = slopes / scale, (middle - middle.max()) / scale
    places = _corners_on_a_line(slopes[:, 0], heights) if len(free) == 1 else _corners_by_qhull(slopes, heights)
    corners = np.tile(low, (len(places), 1))
    corners[:, free] = (low + high)[free] / 2.0 + places * ((high - low)[free] / 2.0)
    corners[:, free] = np.clip(corners[:, free], low[free], high[free])
    return corners


def _corners_on_a_line(slopes: Floats, heights: Floats) -> Floats:
    _, breakpoints = upper_envelope(zip(slopes.tolist(), heights.tolist(), strict=True))
    return np.array([-1.0, *(place for place in breakpoints if -1.0 < place < 1.0), 1.0])[:, None]


def _corners_by_qhull(slopes: Floats, heights: Floats) -> Floats:
    qhull = _qhull()
    width = slopes.shape[1]
    # Each row is a normal and an offset: slopes · y − z + height ≤ 0; then the sides of the box, and the lid.
    above = np.column_stack([slopes, np.full(len(slopes), -1.0), heights])
    sides = np.zeros((2 * width, width + 2))
    sides[:, :width], sides[:, -1] = np.concatenate([np.eye(width), -np.eye(width)]), -1.0
    lid = np.zeros((1, width + 2))
    lid[0, width], lid[0, -1] = 1.0, -3.0
    inside = np.append(np.zeros(width), 1.5)
    found: Any = qhull.HalfspaceIntersection(np.concatenate([above, sides, lid]), inside)
    corners: Floats = np.unique(np.round(found.intersections, 13), axis=0)
    below = corners[:, width] < 2.9
    return np.clip(corners[below, :width], -1.0, 1.0)


def _qhull() -> Any:
    try:
        from scipy import spatial
    except ImportError:
        raise InputError("certifying forests needs scipy: pip install scipy") from None
    return spatial
