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
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from hulltune.arrays import Bools, Floats, Int64s
from hulltune.errors import InputError
from hulltune.kernels.step_limits import RESOLUTION
from hulltune.metrics.base import Metric
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
FEW = 1024
"""The most changes of a line that are fetched rather than split further. With four times as many the driver took 10 ms
more a round, and on lists of 8,000 × 100 each direction 176 kB instead of 71.
"""
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
        metric.least_losses(np.zeros((1, width)), np.ones((1, width)), np.zeros((1, width)))
    except InputError:
        return False
    return True


@dataclass(frozen=True, eq=False)
class _Cells:
    """Bins of one line in order, which cover it without gaps."""

    lows: Floats
    highs: Floats
    counts: Int64s
    starts: Int64s
    """The sums of statistics before the changes of each bin."""
    bounds: Floats
    """A lower bound of the loss in each bin."""
    fetched: Bools

    def parents(self, lows: Floats) -> Int64s:
        """The bin that each place is in."""
        return np.searchsorted(self.lows, lows, side="right") - 1

    def with_parts(self, parts: _Cells) -> _Cells:
        """The bins with the parts of some of them in their place."""
        kept = np.ones(len(self.lows), dtype=np.bool_)
        kept[self.parents(parts.lows)] = False
        order = np.argsort(np.concatenate([self.lows[kept], parts.lows]), kind="stable")
        pairs = ((getattr(self, each.name)[kept], getattr(parts, each.name)) for each in fields(_Cells))
        return _Cells(*(np.concatenate(pair)[order] for pair in pairs))


