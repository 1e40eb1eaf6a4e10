"""Lower bounds of losses over sets of statistics, for certified search.

In a box of weights, some candidates of each sentence may win. The summed statistics x of every choice among them lie
within ``Ranges``. A ``LossBound`` names a linear function. Its minimum over all choices is easy to find, sentence by
sentence, and proves a lower bound of the loss of every choice. Concave parts of a loss are bounded by chords and convex
parts by tangents (of a score: the other way round). Bounds are safe in floating point: they are moved outward by more
than the rounding of their computation, unless that was exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from hulltune.arrays import Bools, Floats, Int64s
from hulltune.errors import InputError

if TYPE_CHECKING:
    from hulltune.metrics.base import Metric


SAFETY = 2.0**-44
"""Outward margin, relative to the sum of sizes of all terms: hundreds of roundings."""
_EXACT_BITS = 2.0**52
"""Sums of whole numbers are exact below this size."""
_DYADIC = 2.0**10
"""Multiples of 1 / 1024 are treated as whole numbers, after scaling by this."""


@dataclass(frozen=True, eq=False)
class Ranges:
    """The least and the largest summed statistics of n boxes, column by column: (n, columns) arrays of doubles."""

    low: Floats
    high: Floats
    at: Floats
    """An attainable point of each box; tangents touch there."""
    sizes: Floats
    """(columns,): the sum over sentences of the largest absolute value of any candidate."""
    exact: bool
    """Whether sums of the statistics are exact, like sums of whole numbers."""
    whole: bool = False
    """Whether all statistics are whole numbers."""

    def __len__(self) -> int:
        return len(self.low)

    def __getitem__(self, which: Int64s | Bools) -> Ranges:
        return Ranges(self.low[which], self.high[which], self.at[which], self.sizes, self.exact, self.whole)

    def columns(self, first: int, last: int) -> Ranges:
        """The ranges of the statistics from ``first`` to before ``last``: those of one metric of a combination."""
        part = slice(first, last)
        return Ranges(self.low[:, part], self.high[:, part], self.at[:, part], self.sizes[part], self.exact, self.whole)


@dataclass(frozen=True, eq=False)
class LossBound:
    """A linear function for each box, and the lower bound of the loss that its minimiser proves."""

    slopes: Floats
    """The linear functions, (n, columns)."""
    proven: Callable[[Floats], Floats]
    """A function from the sums (n, columns) that minimise slopes · x to a lower bound of the loss for each box."""
    level: Callable[[float], Floats]
    """A function from a loss to a level for each box: slopes · x is below it for any x in the ranges with less loss."""
    settled: Bools | None = None
    """Boxes for which another ``Ranges.at`` would prove no more; None for all boxes."""


@dataclass(frozen=True, eq=False)
class LinearBound:
    """loss(x) ≥ slopes · x + offset for every x in the ranges, as far as doubles can tell."""

    slopes: Floats
    offsets: Floats

    def as_loss_bound(self, ranges: Ranges) -> LossBound:
        """The LossBound of this function, moved outward by its rounding."""
        margin = SAFETY * (row_products(np.abs(self.slopes), ranges.sizes) + np.abs(self.offsets))

        def proven(minimiser: Floats) -> Floats:
            lowest: Floats = row_products(self.slopes, minimiser) + self.offsets - margin
            return lowest

        def level(loss: float) -> Floats:
            return loss - self.offsets + margin + SAFETY * abs(loss)

        return LossBound(self.slopes, proven, level, np.zeros(len(ranges), dtype=bool))


def row_products(a: Floats, b: Floats) -> Floats:
    """a[i] · b[i] for each row, or a[i] · b for a single row b.

    A row's product does not depend on the rows beside it, as it may in a matrix product: bounds are the same to the bit
    however boxes are shared among threads.
    """
    products: Floats = np.einsum("nc,nc->n", a, np.broadcast_to(b, a.shape))
    return products


def constant_bound(ranges: Ranges, losses: ArrayLike) -> LinearBound:
    """The bound that is constant in each box."""
    return LinearBound(np.zeros_like(ranges.low), np.broadcast_to(np.asarray(losses, np.float64), len(ranges)).copy())


def interval_bound(metric: Metric, ranges: Ranges) -> LinearBound:
    """The loss at the best corner of the ranges, for scores that are monotone in each statistic (``metric.monotone``).

    A metric without ``monotone`` is refused: for a score that is best between the corners the proof would be wrong.
    """
    signs = metric.monotone
    if signs is None:
        raise InputError(
            f"{metric.name}: no bound of its score is known; let the metric say which statistics raise its score "
            "(monotone), or override linear_bound"
        )
    better = np.array(signs) * (1 if metric.higher_is_better else -1) > 0  # signs of the score, not of the loss
    best = np.where(better, ranges.high, ranges.low)
    worst = np.where(better, ranges.low, ranges.high)
    losses = metric.loss(best)
    scale = np.maximum(np.abs(losses), np.abs(metric.loss(worst)))
    return constant_bound(ranges, losses - SAFETY * scale)


@dataclass(frozen=True, eq=False)
class Ratio:
    """A loss scale · N / D with N and D linear in the statistics, D ≥ 0 and scale > 0."""

    numerator: Floats
    denominator: Floats
    scale: float = 1.0
    best: float = 0.0
    """The least possible loss, which is the bound where D may be 0."""

    @property
    def least(self) -> float:
        """The least possible loss, moved outward by its rounding."""
        return self.best - SAFETY * abs(self.best) if np.isfinite(self.best) else self.best

    def linear_bound(self, ranges: Ranges) -> LinearBound:
        """A lower bound of N · (1 / D), exact where D is constant.

        It is an under-estimator of the product (McCormick 1976), in which 1 / D is replaced by its tangent where its
        factor is positive and by its chord where the factor is negative.
        """
        top, bottom = _range_of(self.numerator, ranges), _range_of(self.denominator, ranges)
        open_ended = ~(bottom.low > 0.0)
        d_low = np.where(open_ended, 1.0, bottom.low)
        d_high, d_at = np.maximum(bottom.high, d_low), np.maximum(bottom.at, d_low)
        candidates = []
        for n_end, y_end in ((top.low, 1.0 / d_high), (top.high, 1.0 / d_low)):
            # N y ≥ n_end y + N y_end − n_end y_end because (N − n_end)(y − y_end) ≥ 0 at both pairs of ends
            tangent = (-1.0 / d_at**2, 2.0 / d_at)
            chord = (-1.0 / (d_low * d_high), 1.0 / d_low + 1.0 / d_high)
            slope, offset = (np.where(n_end >= 0.0, a, b) for a, b in zip(tangent, chord, strict=True))
            candidates.append((y_end, n_end * slope, n_end * (offset - y_end)))
        values = [u * top.at + v * bottom.at + w for u, v, w in candidates]
        u, v, w = (np.where(values[0] >= values[1], a, b) for a, b in zip(*candidates, strict=True))
        slopes = self.scale * (u[:, None] * self.numerator + v[:, None] * self.denominator)
        slopes[open_ended] = 0.0
        return LinearBound(slopes, np.where(open_ended, self.least, self.scale * w))

    def loss_bound(self, ranges: Ranges, loss: Callable[[Floats], Floats]) -> LossBound:
        """The exact minimum over all choices, by Dinkelbach's method (1967).

        Let N' / D' be the ratio at ``ranges.at``. The minimum of D' N − N' D is 0 exactly if no choice has a smaller
        ratio. In whole numbers that is a proof to the bit. Repeated from the minimiser, it is reached in a few steps;
        one step is enough where D is constant.
        """
        bottom = _range_of(self.denominator, ranges)
        top_at = row_products(ranges.at, self.numerator)
        fixed = bottom.low == bottom.high
        d_at = np.where(fixed, 1.0, bottom.at)
        n_at = np.where(fixed, 0.0, top_at)
        slopes = d_at[:, None] * self.numerator - n_at[:, None] * self.denominator
        size = row_products(np.abs(slopes), ranges.sizes)
        exact = ranges.exact & (size < _EXACT_BITS / _DYADIC) & np.all(slopes * _DYADIC == np.rint(slopes * _DYADIC), 1)
        whole = ranges.whole and bool(np.all(self.numerator == np.rint(self.numerator)))
        open_ended = ~(bottom.low > 0.0)
        d_low = np.where(open_ended, 1.0, bottom.low)

        def proven(minimiser: Floats) -> Floats:
            lowest = row_products(slopes, minimiser)
            lowest = np.where(exact, lowest, lowest - SAFETY * size)
            attained = loss(np.where(fixed[:, None], minimiser, ranges.at))
            # N / D = N' / D' + (D' N − N' D) / (D' D): the last term, if negative, is lowest at the least D
            below = np.where(fixed, lowest, (top_at + np.minimum(lowest, 0.0) / d_low) / np.maximum(bottom.at, d_low))
            bound = self.scale * np.where(fixed, below / d_low, below)
            bound -= SAFETY * np.abs(bound)
            bound = np.where(exact & (fixed | (lowest >= 0.0)), attained, bound)
            return np.where(open_ended, self.least, bound)

        def level(wanted: float) -> Floats:
            # D' N − N' D = D (D' N / D − N'), with N / D below ``ratio``
            ratio = wanted / self.scale
            ends = [d * (d_at * ratio - n_at) for d in (d_low, np.maximum(bottom.high, d_low))]
            reached: Floats = np.maximum(ends[0], ends[1]) + SAFETY * (size + np.abs(ends[0]) + np.abs(ends[1]))
            if whole:  # N is a whole number, too: take the largest whose loss is below
                largest = np.floor(reached)
                largest = np.where(self.scale * (largest / d_low) < wanted, largest, largest - 1.0)
                reached = np.where(fixed & exact, largest + 0.5, reached)
            return np.where(open_ended, np.inf, reached)

        return LossBound(slopes, proven, level, (fixed & exact) | open_ended)


@dataclass(frozen=True, eq=False)
class _Range:
    """The range of a linear form in each box, and its value at ``Ranges.at``."""

    low: Floats
    high: Floats
    at: Floats


def _range_of(form: Floats, ranges: Ranges) -> _Range:
    """The range of a linear form, moved outward by its rounding where it is not exact."""
    up, down = np.maximum(form, 0.0), np.minimum(form, 0.0)
    low = row_products(ranges.low, up) + row_products(ranges.high, down)
    high = row_products(ranges.high, up) + row_products(ranges.low, down)
    if not (ranges.exact and np.all(form == np.rint(form))):
        margin = SAFETY * np.maximum(np.abs(low), np.abs(high))
        low, high = np.where(low == high, low, low - margin), np.where(low == high, high, high + margin)
    return _Range(low, high, np.clip(row_products(ranges.at, form), low, high))


def log_above(at: Floats) -> tuple[Floats, Floats]:
    """Slope and offset of a line above log: its tangent (it is concave)."""
    return 1.0 / at, np.log(at) - 1.0


def log_below(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Slope and offset of a line below log between ``low`` > 0 and ``high``: its chord."""
    width = high - low
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.where(width > 0.0, np.log1p(width / low) / width, 0.0)
    return slope, np.log(low) - slope * low
