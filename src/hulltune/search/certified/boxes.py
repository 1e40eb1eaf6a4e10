"""Boxes of weights with the candidates that may still win in them, and how they are split."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hulltune.metrics.base import Metric
from hulltune.metrics.bounds import SAFETY, Ranges, row_products
from hulltune.search.certified.candidates import Candidates
from hulltune.search.certified.space import Faces

Floats = NDArray[np.float64]
Int64s = NDArray[np.int64]
Int32s = NDArray[np.int32]

THINNEST = 2.0**-36
"""Of a coordinate: no box is split below, as rounding would begin to decide who wins."""
CONTRACT=True
TOUCHES = 3
"""How often a bound may touch anew, at the minimiser of its last: exact minima of ratios need two or three."""


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


@dataclass(frozen=True, eq=False)
class Children:
    """Some boxes fresh from their parents: their bounds, and the losses at their centres as the search sees them."""

    boxes: list[Box]
    losses: Floats


def first_boxes(candidates: Candidates, faces: Faces, metric: Metric) -> Children:
    """The faces themselves, with all candidates."""
    whole = Box(
        low=faces.lows[0],
        high=faces.highs[0],
        bound=-math.inf,
        base=candidates.base,
        sentences=np.arange(candidates.sentences, dtype=np.int32),
        offsets=candidates.offsets,
        candidates=candidates.listed,
        spreads=np.ones(faces.lows.shape[1]),
        hopes=np.zeros(faces.lows.shape[1]),
    )
    count = len(faces.lows)
    return _evaluated(candidates, metric, [whole], np.zeros(count, dtype=np.int64), faces.lows, faces.highs, math.inf)


def split(
    candidates: Candidates, metric: Metric, parents: Sequence[Box], enough: float, pool: Executor | None, threads: int
) -> tuple[Children, list[Box]]:
    """The parts of every parent, and the parents that are too thin to have any.

    Bounds need not be better than ``enough``. Parents are dealt to the threads; the result does not depend on them.
    """
    parts = [parent.parts() for parent in parents]
    thin = [parent for parent, boxes in zip(parents, parts, strict=True) if not boxes]
    whole = [(parent, boxes) for parent, boxes in zip(parents, parts, strict=True) if boxes]
    if not whole:
        return Children([], np.empty(0)), thin

    def evaluate(share: Sequence[tuple[Box, list[tuple[Floats, Floats]]]]) -> Children:
        numbers = np.repeat(np.arange(len(share)), [len(boxes) for _, boxes in share])
        lows = np.array([box[0] for _, boxes in share for box in boxes])
        highs = np.array([box[1] for _, boxes in share for box in boxes])
        return _evaluated(candidates, metric, [parent for parent, _ in share], numbers, lows, highs, enough)

    if pool is None or len(whole) < 2 * threads:
        return evaluate(whole), thin
    size = -(-len(whole) // threads)
    shares = list(pool.map(evaluate, [whole[first : first + size] for first in range(0, len(whole), size)]))
    boxes = [box for share in shares for box in share.boxes]
    return Children(boxes, np.concatenate([share.losses for share in shares])), thin


def _evaluated(
    candidates: Candidates,
    metric: Metric,
    parents: Sequence[Box],
    numbers: Int64s,
    lows: Floats,
    highs: Floats,
    enough: float,
) -> Children:
    from hulltune.kernels import certify

    sentence_offsets = np.cumsum([0, *(len(parent.sentences) for parent in parents)])
    firsts = np.cumsum([0, *(len(parent.candidates) for parent in parents)])
    ends = [parent.offsets[1:] + first for parent, first in zip(parents, firsts, strict=False)]
    found = certify.branch(
        candidates.features, candidates.magnitudes, candidates.certain, candidates.statistics, candidates.classes,
        numbers, np.array([parent.base for parent in parents]),
        sentence_offsets, np.concatenate([parent.sentences for parent in parents]),
        np.concatenate([[0], *ends]), np.concatenate([parent.candidates for parent in parents]),
        lows, highs,
    )  # fmt: skip
    sentence_offsets, sentences, offsets, listed, bases, least, greatest, at, spreads = found
    ranges = Ranges(
        least * candidates.grids, greatest * candidates.grids, at * candidates.grids, candidates.sizes, candidates.exact,
        candidates.whole,
    )
    losses = metric.loss(ranges.at)
    parent_bounds = np.array([parents[number].bound for number in numbers])
    hopes = np.zeros_like(lows)
    bounds = _bounds(candidates, metric, ranges, losses, found, parent_bounds, enough, lows, highs, hopes)
    boxes = []
    for c in range(len(lows)):
        first, last = int(sentence_offsets[c]), int(sentence_offsets[c + 1])
        begin, end = int(offsets[first]), int(offsets[last])
        boxes.append(
            Box(
                lows[c], highs[c], float(bounds[c]), bases[c], sentences[first:last].copy(),
                offsets[first : last + 1] - begin, listed[begin:end].copy(), spreads[c], hopes[c],
            )
        )  # fmt: skip
    return Children(boxes, losses)


def _bounds(
    candidates: Candidates,
    metric: Metric,
    ranges: Ranges,
    losses: Floats,
    found: tuple[NDArray[np.float64], ...],
    parent_bounds: Floats,
    enough: float,
    lows: Floats,
    highs: Floats,
    hopes: Floats,
) -> Floats:
    """A bound for each box. One in which every sentence is resolved has a single loss."""
    from hulltune.kernels import certify

    sentence_offsets, sentences, offsets, listed, bases = found[:5]
    resolved = np.diff(sentence_offsets) == 0
    bounds = np.where(resolved, losses, parent_bounds)
    at = ranges.at.copy()
    open_boxes = np.flatnonzero(~resolved)
    for touch in range(TOUCHES):
        if not len(open_boxes):
            break
        part = ranges[open_boxes]
        bound = metric.loss_bound(replace(part, at=at[open_boxes]))
        # Slopes are for statistics; the kernel has them in units of their grid.
        slopes = np.ascontiguousarray(bound.slopes * candidates.grids)
        sums = certify.minimisers(
            candidates.statistics, sentence_offsets, offsets, listed, bases, slopes, open_boxes,
            candidates.features, highs - lows, hopes,
        )  # fmt: skip
        sums = sums * candidates.grids
        before = bounds[open_boxes]
        bounds[open_boxes] = np.maximum(before, bound.proven(sums))
        at[open_boxes] = sums
        settled = np.zeros(len(open_boxes), dtype=bool) if bound.settled is None else bound.settled
        last = bounds[open_boxes] < enough if touch == TOUCHES - 1 else settled & (bounds[open_boxes] < enough)
        if np.any(last) and CONTRACT and np.isfinite(enough):
            chosen = open_boxes[last]
            slacks = bound.level(enough)[last] - row_products(bound.slopes, sums)[last]
            slacks += SAFETY * (np.abs(bound.slopes[last]) @ candidates.sizes)
            empty = certify.contract(
                candidates.features, candidates.magnitudes, candidates.statistics, sentence_offsets, sentences,
                offsets, listed, slopes[last], slacks, chosen, lows, highs,
            )  # fmt: skip
            bounds[chosen[empty]] = enough
        open_boxes = open_boxes[~settled & (bounds[open_boxes] < enough)]
    return bounds


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

    def take(self, most: int, below: float) -> list[Box]:
        """Up to ``most`` boxes with the least bounds, if these are below a loss."""
        taken = []
        while self._heap and len(taken) < most and self._heap[0][0] < below:
            taken.append(heapq.heappop(self._heap)[2])
            self.held -= len(taken[-1].candidates)
        return taken
