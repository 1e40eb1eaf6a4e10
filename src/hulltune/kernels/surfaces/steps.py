"""The steps of line searches whose best intervals are known: a compiled policies.choose, for a few intervals."""

from __future__ import annotations

import math

import numpy as np

from hulltune.arrays import Bools, Floats, Int64s
from hulltune.kernels.load.jit import inlined, kernel
from hulltune.kernels.surfaces.step_limits import (
    CLOSEST,
    FARTHEST,
    INNER,
    LEAST_GAIN,
    OUTER,
    RESOLUTION,
    TINY_STEP,
    WIDEST,
)


@kernel
def _ends(breakpoints: Floats, number: int, low: float, high: float, step: float) -> tuple[float, float, float, float]:
    """The ends of an interval, and these ends cut off two steps beyond the last breakpoint where it is unbounded."""
    left = breakpoints[number - 1] if number > 0 else low
    right = breakpoints[number] if number < breakpoints.size else high
    near_left, near_right = min(max(left, -FARTHEST), FARTHEST), min(max(right, -FARTHEST), FARTHEST)
    if left == -math.inf and right == math.inf:
        return left, right, -step, step
    if left == -math.inf:
        near_left = near_right - 2.0 * max(step, abs(near_right) * TINY_STEP)
    if right == math.inf:
        near_right = near_left + 2.0 * max(step, abs(near_left) * TINY_STEP)
    return left, right, near_left, near_right


@kernel
def _enterable(ends: tuple[float, float, float, float], scale: float) -> bool:
    left, right, near_left, near_right = ends
    middle = near_left + (near_right - near_left) / 2
    size = max(abs(near_left), abs(near_right))
    if near_left <= 0.0 <= near_right:
        size = max(size, scale)
    return left < middle < right and near_right - near_left > RESOLUTION * size


@kernel
def _choose_run(
    breakpoints: Floats, best: Int64s, low: float, high: float, scale: float, step: float, widest: bool
) -> tuple[bool, int, float, float, float, float]:
    """The run of neighbours among the ``best`` intervals (in order) that is closest to 0, or the widest one.

    Returns whether the answer is sure, which it is if all these intervals, and those between runs, are wide enough to
    be entered; the first interval of the run; the ends of the run; and these ends cut off by ``step`` where they are
    unbounded. O(best).
    """
    chosen, chosen_left, chosen_right, near_left, near_right = 0, low, high, low, high
    least = math.inf
    i = 0
    while i < best.size:
        first = _ends(breakpoints, best[i], low, high, step)
        last = first
        number = best[i]
        while True:
            if not _enterable(last, scale):
                return False, chosen, chosen_left, chosen_right, near_left, near_right
            i += 1
            if i == best.size or best[i] > best[i - 1] + 1:
                break
            last = _ends(breakpoints, best[i], low, high, step)
        if i < best.size and not _enterable(_ends(breakpoints, best[i - 1] + 1, low, high, step), scale):
            return False, chosen, chosen_left, chosen_right, near_left, near_right
        distance = first[2] - last[3] if widest else max(first[0], -last[1], 0.0)
        if distance < least or number == best[0]:
            least = distance
            chosen, chosen_left, chosen_right, near_left, near_right = number, first[0], last[1], first[2], last[3]
    return True, chosen, chosen_left, chosen_right, near_left, near_right


@inlined
def _gap(left: float, right: float) -> float:
    return min(max(right, -FARTHEST), FARTHEST) - min(max(left, -FARTHEST), FARTHEST)


@kernel
def _end_step(breakpoints: Floats, scale: float) -> float:
    """The step beyond the last breakpoint: the mean gap between breakpoints; see policies.end_step."""
    n = breakpoints.size
    if n >= 2:
        gap = _gap(breakpoints[0], breakpoints[n - 1])
        if n <= 2 * OUTER:
            return gap / (n - 1)
        return (gap - _gap(breakpoints[OUTER - 1], breakpoints[n - OUTER])) / (2 * OUTER - 2)
    return min(max(abs(float(breakpoints[0])), scale) if breakpoints.size else scale, FARTHEST)


