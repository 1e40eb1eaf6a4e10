"""The referee of exactness: envelopes in whole numbers, from the numbers as given, with no rounding anywhere.

A feature whose values in a sentence are all N / 10^p, for one p of at most 22 and whole numbers N below 10^15, means
these decimals. Any other feature means its doubles. Weights are doubles. All scores of a sentence are brought to a
common denominator, so that lines are pairs of Python's whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cmp_to_key
from typing import TypeAlias

from hulltune import Forest
from hulltune.data.forest import feature_vector
from hulltune.inference import inside
from hulltune.semirings.base import Semiring
from tests.oracles import Derivation, brute_force_envelope, derivations

Proof: TypeAlias = tuple[int, tuple["Proof", ...]]
"""An edge and the proofs of its tails: compared in order, the first derivation of equals is the least proof."""
Point: TypeAlias = tuple[int, int, Proof]
Chain: TypeAlias = tuple[Point, ...]
"""Lines of an upper envelope by increasing slope: slope, intercept, and the first derivation of the line."""
Segments: TypeAlias = list[tuple[float, Derivation]]
"""The left end of each segment, correctly rounded, and its winner."""


def meant(values: Sequence[float]) -> list[Fraction]:
    """The numbers that the values of one feature in one sentence stand for."""
    for places in range(23):
        wholes = [_whole(value, places) for value in values]
        if all(whole is not None for whole in wholes):
            return [Fraction(whole, 10**places) for whole in wholes if whole is not None]
    return [Fraction(value) for value in values]


def _whole(value: float, places: int) -> int | None:
    """N with value = N / 10^places, rounded to a double, and |N| < 10^15; None if there is none."""
    whole = round(Fraction(value) * 10**places)
    return whole if abs(whole) < 10**15 and float(Fraction(whole, 10**places)) == value else None


class ExactLines:
    """The lines of a forest's edges along many directions, in whole numbers; features are read once."""

    def __init__(self, forest: Forest) -> None:
        self.forest = forest
        columns = forest.features.toarray().astype(float).T.tolist()
        meanings = [meant(column) for column in columns]
        self.denominator = math.lcm(1, *(value.denominator for column in meanings for value in column))
        self.columns = [[int(value * self.denominator) for value in column] for column in meanings]

    def scores(self, weights: object) -> tuple[list[int], Fraction]:
        """The score of each edge in units of the fraction returned beside them."""
        vector = [Fraction(weight) for weight in feature_vector(weights, self.forest.feature_names, "weights").tolist()]
        common = math.lcm(1, *(weight.denominator for weight in vector))
        scores = [0] * self.forest.edges
        for weight, column in zip(vector, self.columns, strict=True):
            if weight:
                factor = int(weight * common)
                scores = [score + factor * value for score, value in zip(scores, column, strict=True)]
        return scores, Fraction(1, common * self.denominator)


def _compare(a: Point, b: Point) -> int:
    """Less by slope, then by falling intercept, then by the order of derivations."""
    if a[:2] != b[:2]:
        return -1 if (a[0], -a[1]) < (b[0], -b[1]) else 1
    return _compare_proofs(a[2], b[2])


def _compare_proofs(a: Proof, b: Proof) -> int:
    stack = [(a, b)]
    while stack:
        a, b = stack.pop()
        if a is b:
            continue
        if a[0] != b[0]:
            return -1 if a[0] < b[0] else 1
        stack += reversed(list(zip(a[1], b[1], strict=True)))
    return 0


def _chain(points: list[Point]) -> Chain:
    hull: list[Point] = []
    for point in sorted(points, key=cmp_to_key(_compare)):
        if hull and hull[-1][0] == point[0]:
            continue
        while len(hull) >= 2:
            (x0, y0, _), (x1, y1, _) = hull[-2:]
            if (y0 - point[1]) * (x1 - x0) > (y0 - y1) * (point[0] - x0):
                break
            hull.pop()
        hull.append(point)
    return tuple(hull)


