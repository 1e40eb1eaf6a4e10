"""Exact envelopes from those of the grid: what lies within the rounding bound is judged again, in whole numbers.

Grid scores differ from exact scores by at most a bound B (rounding.py). If a derivation beats the grid's winner inside
a segment, it does so at an end of the segment, where the grid has it at most 2B below. So the derivations of the exact
envelope are among those within 2B of the best at a breakpoint of the grid's envelope or at an end of the interval. If
at every breakpoint only the two neighbours are within 4B, the grid's lines are the exact ones (docs/theory.md has the
proof).

Near ties are collected in lists here, in forests by near_ties.py. Mostly they have the vectors of features
(exact_features.py) of the two neighbours. Where other lines are left, lines and their crossings are compared exactly
(wholes.py). Breakpoints are quotients of pairs of doubles (pairs.py), and of whole numbers where these do not settle
the last bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hulltune.arrays import Floats, Int32s, Int64s
from hulltune.kernels.forests.lanes import crossing_point
from hulltune.kernels.judging.exact_features import DOUBLES, ExactFeatures, add_edge, value_at
from hulltune.kernels.judging.pairs import pair_coefficients, pair_quotient, pair_sum
from hulltune.kernels.judging.wholes import coefficients, evaluate, exact_hull, quotient, subtract_numbers
from hulltune.kernels.load.jit import borrowing, inlined, kernel
from hulltune.kernels.scores.exact import FAR
from hulltune.kernels.simd.simd import LANES, at_least, load_at, lowest_bit, mask_bits, multiply, splat, subtract


class Scores(NamedTuple):
    """Grid scores of the edges of a sentence along a line, and the bounds on their rounding over a derivation."""

    slopes: Floats
    intercepts: Floats
    slope_bound: float
    intercept_bound: float


class Exact(NamedTuple):
    """A sentence's features as vectors of digits, and the weights of a line: what exact scores are made of."""

    features: ExactFeatures
    sentence: int
    base: int
    """The sentence's first edge in the corpus."""
    first: Int64s
    digits: int
    width: int
    """The first digits of the features, the number of all digits, and the bits of each."""
    weights: Floats
    fractions: Floats
    exponents: Int64s
    """Weights, the origin and then the directions, and what pairs.split_rows makes of them."""
    direction: int
    """The row of the direction."""


class Found(NamedTuple):
    """Room for lines that may be on an exact envelope: the places of their derivations, their vectors of features, and
    the number of the grid's line beside which each was found. First come the lines of the grid.
    """

    places: Int64s
    vectors: Int64s
    beside: Int64s
    order: Int64s
    """The lines of the exact envelope by increasing slope."""
    lefts: Floats
    """The breakpoint before each, correctly rounded; nothing for the first."""
    pairs: Floats
    """Room for the values of digits (pairs.py) along the direction, in rows 0 and 1, and at the origin."""


@kernel
def found_room(lines: int, digits: int) -> Found:
    """Room for so many lines, whose vectors have so many digits."""
    return Found(
        np.empty(lines, np.int64), np.empty((lines, digits), np.int64), np.empty(lines, np.int64),
        np.empty(lines, np.int64), np.empty(lines), np.empty((4, digits)),
    )  # fmt: skip


@inlined
def tolerance(scores: Scores, p: float, q: float) -> float:
    """4B at the point p/q, in units in which scores are slope · p + intercept · q, with room for rounded products.

    Far out all lines within the tolerance by their slopes are near ties, whatever their intercepts: these differ by at
    most FAR / 2. Slopes that are exact need no such room.
    """
    if abs(p) == FAR:
        if scores.slope_bound == 0.0:
            return 4.0 * scores.intercept_bound
        return FAR * (4.0 * scores.slope_bound + 0.5) + 4.0 * scores.intercept_bound
    return abs(p) * (4.0 * scores.slope_bound + 1.0) + q * (4.0 * scores.intercept_bound + 1.0)


