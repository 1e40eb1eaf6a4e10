"""The best steps along lines from sums over bins of η: exact, at a cost that does not grow with the corpus.

The workers of all shards sum the changes of statistics in common bins: rises and falls apart, so that within a bin each
statistic stays between its value at the low end plus all falls, and plus all rises. That bounds the loss in the bin. A
bin that may hold a loss as small as the best known one is split; bins with few changes are fetched whole. All others
are passed over: they hold no best interval. What is left is a surface with gaps, on which the policy chooses as on the
whole one:

- a gap lies between intervals that are not the best, so it stands for one interval that is not the best either;
- it separates runs of best intervals if it holds an interval that is wide enough to be entered. By the pigeonhole
  principle it does if it is wide for its number of changes; otherwise it is fetched;
- the best interval may be a sliver, which is not entered. Then the best one that can be entered is the new measure;
- the width given to an unbounded interval depends on the number of all breakpoints. If one may be the best, shards send
  the places of all their changes on that line: 8 bytes a change. That is the one answer that grows with the corpus.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from hulltune.arrays import Bools, Floats, Int64s
from hulltune.errors import InputError
from hulltune.kernels.step_limits import RESOLUTION
from hulltune.metrics.base import Metric
from hulltune.metrics.bounds import SAFETY, Ranges, row_products
from hulltune.search.cluster.protocol import (
    Along,
    Binned,
    Bins,
    Fetched,
    Outline,
    Outlined,
    Places,
    Question,
    Sums,
    Within,
)
from hulltune.search.elsewhere import Lines, Steps
from hulltune.search.policies import choose, end_step

FIRST = 256
"""The number of bins of a line at first."""
MOST = 512
"""The most parts of a line's bins that are asked for at a time: 43 kB from each shard for ten statistics."""
FEW = 4096
"""The most changes of a line that are fetched rather than split further."""
SINGLE = 16
"""The most changes of a bin that is fetched even if others are split."""
SAMPLES = 256
"""The number of places that a shard names for each line, from which the first bins are made."""

SUMS, CHANGES, PLACES = "sums", "changes", "places"
"""What a line wants to know next: sums over bins, the changes in bins, or the places of all changes."""

Ask = Callable[[Question], list[Any]]


def can_be_bounded(metric: Metric) -> bool:
    """Whether a bound of the metric's loss is known, which bins need."""
    width = len(metric.columns)
    try:
        loss_bounds(metric, np.zeros((1, width)), np.ones((1, width)), np.zeros((1, width)))
    except InputError:
        return False
    return True


def loss_bounds(metric: Metric, low: Floats, high: Floats, at: Floats) -> Floats:
    """A lower bound of the loss for statistics between ``low`` and ``high``, a row for each box; ``at`` is inside."""
    sizes = np.maximum(np.abs(low), np.abs(high)).max(axis=0, initial=0.0)
    exact = bool(sizes.max(initial=0.0) < 2.0**50)
    bound = metric.linear_bound(Ranges(low, high, at, sizes, exact=exact, whole=exact))
    up, down = np.maximum(bound.slopes, 0.0), np.minimum(bound.slopes, 0.0)
    least = row_products(up, low) + row_products(down, high) + bound.offsets
    margin = SAFETY * (np.abs(bound.slopes) @ sizes + np.abs(bound.offsets))
    bounds: Floats = least - margin
    return np.where(np.isnan(bounds), -np.inf, bounds)


@dataclass(frozen=True, eq=False)
class _Cells:
    """Bins of one line in order, which cover it without gaps."""

    lows: Floats
    highs: Floats
    counts: Int64s
    rises: Int64s
    falls: Int64s

    def starts(self, first: Int64s) -> Int64s:
        """The sums of statistics before the changes of each bin, where ``first`` are those before all."""
        after: Int64s = np.cumsum(self.rises + self.falls, axis=0)
        before: Int64s = np.concatenate([np.zeros((1, after.shape[1]), dtype=np.int64), after[:-1]])
        return first + before

    def __getitem__(self, which: Any) -> _Cells:
        return _Cells(self.lows[which], self.highs[which], self.counts[which], self.rises[which], self.falls[which])


