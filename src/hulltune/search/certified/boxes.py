"""Boxes of weights: the candidates that may still win in each, splitting, and the queue of boxes."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np

from hulltune.arrays import Floats, Int32s, Int64s

THINNEST = 2.0**-36
"""The least width of a box that is split, as a share of its coordinate: below, rounding would decide who wins."""


@dataclass(frozen=True, eq=False)
class Box:
    """A part of a face. No weights in it have a loss below ``bound``."""

    low: Floats
    high: Floats
    bound: float
    base: Floats
    """The summed statistics of the resolved sentences: in each, all possible winners have equal statistics."""
    sentences: Int32s
    offsets: Int64s
    candidates: Int32s
    spreads: Floats
    """For each coordinate, the range of the candidates of a sentence, summed over unresolved sentences."""
    hopes: Floats
    """For each coordinate, how much the bound may tighten if the box gets narrower there."""

    @property
    def centre(self) -> Floats:
        """The point near the middle at which the kernels decode."""
        from hulltune.kernels.certify import OFF_CENTRE

        return self.low + (self.high - self.low) * np.resize(OFF_CENTRE, len(self.low))

    def parts(self) -> list[tuple[Floats, Floats]]:
        """Smaller boxes that cover all outputs of this one; none if it is too thin to split.

        Mostly two halves, split along the most promising coordinate. If the candidates do not differ in the fixed
        coordinate of the face, only the direction of the other coordinates matters, and the outer faces of the box have
        all directions.
        """
        ends = list(zip(self.low.tolist(), self.high.tolist(), strict=True))  # of few coordinates, lists are faster
        spreads = self.spreads.tolist()
        if not any(spread > 0.0 and not low < high for spread, (low, high) in zip(spreads, ends, strict=True)):
            return self._outer_faces(np.flatnonzero(self.spreads > 0.0))
        wide = [high - low > THINNEST * max(abs(low), abs(high)) for low, high in ends]
        promises = [hope if is_wide else 0.0 for hope, is_wide in zip(self.hopes.tolist(), wide, strict=True)]
        if not max(promises) > 0.0:
            sides = [(high - low) * spread for spread, (low, high) in zip(spreads, ends, strict=True)]
            promises = [side if is_wide else 0.0 for side, is_wide in zip(sides, wide, strict=True)]
        axis = promises.index(max(promises))
        if not promises[axis] > 0.0:
            return []
        middle = _middle(*ends[axis])
        left, right = self.high.copy(), self.low.copy()
        left[axis] = right[axis] = middle
        return [(self.low, left), (right, self.high)]

    def _outer_faces(self, axes: Int64s) -> list[tuple[Floats, Floats]]:
        """The faces through which rays from the origin leave the box, among the coordinates ``axes``."""
        faces = []
        for axis in axes:
            for end, outward in ((self.low[axis], self.low[axis] < 0.0), (self.high[axis], self.high[axis] > 0.0)):
                if outward:
                    low, high = self.low.copy(), self.high.copy()
                    low[axis] = high[axis] = end
                    faces.append((low, high))
        return faces


def _middle(low: float, high: float) -> float:
    """The place to cut a range: 0, where many ties lie; the geometric middle of several magnitudes; or the middle."""
    if low < 0.0 < high:
        return 0.0
    least, most = min(abs(low), abs(high)), max(abs(low), abs(high))
    if most > 4.0 * max(least, 1.0):
        return math.copysign(math.sqrt(max(least, 1.0) * most), low + high)
    return low + (high - low) / 2.0


class Queue:
    """Boxes by bound, the least first; boxes of equal bounds in the order in which they came."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Box]] = []
        self._count = 0
        self.held = 0
        """The number of candidates in all boxes, which take most of the memory."""

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def bound(self) -> float:
        """The least bound; +∞ if there is no box."""
        return self._heap[0][0] if self._heap else math.inf

    def put(self, box: Box) -> None:
        """Add a box."""
        heapq.heappush(self._heap, (box.bound, self._count, box))
        self._count += 1
        self.held += len(box.candidates)

    def take(self, most: int, below: float, *, into: list[Box]) -> None:
        """Move up to ``most`` boxes with the least bounds, all of them less than ``below``, to the end of a list.

        Each is in the list before it leaves the queue, so that an interrupt never loses one.
        """
        full = len(into) + most
        while self._heap and len(into) < full and self._heap[0][0] < below:
            into.append(self._heap[0][2])
            heapq.heappop(self._heap)
            self.held -= len(into[-1].candidates)