@borrowing
def end_scores(grid: Scores, exact: Exact, longest: float, room: Floats) -> Scores:
    """The scores to compare derivations by at infinity: along one decimal feature slopes are whole numbers, so that
    equal slopes are told from all but equal ones. Many derivations may share an extreme slope, such as 0.

    Slopes that differ must differ by more than the grid's rounding, which has them in order then: their sums are below
    2^50 units of the grid, of which a whole number has 4B and more.
    """
    features, direction = exact.features, exact.weights[exact.direction]
    only = -1
    for i in range(features.used_offsets[exact.sentence], features.used_offsets[exact.sentence + 1]):
        if direction[features.used[i]] != 0.0:
            if only >= 0:
                return grid
            only = i
    if grid.slope_bound == 0.0 or only < 0 or features.length == 0 or features.places[only] == DOUBLES:
        return grid
    size, column = grid.slopes.size, features.used[only] * features.length + exact.base
    sign = 1.0 if direction[features.used[only]] > 0.0 else -1.0
    for e in range(size):
        room[e] = np.rint(value_at(features, column + e) * features.scales[only]) * sign
        if abs(room[e]) * longest * (4.0 * grid.slope_bound + 1.0) >= 2.0**50:
            return grid
    return Scores(room[:size], grid.intercepts, 0.0, grid.intercept_bound)


@inlined
def are_equal(a: Int64s, a_row: int, b: Int64s, b_row: int, digits: int) -> bool:
    """Whether two vectors are equal."""
    one, other = a[a_row], b[b_row]
    equal = True
    for j in range(digits):
        if one[j] != other[j]:
            equal = False
            break
    return equal


@inlined
def set_to_edge(exact: Exact, edge: int, vectors: Int64s, row: int) -> None:
    """Write the features of an edge, numbered in its sentence, as a row of vectors."""
    vector = vectors[row]
    for j in range(exact.digits):
        vector[j] = 0
    add_edge(exact.features, exact.sentence, exact.base + edge, exact.first, exact.width, 1, vectors, row)


@borrowing
def near_ties_of_list(
    scores: Scores, ends: Scores, exact: Exact, low: float, high: float,
    line_slopes: Floats, line_intercepts: Floats, winners: Int64s, begin: int, end: int,
    found: Found, met: Int64s, mark: int,
) -> int:  # fmt: skip
    """Write the hypotheses that may be on the exact envelope: those of the grid's lines ``begin:end``, then near ties,
    each once; returns their number. ``met`` gets ``mark``, which it has not held before, for near ties.

    A line of the grid that is a near tie of two others is written again: then the grid's lines need not be the exact
    ones.

    ``ends`` are the scores to compare hypotheses by at infinite ends of the interval.
    """
    count, size = end - begin, scores.slopes.size
    for line in range(count):
        hypothesis = winners[begin + line]
        found.places[line], found.beside[line] = hypothesis, line
        set_to_edge(exact, hypothesis, found.vectors, line)
    total = count
    for line in range(count + 1):
        p, q = low if line == 0 else high, 1.0
        at, before = begin + min(line, count - 1), begin + max(line - 1, 0)
        if 0 < line < count:
            p, q = crossing_point(line_slopes[before], line_intercepts[before], line_slopes[at], line_intercepts[at])
        here = ends if abs(p) == FAR else scores
        slope, intercept = here.slopes[winners[at]], here.intercepts[winners[at]]
        allowed = tolerance(here, p, q)
        p_lanes, q_lanes, allowed_lanes = splat(p), splat(q), splat(allowed)
        slope_lanes, intercept_lanes = splat(slope), splat(intercept)
        start = 0
        while start < size:
            bits = np.int64(0)
            if size < LANES:
                for e in range(size):
                    if q * (intercept - here.intercepts[e]) - p * (here.slopes[e] - slope) <= allowed:
                        bits |= np.int64(1) << e
            else:
                start = min(start, size - LANES)
                fall = multiply(q_lanes, subtract(intercept_lanes, load_at(here.intercepts, start)))
                rise = multiply(p_lanes, subtract(load_at(here.slopes, start), slope_lanes))
                bits = mask_bits(at_least(allowed_lanes, subtract(fall, rise)))
            while bits:
                e = start + lowest_bit(bits)
                bits &= bits - 1
                if e not in (winners[at], winners[before]) and met[e] != mark:
                    met[e] = mark
                    total += _add_hypothesis(exact, e, at - begin, before - begin, found, total)
            start += LANES
    return total


