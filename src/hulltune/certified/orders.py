"""Branch and bound over the weights of orders: boxes over all coordinates but one, and along that one a bound swept.

A box keeps the parts of its line where the bound is better than the best value so far (kernels/orders/bounds.py), so
one coordinate is never split, and in two dimensions the exact lines of all faces are the proof.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from hulltune.arrays import Floats, Int64s
from hulltune.certified.space import Space
from hulltune.kernels.orders.bounds import Boxed
from hulltune.kernels.simd.simd import LANES
from hulltune.search.orders import Orders
from hulltune.threads import Workers

BATCH = 16
"""Boxes that are split at a time. It does not depend on the threads, so the result does not either."""
NEAR = 0.25
"""Parts of a line nearer to each other than this share of the box's widest radius stay one box."""
ROUNDED = 2.0**-45
"""More than a score is rounded by, relative to the sum of the sizes of its terms."""


class OrderBox(NamedTuple):
    """A box on a face of the space: a part of a line, and how far other coordinates go from it."""

    bound: float
    """No weights of the box have a smaller loss."""
    number: int
    """The number in the order of their making, which decides between equal bounds."""
    face: int
    centre: Floats
    """The coordinates of the point of the line at 0."""
    radii: Floats
    """0 for the coordinate of the face and for that of the line."""
    low: float
    high: float


class Face(NamedTuple):
    """A face of the space: the coordinate of its lines, and the others that vary."""

    line: int
    others: Int64s
    slopes: Floats
    columns: Floats


class OrderBoxes:
    """The documents over the coordinates of a space, and the boxes that cover it."""

    def __init__(self, orders: Orders, features: Floats, space: Space, workers: Workers) -> None:
        self.orders, self.space, self.workers = orders, space, workers
        columns = (features @ space.axes).T
        self._columns = np.ascontiguousarray(np.pad(columns, ((0, 0), (0, LANES))))
        lows, highs = space.lows, space.highs
        largest = np.maximum(np.abs(lows), np.abs(highs)).max(axis=0)
        sizes = np.abs(columns.T) @ largest
        self._safeties = ROUNDED * orders.largest_of_queries(sizes)
        self._spreads = columns.std(axis=1)
        self._faces = [self._face(low, high) for low, high in zip(lows, highs, strict=True)]
        self._numbers = itertools.count()

    def _face(self, low: Floats, high: Floats) -> Face:
        varying = np.flatnonzero(low < high)
        line, others = int(varying[-1]), varying[:-1]
        return Face(line, others, self._columns[line], self._columns[others])

    def first(self) -> list[OrderBox]:
        """A box for each face."""
        boxes = []
        for number, face in enumerate(self._faces):
            low, high = self.space.lows[number], self.space.highs[number]
            centre, radii = (low + high) / 2.0, (high - low) / 2.0
            centre[face.line] = radii[face.line] = 0.0
            boxes.append(
                OrderBox(-math.inf, next(self._numbers), number, centre, radii, low[face.line], high[face.line])
            )
        return boxes

    def halves(self, box: OrderBox) -> list[OrderBox]:
        """A box cut across the coordinate along which documents differ most."""
        c = int(np.argmax(box.radii * self._spreads))
        halves = []
        for side in (-0.5, 0.5):
            centre, radii = box.centre.copy(), box.radii.copy()
            centre[c] += side * radii[c]
            radii[c] /= 2.0
            halves.append(box._replace(centre=centre, radii=radii))
        return halves

    def parts(self, box: OrderBox, loss: Callable[[Int64s], Floats], target: float) -> Iterator[OrderBox]:
        """The parts of a box's line where its bound is below the target."""
        face = self._faces[box.face]
        heights = self._columns.T @ box.centre
        boxed = Boxed(heights, face.slopes, face.columns, box.radii[face.others], self._safeties)
        surface = self.orders.bound(boxed, box.low, box.high)
        losses = loss(surface.statistics)
        ends = np.concatenate([[box.low], surface.breakpoints, [box.high]])
        open_ = np.flatnonzero(losses < target)
        if not len(open_):
            return
        gaps = ends[open_[1:]] - ends[open_[:-1] + 1]
        cuts = np.flatnonzero(gaps > NEAR * box.radii.max()) + 1
        for run in np.split(open_, cuts):
            yield box._replace(
                bound=float(losses[run[0] : run[-1] + 1].min()), number=next(self._numbers),
                low=float(ends[run[0]]), high=float(ends[run[-1] + 1]),
            )  # fmt: skip