@kernel
def _enter(left: float, right: float) -> float:
    """A point inside (left, right): 0 if it is inside, else a tenth of the width away from the end nearest to 0."""
    if left < 0.0 < right:
        return 0.0
    tenth = (right - left) / 10
    return left + tenth if left >= 0.0 else right - tenth


@kernel
def choose_step(
    breakpoints: Floats, best: Int64s, low: float, high: float, scale: float, policy: int
) -> tuple[bool, float, float, float]:
    """The point of a line to step to, and the ends of the run of intervals around it, where ``best`` are all intervals
    of the smallest loss, in order; and first whether the answer is sure (see _choose_run). The policy is MIDDLE,
    CLOSEST or WIDEST. O(best).
    """
    sure, first, left, right, near_left, near_right = _choose_run(
        breakpoints, best, low, high, scale, _end_step(breakpoints, scale), policy == WIDEST
    )
    eta = _enter(near_left, near_right) if policy == CLOSEST else near_left + (near_right - near_left) / 2
    place = np.searchsorted(breakpoints, eta)
    if place < breakpoints.size and eta == breakpoints[place]:  # never a breakpoint: the middle of the first interval
        end = near_right if first == breakpoints.size else min(breakpoints[first], near_right)
        eta = near_left + (end - near_left) / 2
    return sure, eta, left, right


@kernel
def choose_steps(
    breakpoints: Floats,
    counts: Int64s,
    offsets: Int64s,
    numbers: Int64s,
    losses: Floats,
    intervals: Floats,
    scales: Floats,
    current_loss: float,
    policy: int,
) -> tuple[Floats, Floats, Bools]:
    """The step along each line, the loss there, and whether both are sure. A step is 0, with the current loss, where no
    loss is smaller.

    Line d has the first ``counts[d]`` breakpoints of its row. The intervals ``offsets[d]`` to ``offsets[d + 1]`` may be
    its best, with their ``numbers`` on the line, in order, and their losses.
    """
    lines = counts.size
    etas, lowest, sure = np.zeros(lines), np.full(lines, current_loss), np.ones(lines, np.bool_)
    for d in range(lines):
        begin, end = offsets[d], offsets[d + 1]
        smallest = current_loss
        for i in range(begin, end):
            smallest = min(smallest, losses[i])
        if not smallest < current_loss:
            continue
        best = np.empty(end - begin, np.int64)
        count = 0
        for i in range(begin, end):
            if losses[i] == smallest:
                best[count] = numbers[i]
                count += 1
        sure[d], etas[d], _, _ = choose_step(
            breakpoints[d, : counts[d]], best[:count], intervals[d, 0], intervals[d, 1], scales[d], policy
        )
        lowest[d] = smallest
    return etas, lowest, sure


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
    breakpoints: Floats,
    counts: Int64s,
    offsets: Int64s,
    numbers: Int64s,
    losses: Floats,
    intervals: Floats,
    scales: Floats,
    current: float,
    penalties: Floats,
    angle: bool,
) -> tuple[Floats, Floats]:
    """The step along each line to the smallest sum of loss and penalty, and that sum; 0 and the current one where none
    is smaller by LEAST_GAIN of the penalty at the start.

    Arguments are those of choose_steps. On an interval the loss is constant and the penalty has a single flat point, so
    its least value is there, or at an end. Ends are entered by INNER of the width. Slivers are never entered.
    """
    lines = counts.size
    etas, lowest = np.zeros(lines), np.full(lines, current)
    for d in range(lines):
        row, points = penalties[d], breakpoints[d, : counts[d]]
        low, high, step = intervals[d, 0], intervals[d, 1], _end_step(points, scales[d])
        flat = np.divide(row[1] * row[2] - row[0] * row[3], row[0] * row[4] - row[1] * row[3])
        if not angle:
            flat = np.divide(-row[3], row[4])
        best = current - LEAST_GAIN * _penalty(row, angle, 0.0)
        for i in range(offsets[d], offsets[d + 1]):
            if not losses[i] < best:
                continue
            ends = _ends(points, numbers[i], low, high, step)
            if not _enterable(ends, scales[d]):
                continue
            left, right, near_left, near_right = ends
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
