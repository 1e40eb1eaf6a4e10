"""Evaluation of new boxes: the candidates that may still win in each, and a bound."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hulltune.arrays import Bools, Floats, Int32s, Int64s
from hulltune.metrics.base import Metric
from hulltune.metrics.bounds import SAFETY, LossBound, Ranges, row_products
from hulltune.search.certified.boxes import Box
from hulltune.search.certified.candidates import Candidates
from hulltune.search.certified.clock import Clock
from hulltune.search.certified.space import Faces
from hulltune.threads import each

FEW = 1 << 11
"""With fewer candidates in all boxes of a heap, threads would take longer than one."""
AT_ONCE = 1 << 15
"""Candidates in boxes that a thread splits between two looks at the clock."""
TOUCHES = 3
"""A bound is computed up to this often, each time at the minimiser of the last: exact minima of ratios need 2 or 3."""
MOST_CHOICES = 64
"""In boxes with at most this many choices of candidates, all choices are tried."""


@dataclass(frozen=True, eq=False)
class Children:
    """Boxes with their bounds, and the losses at their centres as the kernels compute them."""

    boxes: list[Box]
    losses: Floats


@dataclass(frozen=True, eq=False)
class _Left:
    """The candidates that the kernel leaves in some boxes, with their statistics; see kernels/certify.py."""

    sentence_offsets: Int64s
    sentences: Int32s
    offsets: Int64s
    candidates: Int32s
    bases: Floats
    least: Floats
    greatest: Floats
    at: Floats
    spreads: Floats


def first_boxes(
    candidates: Candidates, faces: Faces, metric: Metric, enough: float, clock: Clock | None = None
) -> Children:
    """The faces as boxes with all candidates."""
    clock = clock or Clock()
    width = faces.lows.shape[1]
    whole = Box(
        low=faces.lows[0],
        high=faces.highs[0],
        bound=-math.inf,
        base=candidates.base,
        sentences=np.arange(candidates.sentences, dtype=np.int32),
        offsets=candidates.offsets,
        candidates=candidates.listed,
        spreads=np.ones(width),
        hopes=np.zeros(width),
    )
    shares = []
    for face in range(len(faces.lows)):
        clock.look()
        low, high = faces.lows[face : face + 1].copy(), faces.highs[face : face + 1].copy()
        shares.append(_Batch(candidates, metric, [whole], np.zeros(1, dtype=np.int64), low, high, enough).children())
    return _together(shares)


def split(
    candidates: Candidates,
    metric: Metric,
    parents: Sequence[Box],
    enough: float,
    threads: int,
    clock: Clock | None = None,
) -> tuple[Children, list[Box]]:
    """The parts of every parent, and the parents that are too thin to split.

    No bound is improved beyond ``enough``. Threads share the parents; the result does not depend on their number, nor
    on the number of parents that are split between two looks at the clock.
    """
    clock = clock or Clock()
    parts = [parent.parts() for parent in parents]
    thin = [parent for parent, boxes in zip(parents, parts, strict=True) if not boxes]
    whole = [(parent, boxes) for parent, boxes in zip(parents, parts, strict=True) if boxes]
    if not whole:
        return Children([], np.empty(0)), thin

    def evaluate(share: Sequence[tuple[Box, list[tuple[Floats, Floats]]]]) -> Children:
        numbers = np.repeat(np.arange(len(share)), [len(boxes) for _, boxes in share])
        lows = np.array([box[0] for _, boxes in share for box in boxes])
        highs = np.array([box[1] for _, boxes in share for box in boxes])
        return _Batch(candidates, metric, [parent for parent, _ in share], numbers, lows, highs, enough).children()

    shares: list[Children] = []
    for some in _heaps(whole, threads):
        clock.look()
        many = sum(len(box.candidates) for box, _ in some) >= FEW
        size = -(-len(some) // (2 * threads)) if many and threads > 1 else len(some)
        shares += each(evaluate, [some[first : first + size] for first in range(0, len(some), size)], threads)
    return _together(shares), thin


Split = tuple[Box, list[tuple[Floats, Floats]]]


def _heaps(whole: Sequence[Split], threads: int) -> Iterator[Sequence[Split]]:
    """The boxes in heaps that take a moment each: of those with many candidates, one or two for each thread."""
    first, held = 0, 0
    fewest = 1 if threads == 1 else 2 * threads
    for place, (box, _) in enumerate(whole):
        if place - first >= fewest and held + len(box.candidates) > AT_ONCE * threads:
            yield whole[first:place]
            first, held = place, 0
        held += len(box.candidates)
    yield whole[first:]


def _together(shares: Sequence[Children]) -> Children:
    return Children([box for share in shares for box in share.boxes], np.concatenate([each.losses for each in shares]))


@dataclass(frozen=True, eq=False)
class _Batch:
    """Boxes from ``lows`` to ``highs``; box c is a part of parent ``numbers[c]``. A box shrinks to the part of it in
    which a loss below ``enough`` is possible.
    """

    candidates: Candidates
    metric: Metric
    parents: Sequence[Box]
    numbers: Int64s
    lows: Floats
    highs: Floats
    enough: float

    def children(self) -> Children:
        left = self._survivors()
        data = self.candidates
        ranges = Ranges(
            low=left.least * data.grids,
            high=left.greatest * data.grids,
            at=left.at * data.grids,
            sizes=data.sizes,
            exact=data.exact,
            whole=data.whole,
        )
        losses = self.metric.loss(ranges.at)
        hopes = np.zeros_like(self.lows)
        bounds = self._bounds(left, ranges, losses, hopes)
        boxes = []
        for c in range(len(self.lows)):
            first, last = int(left.sentence_offsets[c]), int(left.sentence_offsets[c + 1])
            begin, end = int(left.offsets[first]), int(left.offsets[last])
            boxes.append(
                Box(
                    low=self.lows[c],
                    high=self.highs[c],
                    bound=float(bounds[c]),
                    base=left.bases[c],
                    sentences=left.sentences[first:last].copy(),
                    offsets=left.offsets[first : last + 1] - begin,
                    candidates=left.candidates[begin:end].copy(),
                    spreads=left.spreads[c],
                    hopes=hopes[c],
                )
            )
        return Children(boxes, losses)

    def _survivors(self) -> _Left:
        from hulltune.kernels import certify

        parents, data = self.parents, self.candidates
        firsts = np.cumsum([0, *(len(parent.candidates) for parent in parents)])
        ends = [parent.offsets[1:] + first for parent, first in zip(parents, firsts, strict=False)]
        found = certify.branch(
            data.features, data.magnitudes, data.certain, data.statistics, data.classes,
            self.numbers, np.array([parent.base for parent in parents]),
            np.cumsum([0, *(len(parent.sentences) for parent in parents)]),
            np.concatenate([parent.sentences for parent in parents]),
            np.concatenate([[0], *ends]), np.concatenate([parent.candidates for parent in parents]),
            self.lows, self.highs,
        )  # fmt: skip
        return _Left(*found)

    def _bounds(self, left: _Left, ranges: Ranges, losses: Floats, hopes: Floats) -> Floats:
        """A bound for each box: at least that of its parent. A box in which all is resolved has a single loss."""
        resolved = np.diff(left.sentence_offsets) == 0
        inherited = np.array([self.parents[number].bound for number in self.numbers])
        bounds = np.where(resolved, losses, inherited)
        at = ranges.at.copy()
        chosen = np.flatnonzero(~resolved)
        for touch in range(TOUCHES):
            if not len(chosen):
                break
            bound = self.metric.loss_bound(replace(ranges[chosen], at=at[chosen]))
            at[chosen] = self._minimisers(left, bound, chosen, hopes)
            bounds[chosen] = np.maximum(bounds[chosen], bound.proven(at[chosen]))
            settled = np.ones(len(chosen), dtype=bool) if bound.settled is None else bound.settled
            promising = bounds[chosen] < self.enough
            done = promising & (settled | (touch == TOUCHES - 1))
            if np.any(done) and math.isfinite(self.enough):
                emptied = self._contract(left, bound, chosen, done, at[chosen])
                bounds[emptied] = self.enough
            chosen = chosen[promising & ~settled]
        self._enumerate(left, bounds, np.flatnonzero(~resolved & (bounds < self.enough)))
        return bounds

    def _enumerate(self, left: _Left, bounds: Floats, chosen: Int64s) -> None:
        """Set exact bounds where few choices are left, however curved the metric is there."""
        from hulltune.kernels import choices

        data = self.candidates
        chosen = chosen[np.diff(left.sentence_offsets)[chosen] <= MOST_CHOICES.bit_length() - 1]
        if not len(chosen):
            return
        offsets, sums = choices.all_choices(
            data.statistics, data.classes, left.sentence_offsets, left.offsets, left.candidates, left.bases,
            chosen, MOST_CHOICES,
        )  # fmt: skip
        some = np.diff(offsets) > 0
        if np.any(some):
            losses = self.metric.loss(sums * data.grids)
            least = np.minimum.reduceat(losses, offsets[:-1][some])
            bounds[chosen[some]] = np.maximum(
                bounds[chosen[some]], least - (0.0 if data.exact else SAFETY) * np.abs(least)
            )

    def _minimisers(self, left: _Left, bound: LossBound, chosen: Int64s, hopes: Floats) -> Floats:
        from hulltune.kernels import choices

        # Slopes are per unit of a statistic; the kernel counts in units of the grid.
        slopes = np.ascontiguousarray(bound.slopes * self.candidates.grids)
        sums = choices.minimisers(
            self.candidates.statistics, left.sentence_offsets, left.offsets, left.candidates, left.bases,
            slopes, chosen, self.candidates.features, self.highs - self.lows, hopes,
        )  # fmt: skip
        return sums * self.candidates.grids

    def _contract(self, left: _Left, bound: LossBound, chosen: Int64s, done: Bools, sums: Floats) -> Int64s:
        """Shrink the boxes that are done; returns the numbers of those that become empty."""
        from hulltune.kernels import certify

        data = self.candidates
        slacks = (bound.level(self.enough) - row_products(bound.slopes, sums))[done]
        slacks += SAFETY * (np.abs(bound.slopes[done]) @ data.sizes)
        boxes = chosen[done]
        empty = certify.contract(
            data.features, data.magnitudes, data.statistics,
            left.sentence_offsets, left.sentences, left.offsets, left.candidates,
            np.ascontiguousarray(bound.slopes[done] * data.grids), slacks, boxes, self.lows, self.highs,
        )  # fmt: skip
        return boxes[empty]
