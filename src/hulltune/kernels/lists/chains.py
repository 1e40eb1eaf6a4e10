"""The exact envelope of one list along one direction, for lanes that the SIMD walk (lines.py) leaves in doubt."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Floats, Int32s, Int64s
from hulltune.kernels.load.kernel import part
from hulltune.kernels.scores.exact import NEAR, clip, compare_products
from hulltune.kernels.scores.segments import PLAIN, to_grid
from hulltune.kernels.simd.simd import LANES, MASKS, lane_of_masks, lowest_bit

Masks = NDArray[np.uint16]


class Ranked(NamedTuple):
    """A list in the order of its scores at the start of the search, best first."""

    begin: int
    n: int
    """The first hypothesis in the corpus, and the number of hypotheses."""
    order: Int64s
    heights: Floats
    """The hypothesis at each rank, counted from the first, and its score."""


class Records(NamedTuple):
    """The slopes at each rank in LANES directions, and the lanes (as bits) in which they are records: above all slopes
    before them, ahead of the start, or below them all, behind it. Masks are filled up to a multiple of MASKS.
    """

    slopes: Floats
    ahead: Masks
    behind: Masks


class ChainRoom(NamedTuple):
    """Room for the lines of two hulls: slope, height and rank of each."""

    xs: Floats
    ys: Floats
    ranks: Int64s


@part
def _chain(masks: Masks, slopes: Floats, ranked: Ranked, lane: int, base: int, step: int, room: ChainRoom) -> int:
    """Write the upper hull of rank 0 and the records of a lane, from place ``base`` on in the direction of ``step`` (1
    or −1); returns its last place.

    Each record is no higher than those before it, and further in the direction of ``step``. A line that is not strictly
    above the segment between its neighbours is dropped. Of the lines as high as rank 0 only the last is kept.
    """
    xs, ys, ranks, heights = room.xs, room.ys, room.ranks, ranked.heights
    sign = float(step)
    xs[base], ys[base], ranks[base] = slopes[lane], heights[0], 0
    top = base
    for word in range(0, ranked.n, MASKS):
        bits = lane_of_masks(masks, word, lane)
        while bits != 0:
            i = word + lowest_bit(bits)
            bits &= bits - 1
            x, y = slopes[i * LANES + lane], heights[i]
            while top != base:
                x0, y0 = xs[top - step], ys[top - step]
                fall, run, top_fall, top_run = y0 - y, sign * (x - x0), y0 - ys[top], sign * (xs[top] - x0)
                if compare_products(fall, top_run, top_fall, run) > 0:
                    break
                top -= step
            if top != base or ys[base] > y:
                top += step
            xs[top], ys[top], ranks[top] = x, y, i
    return top


@part
def _one_line_at_the_top(records: Records, lane: int, ranked: Ranked) -> bool:
    """Whether both hulls begin with the same line: no record is as high as rank 0."""
    i = 1
    while i < ranked.n and ranked.heights[i] == ranked.heights[0]:
        if (records.ahead[i] | records.behind[i]) >> lane & 1:
            return False
        i += 1
    return True


@part
def chain_segments(
    records: Records,
    ranked: Ranked,
    lane: int,
    shift: int,
    ends: tuple[float, float],
    room: ChainRoom,
    lefts: Floats,
    winners: Int32s,
) -> int:
    """Write the left end of each segment between the ends, and its hypothesis; returns the number of segments.

    Segments too thin for a double are left out, as in segments.write_segments. Slopes are in units that are 2^shift
    smaller than those of heights; there is room for twice as many lines as hypotheses. O(n).
    """
    xs, ys, (low_end, high_end) = room.xs, room.ys, ends
    middle = xs.size // 2
    # Both hulls grow from the middle, where they share their top unless several lines are as high.
    base = middle if _one_line_at_the_top(records, lane, ranked) else middle - 1
    first = _chain(records.behind, records.slopes, ranked, lane, base, -1, room)
    last = _chain(records.ahead, records.slopes, ranked, lane, middle, 1, room)
    low, high = to_grid(low_end, -shift, NEAR), to_grid(high_end, -shift, -NEAR)
    clipped = clip(xs[first:], ys[first:], last + 1 - first, low, high)
    first, last = first + clipped[0], first + clipped[1] - 1
    unit = math.ldexp(1.0, shift)
    plain = abs(shift) < PLAIN
    lefts[0], winners[0] = low_end, ranked.begin + ranked.order[room.ranks[first]]
    last_left = low_end
    count = 1
    for line in range(first + 1, last + 1):
        left = np.divide(ys[line - 1] - ys[line], xs[line] - xs[line - 1])
        left = left * unit if plain else math.ldexp(left, shift)
        if left >= high_end:
            break
        # A line that starts where the line before it starts leaves no double to that line, and replaces it.
        if left <= last_left:
            count -= 1
            left = lefts[count]
        lefts[count], winners[count] = left, ranked.begin + ranked.order[room.ranks[line]]
        last_left = left
        count += 1
    return count
