"""Boxes of weights with the candidates that may still win in them, and how they are split."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np

from hulltune.arrays import Floats, Int32s, Int64s

THINNEST = 2.0**-36
"""Of a coordinate: no box is split below, as rounding would begin to decide who wins."""


@dataclass(frozen=True, eq=False)
class Box:
    """A part of a face. The loss of no weights in it is below ``bound``."""

    low: Floats
    high: Floats
    bound: float
    base: Floats
    """The statistics of the resolved sentences, whose possible winners all have the same."""
    sentences: Int32s
    offsets: Int64s
    candidates: Int32s
    spreads: Floats
    """For each coordinate how much the candidates of a sentence differ in it, summed over unresolved sentences."""
    hopes: Floats
    """For each coordinate how much of what the bound hopes for hangs on the box being as wide as it is."""

    @property
    def centre(self) -> Floats:
        """Near its middle: where the kernels look who wins."""
        from hulltune.kernels.certify import OFF_CENTRE

        return self.low + (self.high - self.low) * np.resize(OFF_CENTRE, len(self.low))

    def parts(self) -> list[tuple[Floats, Floats]]:
        """Boxes that cover all that this one has to offer; none if it is as thin as may be.

        Mostly two halves, split where that promises most. If the candidates do not differ in the coordinate that makes
        this a face, only the direction of the others matters: all of these lie in the outer faces.
        """
        free = self.high > self.low
        differ = self.spreads > 0.0
        if not np.any(differ & ~free):
            return self._outer_faces(np.flatnonzero(differ))
        sizes = np.maximum(np.abs(self.low), np.abs(self.high))
        wide = self.high - self.low > THINNEST * sizes
        promises = np.where(wide, self.hopes, 0.0)
        if not np.any(promises > 0.0):
            promises = np.where(wide, (self.high - self.low) * self.spreads, 0.0)
        axis = int(np.argmax(promises))
        if not promises[axis] > 0.0:
            return []
        middle = _middle(float(self.low[axis]), float(self.high[axis]))
        left, right = self.high.copy(), self.low.copy()
        left[axis] = right[axis] = middle
        return [(self.low, left), (right, self.high)]

    def _outer_faces(self, axes: Int64s) -> list[tuple[Floats, Floats]]:
        """Where rays from the origin, in the coordinates ``axes``, leave the box."""
        faces = []
        for axis in axes:
            for end, outward in ((self.low[axis], self.low[axis] < 0.0), (self.high[axis], self.high[axis] > 0.0)):
                if outward:
                    low, high = self.low.copy(), self.high.copy()
                    low[axis] = high[axis] = end
                    faces.append((low, high))
        return faces


def _middle(low: float, high: float) -> float:
    """Where to cut: at 0, as many ties lie there; in the geometric middle of a range over magnitudes; in the middle."""
    if low < 0.0 < high:
        return 0.0
    least, most = min(abs(low), abs(high)), max(abs(low), abs(high))
    if most > 4.0 * max(least, 1.0):
        return math.copysign(math.sqrt(max(least, 1.0) * most), low + high)
    return low + (high - low) / 2.0


class Queue:
    """Boxes by their bound, the least first; of equals the first that came."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Box]] = []
        self._count = 0
        self.held = 0
        """Candidates in all boxes: what the memory goes into."""

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def bound(self) -> float:
        """The least bound, +∞ if there is no box."""
        return self._heap[0][0] if self._heap else math.inf

    def put(self, box: Box) -> None:
        """Add a box."""
        heapq.heappush(self._heap, (box.bound, self._count, box))
        self._count += 1
        self.held += len(box.candidates)

    def take(self, most: int, below: float, *, into: list[Box]) -> None:
        """Move up to ``most`` boxes with the least bounds, if these are below a loss, to the end of a list.

        Each is in the list before it leaves the queue: whenever an interrupt comes, none is lost.
        """
        full = len(into) + most
        while self._heap and len(into) < full and self._heap[0][0] < below:
            into.append(self._heap[0][2])
            heapq.heappop(self._heap)
            self.held -= len(into[-1].candidates)
