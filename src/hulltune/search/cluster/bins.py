"""The best steps along lines from sums over bins of η: exact, at a cost that does not grow with the corpus.

The workers of all shards sum the changes of statistics in common bins, and tell the least and the most that each
statistic rises or falls by on the way through a bin. That bounds the loss in the bin. A bin that may hold a loss as
small as the best known one is split, or fetched whole if few changes are left. All others are passed over: they hold no
best interval. What is left is a surface with gaps, on which the policy chooses as on the whole one:

- a gap lies between intervals that are not the best, so it stands for one interval that is not the best either;
- it separates runs of best intervals if it holds an interval that is wide enough to be entered. By the pigeonhole
  principle it does if it is wide for its number of changes; otherwise it is fetched;
- the best interval may be a sliver, which is not entered. Then the best one that can be entered is the new measure;
- the width given to an unbounded interval depends on the outermost breakpoints (see policies.end_step). If one may be
  the best, shards send their outermost changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Bools, Floats, Int64s
from hulltune.errors import InputError
from hulltune.kernels.surfaces.step_limits import OUTER, RESOLUTION
from hulltune.metrics.base import Metric
from hulltune.names import POLICIES
from hulltune.search.cluster.protocol import (
    Along,
    Binned,
    Bins,
    Ends,
    Fetched,
    Found,
    Further,
    Outermost,
    Question,
    Start,
    Started,
)
from hulltune.search.elsewhere import Lines, Steps
from hulltune.search.policies import choose, end_step

FIRST = 384
"""The number of bins of a line at first. With 256, one in five rounds over 20,000 lists asked a third question."""
MOST = 128
"""The most parts of a line's bins that are asked for at a time."""
FEW = 4096
"""The most changes of a line's open bins that are fetched rather than split further."""
SHORT = 1024
"""The most changes of a line all of which are fetched."""
SINGLE = 16
"""The most changes of a bin that is fetched even if others are split."""

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
class Guess:
    """Where changes are on each line: about half of them within ``spreads`` of ``centres``. A bad guess makes uneven
    bins, and questions more; it changes no step.
    """

    centres: Floats
    spreads: Floats


def best_steps(metric: Metric, lines: Lines, along: Along, ask: Ask, guess: Guess) -> Steps | None:
    """The best step along each line, the loss there, and the losses at its points; None if statistics are no whole
    numbers. ``ask`` puts a question to all shards.
    """
    bins = _first_bins(lines, guess)
    started: list[Started] = ask(Start(along, bins))
    if any(each.binned is None for each in started):
        return None
    search = _Search(metric, lines, started, bins)
    at_points = search.losses_at_points()
    while not search.settled.all():
        search.decide()
        _learn_ends(search, along, ask)
        split, whole = search.wanted()
        if len(split.parents) or len(whole.parents):
            answers: list[Found] = ask(Further(along, split.bins(len(lines)), whole.bins(len(lines))))
            search.take_changes(whole, [each.fetched for each in answers])
            search.take_sums(split, Binned.joined([each.binned for each in answers]))
    return search.etas, search.losses, at_points


def _learn_ends(search: _Search, along: Along, ask: Ask) -> None:
    """Ask for the outermost changes of lines that may end in their best interval; for more where some cancel out."""
    asking, places = search.open_ended, OUTER + 1
    while asking:
        answers: list[list[Ends]] = ask(Outermost(along, tuple(asking), places))
        asking = [line for line, *ends in zip(asking, *answers, strict=True) if not search.take_ends(line, ends)]
        places *= 2


@dataclass(frozen=True, eq=False)
class _Wanted:
    """Parts of bins that are asked for, by line and in order; ``parents`` are the places of these bins."""

    parents: Int64s
    lines: Int64s
    lows: Floats
    highs: Floats

    def bins(self, lines: int) -> Bins:
        """The parts as all shards are asked for them."""
        return Bins(np.searchsorted(self.lines, np.arange(lines + 1)), self.lows, self.highs)