class _Line:
    """A line on the way to its best step: its bins, and the changes of those that were fetched."""

    def __init__(self, number: int, lines: Lines, metric: Metric, outlined: Sequence[Outlined]) -> None:
        self.number, self.metric, self.lines = number, metric, lines
        self.low, self.high = lines.intervals[number].tolist()
        self.first = sum(each.first[number] for each in outlined)
        self.nonnegative = min(each.least for each in outlined) >= 0.0
        self.has_origin = self.low <= 0.0 <= self.high
        self.limit = lines.current_loss if self.has_origin else np.inf
        self.count = int(sum(each.counts[number] for each in outlined))
        edges = _edges([each.places[number] for each in outlined], [int(each.counts[number]) for each in outlined])
        self.wanted = _ranges(np.concatenate([[-np.inf], edges, [np.inf]]))
        self.asks = SUMS
        if self.count <= FEW or not self.has_origin:
            self.asks, self.wanted = CHANGES, _ranges(np.array([-np.inf, np.inf]))
        self.cells: _Cells | None = None
        self.fetched: Bools = np.zeros(0, dtype=np.bool_)
        self.bounds, self.least_known = np.empty(0), self.limit
        self.places: list[Floats] = []
        self.changes: list[Int64s] = []
        self.beyond: float | None = None
        self.step: tuple[float, float] | None = None

    def take_sums(self, binned: Binned) -> None:
        """Take the sums over the bins that were asked for, which replace the bins that they split."""
        new = _Cells(self.wanted[:, 0], self.wanted[:, 1], binned.counts, binned.rises, binned.falls)
        if self.cells is None:
            self.cells, self.fetched = new, np.zeros(len(new.lows), dtype=np.bool_)
            self.bounds = np.full(len(new.lows), np.nan)
        else:
            inside = np.searchsorted(new.lows, self.cells.lows)
            split = (inside < len(new.lows)) & (new.lows[np.minimum(inside, len(new.lows) - 1)] == self.cells.lows)
            kept = self.cells[~split]
            order = np.argsort(np.concatenate([kept.lows, new.lows]), kind="stable")
            both = [np.concatenate(pair)[order] for pair in zip(_parts(kept), _parts(new), strict=True)]
            self.cells = _Cells(*both)
            unknown = np.full(len(new.lows), np.nan)
            self.bounds = np.concatenate([self.bounds[~split], unknown])[order]
            self.fetched = np.concatenate([self.fetched[~split], np.zeros(len(new.lows), dtype=np.bool_)])[order]

    def take_changes(self, places: Floats, changes: Int64s) -> None:
        """Take the changes of the bins that were asked for."""
        self.places.append(places)
        self.changes.append(changes)
        if self.cells is None:  # the whole line, without bins
            sums = np.zeros((1, len(self.first)), dtype=np.int64)
            self.cells = _Cells(np.array([-np.inf]), np.array([np.inf]), np.array([len(places)]), sums, sums)
            self.fetched, self.bounds = np.ones(1, dtype=np.bool_), np.full(1, -np.inf)
        else:
            self.fetched |= np.isin(self.cells.lows, self.wanted[:, 0])

    def boxes(self) -> tuple[Int64s, Floats, Floats, Floats]:
        """The bins without a bound, and the least, the largest and the first statistics in them."""
        assert self.cells is not None
        new = np.flatnonzero(np.isnan(self.bounds))
        starts = self.cells.starts(self.first)[new].astype(np.float64)
        low, high = starts + self.cells.falls[new], starts + self.cells.rises[new]
        if self.nonnegative:
            low = np.maximum(low, 0.0)
        return new, low, high, starts

    def decide(self) -> None:
        """Choose what to ask for next (``asks``, ``wanted``), or the step."""
        assert self.cells is not None
        while True:
            still_open = ~self.fetched & (self.bounds <= self.least_known) & (self.bounds < self.limit)
            if still_open.any():
                self._ask_for(np.flatnonzero(still_open))
                return
            loss, eta, breakpoints, losses = self._choice()
            if loss > self.least_known and np.any(~self.fetched & (self.bounds <= loss) & (self.bounds < self.limit)):
                self.least_known = loss  # the best interval was a sliver
                continue
            gaps = self._unsure_gaps(loss, breakpoints, losses)
            if len(gaps):
                self._fetch(gaps)
            elif self.beyond is None and not self.fetched.all() and self._may_end_openly(loss):
                self.asks = PLACES
            else:
                self.step = eta, loss
            return

    def _ask_for(self, cells: Int64s) -> None:
        """Ask for the changes of open bins, if they are few or cannot be split; else for sums over their parts."""
        assert self.cells is not None
        counts = self.cells.counts[cells]
        large = counts > SINGLE
        if counts.sum() <= FEW or not large.any():
            self._fetch(cells)
            return
        parts = self._parts_of(cells[large], max(2, MOST // int(large.sum())))
        if len(parts) == large.sum():  # no bin has room for an edge
            self._fetch(cells)
            return
        self.asks, self.wanted = SUMS, parts

    def _parts_of(self, cells: Int64s, parts: int) -> Floats:
        """The parts of bins, of equal width; of an unbounded bin, of widths that double."""
        assert self.cells is not None
        lows, highs = self.cells.lows[cells], self.cells.highs[cells]
        with np.errstate(invalid="ignore", over="ignore"):
            edges = lows[:, None] + (highs - lows)[:, None] * (np.arange(parts + 1) / parts)
        edges[:, 0], edges[:, -1] = lows, highs
        for row in np.flatnonzero(~np.isfinite(highs - lows)).tolist():
            edges[row] = self._doubling(float(lows[row]), float(highs[row]), parts)
        edges = np.clip(np.maximum.accumulate(edges, axis=1), lows[:, None], highs[:, None])
        ranges = np.stack([edges[:, :-1].reshape(-1), edges[:, 1:].reshape(-1)], axis=1)
        return ranges[ranges[:, 0] < ranges[:, 1]]

    def _doubling(self, low: float, high: float, parts: int) -> Floats:
        """Edges of an unbounded bin, or one too wide for a double, from its finite end or from 0 on."""
        known = low if low > -np.inf else high if high < np.inf else 0.0
        size = max(abs(known), float(self.lines.scales[self.number]))
        with np.errstate(over="ignore"):
            steps = size * 2.0 ** np.arange(-1.0, parts - 2.0)
            inner = known + steps if known == low or low == -high else np.sort(known - steps)
        return np.concatenate([[low], np.clip(inner, low, high), [high]])

    def _fetch(self, cells: Int64s) -> None:
        assert self.cells is not None
        self.asks = CHANGES
        self.wanted = np.column_stack([self.cells.lows[cells], self.cells.highs[cells]])

    def _choice(self) -> tuple[float, float, Floats, Floats]:
        """The loss and the step on the surface with gaps, its breakpoints and the losses of its intervals."""
        assert self.cells is not None
        places = np.concatenate([*self.places, np.empty(0)])
        order = np.argsort(places, kind="stable")
        places = places[order]
        width = len(self.first)
        changes = np.concatenate([*self.changes, np.empty((0, width), dtype=np.int64)])[order]
        if len(places):
            starts = np.flatnonzero(np.append(True, np.diff(places) != 0.0))
            places, changes = places[starts], np.add.reduceat(changes, starts, axis=0)
        real = np.any(changes != 0, axis=1)
        places, changes = places[real], changes[real]
        # The sum after each place: that before its bin, and the changes within the bin up to it.
        cell = np.searchsorted(self.cells.lows, places, side="right") - 1
        running = np.cumsum(changes, axis=0)
        before = np.concatenate([np.zeros((1, width), dtype=np.int64), running])[np.searchsorted(cell, cell)]
        first = self.cells.starts(self.first)
        head = first[cell[:1]] if len(cell) else first[:1]
        losses = self.metric.losses(np.concatenate([head, first[cell] + running - before]))
        if not self.has_origin and not len(places) and not self.fetched.all():
            raise AssertionError("a line without the origin is fetched whole")
        chosen = choose(
            places, losses, policy=self.lines.policy, interval=(self.low, self.high),
            current_loss=self.lines.current_loss, scale=float(self.lines.scales[self.number]), beyond=self.beyond,
        )  # fmt: skip
        return chosen.loss, chosen.eta, places, losses

    def _unsure_gaps(self, loss: float, breakpoints: Floats, losses: Floats) -> Int64s:
        """Bins between best intervals that were passed over and may hold slivers alone."""
        assert self.cells is not None
        best = np.flatnonzero(losses == loss)
        if not loss < self.limit or len(best) < 2:
            return np.empty(0, dtype=np.int64)
        left = breakpoints[best[0] - 1] if best[0] > 0 else -np.inf
        right = breakpoints[best[-1]] if best[-1] < len(breakpoints) else np.inf
        cells, found = self.cells, []
        between = ~self.fetched & (cells.highs > left) & (cells.lows < right)
        edges = np.flatnonzero(np.diff(np.concatenate([[False], between, [False]]).astype(np.int8)))
        for begin, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            low, high = float(cells.lows[begin]), float(cells.highs[end - 1])
            size = max(abs(low), abs(high), float(self.lines.scales[self.number]))
            if not high - low > 2.0 * RESOLUTION * size * (int(cells.counts[begin:end].sum()) + 1):
                found += list(range(begin, end))
        return np.array(found, dtype=np.int64)

    def _may_end_openly(self, loss: float) -> bool:
        """Whether an unbounded interval at an end of the line may be as good as the best."""
        assert self.cells is not None
        last = self.first + (self.cells.rises + self.cells.falls).sum(axis=0)
        ends = [sums for sums, end in ((self.first, self.low), (last, self.high)) if np.isinf(end)]
        losses = self.metric.losses(np.array(ends).reshape(-1, len(self.first)))
        return bool(np.any((losses <= loss) & (losses < self.limit)))


def best_steps(metric: Metric, lines: Lines, along: Along, ask: Ask) -> Steps | None:
    """The best step along each line, the loss there, and the losses at its points; None if statistics are no whole
    numbers. ``ask`` puts a question to all shards.
    """
    outlined: list[Outlined] = ask(Outline(along, lines.points, SAMPLES))
    if not all(each.whole for each in outlined):
        return None
    states = [_Line(number, lines, metric, outlined) for number in range(len(lines))]
    while any(state.step is None for state in states):
        waiting = [state for state in states if state.step is None]
        for what, take in ((SUMS, _take_sums), (CHANGES, _take_changes), (PLACES, _take_places)):
            asking = [state for state in waiting if state.asks == what]
            if asking:
                take(len(states), asking, ask, along)
        _bound(metric, waiting)
        for state in waiting:
            state.decide()
    sampled = np.sum([each.at_points for each in outlined], axis=0)
    at_points = metric.losses(sampled.reshape(-1, sampled.shape[2])).reshape(lines.points.shape)
    steps = [state.step for state in states if state.step is not None]
    return np.array([eta for eta, _ in steps]), np.array([loss for _, loss in steps]), at_points


def _take_sums(count: int, asking: Sequence[_Line], ask: Ask, along: Along) -> None:
    bins = _bins(count, asking)
    total = Binned.joined(ask(Sums(along, bins)))
    for state in asking:
        part = slice(int(bins.offsets[state.number]), int(bins.offsets[state.number + 1]))
        state.take_sums(Binned(total.counts[part], total.rises[part], total.falls[part]))


def _take_changes(count: int, asking: Sequence[_Line], ask: Ask, along: Along) -> None:
    bins = _bins(count, asking)
    answers: list[Fetched] = ask(Within(along, bins))
    for state in asking:
        ends = bins.offsets[state.number : state.number + 2]
        parts = [(answer, slice(*np.searchsorted(answer.bins, ends).tolist())) for answer in answers]
        state.take_changes(
            np.concatenate([answer.places[part] for answer, part in parts]),
            np.concatenate([answer.changes[part] for answer, part in parts]).astype(np.int64),
        )


def _take_places(count: int, asking: Sequence[_Line], ask: Ask, along: Along) -> None:
    """Count the breakpoints of lines: the places of all shards, but for those where their changes cancel out."""
    answers: list[list[Floats]] = ask(Places(along, tuple(state.number for state in asking)))
    for state, *parts in zip(asking, *answers, strict=True):
        places, holders = np.unique(np.concatenate(parts), return_counts=True)
        places = places[~_cancelled(state, places[holders > 1], places, count, ask, along)]
        state.beyond = end_step(places, float(state.lines.scales[state.number]))


def _cancelled(state: _Line, shared: Floats, places: Floats, count: int, ask: Ask, along: Along) -> Bools:
    """Whether the changes at each place add up to nothing, which can only be at the ``shared`` ones."""
    if not len(shared):
        return np.zeros(len(places), dtype=np.bool_)
    offsets = (np.arange(count + 1) > state.number).astype(np.int64) * len(shared)
    answers: list[Fetched] = ask(Within(along, Bins(offsets, shared, np.nextafter(shared, np.inf))))
    sums = np.zeros((len(shared), len(state.first)), dtype=np.int64)
    for answer in answers:
        np.add.at(sums, answer.bins, answer.changes)
    cancelled: Bools = np.isin(places, shared[np.all(sums == 0, axis=1)])
    return cancelled


def _bound(metric: Metric, states: Sequence[_Line]) -> None:
    """Bound the losses of all new bins at once, and take the losses at their low ends as known."""
    boxes = [state.boxes() for state in states]
    sizes = np.cumsum([len(new) for new, *_ in boxes])
    if not sizes[-1]:
        return
    low, high, at = (np.concatenate([box[k] for box in boxes]) for k in (1, 2, 3))
    reached = metric.losses(at)
    bounds = np.where(np.all(low == high, axis=1), reached, loss_bounds(metric, low, high, np.clip(at, low, high)))
    for state, (new, *_), first, last in zip(states, boxes, [0, *sizes[:-1].tolist()], sizes.tolist(), strict=True):
        state.bounds[new] = bounds[first:last]
        state.least_known = min(state.least_known, float(reached[first:last].min(initial=np.inf)))


def _bins(lines: int, asking: Sequence[_Line]) -> Bins:
    """The bins that lines want, as all shards are asked for them."""
    sizes = np.zeros(lines + 1, dtype=np.int64)
    for state in asking:
        sizes[state.number + 1] = len(state.wanted)
    wanted = np.concatenate([state.wanted for state in asking])
    return Bins(np.cumsum(sizes), wanted[:, 0].copy(), wanted[:, 1].copy())


def _parts(cells: _Cells) -> tuple[Any, ...]:
    return cells.lows, cells.highs, cells.counts, cells.rises, cells.falls


def _ranges(edges: Floats) -> Floats:
    """Pairs of neighbouring edges."""
    return np.array(list(pairwise(edges.tolist()))).reshape(-1, 2)


def _edges(places: Sequence[Floats], counts: Sequence[int]) -> Floats:
    """Edges between FIRST bins with about equal numbers of changes, from samples of all shards' places."""
    pooled = np.concatenate(places)
    sizes = zip(places, counts, strict=True)
    weights = np.concatenate([np.full(len(each), count / max(len(each), 1)) for each, count in sizes])
    order = np.argsort(pooled, kind="stable")
    share = np.cumsum(weights[order])
    if not len(share):
        return np.empty(0)
    at = np.searchsorted(share, np.linspace(0.0, share[-1], FIRST + 1)[1:-1])
    edges: Floats = np.unique(pooled[order][np.minimum(at, len(share) - 1)])
    return edges[np.isfinite(edges)]
