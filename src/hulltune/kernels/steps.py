"""The step of a line search whose best intervals are known: a compiled policies.choose, for a few intervals."""

from __future__ import annotations

import math

from hulltune.arrays import Floats, Int64s
from hulltune.kernels._jit import kernel
from hulltune.kernels.step_limits import FARTHEST, RESOLUTION, TINY_STEP


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
def choose_run(
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
