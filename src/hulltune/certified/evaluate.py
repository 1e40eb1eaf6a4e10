"""Evaluation of new boxes: the candidates that may still win in each, and a bound."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hulltune.arrays import Bools, Floats, Int32s, Int64s
from hulltune.certified.boxes import Box, Parts, cut
from hulltune.certified.candidates import Candidates
from hulltune.certified.clock import Clock
from hulltune.certified.space import Faces
from hulltune.metrics.base import Metric
from hulltune.metrics.bounds import SAFETY, LossBound, Ranges, row_products
from hulltune.threads import ALONE, Workers

AT_ONCE = 1 << 15
"""Candidates in the parts of boxes that a thread evaluates between two looks at the clock."""
FEW = 1 << 12
"""The least candidates that a thread evaluates at a time, if there are enough for all: fewer take longer."""
BESIDE = 64
"""What a part of a box costs beside its candidates, in candidates."""
SHARES = 4
"""Shares of the parts of boxes for each thread: they differ in work."""
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
    """The candidates that the kernel leaves in some boxes, with their statistics; see kernels/certify/certify.py."""

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
    candidates: Candidates,
    faces: Faces,
    metric: Metric,
    enough: float,
    clock: Clock | None = None,
    workers: Workers = ALONE,
) -> Children:
    """The faces as boxes with all candidates. Threads share the faces."""
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
    # Copies of the ends, as parts shrink.
    parts = Parts([whole], np.zeros(len(faces.lows), dtype=np.int64), faces.lows.copy(), faces.highs.copy())
    return _evaluated(candidates, metric, parts, enough, clock or Clock(), workers)


def split(
    candidates: Candidates,
    metric: Metric,
    parents: Sequence[Box],
    enough: float,
    clock: Clock | None = None,
    workers: Workers = ALONE,
) -> tuple[Children, list[Box]]:
    """The parts of every parent, and the parents that are too thin to split.

    No bound is improved beyond ``enough``. Threads share the parts; the result does not depend on their number.
    """
    parts = cut(parents)
    divided = set(parts.numbers.tolist())
    thin = [parent for number, parent in enumerate(parents) if number not in divided]
    return _evaluated(candidates, metric, parts, enough, clock or Clock(), workers), thin


def _evaluated(
    candidates: Candidates, metric: Metric, parts: Parts, enough: float, clock: Clock, workers: Workers
) -> Children:
    """The parts of some boxes, evaluated some at a time, with a look at the clock before each."""

    def evaluate(some: slice) -> Children:
        clock.look()
        return _Batch(candidates, metric, parts[some], enough).children()

    return _together(workers.map(evaluate, list(_shares(parts, workers.count))))


def _shares(parts: Parts, threads: int) -> Iterator[slice]:
    """The parts of boxes in shares of about equal work: enough of them for all threads, but not too small."""
    sizes = [len(parent.candidates) + BESIDE for parent in parts.parents]
    work = [sizes[number] for number in parts.numbers.tolist()]
    most = max(FEW, min(AT_ONCE, sum(work) // (SHARES * threads))) if threads > 1 else AT_ONCE
    first, held = 0, 0
    for place, one in enumerate(work):
        if held and held + one > most:
            yield slice(first, place)
            first, held = place, 0
        held += one
    if held:
        yield slice(first, len(parts))


def _together(shares: Sequence[Children]) -> Children:
    losses = np.concatenate([np.empty(0), *(each.losses for each in shares)])
    return Children([box for share in shares for box in share.boxes], losses)


@dataclass(frozen=True, eq=False)
class _Batch:
    """Parts of boxes. Each shrinks to the part of it in which a loss below ``enough`` is possible."""

    candidates: Candidates
    metric: Metric
    parts: Parts
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
        hopes = np.zeros_like(self.parts.lows)
        bounds = self._bounds(left, ranges, losses, hopes)
        boxes = []
        for c in range(len(self.parts)):
            first, last = int(left.sentence_offsets[c]), int(left.sentence_offsets[c + 1])
            begin, end = int(left.offsets[first]), int(left.offsets[last])
            boxes.append(
                Box(
                    low=self.parts.lows[c],
                    high=self.parts.highs[c],
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
        from hulltune.kernels.certify import certify

        parents, data = self.parts.parents, self.candidates
        firsts = np.cumsum([0, *(len(parent.candidates) for parent in parents)])
        ends = [parent.offsets[1:] + first for parent, first in zip(parents, firsts, strict=False)]
        found = certify.branch(
            data.features, data.magnitudes, data.certain, data.statistics, data.classes,
            self.parts.numbers, np.array([parent.base for parent in parents]),
            np.cumsum([0, *(len(parent.sentences) for parent in parents)]),
            np.concatenate([parent.sentences for parent in parents]),
            np.concatenate([[0], *ends]), np.concatenate([parent.candidates for parent in parents]),
            self.parts.lows, self.parts.highs,
        )  # fmt: skip
        return _Left(*found)

    def _bounds(self, left: _Left, ranges: Ranges, losses: Floats, hopes: Floats) -> Floats:
        """A bound for each box: at least that of its parent. A box in which all is resolved has a single loss."""
        resolved = np.diff(left.sentence_offsets) == 0
        inherited = np.array([parent.bound for parent in self.parts.parents])[self.parts.numbers]
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
        from hulltune.kernels.certify import choices

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
        from hulltune.kernels.certify import choices

        # Slopes are per unit of a statistic; the kernel counts in units of the grid.
        slopes = np.ascontiguousarray(bound.slopes * self.candidates.grids)
        sums = choices.minimisers(
            self.candidates.statistics, left.sentence_offsets, left.offsets, left.candidates, left.bases,
            slopes, chosen, self.candidates.features, self.parts.highs - self.parts.lows, hopes,
        )  # fmt: skip
        return sums * self.candidates.grids

    def _contract(self, left: _Left, bound: LossBound, chosen: Int64s, done: Bools, sums: Floats) -> Int64s:
        """Shrink the boxes that are done; returns the numbers of those that become empty."""
        from hulltune.kernels.certify import certify

        data = self.candidates
        slacks = (bound.level(self.enough) - row_products(bound.slopes, sums))[done]
        slacks += SAFETY * row_products(np.abs(bound.slopes[done]), data.sizes)
        boxes = chosen[done]
        empty = certify.contract(
            data.features, data.magnitudes, data.statistics,
            left.sentence_offsets, left.sentences, left.offsets, left.candidates,
            np.ascontiguousarray(bound.slopes[done] * data.grids), slacks, boxes, self.parts.lows, self.parts.highs,
        )  # fmt: skip
        return boxes[empty]
