"""The rule of steps: the point of a line to step to, among intervals of constant loss.

Slivers (see RESOLUTION) are never entered, and do not separate the intervals on both sides of them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hulltune.arrays import FloatRows, Floats, Int64s
from hulltune.kernels.load.kernel import borrowing, inlined, kernel
from hulltune.kernels.surfaces.constants import (
    CLOSEST,
    FARTHEST,
    INNER,
    LEAST_GAIN,
    RESOLUTION,
    TINY_STEP,
    WIDEST,
)

SMALLEST = 2.0**-900
"""The smallest breakpoint beside which an unbounded interval is surely as wide as a multiple of it."""


class Intervals(NamedTuple):
    """Intervals of lines on which all sums of statistics are constant, line by line and from left to right."""

    offsets: Int64s
    """The intervals of line d are ``offsets[d]`` to ``offsets[d + 1]``."""
    lefts: Floats
    rights: Floats
    numbers: Int64s
    """For each interval, how many to its left can be entered: neighbours but for slivers have successive numbers."""
    steps: Floats
    """For each line, the step beyond its last breakpoint (see end_step)."""


@inlined
def _near(end: float) -> float:
    return min(max(end, -FARTHEST), FARTHEST)


@inlined
def can_be_entered(left: float, right: float, near_left: float, near_right: float, scale: float) -> bool:
    """Whether an interval is wide enough for a step into it; its near ends are the ends, or finite ones."""
    near_left, near_right = _near(near_left), _near(near_right)
    size = max(abs(near_left), abs(near_right))
    if near_left <= 0.0 <= near_right:
        size = max(size, scale)
    width = near_right - near_left
    return left < near_left + width / 2 < right and width > RESOLUTION * size


@inlined
def surely_entered(left: float, right: float) -> bool:
    """Whether an unbounded interval can be entered whatever the step beyond its only end: 0 is not inside."""
    return SMALLEST < left <= FARTHEST or SMALLEST < -right <= FARTHEST


@inlined
def end_step(breakpoints: int, first: float, last: float, scale: float) -> float:
    """The step beyond the last breakpoint: the mean gap between so many of them, which see search.steps.Policy."""
    if breakpoints >= 2:
        return (_near(last) - _near(first)) / (breakpoints - 1)
    return _near(max(abs(first), scale) if breakpoints else scale)


@inlined
def _near_ends(left: float, right: float, step: float) -> tuple[float, float]:
    """Finite ends of an interval: two steps beyond the last breakpoint where it is unbounded."""
    near_left, near_right = _near(left), _near(right)
    if left == -math.inf and right == math.inf:
        return -step, step
    if left == -math.inf:
        near_left = near_right - 2.0 * max(step, abs(near_right) * TINY_STEP)
    if right == math.inf:
        near_right = near_left + 2.0 * max(step, abs(near_left) * TINY_STEP)
    return near_left, near_right


@kernel
def intervals_between(
    breakpoints: Floats, low: float, high: float, scale: float
) -> tuple[Int64s, Floats, Floats, Int64s, Floats]:
    """All intervals of a line between its breakpoints, as the fields of Intervals."""
    count = breakpoints.size
    lefts, rights, numbers = np.full(count + 1, low), np.full(count + 1, high), np.zeros(count + 1, np.int64)
    lefts[1:], rights[:-1] = breakpoints, breakpoints
    for i in range(count):
        left, right = lefts[i], rights[i]
        numbers[i + 1] = numbers[i] + (left == -math.inf or can_be_entered(left, right, left, right, scale))
    step = end_step(count, breakpoints[0], breakpoints[-1], scale) if count else end_step(0, low, low, scale)
    return np.array([0, count + 1]), lefts, rights, numbers, np.array([step])


@inlined
def _enter(left: float, right: float) -> float:
    """A point inside (left, right): 0 if it is inside, else a tenth of the width away from the end nearest to 0."""
    if left < 0.0 < right:
        return 0.0
    tenth = (right - left) / 10
    return left + tenth if left >= 0.0 else right - tenth


@borrowing
def _best_run(
    intervals: Intervals, losses: Floats, line: int, smallest: float, scale: float, policy: int
) -> tuple[int, int]:
    """The first and the last interval of the run of neighbours with the smallest loss that is closest to 0, or widest.
    O(intervals).
    """
    step, chosen, chosen_last, least = intervals.steps[line], -1, -1, math.inf
    first, first_left, first_near_left, previous = -1, 0.0, 0.0, -1
    for i in range(intervals.offsets[line], intervals.offsets[line + 1]):
        left, right = intervals.lefts[i], intervals.rights[i]
        near_left, near_right = _near_ends(left, right, step)
        if losses[i] != smallest or not can_be_entered(left, right, near_left, near_right, scale):
            continue
        if first < 0 or intervals.numbers[i] != intervals.numbers[previous] + 1:
            first, first_left, first_near_left = i, left, near_left
        previous = i
        # A run that grows comes closer to 0 and gets wider, so its end decides.
        distance = first_near_left - near_right if policy == WIDEST else max(first_left, -right, 0.0)
        if distance < least or first == chosen or chosen < 0:
            chosen, chosen_last, least = first, i, distance
    return chosen, chosen_last


@kernel
def choose_steps(
    intervals: Intervals, losses: Floats, currents: Floats, scales: Floats, policy: int
) -> tuple[Floats, Int64s, Floats]:
    """For each line the point to step to, the interval around it, and the ends of the run of neighbours with its loss;
    0, −1 and NaN where no loss is below the line's current one. The policy is MIDDLE, CLOSEST or WIDEST.

    ``losses`` are those of the intervals, of which all that are the best of a line are there. O(intervals).
    """
    offsets, lefts, rights, _, steps = intervals
    lines = currents.size
    etas, chosen, ends = np.zeros(lines), np.full(lines, -1), np.full((lines, 2), np.nan)
    for d in range(lines):
        smallest = currents[d]
        for i in range(offsets[d], offsets[d + 1]):
            if losses[i] < smallest:
                left, right = lefts[i], rights[i]
                near_left, near_right = _near_ends(left, right, steps[d])
                if can_be_entered(left, right, near_left, near_right, scales[d]):
                    smallest = losses[i]
        if not smallest < currents[d]:
            continue
        first, last = _best_run(intervals, losses, d, smallest, scales[d], policy)
        ends[d, 0], ends[d, 1] = lefts[first], rights[last]
        low, first_right = _near_ends(ends[d, 0], rights[first], steps[d])
        _, high = _near_ends(lefts[last], ends[d, 1], steps[d])
        etas[d] = _enter(low, high) if policy == CLOSEST else low + (high - low) / 2
        for i in range(first, last + 1):
            left, right = lefts[i], rights[i]
            if left < etas[d] < right and can_be_entered(left, right, left, right, scales[d]):
                chosen[d] = i
        if chosen[d] < 0:  # on a breakpoint or a sliver inside the run: the middle of its first interval
            chosen[d], etas[d] = first, low + (first_right - low) / 2
    return etas, chosen, ends


@inlined
def _penalty(row: Floats, angle: bool, eta: float) -> float:
    """The penalty at a point of a line; see penalty.Penalty.along for the coefficients."""
    quadratic = float(row[2] + (2.0 * row[3] + row[4] * eta) * eta)
    if not angle:
        return float(row[5]) * max(quadratic, 0.0)
    cosine = float(row[0] + row[1] * eta) / math.sqrt(quadratic) if quadratic > 0.0 else 0.0
    return 2.0 * float(row[5]) * (1.0 - min(max(cosine, -1.0), 1.0))


@kernel
def choose_penalised(
    intervals: Intervals, losses: Floats, current: float, scales: Floats, penalties: FloatRows, angle: bool
) -> tuple[Floats, Floats]:
    """The step along each line to the smallest sum of loss and penalty, and that sum; 0 and the current one where none
    is smaller by LEAST_GAIN of the penalty at the start.

    On an interval the loss is constant and the penalty has a single flat point, so its least value is there, or at an
    end. Ends are entered by INNER of the width.
    """
    offsets, lefts, rights, _, steps = intervals
    lines = scales.size
    etas, lowest = np.zeros(lines), np.full(lines, current)
    for d in range(lines):
        row = penalties[d]
        flat = np.divide(row[1] * row[2] - row[0] * row[3], row[0] * row[4] - row[1] * row[3])
        if not angle:
            flat = np.divide(-row[3], row[4])
        best = current - LEAST_GAIN * _penalty(row, angle, 0.0)
        for i in range(offsets[d], offsets[d + 1]):
            left, right = lefts[i], rights[i]
            near_left, near_right = _near_ends(left, right, steps[d])
            if not losses[i] < best or not can_be_entered(left, right, near_left, near_right, scales[d]):
                continue
            margin = INNER * (near_right - near_left)
            first, last = near_left + margin, near_right - margin
            least = first if left > -math.inf else -FARTHEST
            most = last if right < math.inf else FARTHEST
            for k in range(3):
                eta = first if k == 1 else last
                if k == 0:
                    if not abs(flat) < math.inf:
                        continue
                    eta = min(max(flat, least), most)
                value = losses[i] + _penalty(row, angle, eta)
                if value < best:
                    best = value
                    etas[d], lowest[d] = eta, value
    return etas, lowest
