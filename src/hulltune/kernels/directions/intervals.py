"""The intervals of lines within bounds on weights."""

from __future__ import annotations

import math

import numpy as np

from hulltune.arrays import Bools, FloatRows, Floats
from hulltune.kernels.load.kernel import kernel


@kernel
def intervals_within(weights: Floats, directions: FloatRows, lower: Floats, upper: Floats) -> tuple[Floats, Bools]:
    """The range of η in which weights + η · direction is within the bounds, for each row of directions, and whether
    there is room in it. Both ends are NaN where one cannot be told.
    """
    intervals, room = np.empty((len(directions), 2)), np.zeros(len(directions), np.bool_)
    for d in range(len(directions)):
        low, high, moves, known = -math.inf, math.inf, False, True
        for k in range(weights.size):
            step = directions[d, k]
            if step != 0.0:
                a, b = (lower[k] - weights[k]) / step, (upper[k] - weights[k]) / step
                moves, known = True, known and not (math.isnan(a) or math.isnan(b))
                low, high = max(low, min(a, b)), min(high, max(a, b))
        intervals[d, 0], intervals[d, 1] = (low, high) if known else (math.nan, math.nan)
        room[d] = moves and known and low < high and low < math.inf and high > -math.inf
    return intervals, room
