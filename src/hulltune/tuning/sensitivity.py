"""Sensitivity: how far each weight may move, alone, before the metric is worse by more than chance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hulltune.arrays import Bools, Floats, Int64s
from hulltune.metrics.counts import percent_of
from hulltune.search.constraints import CompiledConstraints
from hulltune.search.gradient import loss_gradient
from hulltune.search.problem import Line, Problem, row_sums
from hulltune.search.steps import AT_ONCE, LEAST_AT_ONCE
from hulltune.surface import SLIVER, ErrorSurface
from hulltune.threads import ALONE, Workers
from hulltune.tuning.text_tables import TextTable, csv_text, short
from hulltune.wording import counted

Range = tuple[float | None, float | None]
"""The ends of a range of weights; None where it has no end."""
WIDEST = 48
"""The most characters of a name in the table."""
ROUNDING = 2.0**-40
"""A score that is worse than allowed by less than this share counts as allowed: 0.3 − 0.2 is not quite 0.1."""
LIKELY = 1.96
"""The standard errors within which 95% of differences by chance are."""


@dataclass(frozen=True)
class Sensitivity:
    """For each free weight, the range around it in which the score is hardly worse, others held.

    Ranges end where the score along the weight's axis is worse than allowed for the first time, or at a bound of the
    constraints: worse by more than ``tolerance``, or without one by more than chance, which is LIKELY standard errors
    of the difference. Cells are the ranges in which nothing changes at all. Tied weights move together.
    """

    tolerance: float | None
    ranges: Mapping[str, Range]
    cells: Mapping[str, Range]
    """For each of the ranges, the part of it around the weight in which the statistics of no sentence change."""

    def narrowest(self, most: int) -> list[str]:
        """The names of all weights in their order; of more than ``most``, those with the narrowest ranges."""
        names = list(self.ranges)
        return names if len(names) <= most else sorted(names, key=lambda name: _width(self.ranges[name]))[:most]

    def allowed(self, signature: str) -> str:
        """What a range allows, in words: "by less than chance", "by at most 0.01 (1 %)"."""
        if self.tolerance is None:
            return "by less than chance"
        percent = percent_of(signature, self.tolerance)
        return f"by at most {self.tolerance:.4g}" + ("" if percent is None else f" ({percent:.4g} %)")


@dataclass(frozen=True, eq=False)
class Compared:
    """Weights whose score others are compared with: is theirs worse by more than chance?"""

    problem: Problem
    loss: float
    slopes: Floats
    """The derivatives of the loss by the statistics."""
    shares: Floats
    """What each sentence has in a loss with these slopes."""

    @staticmethod
    def of(problem: Problem, weights: Floats, *, workers: Workers = ALONE) -> Compared:
        """The weights with their loss; those of a sentence without outputs are left out, which has no segments."""
        picks = problem.picks(weights, workers=workers)
        slopes = loss_gradient(problem.metric, picks.total)
        shares = row_sums(picks.statistics, slopes)
        some = shares if problem.orders is not None else shares[picks.outputs >= 0]
        return Compared(problem, float(problem.metric.loss(picks.total)), slopes, some)

    def hardly_worse(self, line: Line, surface: ErrorSurface, tolerance: float | None = None) -> Bools:
        """For each interval of a learned line: is its score worse by less than chance, or than ``tolerance``?"""
        allowed: float | Floats = tolerance or 0.0
        if tolerance is None:
            allowed = LIKELY * standard_errors(surface, *self.problem.loss_shares(line, self.slopes), self.shares)
        worse = np.asarray(self.problem.metric.loss(surface.statistics), dtype=np.float64) - self.loss
        good: Bools = worse <= allowed + ROUNDING * abs(self.loss)
        return good


def sensitivity(
    problem: Problem,
    weights: Floats,
    tolerance: float | None = None,
    *,
    constraints: CompiledConstraints | None = None,
    groups: Sequence[Int64s] | None = None,
    workers: Workers = ALONE,
) -> Sensitivity:
    """The range of each weight around ``weights`` in which the score is not worse than theirs by more than chance, or
    than ``tolerance``.

    ``groups`` are the weights that move together, by default the free ones of the constraints, or every weight by
    itself. One line search for each group; outputs that win on these lines are asked for.
    """
    compared, names = Compared.of(problem, weights, workers=workers), problem.feature_names
    if groups is None:
        alone = [np.array([k], dtype=np.int64) for k in range(len(names))]
        groups = alone if constraints is None else constraints.free_groups
    ranges, cells = dict[str, Range](), dict[str, Range]()
    at_once = max(AT_ONCE // len(names), LEAST_AT_ONCE) if problem.orders is None else 1  # their lines are large
    for first in range(0, len(groups), at_once):
        some = groups[first : first + at_once]
        lines, ends = np.zeros((len(some), len(names))), np.tile([-math.inf, math.inf], (len(some), 1))
        for number, group in enumerate(some):
            lines[number, group] = 1.0
            if constraints is not None:
                ends[number] = constraints.lower[group[0]], constraints.upper[group[0]]
        here = np.array([weights[group[0]] for group in some])
        found = problem.learned_lines(weights, lines, ends - here[:, None], workers=workers)

        def ranges_along(each: tuple[Line, float, list[float]]) -> tuple[Range, Range]:
            line, weight, bounds = each
            surface = problem.surface(line)
            good = compared.hardly_worse(line, surface, tolerance)
            cell = np.arange(len(surface)) == np.searchsorted(surface.breakpoints, 0.0, side="right")
            return _around(surface, weight, good, bounds), _around(surface, weight, cell, bounds)

        along = workers.map(ranges_along, list(zip(found, here.tolist(), ends.tolist(), strict=True)))
        for group, (around, cell) in zip(some, along, strict=True):
            ranges.update({names[k]: around for k in group.tolist()})
            cells.update({names[k]: cell for k in group.tolist()})
    kept = [name for name in names if name in ranges]
    return Sensitivity(tolerance, {name: ranges[name] for name in kept}, {name: cells[name] for name in kept})


def standard_errors(surface: ErrorSurface, lefts: Floats, starts: Bools, shares: Floats, own_shares: Floats) -> Floats:
    """The standard error of the difference between the loss on each interval of a line and a given one, paired by
    sentence.

    ``lefts``, ``starts`` and ``shares`` are the segments of the line and what they have in a loss that is taken as
    linear (see Problem.loss_shares), ``own_shares`` what each sentence has in the given one. The error is then that of
    the paired bootstrap with endless samples, for all intervals in one pass over the segments, and no seed decides
    where a range ends.
    """
    differences = shares - own_shares[np.cumsum(starts) - 1]
    intervals = np.where(starts, 0, np.searchsorted(surface.breakpoints, lefts, side="right"))
    sums = []
    for summed in (differences, differences**2):
        changes = np.diff(summed, prepend=0.0)
        changes[starts] = summed[starts]
        sums.append(np.cumsum(np.bincount(intervals, changes, minlength=len(surface))))
    errors: Floats = np.sqrt(np.maximum(sums[1] - sums[0] ** 2 / max(len(own_shares), 1), 0.0))
    return errors


def _around(surface: ErrorSurface, weight: float, good: Bools, bounds: list[float]) -> Range:
    """The ends of the intervals around step 0 that are all good. Slivers, which rounding leaves, count as good."""
    steps = surface.breakpoints
    widths = np.diff(np.concatenate([[-math.inf], steps, [math.inf]]))
    places = np.abs(np.concatenate([[math.inf], weight + steps, [math.inf]]))
    good = good | (widths < SLIVER * np.minimum(places[:-1], places[1:]))
    here = int(np.searchsorted(steps, 0.0, side="right"))
    if not good[here] and here > 0 and steps[here - 1] == 0.0:  # the weight is where two intervals meet
        here -= 1
    if not good[here]:
        return weight, weight
    left, right = here, here
    while left > 0 and good[left - 1]:
        left -= 1
    while right < len(steps) and good[right + 1]:
        right += 1
    low = weight + float(steps[left - 1]) if left > 0 else bounds[0]
    high = weight + float(steps[right]) if right < len(steps) else bounds[1]
    return low if math.isfinite(low) else None, high if math.isfinite(high) else None


def range_table(found: Sensitivity, weights: Mapping[str, float], most: int, metric: str) -> TextTable:
    """The ranges as a table with a note on those left out: of more than ``most``, the widest."""
    names = found.narrowest(most)
    rows: list[tuple[str, ...]] = [("weight", "from", "now", "to", "same from", "to")]
    for name in names:
        low, high = (_end_text(end) for end in found.ranges[name])
        same = (_end_text(end) for end in found.cells[name])
        rows.append((short(name, WIDEST), low, f"{weights[name]:.5g}", high, *same))
    left = len(found.ranges) - len(names)
    notes = [f"… and {counted(left, 'wider range')}, in the JSON result"] if left else []
    notes.append(
        f"from, to: where the score is worse {found.allowed(metric)} while this weight alone moves; same: where "
        "nothing changes at all"
    )
    return TextTable(rows, "<>>>>>", notes)


def _end_text(end: float | None) -> str:
    return "any" if end is None else f"{end:.5g}"


def range_csv(found: Sensitivity, weights: Mapping[str, float]) -> str:
    """The ranges as CSV lines ``weight,from,now,to,same from,same to``; −inf and inf where a range has no end."""
    rows = []
    for name, ends in found.ranges.items():
        low, high, *same = (
            repr(infinity if end is None else end)
            for end, infinity in zip((*ends, *found.cells[name]), (-math.inf, math.inf) * 2, strict=True)
        )
        rows.append((name, low, repr(weights[name]), high, *same))
    return csv_text([("weight", "from", "now", "to", "same from", "same to"), *rows])


def _width(ends: Range) -> float:
    low, high = ends
    return math.inf if low is None or high is None else high - low
