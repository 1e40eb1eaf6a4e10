"""Boxes of weights: the candidates that may still win in each, a bound of its losses, and the queue of boxes.

A box is cut into parts. In each part, a kernel finds the candidates that may win somewhere, and the metric bounds the
loss of all choices among them; then the part shrinks to where a loss below the best one so far is possible.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from hulltune.arrays import Bools, Floats, Int32s, Int64s
from hulltune.certified.candidates import Candidates, candidates_of
from hulltune.certified.clock import Clock
from hulltune.certified.pools import pool_of
from hulltune.certified.space import Space
from hulltune.metrics.base import Metric
from hulltune.metrics.bounds import SAFETY, LossBound, Ranges, row_products
from hulltune.search.strategy import Setting
from hulltune.threads import ALONE, Workers

if TYPE_CHECKING:
    from hulltune.kernels.certify.winners import Undecided

FINEST_GAP = 2.0**-40
"""The least gap, as a share of the loss, that inexact bounds have to reach: they are moved outward by less."""
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
    loss: float = math.inf
    """The loss at the centre, as the kernels compute it."""

    @property
    def centre(self) -> Floats:
        """The point near the middle at which the kernels decode."""
        from hulltune.kernels.certify.winners import OFF_CENTRE

        return self.low + (self.high - self.low) * np.resize(OFF_CENTRE, len(self.low))

    @property
    def held(self) -> int:
        """The number of candidates, which take most of the memory."""
        return len(self.candidates)


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


def first_parts(candidates: Candidates, space: Space) -> Parts:
    """The faces of the space, as parts of a box with all candidates."""
    faces, width = space.lows.shape
    whole = Box(
        low=space.lows[0],
        high=space.highs[0],
        bound=-math.inf,
        base=candidates.base,
        sentences=np.arange(candidates.sentences, dtype=np.int32),
        offsets=candidates.offsets,
        candidates=candidates.listed,
        spreads=np.ones(width),
        hopes=np.zeros(width),
    )
    # Copies of the ends, as parts shrink.
    return Parts([whole], np.zeros(faces, dtype=np.int64), space.lows.copy(), space.highs.copy())


def cut(boxes: Sequence[Box]) -> Parts:
    """Smaller boxes that cover all outputs of these; none of a box that is too thin to split.

    Mostly two halves, split along the most promising coordinate. If the candidates do not differ in the fixed
    coordinate of the face, only the direction of the other coordinates matters, and the outer faces of the box have
    all directions.
    """
    from hulltune.kernels.certify import winners

    if not boxes:
        return Parts(boxes, np.empty(0, dtype=np.int64), np.empty((0, 0)), np.empty((0, 0)))
    lows, highs = np.array([box.low for box in boxes]), np.array([box.high for box in boxes])
    spreads, hopes = np.array([box.spreads for box in boxes]), np.array([box.hopes for box in boxes])
    return Parts(boxes, *winners.cut(lows, highs, spreads, hopes))


class Bounded(Protocol):
    """A box, of whatever kind, as the queue and the search see it."""

    @property
    def bound(self) -> float:
        """No weights of the box have a smaller loss."""

    @property
    def loss(self) -> float:
        """The loss at ``centre``, as the kernels compute it; infinite if it was not looked at."""

    @property
    def centre(self) -> Floats:
        """A point of the box."""

    @property
    def held(self) -> int:
        """What it takes of the memory, in candidates."""


class Cover(Protocol):
    """What covers a space by boxes, and splits them. Losses of ``enough`` or more need no better bound."""

    finest: float
    """The least gap, as a share of the loss, that bounds can reach."""

    def first(self, enough: float) -> Sequence[Bounded]:
        """Boxes that cover the space."""

    def split(self, boxes: Sequence[Any], enough: float) -> tuple[Sequence[Bounded], float]:
        """Boxes that cover others, and the least bound of those that are too thin to be split."""


class Choices:
    """The boxes of candidates of which one wins in each sentence."""

    finest = FINEST_GAP

    def __init__(self, setting: Setting, space: Space, clock: Clock) -> None:
        pool = pool_of(setting.problem, space, clock)
        self.candidates = candidates_of(setting.problem, pool, space, clock, setting.workers)
        self._setting, self._space, self._clock = setting, space, clock

    def first(self, enough: float) -> list[Box]:
        """A box for each face."""
        return self._evaluated(first_parts(self.candidates, self._space), enough)

    def split(self, boxes: Sequence[Box], enough: float) -> tuple[list[Box], float]:
        """Parts of boxes, most of them halves."""
        parts = cut(boxes)
        found = self._evaluated(parts, enough)
        divided = set(parts.numbers.tolist())
        thin = [box.bound for number, box in enumerate(boxes) if number not in divided]
        return found, min(thin, default=math.inf)

    def _evaluated(self, parts: Parts, enough: float) -> list[Box]:
        setting = self._setting
        return evaluated(self.candidates, setting.problem.metric, parts, enough, self._clock, setting.workers)


def evaluated(
    candidates: Candidates,
    metric: Metric,
    parts: Parts,
    enough: float,
    clock: Clock | None = None,
    workers: Workers = ALONE,
) -> list[Box]:
    """The parts of some boxes as boxes with their bounds, none improved beyond ``enough``.

    Threads share the parts, with a look at the clock before each share. The result does not depend on their number.
    """

    def evaluate(some: slice) -> list[Box]:
        if clock is not None:
            clock.look()
        return _Batch(candidates, metric, parts[some], enough).boxes()

    return [box for share in workers.map(evaluate, list(_shares(parts, workers.count))) for box in share]


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


@dataclass(frozen=True, eq=False)
class _Batch:
    """Parts of boxes. Each shrinks to the part of it in which a loss below ``enough`` is possible."""

    candidates: Candidates
    metric: Metric
    parts: Parts
    enough: float

    def boxes(self) -> list[Box]:
        """A box for each part."""
        left, least, greatest, at, spreads = self._undecided()
        data = self.candidates
        ranges = Ranges(
            low=least * data.grids,
            high=greatest * data.grids,
            at=at * data.grids,
            sizes=data.sizes,
            exact=data.exact,
            whole=data.whole,
        )
        losses = self.metric.loss(ranges.at)
        hopes = np.zeros_like(self.parts.lows)
        bounds = self._bounds(left, ranges, losses, hopes)
        boxes = []
        for c in range(len(self.parts)):
            first, last = int(left.ends[c]), int(left.ends[c + 1])
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
                    spreads=spreads[c],
                    hopes=hopes[c],
                    loss=float(losses[c]),
                )
            )
        return boxes

    def _undecided(self) -> tuple[Undecided, Floats, Floats, Floats, Floats]:
        """The candidates that are left in each part, with sums of their statistics (see the kernel)."""
        from hulltune.kernels.certify import winners

        parents = self.parts.parents
        firsts = np.cumsum([0, *(len(parent.candidates) for parent in parents)])
        ends = [parent.offsets[1:] + first for parent, first in zip(parents, firsts, strict=False)]
        before = winners.Undecided(
            ends=np.cumsum([0, *(len(parent.sentences) for parent in parents)]),
            sentences=np.concatenate([parent.sentences for parent in parents]),
            offsets=np.concatenate([[0], *ends]),
            candidates=np.concatenate([parent.candidates for parent in parents]),
            bases=np.array([parent.base for parent in parents]),
        )
        parts = self.parts
        return winners.branch(self.candidates.known, before, parts.numbers, parts.lows, parts.highs)

    def _bounds(self, left: Undecided, ranges: Ranges, losses: Floats, hopes: Floats) -> Floats:
        """A bound for each box: at least that of its parent. A box in which all is resolved has a single loss."""
        from hulltune.kernels.certify import choices

        data, widths = self.candidates, self.parts.highs - self.parts.lows
        resolved = np.diff(left.ends) == 0
        inherited = np.array([parent.bound for parent in self.parts.parents])[self.parts.numbers]
        bounds = np.where(resolved, losses, inherited)
        at = ranges.at.copy()
        chosen = np.flatnonzero(~resolved)
        for touch in range(TOUCHES):
            if not len(chosen):
                break
            bound = self.metric.loss_bound(replace(ranges[chosen], at=at[chosen]))
            # Slopes are per unit of a statistic; the kernel counts in units of the grid.
            slopes = np.ascontiguousarray(bound.slopes * data.grids)
            at[chosen] = choices.minimisers(data.known, left, slopes, chosen, widths, hopes) * data.grids
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

    def _enumerate(self, left: Undecided, bounds: Floats, chosen: Int64s) -> None:
        """Set exact bounds where few choices are left, however curved the metric is there."""
        from hulltune.kernels.certify import choices

        data = self.candidates
        chosen = chosen[np.diff(left.ends)[chosen] <= MOST_CHOICES.bit_length() - 1]
        if not len(chosen):
            return
        offsets, sums = choices.all_choices(data.known, left, chosen, MOST_CHOICES)
        some = np.diff(offsets) > 0
        if np.any(some):
            losses = self.metric.loss(sums * data.grids)
            least = np.minimum.reduceat(losses, offsets[:-1][some])
            bounds[chosen[some]] = np.maximum(
                bounds[chosen[some]], least - (0.0 if data.exact else SAFETY) * np.abs(least)
            )

    def _contract(self, left: Undecided, bound: LossBound, chosen: Int64s, done: Bools, sums: Floats) -> Int64s:
        """Shrink the boxes that are done; returns the numbers of those that become empty."""
        from hulltune.kernels.certify import winners

        data = self.candidates
        slacks = (bound.level(self.enough) - row_products(bound.slopes, sums))[done]
        slacks += SAFETY * row_products(np.abs(bound.slopes[done]), data.sizes)
        boxes = chosen[done]
        slopes = np.ascontiguousarray(bound.slopes[done] * data.grids)
        empty = winners.contract(data.known, left, slopes, slacks, boxes, self.parts.lows, self.parts.highs)
        return boxes[empty]


class Queue:
    """Boxes by bound, the least first; boxes of equal bounds in the order in which they came."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Bounded]] = []
        self._count = 0
        self.held = 0
        """The number of candidates in all boxes, which take most of the memory."""

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def bound(self) -> float:
        """The least bound; +∞ if there is no box."""
        return self._heap[0][0] if self._heap else math.inf

    def put(self, box: Bounded) -> None:
        """Add a box."""
        heapq.heappush(self._heap, (box.bound, self._count, box))
        self._count += 1
        self.held += box.held

    def take(self, most: int, below: float, *, into: list[Bounded]) -> None:
        """Move up to ``most`` boxes with the least bounds, all of them less than ``below``, to the end of a list.

        Each is in the list before it leaves the queue, so that an interrupt never loses one.
        """
        full = len(into) + most
        while self._heap and len(into) < full and self._heap[0][0] < below:
            into.append(self._heap[0][2])
            heapq.heappop(self._heap)
            self.held -= into[-1].held
