"""Boxes of weights: the candidates that may still win in each, splitting, and the queue of boxes."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hulltune.arrays import Floats, Int32s, Int64s


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
        from hulltune.kernels.certify.certify import OFF_CENTRE

        return self.low + (self.high - self.low) * np.resize(OFF_CENTRE, len(self.low))


@dataclass(frozen=True, eq=False)
class Parts:
    """Parts of boxes to be evaluated: part i is the box ``lows[i]`` to ``highs[i]`` within ``parents[numbers[i]]``.

    Those of one parent follow each other.
    """

    parents: Sequence[Box]
    numbers: Int64s
    lows: Floats
    highs: Floats

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, some: slice) -> Parts:
        """Some of the parts, with the parents of these alone."""
        numbers = self.numbers[some]
        first, last = int(numbers[0]), int(numbers[-1])
        return Parts(self.parents[first : last + 1], numbers - first, self.lows[some], self.highs[some])


def cut(boxes: Sequence[Box]) -> Parts:
    """Smaller boxes that cover all outputs of these; none of a box that is too thin to split.

    Mostly two halves, split along the most promising coordinate. If the candidates do not differ in the fixed
    coordinate of the face, only the direction of the other coordinates matters, and the outer faces of the box have
    all directions.
    """
    from hulltune.kernels.certify import certify

    if not boxes:
        return Parts(boxes, np.empty(0, dtype=np.int64), np.empty((0, 0)), np.empty((0, 0)))
    lows, highs = np.array([box.low for box in boxes]), np.array([box.high for box in boxes])
    spreads, hopes = np.array([box.spreads for box in boxes]), np.array([box.hopes for box in boxes])
    return Parts(boxes, *certify.cut(lows, highs, spreads, hopes))


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