@dataclass(frozen=True, eq=False)
class _Cells:
    """Bins of all lines, by line and in order, which cover every line without gaps."""

    lines: Int64s
    lows: Floats
    highs: Floats
    counts: Int64s
    starts: Int64s
    """The sums of statistics before the changes of each bin."""
    reached: Floats
    """The losses of these sums."""
    bounds: Floats
    """A lower bound of the loss in each bin."""
    fetched: Bools
    """Whether all changes of the bin are known."""
    forced: Bools
    """Whether the changes must be known, whatever the bound."""

    def __len__(self) -> int:
        return len(self.lines)

    def with_parts(self, parents: Int64s, parts: _Cells) -> _Cells:
        """The bins with the parts of some of them, which make up their parents, in their place."""
        kept = np.ones(len(self), dtype=np.bool_)
        kept[parents] = False
        if not kept.any():
            return parts
        order = np.lexsort((np.concatenate([self.lows[kept], parts.lows]), np.append(self.lines[kept], parts.lines)))
        pairs = ((getattr(self, each.name)[kept], getattr(parts, each.name)) for each in fields(_Cells))
        return _Cells(*(np.concatenate(pair)[order] for pair in pairs))


@dataclass(frozen=True, eq=False)
class _Seen:
    """The places where statistics change, as far as they are known, by line and in order; ``losses`` are those of the
    intervals to their right, ``before`` the losses at the beginnings of their bins.
    """

    lines: Int64s
    places: Floats
    losses: Floats
    before: Floats

    def with_others(self, others: _Seen) -> _Seen:
        """These places and others."""
        if not len(self.lines):
            return others
        pairs = [np.concatenate([getattr(self, each.name), getattr(others, each.name)]) for each in fields(_Seen)]
        order = np.lexsort((pairs[1], pairs[0]))
        return _Seen(*(pair[order] for pair in pairs))