class ExactHulls(Semiring[Chain]):
    """The convex hull semiring over whole numbers; every line keeps its first derivation."""

    name = "exact hulls"
    commutative = False
    idempotent = True

    @property
    def zero(self) -> Chain:
        return ()

    @property
    def one(self) -> Chain:
        return ((0, 0, (-1, ())),)

    def plus(self, a: Chain, b: Chain) -> Chain:
        return self.sum([a, b])

    def sum(self, values: object) -> Chain:
        points = [point for value in values for point in value]  # type: ignore[attr-defined]
        return _chain(points)

    def times(self, a: Chain, b: Chain) -> Chain:
        """The hull of the sums; a derivation of ``b`` becomes the next tail of one of ``a``."""
        if not a or not b:
            return ()
        i, j = 0, 0
        points = []
        while True:
            edge, tails = a[i][2]
            points.append((a[i][0] + b[j][0], a[i][1] + b[j][1], (edge, (*tails, b[j][2]))))
            if i + 1 == len(a) and j + 1 == len(b):
                return tuple(points)
            if j + 1 == len(b):
                order = -1
            elif i + 1 == len(a):
                order = 1
            else:
                left = (a[i][1] - a[i + 1][1]) * (b[j + 1][0] - b[j][0])
                right = (b[j][1] - b[j + 1][1]) * (a[i + 1][0] - a[i][0])
                order = (left > right) - (left < right)
            i += order <= 0
            j += order >= 0


def edges_of(proof: Proof) -> Derivation:
    """The edges of a proof in preorder."""
    found: list[int] = []
    stack = [proof]
    while stack:
        edge, tails = stack.pop()
        found.append(edge)
        stack += reversed(tails)
    return tuple(found)


def to_double(number: Fraction | float) -> float:
    """The nearest double; beyond the largest, infinity."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def visible(segments: list[tuple[Fraction | float, Derivation]], high: float = math.inf) -> Segments:
    """Segments with rounded left ends, without those that have no double between their ends."""
    found: Segments = []
    for left, winner in segments:
        start = to_double(left)
        if found and start >= high:
            break
        if found and start <= found[-1][0]:
            start = found.pop()[0]
        found.append((start, winner))
    return found


def exact_envelope(
    lines: ExactLines, origin: object, direction: object, low: float = -math.inf, high: float = math.inf
) -> Segments:
    """The envelope by the hull semiring over whole numbers."""
    intercepts, intercept_unit = lines.scores(origin)
    slopes, slope_unit = lines.scores(direction)
    pairs = zip(slopes, intercepts, strict=True)
    values = [((slope, intercept, (edge, ())),) for edge, (slope, intercept) in enumerate(pairs)]
    chain = inside(lines.forest, ExactHulls(), values, method="generic")[-1]
    segments: list[tuple[Fraction | float, Derivation]] = []
    for place, (slope, intercept, proof) in enumerate(chain):
        left: Fraction | float = low
        if place:
            before = chain[place - 1]
            left = Fraction(before[1] - intercept, slope - before[0]) * intercept_unit / slope_unit
            if left <= low:
                segments, left = [], low
            elif left >= high:
                break
        segments.append((left, edges_of(proof)))
    return visible(segments, high)


def enumerated_envelope(
    lines: ExactLines, origin: object, direction: object, low: float = -math.inf, high: float = math.inf
) -> Segments:
    """The envelope by enumeration of all derivations."""
    intercepts, intercept_unit = lines.scores(origin)
    slopes, slope_unit = lines.scores(direction)
    every = list(derivations(lines.forest))
    pairs = [(sum(slopes[e] for e in d) * slope_unit, sum(intercepts[e] for e in d) * intercept_unit) for d in every]
    return visible([(left, every[winner]) for left, winner in brute_force_envelope(pairs, low, high)], high)