@borrowing
def _add_hypothesis(exact: Exact, hypothesis: int, at: int, before: int, found: Found, total: int) -> int:
    """Add a near tie of two of the grid's lines, unless it has the vector of one: returns the number of lines added.

    Of hypotheses with one vector the first stays.
    """
    set_to_edge(exact, hypothesis, found.vectors, total)
    for line in (at, before):
        if are_equal(found.vectors, total, found.vectors, line, exact.digits):
            found.places[line] = min(found.places[line], hypothesis)
            return 0
    found.places[total], found.beside[total] = hypothesis, at
    return 1


@borrowing
def exact_lines(exact: Exact, found: Found, lines: int, count: int, edges: Int32s) -> int:
    """Find the exact envelope of the first ``count`` lines, of which the first ``lines`` are those of the grid; returns
    the number of its lines. Places are those of derivations in ``edges``, which is empty for a list.
    """
    for i in range(count):
        found.order[i] = i
    if count == 1 or (count == lines and _breakpoints(exact, found, count)):
        return count
    return exact_envelope(exact, found, count, edges)


@borrowing
def _breakpoints(exact: Exact, found: Found, count: int) -> bool:
    """Find the breakpoints between lines that are known to be in order, by pairs of doubles; False if these do not
    settle the last bit of all.
    """
    features, sentence, first, width = exact.features, exact.sentence, exact.first, exact.width
    slope_exponent = pair_coefficients(
        features, sentence, first, width, exact.fractions[exact.direction], exact.exponents[exact.direction],
        found.pairs, 0,
    )  # fmt: skip
    intercept_exponent = pair_coefficients(
        features, sentence, first, width, exact.fractions[0], exact.exponents[0], found.pairs, 2
    )
    for line in range(1, count):
        n_high, n_low, n_error = pair_sum(found.pairs, 2, found.vectors, line - 1, line, exact.digits)
        d_high, d_low, d_error = pair_sum(found.pairs, 0, found.vectors, line, line - 1, exact.digits)
        sure, found.lefts[line] = pair_quotient(
            n_high, n_low, n_error, d_high, d_low, d_error, intercept_exponent - slope_exponent
        )
        if not sure:
            return False
    return True


@kernel
def exact_values(exact: Exact, vectors: Int64s, rows: Int64s) -> tuple[Int64s, Int64s, int]:
    """The exact slopes and intercepts of some vectors, in limbs, and the exponent of a quotient of the two."""
    features, sentence, first, width = exact.features, exact.sentence, exact.first, exact.width
    slope_table, slope_exponent = coefficients(features, sentence, first, width, exact.weights[exact.direction])
    intercept_table, intercept_exponent = coefficients(features, sentence, first, width, exact.weights[0])
    limbs = max(slope_table.shape[1], intercept_table.shape[1])
    slopes, intercepts = np.empty((rows.size, limbs), np.int64), np.empty((rows.size, limbs), np.int64)
    for i in range(rows.size):
        evaluate(slope_table, vectors, rows[i], slopes, i)
        evaluate(intercept_table, vectors, rows[i], intercepts, i)
    return slopes, intercepts, intercept_exponent - slope_exponent


@kernel
def exact_envelope(exact: Exact, found: Found, count: int, edges: Int32s) -> int:
    """Find the exact envelope of the first ``count`` lines in whole numbers; returns the number of its lines."""
    slopes, intercepts, shift = exact_values(exact, found.vectors, np.arange(count))
    order = np.argsort(found.beside[:count], kind="mergesort")
    kept = exact_hull(slopes, intercepts, count, edges, found.places, order)
    work = np.empty((2, slopes.shape[1]), np.int64)
    found.order[0] = order[0]
    for i in range(1, kept):
        subtract_numbers(intercepts, order[i - 1], order[i], work, 0)
        subtract_numbers(slopes, order[i], order[i - 1], work, 1)
        found.order[i], found.lefts[i] = order[i], quotient(work, 0, work, 1, shift)
    return kept