class _Search:
    """All lines of a round on the way to their best steps: their bins, and the changes of those that were fetched."""

    def __init__(self, metric: Metric, lines: Lines, started: Sequence[Started], bins: Bins) -> None:
        self.metric, self.lines = metric, lines
        count = len(lines)
        lows, highs = lines.intervals.T
        self.first: Int64s = np.sum([each.first for each in started], axis=0)
        self.nonnegative = min(each.smallest for each in started) >= 0.0
        self.has_origin = (lows <= 0.0) & (highs >= 0.0)
        self.limits = np.where(self.has_origin, lines.current_loss, np.inf)
        """A loss below which a line's must be to be of use."""
        self.least_known = self.limits.copy()
        self.etas, self.losses = np.zeros(count), np.full(count, lines.current_loss)
        self.settled = np.zeros(count, dtype=np.bool_)
        self.beyond: dict[int, float] = {}
        """The step beyond the last breakpoint, of lines that have been asked about their ends."""
        self.open_ended: list[int] = []
        """Lines that are to be asked about their ends."""
        self.seen = _Seen(np.empty(0, dtype=np.int64), np.empty(0), np.empty(0), np.empty(0))
        binned = Binned.joined([each.binned for each in started if each.binned is not None])
        sums = _running(binned.sums, bins.offsets[:-1], self.first)
        self.last: Int64s = sums[bins.offsets[1:] - 1]
        """The sums of statistics at the ends of lines."""
        owners = np.repeat(np.arange(count), np.diff(bins.offsets))
        self.cells = self._described(owners, bins.lows, bins.highs, binned, sums - binned.sums)
        np.minimum(self.least_known, np.minimum.reduceat(self.cells.reached, bins.offsets[:-1]), out=self.least_known)
        ends = metric.losses(np.concatenate([self.first, self.last])).reshape(2, -1)
        self.first_losses = ends[0]
        self.end_losses = np.where(np.isinf(lines.intervals), ends.T, np.inf)
        """The losses of each line's unbounded intervals."""
        counts = np.add.reduceat(binned.counts, bins.offsets[:-1])
        self.cells.forced[counts[owners] <= SHORT] = True

    def losses_at_points(self) -> Floats:
        """The losses at the points of each line. Before bins are split: just beyond each point one begins."""
        points, cells = self.lines.points, self.cells
        if not points.size:
            return np.empty(points.shape)
        sums = np.empty((*points.shape, self.first.shape[1]), dtype=np.int64)
        offsets = np.searchsorted(cells.lines, np.arange(len(points) + 1))
        for line, (begin, end) in enumerate(pairwise(offsets.tolist())):
            beyond = np.nextafter(points[line], np.inf)
            starts = np.concatenate([cells.starts[begin:end], self.last[line : line + 1]])
            sums[line] = starts[np.where(beyond < np.inf, np.searchsorted(cells.lows[begin:end], beyond), end - begin)]
        return self.metric.losses(sums.reshape(-1, sums.shape[2])).reshape(points.shape)

    def take_sums(self, wanted: _Wanted, binned: Binned) -> None:
        """Take sums over parts of bins, in the place of these bins."""
        if not len(wanted.parents):
            return
        firsts = _firsts(wanted.parents)
        parents = wanted.parents[firsts]
        starts = _running(binned.sums, firsts, self.cells.starts[parents]) - binned.sums
        parts = self._described(wanted.lines, wanted.lows, wanted.highs, binned, starts)
        self.cells = self.cells.with_parts(parents, parts)
        np.minimum.at(self.least_known, wanted.lines, parts.reached)

    def take_changes(self, wanted: _Wanted, answers: Sequence[Fetched]) -> None:
        """Take the changes within bins."""
        cells = self.cells
        cells.fetched[wanted.parents] = True
        bins, places, changes = _added(answers)
        if not len(bins):
            return
        firsts = _firsts(bins)
        parents = wanted.parents[bins[firsts]]
        losses = self.metric.losses(_running(changes, firsts, cells.starts[parents]))
        before = np.repeat(cells.reached[parents], np.diff(firsts, append=len(bins)))
        self.seen = self.seen.with_others(_Seen(wanted.lines[bins], places, losses, before))

    def take_ends(self, line: int, ends: Sequence[Ends]) -> bool:
        """Take the outermost changes of all shards; false if more of them are needed."""
        if all(each.are_all for each in ends):
            _, places, _ = _added([each.first for each in ends])
        else:
            sure_left = min(float(each.first.places[-1]) for each in ends if not each.are_all)
            sure_right = max(float(each.last.places[0]) for each in ends if not each.are_all)
            _, left, _ = _added([each.first for each in ends])
            _, right, _ = _added([each.first if each.are_all else each.last for each in ends])
            left, right = left[left <= sure_left], right[right >= sure_right]
            if min(len(left), len(right)) <= OUTER or not sure_left < sure_right:
                return False
            places = np.concatenate([left, right])
        self.beyond[line] = end_step(places, float(self.lines.scales[line]))
        return True

    def wanted(self) -> tuple[_Wanted, _Wanted]:
        """The parts of bins whose sums are to be asked for, and the bins whose changes are.

        Bins are fetched if they must be, and once the open ones of a line have few changes, or cannot be split.
        """
        cells, numbers = self.cells, np.flatnonzero(self._open())
        lines, counts = cells.lines[numbers], cells.counts[numbers]
        free = ~cells.forced[numbers]
        are_few = np.bincount(lines, weights=counts * free, minlength=len(self.lines)) <= FEW
        large = free & (counts > SINGLE) & ~are_few[lines]
        split = [self._parts_of(line, numbers[large & (lines == line)]) for line in np.unique(lines[large]).tolist()]
        parents = np.concatenate([each[0] for each in split] or [np.empty(0, dtype=np.int64)])
        lows = np.concatenate([each[1] for each in split] or [np.empty(0)])
        highs = np.concatenate([each[2] for each in split] or [np.empty(0)])
        waits = free & np.isin(lines, cells.lines[parents])
        whole = numbers[~waits]
        return (
            _Wanted(parents, cells.lines[parents], lows, highs),
            _Wanted(whole, cells.lines[whole], cells.lows[whole], cells.highs[whole]),
        )

    def decide(self) -> None:
        """Settle lines without open bins, or find what else must be known of them: further bins, or their ends."""
        from hulltune.kernels.surfaces.steps import choose_steps

        self.open_ended = []
        waiting = ~self.settled
        waiting[self.cells.lines[self._open()]] = False
        if not waiting.any():
            return
        count, seen, lines = len(self.lines), self.seen, self.lines
        offsets = np.searchsorted(seen.lines, np.arange(count + 1))
        sizes = np.diff(offsets)
        heads = self.first_losses.copy()
        heads[sizes > 0] = seen.before[offsets[:-1][sizes > 0]]
        losses = np.insert(seen.losses, offsets[:-1], heads)
        starts = offsets + np.arange(count + 1)
        owners = np.repeat(np.arange(count), sizes + 1)
        breakpoints = np.zeros((count, int(sizes.max(initial=0))))
        breakpoints[seen.lines, np.arange(len(seen.lines)) - offsets[seen.lines]] = seen.places
        etas, lowest, sure = choose_steps(
            breakpoints, sizes, starts, np.arange(len(losses)) - starts[owners], losses, lines.intervals, lines.scales,
            lines.current_loss, POLICIES.index(lines.policy.name),
        )  # fmt: skip
        # The kernel knows no gaps: it decides alone where all is known, or where a single bounded interval is best.
        best = np.bincount(owners, weights=losses == lowest[owners], minlength=count)
        is_whole = np.bincount(self.cells.lines, weights=~self.cells.fetched, minlength=count) == 0
        alone = (best <= 1) & ~self._may_end_openly(lowest) | (lowest == lines.current_loss)
        sure &= self.has_origin & (is_whole | alone)
        self._settle(waiting & sure, etas, lowest)
        for line in np.flatnonzero(waiting & ~sure).tolist():
            places = seen.places[offsets[line] : offsets[line + 1]]
            self._decide_slowly(line, places, losses[starts[line] : starts[line + 1]], bool(is_whole[line]))

    def _decide_slowly(self, line: int, breakpoints: Floats, losses: Floats, is_whole: bool) -> None:
        """Settle a line by the policy itself, or find what else must be known of it."""
        cells, limit, beyond = self.cells, self.limits[line], self.beyond.get(line)
        own = cells.lines == line
        low, high = self.lines.intervals[line].tolist()
        try:
            chosen = choose(
                breakpoints, losses, policy=self.lines.policy, interval=(low, high),
                current_loss=self.lines.current_loss, scale=float(self.lines.scales[line]), beyond=beyond,
            )  # fmt: skip
        except InputError:  # no interval can be entered: the last resort are those that were passed over
            if is_whole:  # nor can those: the line is left alone
                self.settled[line] = True
            cells.forced[own] = True
            return
        unseen = own & ~cells.fetched & (cells.bounds <= chosen.loss) & (cells.bounds < limit)
        gaps = self._unsure_gaps(line, chosen.loss, breakpoints, losses)
        if chosen.loss > self.least_known[line] and unseen.any():
            self.least_known[line] = chosen.loss  # the best interval was a sliver
        elif len(gaps):
            cells.forced[gaps] = True
        elif not is_whole and beyond is None and self._may_end_openly(np.full(len(self.lines), chosen.loss))[line]:
            self.open_ended.append(line)
        else:
            self.etas[line], self.losses[line], self.settled[line] = chosen.eta, chosen.loss, True

    def _settle(self, which: Bools, etas: Floats, losses: Floats) -> None:
        self.etas[which], self.losses[which] = etas[which], losses[which]
        self.settled |= which

    def _open(self) -> Bools:
        """The bins that must be known better before the step of their line is known."""
        cells = self.cells
        promising = (cells.bounds <= self.least_known[cells.lines]) & (cells.bounds < self.limits[cells.lines])
        found: Bools = ~cells.fetched & ~self.settled[cells.lines] & (cells.forced | promising)
        return found

    def _may_end_openly(self, losses: Floats) -> Bools:
        """For each line, whether an unbounded interval at an end of it may be as good as a loss."""
        ends = self.end_losses
        found: Bools = np.any((ends <= losses[:, None]) & (ends < self.limits[:, None]), axis=1)
        return found

    def _unsure_gaps(self, line: int, loss: float, breakpoints: Floats, losses: Floats) -> Int64s:
        """Bins between best intervals that were passed over and may hold slivers alone."""
        best = np.flatnonzero(losses == loss)
        if not loss < self.limits[line] or len(best) < 2:
            return np.empty(0, dtype=np.int64)
        left = breakpoints[best[0] - 1] if best[0] > 0 else -np.inf
        right = breakpoints[best[-1]] if best[-1] < len(breakpoints) else np.inf
        cells, found = self.cells, []
        between = (cells.lines == line) & ~cells.fetched & (cells.highs > left) & (cells.lows < right)
        edges = np.flatnonzero(np.diff(np.concatenate([[False], between, [False]]).astype(np.int8)))
        for begin, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            low, high = float(cells.lows[begin]), float(cells.highs[end - 1])
            size = max(abs(low), abs(high), float(self.lines.scales[line]))
            if not high - low > 2.0 * RESOLUTION * size * (int(cells.counts[begin:end].sum()) + 1):
                found += list(range(begin, end))
        return np.array(found, dtype=np.int64)

    def _described(self, lines: Int64s, lows: Floats, highs: Floats, binned: Binned, starts: Int64s) -> _Cells:
        """Bins with the losses at their beginnings, and with bounds of those within, of which empty ones need none."""
        at = starts.astype(np.float64)
        low, high = at + binned.least, at + binned.most
        if self.nonnegative:
            np.maximum(low, 0.0, out=low)
        reached, bounds, empty = self.metric.losses(starts), self.metric.least_losses(low, high, at), binned.counts == 0
        return _Cells(lines, lows, highs, binned.counts, starts, reached, bounds, empty, np.zeros_like(empty))

    def _parts_of(self, line: int, parents: Int64s) -> tuple[Int64s, Floats, Floats]:
        """The parts of bins of a line: their bins, low and high ends. None if no bin has room for an edge."""
        lows, highs = self.cells.lows[parents], self.cells.highs[parents]
        parts = max(2, MOST // len(parents))
        sizes = np.sort(np.abs([lows, highs]), axis=0)
        with np.errstate(over="ignore"):  # four times the largest doubles are infinite, and not smaller
            are_near = sizes[1] <= 4.0 * sizes[0]
        is_wide = ~(are_near & (np.signbit(lows) == np.signbit(highs)) & np.isfinite(sizes[1]))
        narrow_lows, narrow_highs = lows[~is_wide][:, None], highs[~is_wide][:, None]
        edges = [(narrow_lows + (narrow_highs - narrow_lows) * (np.arange(1, parts) / parts)).reshape(-1)]
        scale = float(self.lines.scales[line])
        edges += [_wide_edges(low, high, parts, scale) for low, high in zip(lows[is_wide], highs[is_wide], strict=True)]
        starts = np.unique(np.concatenate([lows, *edges]))
        owners = np.searchsorted(lows, starts, side="right") - 1
        inside = (owners >= 0) & (starts < highs[owners])
        starts, owners = starts[inside], owners[inside]
        if len(starts) == len(lows):
            return np.empty(0, dtype=np.int64), np.empty(0), np.empty(0)
        return parents[owners], starts, np.minimum(np.append(starts[1:], np.inf), highs[owners])


def _first_bins(lines: Lines, guess: Guess) -> Bins:
    """FIRST bins of each line and one more for each of its points, which ends just beyond the point. Some may have no
    width: all lines have equally many.

    Places x of changes are distributed like a Cauchy variable, so that ``shares`` of x are spread evenly. Best steps
    are mostly short, so bins are narrowest in these at x = 0, and get wider away from there: their edges are even in u,
    where u (1 + |u|) / 2 is the share beyond that of 0.
    """
    centres, spreads = guess.centres[:, None], guess.spreads[:, None]

    def shares(places: Floats) -> Floats:
        beside = places - centres
        found = beside / (spreads + np.abs(beside))
        return np.where(np.isnan(found), np.sign(places), found)

    with np.errstate(all="ignore"):
        middles = shares(np.zeros_like(centres))
        ends = shares(lines.intervals) - middles
        ends = np.sign(ends) * (np.sqrt(1.0 + 8.0 * np.abs(ends)) - 1.0) / 2.0
        evenly = ends[:, :1] + (ends[:, 1:] - ends[:, :1]) * (np.arange(1, FIRST) / FIRST)
        found = middles + evenly * (1.0 + np.abs(evenly)) / 2.0
        edges = centres + spreads * found / (1.0 - np.abs(found))
    edges = np.concatenate([edges, np.nextafter(lines.points, np.inf)], axis=1)
    edges[~np.isfinite(edges)] = 0.0  # as good as any other
    edges.sort(axis=1)
    infinity = np.full((len(lines), 1), np.inf)
    lows, highs = np.hstack([-infinity, edges]), np.hstack([edges, infinity])
    return Bins(np.arange(len(lines) + 1) * lows.shape[1], lows.reshape(-1), highs.reshape(-1))


def _wide_edges(low: float, high: float, parts: int, scale: float) -> Floats:
    """Edges between the parts of a bin whose changes may be of any magnitude: of parts of equal width, or of widths
    that double where it is unbounded; and of parts with equally many doubles.
    """
    low, high = float(low), float(high)
    first, last = _ordinal(low), _ordinal(high)
    evenly = [_of_ordinal(first + (last - first) * part // parts) for part in range(1, parts)]
    with np.errstate(over="ignore", invalid="ignore"):
        edges = low + (high - low) * (np.arange(1, parts) / parts)
        if not np.isfinite(edges).all():
            known = low if low > -np.inf else high if high < np.inf else 0.0
            steps = max(abs(known), scale) * 2.0 ** np.arange(-1.0, parts - 2.0)
            edges = np.concatenate([known - steps, known + steps])
    found = np.concatenate([edges, evenly])
    return found[(low < found) & (found < high)]


def _ordinal(number: float) -> int:
    """The place of a double among all doubles; that of 0 is 0."""
    bits = int(np.float64(number).view(np.int64))
    return bits if bits >= 0 else -(bits & (1 << 63) - 1)


def _of_ordinal(place: int) -> float:
    """The double with a place."""
    return math.copysign(float(np.int64(abs(place)).view(np.float64)), place)


def _firsts(groups: NDArray[Any]) -> Int64s:
    """The places where groups begin, whose numbers are in order."""
    return np.flatnonzero(np.append(True, groups[1:] != groups[:-1]))


def _running(changes: Int64s, firsts: Int64s, starts: Int64s) -> Int64s:
    """The sums of statistics after each change, for groups that begin at ``firsts`` and from ``starts``."""
    from hulltune.kernels.surfaces.bins import running_sums

    return running_sums(changes, firsts, starts)


def _added(answers: Sequence[Fetched]) -> tuple[Int64s, Floats, Int64s]:
    """The changes of all shards by bin and place: bins, places, and changes, without those that cancel out."""
    bins = np.concatenate([each.bins for each in answers])
    places = np.concatenate([each.places for each in answers])
    changes = np.concatenate([each.changes for each in answers])
    if len(answers) > 1:
        order = np.lexsort((places, bins))
        bins, places, changes = bins[order], places[order], changes[order]
    bins, changes = bins.astype(np.int64), changes.astype(np.int64)
    is_same = (bins[1:] == bins[:-1]) & (places[1:] == places[:-1])
    if not is_same.any():  # the usual case: few shards change at the same place
        return bins, places, changes
    starts = np.flatnonzero(np.append(True, ~is_same))
    sums = np.add.reduceat(changes, starts, axis=0)
    real = np.any(sums != 0, axis=1)
    return bins[starts][real], places[starts][real], sums[real]
