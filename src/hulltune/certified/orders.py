"""Boxes of weights of orders: they have a part of a line, and along that a bound is swept instead of a number.

A box keeps only the parts of its line where the bound is better than the best loss so far (kernels/orders/bounds.py),
so one coordinate is never split, and in two dimensions the exact lines of all faces are the proof. Bounds are whole
numbers, like the values of orders: a gap of exactly 0 is reached.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from hulltune.arrays import Floats, Int64s
from hulltune.certified.space import Space
from hulltune.kernels.orders.bounds import Boxed
from hulltune.kernels.simd.simd import LANES
from hulltune.search.orders import Orders
from hulltune.search.strategy import Setting
from hulltune.surface import ErrorSurface

NEAR = 0.25
"""Parts of a line nearer to each other than this share of the box's widest radius stay one box."""
ROUNDED = 2.0**-45
"""More than a score is rounded by, relative to the sum of the sizes of its terms."""
THIN = 2.0**-45
"""The radius from which on a box is too thin to be split."""


@dataclass(frozen=True, eq=False)
class OrderBox:
    """A part of a line on a face of the space, and how far the other coordinates go from it."""

    bound: float
    face: int
    origin: Floats
    """The point of the line where its coordinate is 0."""
    radii: Floats
    """0 for the coordinate of the face and for that of the line."""
    low: float
    high: float
    loss: float = math.inf
    centre: Floats = field(default_factory=lambda: np.empty(0))
    """The middle of the best interval of the line through the box that it was cut from, if ``loss`` is known."""
    held: int = 256


class Face(NamedTuple):
    """The coordinate along which the lines of a face go, and the others that vary on it."""

    line: int
    others: Int64s


class OrderCover:
    """The documents over the coordinates of a space, and the boxes that cover it."""

    finest = 0.0

    def __init__(self, setting: Setting, orders: Orders, space: Space) -> None:
        self._problem, self._workers, self._orders, self._space = setting.problem, setting.workers, orders, space
        features = setting.problem.corpus.features
        columns = np.array([features.times(axis) for axis in space.axes.T])
        self._columns = np.ascontiguousarray(np.pad(columns, ((0, 0), (0, LANES))))
        largest = np.maximum(np.abs(space.lows), np.abs(space.highs)).max(axis=0)
        sizes = (np.abs(columns) * largest[:, None]).sum(axis=0)
        self._safeties = ROUNDED * orders.largest_of_queries(sizes)
        self._spreads = columns.std(axis=1)
        self._faces = []
        for low, high in zip(space.lows, space.highs, strict=True):
            varying = np.flatnonzero(low < high)
            # A face of one direction is a point: a line of no length along any of the axes.
            self._faces.append(Face(int(varying[-1]) if len(varying) else 0, varying[:-1]))

    def first(self, enough: float) -> list[OrderBox]:
        """The parts of the line through the middle of each face that may be better than ``enough``."""
        boxes = []
        for number, (face, low, high) in enumerate(zip(self._faces, self._space.lows, self._space.highs, strict=True)):
            origin, radii = (low + high) / 2.0, (high - low) / 2.0
            origin[face.line] = radii[face.line] = 0.0
            boxes.append(OrderBox(-math.inf, number, origin, radii, float(low[face.line]), float(high[face.line])))
        found = self._workers.map(lambda box: self._with_value(box, [box], enough), boxes)
        return [part for parts in found for part in parts]

    def split(self, boxes: Sequence[OrderBox], enough: float) -> tuple[list[OrderBox], float]:
        """Halves of boxes, or what of their lines may be better than ``enough``.

        Only the first box, whose bound is the best, tells its exact line: that costs as much as both bounds.
        """
        thick = [box for box in boxes if box.radii.max() > THIN]
        thin = [box.bound for box in boxes if not box.radii.max() > THIN]

        def parts_of(place: int) -> list[OrderBox]:
            box, halves = thick[place], self._halves(thick[place])
            if place == 0:
                return self._with_value(box, halves, enough)
            return [part for half in halves for part in self._parts(half, enough)]

        found = self._workers.map(parts_of, range(len(thick)))
        return [part for parts in found for part in parts], min(thin, default=math.inf)

    def _halves(self, box: OrderBox) -> list[OrderBox]:
        """A box cut across the coordinate along which documents differ most."""
        c = int(np.argmax(box.radii * self._spreads))
        halves = []
        for side in (-0.5, 0.5):
            origin, radii = box.origin.copy(), box.radii.copy()
            origin[c] += side * radii[c]
            radii[c] /= 2.0
            halves.append(replace(box, origin=origin, radii=radii))
        return halves

    def _with_value(self, box: OrderBox, halves: Sequence[OrderBox], enough: float) -> list[OrderBox]:
        """The parts of the halves of a box; the first of them tells the best of the exact line through the box."""
        line = self._faces[box.face].line
        weights, direction = self._space.axes @ box.origin, self._space.axes[:, line]
        (surface,) = self._orders.surfaces(weights, direction[None], np.array([[box.low, box.high]]))
        losses = surface.losses(self._problem.metric.loss)
        best, ends = int(np.argmin(losses)), _ends(surface, box)
        centre = box.origin.copy()
        centre[line] = (ends[best] + ends[best + 1]) / 2.0
        loss = float(losses[best])
        if not len(self._faces[box.face].others):  # the line is the whole face, and its best value the bound
            return [replace(box, bound=loss, loss=loss, centre=centre)]
        parts = [part for half in halves for part in self._parts(half, enough)]
        return [replace(parts[0], loss=loss, centre=centre), *parts[1:]] if parts else []

    def _parts(self, box: OrderBox, enough: float) -> list[OrderBox]:
        """The parts of a box's line where its bound is below ``enough``."""
        face = self._faces[box.face]
        heights = np.zeros(self._columns.shape[1])
        for coordinate, column in zip(box.origin.tolist(), self._columns, strict=True):
            heights += coordinate * column
        boxed = Boxed(
            heights, self._columns[face.line], self._columns[face.others], box.radii[face.others], self._safeties
        )
        surface = self._orders.bound(boxed, box.low, box.high)
        losses, ends = surface.losses(self._problem.metric.loss), _ends(surface, box)
        open_ = np.flatnonzero(losses < enough)
        if not len(open_):
            return []
        gaps = ends[open_[1:]] - ends[open_[:-1] + 1]
        runs = np.split(open_, np.flatnonzero(gaps > NEAR * box.radii.max()) + 1)
        return [
            replace(
                box, bound=float(losses[run[0] : run[-1] + 1].min()), low=float(ends[run[0]]),
                high=float(ends[run[-1] + 1]), loss=math.inf, centre=np.empty(0),
            )
            for run in runs
        ]  # fmt: skip


def _ends(surface: ErrorSurface, box: OrderBox) -> Floats:
    """The ends of the intervals of a surface over the line of a box."""
    return np.concatenate([[box.low], surface.breakpoints, [box.high]])
