"""Sensitivity: how far each weight may move, alone, before the metric is more than a little worse."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hulltune.arrays import Bools, Floats, Int64s
from hulltune.search.constraints import CompiledConstraints
from hulltune.search.problem import Problem
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


@dataclass(frozen=True)
class Sensitivity:
    """For each free weight, the range around it in which the score is at most ``tolerance`` worse, others held.

    Ranges are exact: they end where the error surface along the weight's axis leaves the tolerance for the first time,
    or at a bound of the constraints. Tied weights move together.
    """

    tolerance: float
    ranges: Mapping[str, Range]

    def narrowest(self, most: int) -> list[str]:
        """The names of all weights in their order; of more than ``most``, those with the narrowest ranges."""
        names = list(self.ranges)
        return names if len(names) <= most else sorted(names, key=lambda name: _width(self.ranges[name]))[:most]


def usual_tolerance(*scores: float) -> float:
    """A tenth of a percent: 0.001 for a metric between 0 and 1, 0.1 for one up to 100."""
    return 0.001 if max(map(abs, scores)) < 2 else 0.1


def sensitivity(
    problem: Problem,
    weights: Floats,
    tolerance: float | None = None,
    *,
    constraints: CompiledConstraints | None = None,
    groups: Sequence[Int64s] | None = None,
    workers: Workers = ALONE,
) -> Sensitivity:
    """The range of each weight around ``weights`` in which the score stays within ``tolerance`` of theirs.

    ``groups`` are the weights that move together, by default the free ones of the constraints, or every weight by
    itself. One line search for each group; outputs that win on these lines are asked for.
    """
    score = problem.score(weights, workers=workers)
    allowed = usual_tolerance(score) if tolerance is None else tolerance
    names = problem.feature_names
    if groups is None:
        alone = [np.array([k], dtype=np.int64) for k in range(len(names))]
        groups = alone if constraints is None else constraints.free_groups
    ranges: dict[str, Range] = {}
    at_once = max(AT_ONCE // len(names), LEAST_AT_ONCE)
    for first in range(0, len(groups), at_once):
        some = groups[first : first + at_once]
        lines, ends = np.zeros((len(some), len(names))), np.tile([-math.inf, math.inf], (len(some), 1))
        for number, group in enumerate(some):
            lines[number, group] = 1.0
            if constraints is not None:
                ends[number] = constraints.lower[group[0]], constraints.upper[group[0]]
        here = np.array([weights[group[0]] for group in some])
        found = problem.surfaces(weights, lines, ends - here[:, None], workers=workers)

        def range_along(line: tuple[ErrorSurface, float, list[float]]) -> Range:
            surface, weight, bounds = line
            scores = np.asarray(problem.metric.score(surface.statistics), dtype=np.float64)
            worse = score - scores if problem.metric.higher_is_better else scores - score
            return _around(surface, weight, worse <= allowed + ROUNDING * abs(score), bounds)

        along = workers.map(range_along, list(zip(found, here.tolist(), ends.tolist(), strict=True)))
        for group, around in zip(some, along, strict=True):
            ranges.update({names[k]: around for k in group.tolist()})
    return Sensitivity(allowed, {name: ranges[name] for name in names if name in ranges})


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


def range_table(found: Sensitivity, weights: Mapping[str, float], most: int) -> TextTable:
    """The ranges as a table with a note on those left out: of more than ``most``, the widest."""
    names = found.narrowest(most)
    rows: list[tuple[str, ...]] = [("weight", "from", "now", "to")]
    for name in names:
        low, high = ("any" if end is None else f"{end:.5g}" for end in found.ranges[name])
        rows.append((short(name, WIDEST), low, f"{weights[name]:.5g}", high))
    left = len(found.ranges) - len(names)
    notes = [f"… and {counted(left, 'wider range')}, in the JSON result"] if left else []
    notes.append(f"from, to: where the score stays within {found.tolerance:.4g} while this weight alone moves")
    return TextTable(rows, "<>>>", notes)


def range_csv(found: Sensitivity, weights: Mapping[str, float]) -> str:
    """The ranges as CSV lines ``weight,from,now,to``; −inf and inf where a range has no end."""
    rows = [
        (name, repr(-math.inf if low is None else low), repr(weights[name]), repr(math.inf if high is None else high))
        for name, (low, high) in found.ranges.items()
    ]
    return csv_text([("weight", "from", "now", "to"), *rows])


def _width(ends: Range) -> float:
    low, high = ends
    return math.inf if low is None or high is None else high - low