class _Line:
    """A line on the way to its best step: its bins, and the changes of those that were fetched."""

    def __init__(self, number: int, lines: Lines, metric: Metric, outlined: Sequence[Outlined]) -> None:
        self.number, self.metric, self.lines = number, metric, lines
        self.low, self.high = lines.intervals[number].tolist()
        self.first: Int64s = sum(each.first[number] for each in outlined)
        self.last = self.first
        """The sums of statistics after all changes, if the line has bins."""
        self.nonnegative = min(each.least for each in outlined) >= 0.0
        self.has_origin = self.low <= 0.0 <= self.high
        self.limit = lines.current_loss if self.has_origin else np.inf
        count = int(sum(each.counts[number] for each in outlined))
        self.cells = _Cells(
            np.array([-np.inf]), np.array([np.inf]), np.array([count]), self.first[None, :], np.array([-np.inf]),
            np.zeros(1, dtype=np.bool_),
        )  # fmt: skip
        if count <= FEW or not self.has_origin:
            self.asks, self.wanted = CHANGES, np.array([[-np.inf, np.inf]])
        else:
            places, counts = [each.places[number] for each in outlined], [int(each.counts[number]) for each in outlined]
            edges = np.concatenate([[-np.inf], _edges(places, counts), [np.inf]])
            self.asks, self.wanted = SUMS, np.column_stack([edges[:-1], edges[1:]])
        self.least_known = self.limit
        self.places: list[Floats] = []
        self.changes: list[Int64s] = []
        self.beyond: float | None = None
        self.step: tuple[float, float] | None = None

    def starts_of(self, changes: Int64s) -> Int64s:
        """The sums of statistics before the changes of each bin that was asked for."""
        parents = self.cells.parents(self.wanted[:, 0])
        before = np.zeros_like(changes)
        np.cumsum(changes[:-1], axis=0, out=before[1:])
        starts: Int64s = before + (self.cells.starts[parents] - before[np.searchsorted(parents, parents)])
        if len(self.cells.lows) == 1:
            self.last = starts[-1] + changes[-1]
        return starts

    def take_sums(self, counts: Int64s, starts: Int64s, bounds: Floats, reached: Floats) -> None:
        """Take the bins that were asked for, with the losses at their low ends, in the place of those they split."""
        lows, highs = self.wanted.T.copy()
        new = _Cells(lows, highs, counts, starts, bounds, np.zeros(len(counts), dtype=np.bool_))
        self.cells = self.cells.with_parts(new)
        self.least_known = min(self.least_known, float(reached.min()))

    def take_changes(self, places: Floats, changes: Int64s) -> None:
        """Take the changes of the bins that were asked for."""
        self.places.append(places)
        self.changes.append(changes)
        self.cells.fetched[self.cells.parents(self.wanted[:, 0])] = True

    def decide(self) -> None:
        """Choose what to ask for next (``asks``, ``wanted``), or the step."""
        cells = self.cells
        while True:
            still_open = ~cells.fetched & (cells.bounds <= self.least_known) & (cells.bounds < self.limit)
            if still_open.any():
                self._ask_for(np.flatnonzero(still_open))
                return
            loss, eta, breakpoints, losses = self._choice()
            unseen = ~cells.fetched & (cells.bounds <= loss) & (cells.bounds < self.limit)
            if loss > self.least_known and unseen.any():
                self.least_known = loss  # the best interval was a sliver
                continue
            gaps = self._unsure_gaps(loss, breakpoints, losses)
            if len(gaps):
                self._fetch(gaps)
            elif self.beyond is None and not self.cells.fetched.all() and self._may_end_openly(loss):
                self.asks = PLACES
            else:
                self.step = eta, loss
            return

    def _ask_for(self, cells: Int64s) -> None:
        """Ask for the changes of open bins, if they are few or cannot be split; else for sums over their parts."""
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
        self.asks = CHANGES
        self.wanted = np.column_stack([self.cells.lows[cells], self.cells.highs[cells]])

    def _choice(self) -> tuple[float, float, Floats, Floats]:
        """The loss and the step on the surface with gaps, its breakpoints and the losses of its intervals."""
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
        cell = self.cells.parents(places)
        running = np.cumsum(changes, axis=0)
        before = np.concatenate([np.zeros((1, width), dtype=np.int64), running])[np.searchsorted(cell, cell)]
        first = self.cells.starts
        head = first[cell[:1]] if len(cell) else first[:1]
        losses = self.metric.losses(np.concatenate([head, first[cell] + running - before]))
        if not self.has_origin and not len(places) and not self.cells.fetched.all():
            raise AssertionError("a line without the origin is fetched whole")
        chosen = choose(
            places, losses, policy=self.lines.policy, interval=(self.low, self.high),
            current_loss=self.lines.current_loss, scale=float(self.lines.scales[self.number]), beyond=self.beyond,
        )  # fmt: skip
        return chosen.loss, chosen.eta, places, losses

    def _unsure_gaps(self, loss: float, breakpoints: Floats, losses: Floats) -> Int64s:
        """Bins between best intervals that were passed over and may hold slivers alone."""
        best = np.flatnonzero(losses == loss)
        if not loss < self.limit or len(best) < 2:
            return np.empty(0, dtype=np.int64)
        left = breakpoints[best[0] - 1] if best[0] > 0 else -np.inf
        right = breakpoints[best[-1]] if best[-1] < len(breakpoints) else np.inf
        cells, found = self.cells, []
        between = ~cells.fetched & (cells.highs > left) & (cells.lows < right)
        edges = np.flatnonzero(np.diff(np.concatenate([[False], between, [False]]).astype(np.int8)))
        for begin, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            low, high = float(cells.lows[begin]), float(cells.highs[end - 1])
            size = max(abs(low), abs(high), float(self.lines.scales[self.number]))
            if not high - low > 2.0 * RESOLUTION * size * (int(cells.counts[begin:end].sum()) + 1):
                found += list(range(begin, end))
        return np.array(found, dtype=np.int64)

    def _may_end_openly(self, loss: float) -> bool:
        """Whether an unbounded interval at an end of the line may be as good as the best."""
        ends = [sums for sums, end in ((self.first, self.low), (self.last, self.high)) if np.isinf(end)]
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
        for state in waiting:
            state.decide()
    sampled = np.sum([each.at_points for each in outlined], axis=0)
    at_points = metric.losses(sampled.reshape(-1, sampled.shape[2])).reshape(lines.points.shape)
    steps = [state.step for state in states if state.step is not None]
    return np.array([eta for eta, _ in steps]), np.array([loss for _, loss in steps]), at_points


def _take_sums(count: int, asking: Sequence[_Line], ask: Ask, along: Along) -> None:
    """Take the sums over the bins that lines want; the losses of all are bounded at once."""
    bins = _bins(count, asking)
    binned = Binned.joined(ask(Sums(along, bins)))
    changes = binned.rises + binned.falls
    parts = [slice(*bins.offsets[state.number : state.number + 2].tolist()) for state in asking]
    starts = np.concatenate([state.starts_of(changes[part]) for state, part in zip(asking, parts, strict=True)])
    metric = asking[0].metric
    reached = metric.losses(starts)
    bounds, some = reached.copy(), np.flatnonzero(binned.counts)
    at = starts[some].astype(np.float64)
    low, high = at + binned.falls[some], at + binned.rises[some]
    if asking[0].nonnegative:
        low = np.maximum(low, 0.0)
    if len(some):
        bounds[some] = metric.least_losses(low, high, at)
    for state, part in zip(asking, parts, strict=True):
        state.take_sums(binned.counts[part], starts[part], bounds[part], reached[part])


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


def _bins(lines: int, asking: Sequence[_Line]) -> Bins:
    """The bins that lines want, as all shards are asked for them."""
    sizes = np.zeros(lines + 1, dtype=np.int64)
    for state in asking:
        sizes[state.number + 1] = len(state.wanted)
    wanted = np.concatenate([state.wanted for state in asking])
    return Bins(np.cumsum(sizes), wanted[:, 0].copy(), wanted[:, 1].copy())


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
