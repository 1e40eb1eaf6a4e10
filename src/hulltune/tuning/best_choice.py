"""The best choice of one candidate for each sentence, and a bound that no choice can beat."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Floats, Int64s
from hulltune.errors import InputError
from hulltune.metrics.base import Metric
from hulltune.metrics.bounds import SAFETY, Ranges, Ratio
from hulltune.search.gradient import loss_gradient
from hulltune.search.problem import LEAST_SUMMED, exact_sum, row_sums
from hulltune.threads import ALONE, Workers

ROUNDS = 30
"""The most rounds in which all sentences change their candidate at once, and the most rounds of single changes."""
MOST_SINGLE = 1 << 25
"""The most candidates that are tried as single changes, in all rounds together; three rounds are always done."""
ROUNDING = 2.0**-40
"""A bound that is less than this share of the loss below it is the loss: bounds are moved outward by their rounding."""
ROWS_AT_ONCE = 1 << 15
"""Candidates that are looked at together: few enough for the caches, and enough parts for threads."""
_EXACT = 2.0**52
_PART = 2.0**-10


@dataclass(frozen=True, eq=False)
class Choice:
    """A candidate for each sentence that has any, their loss, and a loss that no choice is below (None: unknown)."""

    candidates: Int64s
    loss: float
    bound: float | None

    @property
    def exact(self) -> bool:
        """Whether no choice has a smaller loss."""
        return self.loss == self.bound


def best_choice(
    metric: Metric, statistics: NDArray[Any], offsets: Int64s, others: NDArray[Any], *, workers: Workers = ALONE
) -> Choice:
    """The choice of one row of ``statistics`` for each sentence with the smallest loss that is found.

    ``offsets`` has the rows of each sentence, at least one; ``others`` are statistics that every choice has. From the
    first rows, and from those that are best alone, all sentences change at once to the rows that lower the loss most to
    first order; then single ones change, as long as one of them lowers the loss. Nothing is random. The bound comes
    from the metric (see Metric.loss_bound): it meets the loss for ratios such as WER, TER, F and accuracy.
    O(rows × statistics) a round.
    """
    search = _ChoiceSearch(metric, statistics, offsets, others, workers)
    search.climb()
    first, first_loss = search.chosen, search.loss
    search.start_from_own_best()
    search.climb()
    if not search.loss < first_loss:
        search.chosen, search.loss = first, first_loss
    found = search.loss
    bound = search.bound()
    if search.loss < found:  # a better choice was met on the way to the bound
        search.change_singly()
    return Choice(search.chosen, search.loss, bound)


class _SomeSentences:
    """Some sentences, and their rows."""

    def __init__(self, sentences: slice, offsets: Int64s) -> None:
        ends = offsets[sentences.start : sentences.stop + 1]
        self.sentences, self.rows = sentences, slice(int(ends[0]), int(ends[-1]))
        self.starts, self.sizes = ends[:-1] - ends[0], np.diff(ends)

    def first_lowest(self, values: Floats) -> Int64s:
        """The first row of each sentence with its least value, counted from the first of the part."""
        lowest = np.repeat(np.minimum.reduceat(values, self.starts), self.sizes)
        at_lowest = np.flatnonzero(values == lowest)
        firsts: Int64s = at_lowest[np.searchsorted(at_lowest, self.starts)]
        return firsts


class _ChoiceSearch:
    """The best choice so far."""

    def __init__(
        self, metric: Metric, statistics: NDArray[Any], offsets: Int64s, others: NDArray[Any], workers: Workers
    ) -> None:
        self.metric, self.statistics, self.others, self.workers = metric, statistics, others, workers
        cuts = np.searchsorted(offsets[:-1], np.arange(0, len(statistics), ROWS_AT_ONCE))
        cuts = np.unique(np.append(cuts, len(offsets) - 1))
        self.parts = [_SomeSentences(slice(first, last), offsets) for first, last in pairwise(cuts.tolist())]
        self.starts = offsets[:-1]
        self.chosen: Int64s = self.starts.copy()
        self.loss = self._loss(self.chosen)

    def start_from_own_best(self) -> None:
        """Give every sentence the row with the smallest loss of its own: another start, and another local optimum."""

        def losses(part: _SomeSentences) -> Floats:
            own = np.asarray(self.metric.loss(self.statistics[part.rows]), dtype=np.float64)
            return np.where(np.isnan(own), np.inf, own)

        self.chosen, _ = self._lowest_by(losses)
        self.loss = self._loss(self.chosen)

    def climb(self) -> None:
        """Lower the loss by changes of all sentences at once, and then of single ones."""
        self.change_all()
        self.change_singly()

    def change_all(self) -> None:
        """Let every sentence take the row of the smallest loss to first order, until the loss falls no more."""
        for _ in range(ROUNDS):
            slopes = loss_gradient(self.metric, self._total(self.chosen))
            if not self._take(self._lowest(slopes)):
                return

    def change_singly(self) -> None:
        """Change single sentences to their best row; of all that would gain, as many at once as lower the loss."""
        for _ in range(max(3, min(ROUNDS, MOST_SINGLE // max(len(self.statistics), 1)))):
            total, chosen = self._total(self.chosen), self.chosen

            def losses(part: _SomeSentences, total: NDArray[Any] = total, chosen: Int64s = chosen) -> Floats:
                own = np.repeat(self.statistics[chosen[part.sentences]], part.sizes, axis=0)
                return np.asarray(self.metric.loss(total + (self.statistics[part.rows] - own)), dtype=np.float64)

            best, lowest = self._lowest_by(losses)
            gains = self.loss - lowest
            order = np.argsort(-gains, kind="stable")[: int(np.sum(gains > 0.0))]
            while len(order):
                changed = self.chosen.copy()
                changed[order] = best[order]
                if self._take(changed):
                    break
                order = order[: len(order) // 2]
            if not len(order):
                return

    def bound(self) -> float | None:
        """A loss that no choice is below; None if the metric has no bound. Better choices on the way are kept."""
        try:
            bound = self._proven()
        except InputError:  # the metric has no bound of its own
            return None
        return self.loss if self.loss - bound <= ROUNDING * abs(self.loss) else bound

    def _proven(self) -> float:
        """The best bound that linear functions prove: each touches the loss where the last one is least."""
        if self.metric.as_ratio is not None and self._is_least_ratio(self.metric.as_ratio):
            return self.loss
        bound, at = float(self.metric.least_loss), self._total(self.chosen)
        for _ in range(ROUNDS):
            found = self.metric.loss_bound(self._ranges(at))
            lowest = self._lowest(found.slopes[0])
            at = self._total(lowest)
            proven = float(found.proven(np.asarray(at, dtype=np.float64)[None])[0])
            if not (self._take(lowest) or proven > bound):
                break
            bound = max(bound, proven)
        return bound

    def _is_least_ratio(self, ratio: Ratio) -> bool:
        """Find the least ratio N / D (Dinkelbach 1967), and say whether whole numbers prove that no choice is below.

        With the sums N' and D' of a choice, the least D' N − N' D of all choices is 0 exactly if none has a smaller
        ratio, given that D is positive for all of them.
        """
        forms = [np.rint(form) for form in (ratio.numerator, ratio.denominator)]
        rows = self.statistics
        unit = 1.0 if rows.dtype.kind in "biu" else _PART  # averages over two, four … references are no whole numbers
        if np.any(rows / unit != np.rint(rows / unit)) or np.any(
            forms != np.array([ratio.numerator, ratio.denominator])
        ):
            return False
        top, bottom = (row_sums(rows, form) for form in forms)
        more_top, more_bottom = (float(np.dot(self.others, form)) for form in forms)
        least, most = (end.reduceat(bottom, self.starts).sum() + more_bottom for end in (np.minimum, np.maximum))
        if least == most == 0.0:  # references without a word: whatever the loss is, it does not fall as N grows
            fewest = self._first_lowest(top)
            self._take(fewest)
            return self._loss(fewest) == self.loss
        if not least > 0.0:
            return False
        for _ in range(ROUNDS):
            n, d = top[self.chosen].sum() + more_top, bottom[self.chosen].sum() + more_bottom
            values = d * top - n * bottom
            size = np.maximum.reduceat(np.abs(values), self.starts).sum() + abs(d * more_top) + abs(n * more_bottom)
            if size > _EXACT * unit**2:
                return False
            lowest = self._first_lowest(values)
            if not self._take(lowest):
                return bool(values[lowest].sum() + (d * more_top - n * more_bottom) >= 0.0)
        return False

    def _ranges(self, at: NDArray[Any]) -> Ranges:
        rows = self.statistics
        others = np.asarray(self.others, dtype=np.float64)

        def ends(part: _SomeSentences) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
            own = rows[part.rows]
            least, most = (end.reduceat(own, part.starts, axis=0) for end in (np.minimum, np.maximum))
            return least, most, np.maximum.reduceat(np.abs(own), part.starts, axis=0)

        columns = zip(*self.workers.map(ends, self.parts), strict=True)
        low, high, sizes = (np.concatenate(column).sum(axis=0) for column in columns)
        low, high, sizes = low + others, high + others, sizes + np.abs(others)
        whole = rows.dtype.kind in "biu" and float(sizes.max(initial=0.0)) < _EXACT
        point = np.asarray(at, dtype=np.float64)
        if not whole:  # sums of reals round
            low, high = low - SAFETY * sizes, high + SAFETY * sizes
        return Ranges(
            low[None].astype(np.float64), high[None].astype(np.float64), np.clip(point, low, high)[None],
            sizes.astype(np.float64), exact=whole, whole=whole,
        )  # fmt: skip

    def _lowest(self, slopes: Floats) -> Int64s:
        return self._lowest_by(lambda part: row_sums(self.statistics[part.rows], slopes))[0]

    def _lowest_by(self, values: Callable[[_SomeSentences], Floats]) -> tuple[Int64s, Floats]:
        """The first row of each sentence with the least value, and that value; parts are valued one by one."""

        def lowest(part: _SomeSentences) -> tuple[Int64s, Floats]:
            own = values(part)
            first = part.first_lowest(own)
            return first + part.rows.start, own[first]

        found = self.workers.map(lowest, self.parts)
        return np.concatenate([rows for rows, _ in found]), np.concatenate([least for _, least in found])

    def _first_lowest(self, values: Floats) -> Int64s:
        """The first row of each sentence with its least value."""
        return self._lowest_by(lambda part: values[part.rows])[0]

    def _take(self, chosen: Int64s) -> bool:
        """Keep a choice if its loss is smaller; say whether it is."""
        loss = self._loss(chosen)
        if not loss < self.loss:
            return False
        self.chosen, self.loss = chosen, loss
        return True

    def _total(self, chosen: Int64s) -> NDArray[Any]:
        if self.statistics.dtype.kind not in "biu":
            return exact_sum(np.concatenate([self.statistics[chosen], self.others[None]]))
        size = max(-(-len(chosen) // self.workers.count), LEAST_SUMMED)
        some = [chosen[first : first + size] for first in range(0, len(chosen), size)]
        sums = self.workers.map(lambda rows: exact_sum(self.statistics[rows]), some)
        return exact_sum(np.array([*sums, self.others]))

    def _loss(self, chosen: Int64s) -> float:
        return float(self.metric.loss(self._total(chosen)))
