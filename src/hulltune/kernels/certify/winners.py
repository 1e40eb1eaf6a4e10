"""Loops of certified search: the candidates that may win in a box of weights, and the part of a box worth a search.

A box is ``low`` to ``high`` in each coordinate of the search.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from hulltune.arrays import Bools, FloatRows, Floats, Int32s, Int64s
from hulltune.kernels.load.kernel import kernel, part

MARGIN = 2.0**-46
"""The share of the largest score in a sentence by which a candidate must be beaten; rounding is many times less."""
TINY = 2.0**-1000  # least spread of rounded features: a difference that rounds to 0 may not be 0
RIVALS = 4
"""The number of candidates, best at the centre first, that are tried as those who beat the others."""

THINNEST = 2.0**-36
"""The least width of a box that is split, as a share of its coordinate: below, rounding would decide who wins."""

OFF_CENTRE = np.array([0.49382, 0.51317, 0.48921, 0.50763, 0.51618, 0.48377, 0.50219])
"""The point of a box at which scores are compared, in shares of its sides: near the middle, but away from round
numbers, where ties lie.
"""


class Contestants(NamedTuple):
    """The candidates of all sentences, a row for each."""

    features: FloatRows
    """Features over the coordinates of the search, of which there are few."""
    magnitudes: FloatRows
    """(sentences, coordinates): the largest sum of absolute terms, which limits how much scores round."""
    certain: Bools
    """For each sentence, whether every difference of two features has the sign that exact arithmetic gives it."""
    statistics: FloatRows
    """Whole multiples of a grid, so that all sums are exact."""
    classes: Int32s
    """Equal numbers for candidates of a sentence with equal statistics."""


class Undecided(NamedTuple):
    """The candidates that may win in each of some boxes, in the sentences where it matters which one does."""

    ends: Int64s
    """The sentences of box b have the places from ``ends[b]`` up to ``ends[b + 1]``."""
    sentences: Int32s
    """The sentence of each place."""
    offsets: Int64s
    """The candidates of a place are ``candidates`` from ``offsets[place]`` on, the best at the centre first."""
    candidates: Int32s
    bases: FloatRows
    """For each box, the summed statistics of all other sentences."""


@part
def _beaten(features: Floats, i: Any, j: Any, low: Floats, high: Floats, margin: float, exact: bool) -> bool:
    """Whether candidate j scores more than i everywhere inside the box.

    The largest value of s_i − s_j is a sum of one corner's terms. If none of them is positive, no margin is needed: the
    signs of products are exact, and i can at most tie, on the boundary of the box.
    """
    total = 0.0
    positive = False
    different = False
    for k in range(low.size):
        difference = features[i, k] - features[j, k]
        term = difference * (high[k] if difference > 0.0 else low[k])
        total += term
        positive = positive or term > 0.0
        different = different or (difference != 0.0 and low[k] < high[k]) or term < 0.0
    return total < -margin or (exact and different and not positive)


@part
def _survivors(
    features: Floats,
    candidates: Int32s,
    low: Floats,
    high: Floats,
    margin: float,
    exact: bool,
    scores: Floats,
    kept: Int32s,
) -> int:
    """Write the candidates that may win somewhere in the box, the best at the centre first; returns their number."""
    count = candidates.size
    best = 0
    for n in range(count):
        score = 0.0
        for k in range(low.size):
            score += features[candidates[n], k] * (low[k] + (high[k] - low[k]) * OFF_CENTRE[k % OFF_CENTRE.size])
        scores[n] = score
        if score > scores[best]:
            best = n
    winner = candidates[best]
    kept[0] = winner
    left = 1
    for n in range(count):
        if n != best and not _beaten(features, candidates[n], winner, low, high, margin, exact):
            scores[left - 1] = scores[n]  # left − 1 < n + 1, and scores[best] is not needed any more
            kept[left] = candidates[n]
            left += 1
    rival = 1
    while rival < left and rival < RIVALS and left > 2:
        best = rival
        for n in range(rival + 1, left):
            if scores[n - 1] > scores[best - 1]:
                best = n
        kept[rival], kept[best] = kept[best], kept[rival]
        scores[rival - 1], scores[best - 1] = scores[best - 1], scores[rival - 1]
        end = rival + 1
        for n in range(rival + 1, left):
            if not _beaten(features, kept[n], kept[rival], low, high, margin, exact):
                kept[end] = kept[n]
                scores[end - 1] = scores[n - 1]
                end += 1
        left = end
        rival += 1
    return left


@kernel
def possible_winners(
    features: FloatRows,
    magnitudes: FloatRows,
    exact: Bools,
    offsets: Int64s,
    listed: Int32s,
    lows: FloatRows,
    highs: FloatRows,
    depth: int,
) -> Bools:
    """Whether each listed candidate may win somewhere in the boxes, each of which is halved up to ``depth`` times.

    A box is done for a sentence once all candidates that may win in it are already known to be possible winners.
    """
    width = features.shape[1]
    possible = np.zeros(listed.size, np.bool_)
    longest = 1
    for s in range(offsets.size - 1):
        longest = max(longest, offsets[s + 1] - offsets[s])
    scores, kept = np.empty(longest + 1), np.empty(longest + 1, np.int32)
    # A stack of boxes with their candidates: at most one sibling waits at each depth.
    stack_low, stack_high = np.empty((depth + 2, width)), np.empty((depth + 2, width))
    stack_depth, stack_count = np.empty(depth + 2, np.int64), np.empty(depth + 2, np.int64)
    stack_kept = np.empty((depth + 2, longest), np.int32)
    low, high = np.empty(width), np.empty(width)
    is_possible = np.zeros(features.shape[0], np.bool_)
    for s in range(offsets.size - 1):
        here = listed[offsets[s] : offsets[s + 1]]
        for face in range(lows.shape[0]):
            top = 1
            stack_low[0], stack_high[0], stack_depth[0], stack_count[0] = lows[face], highs[face], 0, here.size
            stack_kept[0, : here.size] = here
            while top > 0:
                top -= 1
                low[:], high[:] = stack_low[top], stack_high[top]
                level = stack_depth[top]
                margin = 0.0
                for k in range(width):
                    margin += max(abs(low[k]), abs(high[k])) * MARGIN * magnitudes[s, k]
                count = _survivors(
                    features, stack_kept[top, : stack_count[top]], low, high, margin, exact[s], scores, kept
                )
                news = 0
                for n in range(count):
                    news += not is_possible[kept[n]]
                is_possible[kept[0]] = True  # it wins at the centre
                if news == 0 or (news == 1 and count == 1):
                    continue
                axis, widest = -1, 0.0
                for k in range(width):
                    smallest = largest = features[kept[0], k]
                    for n in range(1, count):
                        smallest = min(smallest, features[kept[n], k])
                        largest = max(largest, features[kept[n], k])
                    if (largest - smallest) * (high[k] - low[k]) > widest:
                        axis, widest = k, (largest - smallest) * (high[k] - low[k])
                if level == depth or axis < 0:
                    for n in range(count):
                        is_possible[kept[n]] = True
                    continue
                middle = 0.0 if low[axis] < 0.0 < high[axis] else low[axis] + (high[axis] - low[axis]) / 2.0
                for half in range(2):
                    stack_low[top], stack_high[top], stack_depth[top], stack_count[top] = low, high, level + 1, count
                    if half == 0:
                        stack_high[top, axis] = middle
                    else:
                        stack_low[top, axis] = middle
                    stack_kept[top, :count] = kept[:count]
                    top += 1
    for n in range(listed.size):
        possible[n] = is_possible[listed[n]]
    return possible


@part
def _extend(values: Floats, kept: Int32s, count: int, least: Floats, greatest: Floats) -> None:
    """Add the smallest and the largest value in each column of the kept rows."""
    for k in range(values.shape[1]):
        smallest = largest = values[kept[0], k]
        for n in range(1, count):
            smallest = min(smallest, values[kept[n], k])
            largest = max(largest, values[kept[n], k])
        least[k] += smallest
        greatest[k] += largest


@kernel
def branch(
    known: Contestants, parents: Undecided, numbers: Int64s, lows: FloatRows, highs: FloatRows
) -> tuple[Undecided, Floats, Floats, Floats, Floats]:
    """The candidates that are left in child boxes: child c is ``lows[c]`` to ``highs[c]`` within parent ``numbers[c]``.

    Returns them; the least and the greatest sum of each statistic; the statistics at the centre; and for each
    coordinate the spread of the candidates of a sentence in it, summed over sentences.
    """
    children, width, columns = lows.shape[0], lows.shape[1], known.statistics.shape[1]
    most_sentences, most_candidates, longest = 0, 0, 1
    for c in range(children):
        first, last = parents.ends[numbers[c]], parents.ends[numbers[c] + 1]
        most_sentences += last - first
        most_candidates += parents.offsets[last] - parents.offsets[first]
        for place in range(first, last):
            longest = max(longest, parents.offsets[place + 1] - parents.offsets[place])
    ends, sentences = np.zeros(children + 1, np.int64), np.empty(most_sentences, np.int32)
    offsets, candidates = np.zeros(most_sentences + 1, np.int64), np.empty(most_candidates, np.int32)
    bases, least = np.empty((children, columns)), np.zeros((children, columns))
    greatest, at = np.zeros((children, columns)), np.zeros((children, columns))
    spreads, lowest, highest = np.zeros((children, width)), np.empty(width), np.empty(width)
    scores, kept = np.empty(longest + 1), np.empty(longest + 1, np.int32)
    sizes = np.empty(width)
    places, total = 0, 0
    for c in range(children):
        parent = numbers[c]
        bases[c] = parents.bases[parent]
        low, high = lows[c], highs[c]
        for k in range(width):
            sizes[k] = max(abs(low[k]), abs(high[k])) * MARGIN
        for place in range(parents.ends[parent], parents.ends[parent + 1]):
            s = parents.sentences[place]
            margin = 0.0
            for k in range(width):
                margin += sizes[k] * known.magnitudes[s, k]
            listed = parents.candidates[parents.offsets[place] : parents.offsets[place + 1]]
            count = _survivors(known.features, listed, low, high, margin, known.certain[s], scores, kept)
            same = True
            for n in range(1, count):
                same = same and known.classes[kept[n]] == known.classes[kept[0]]
            if same:
                for k in range(columns):
                    bases[c, k] += known.statistics[kept[0], k]
                continue
            for k in range(columns):
                at[c, k] += known.statistics[kept[0], k]
            _extend(known.statistics, kept, count, least[c], greatest[c])
            lowest[:], highest[:] = 0.0, 0.0
            _extend(known.features, kept, count, lowest, highest)
            for k in range(width):
                spread = highest[k] - lowest[k]
                spreads[c, k] += spread if known.certain[s] else max(spread, TINY)
            candidates[total : total + count] = kept[:count]
            total += count
            sentences[places] = s
            places += 1
            offsets[places] = total
        ends[c + 1] = places
    left = Undecided(ends, sentences[:places], offsets[: places + 1], candidates[:total], bases)
    return left, least + bases, greatest + bases, at + bases, spreads


@part
def _contract_to(features: Floats, i: Any, j: Any, margin: float, low: Floats, high: Floats) -> bool:
    """Shrink the box to the part where candidate i may score at least as much as j; False if there is none."""
    total = 0.0
    for k in range(low.size):
        difference = features[i, k] - features[j, k]
        total += difference * (high[k] if difference > 0.0 else low[k])
    if total < -margin:
        return False
    for k in range(low.size):
        difference = features[i, k] - features[j, k]
        if difference > 0.0:
            # The other coordinates give at most total − difference · high: this one must give the rest.
            low[k] = max(low[k], min(high[k], high[k] - (total + margin) / difference))
        elif difference < 0.0:
            high[k] = min(high[k], max(low[k], low[k] - (total + margin) / difference))
    return True


@kernel
def contract(
    known: Contestants,
    left: Undecided,
    slopes: FloatRows,
    slacks: Floats,
    chosen: Int64s,
    lows: FloatRows,
    highs: FloatRows,
) -> Bools:
    """Shrink the ``chosen`` boxes to where slopes · x may be within a slack of its minimum; returns which are empty.

    There, no sentence alone may fall behind its best by more than the slack: one of its candidates that are good
    enough must win against all that are not. Each of these leaves a box within the box. The smallest box that contains
    them all is kept.
    """
    columns, width = known.statistics.shape[1], known.features.shape[1]
    empty = np.zeros(chosen.size, np.bool_)
    longest = 1
    for place in range(left.sentences.size):
        longest = max(longest, left.offsets[place + 1] - left.offsets[place])
    values = np.empty(longest)
    hull_low, hull_high = np.empty(width), np.empty(width)
    part_low, part_high = np.empty(width), np.empty(width)
    for c in range(chosen.size):
        box = chosen[c]
        low, high = lows[box], highs[box]
        for place in range(left.ends[box], left.ends[box + 1]):
            candidates = left.candidates[left.offsets[place] : left.offsets[place + 1]]
            least, worst = np.inf, -np.inf
            for n in range(candidates.size):
                value = 0.0
                for k in range(columns):
                    value += slopes[c, k] * known.statistics[candidates[n], k]
                values[n] = value
                least, worst = min(least, value), max(worst, value)
            enough = least + slacks[c]
            if not worst > enough:
                continue
            margin = 0.0
            for k in range(width):
                margin += max(abs(low[k]), abs(high[k])) * MARGIN * known.magnitudes[left.sentences[place], k]
            hull_low[:], hull_high[:] = np.inf, -np.inf
            for n in range(candidates.size):
                if values[n] > enough:
                    continue
                part_low[:], part_high[:] = low, high
                possible = True
                for m in range(candidates.size):
                    if possible and values[m] > enough:
                        possible = _contract_to(
                            known.features, candidates[n], candidates[m], margin, part_low, part_high
                        )
                if possible:
                    for k in range(width):
                        hull_low[k] = min(hull_low[k], part_low[k])
                        hull_high[k] = max(hull_high[k], part_high[k])
            if hull_low[0] > hull_high[0]:
                empty[c] = True
                break
            low[:], high[:] = hull_low, hull_high
    return empty


@part
def _middle(low: float, high: float) -> float:
    """The place to cut a range: 0, where many ties lie; the geometric middle of several magnitudes; or the middle."""
    if low < 0.0 < high:
        return 0.0
    least, most = min(abs(low), abs(high)), max(abs(low), abs(high))
    if most > 4.0 * max(least, 1.0):
        return math.copysign(math.sqrt(max(least, 1.0) * most), low + high)
    return low + (high - low) / 2.0


@kernel
def cut(lows: FloatRows, highs: FloatRows, spreads: FloatRows, hopes: FloatRows) -> tuple[Int64s, Floats, Floats]:
    """The parts of some boxes (see boxes.cut): the number of the box of each, and their ends.

    ``spreads`` and ``hopes`` have a row for each box, as it has them itself.
    """
    count, width = lows.shape
    most = count * max(2, 2 * width)
    numbers, part_lows, part_highs = np.empty(most, np.int64), np.empty((most, width)), np.empty((most, width))
    parts = 0
    for box in range(count):
        low, high = lows[box], highs[box]
        held = False  # whether candidates differ in a coordinate that the box does not leave free
        for k in range(width):
            held = held or (spreads[box, k] > 0.0 and not low[k] < high[k])
        if not held:
            for k in range(width):
                for end in range(2):
                    outward = low[k] < 0.0 if end == 0 else high[k] > 0.0
                    if spreads[box, k] > 0.0 and outward:
                        numbers[parts], part_lows[parts], part_highs[parts] = box, low, high
                        part_lows[parts, k] = part_highs[parts, k] = low[k] if end == 0 else high[k]
                        parts += 1
            continue
        axis, promise = -1, 0.0
        for by_hopes in (True, False):  # where nothing is hoped for, the longest side
            for k in range(width):
                side = high[k] - low[k]
                worth = hopes[box, k] if by_hopes else side * spreads[box, k]
                if side > THINNEST * max(abs(low[k]), abs(high[k])) and worth > promise:
                    axis, promise = k, worth
            if axis >= 0:
                break
        if axis < 0:
            continue
        middle = _middle(low[axis], high[axis])
        for half in range(2):
            numbers[parts], part_lows[parts], part_highs[parts] = box, low, high
            if half == 0:
                part_highs[parts, axis] = middle
            else:
                part_lows[parts, axis] = middle
            parts += 1
    return numbers[:parts], part_lows[:parts], part_highs[:parts]
