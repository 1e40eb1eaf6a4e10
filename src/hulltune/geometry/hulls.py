"""Lower convex hulls of points in the plane: union, Minkowski sum, and the dual envelope of lines.

A *chain* is a lower hull in canonical form: x strictly increases and every three consecutive points make a
strict left turn. So no point is repeated, none lies on a segment between others, and of points above each
other only the lowest remains. Equal hulls have equal chains. The line η·m + b is dual to the point (m, −b):
the lower hull of the points is the upper envelope of the lines, and the slopes of the hull's edges are the
envelope's breakpoints.

Coordinates are doubles, or exact numbers (int, Fraction), of which everything here is exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from heapq import merge
from itertools import pairwise

from hulltune.errors import InputError
from hulltune.geometry.predicates import Number, Point, orientation, turn

Chain = tuple[Point, ...]


def is_chain(points: Sequence[Point]) -> bool:
    """Whether the points are finite, of one kind of numbers, and a lower hull in canonical form, O(n)."""
    return (
        all(is_finite(x) and is_finite(y) for x, y in points)
        and (are_exact(points) or are_doubles(points))
        and all(p[0] < q[0] for p, q in pairwise(points))
        and all(orientation(p, q, r) > 0 for p, q, r in zip(points, points[1:], points[2:], strict=False))
    )


def lower_hull(points: Iterable[Point]) -> Chain:
    """The lower hull of finite points in any order, O(n log n) (Andrew 1979)."""
    return _monotone_chain(sorted(points))


def union(a: Chain, b: Chain) -> Chain:
    """The lower hull of all points of both, by one merge, O(|a| + |b|). At most |a| + |b| points."""
    return _monotone_chain(merge(a, b))


def minkowski(a: Chain, b: Chain) -> Chain:
    """The lower hull of {p + q}: merge the two edge sequences by slope, O(|a| + |b|).

    The result has at most |a| + |b| − 1 points. Where sums of coordinates are exact (of exact numbers, or of
    multiples of one unit) so is the result; elsewhere each coordinate is rounded once, and a point that rounding has
    moved off the hull is dropped.
    """
    return _monotone_chain(sum_of(a[i], b[j]) for i, j in minkowski_places(a, b))


def minkowski_places(a: Chain, b: Chain) -> Iterator[tuple[int, int]]:
    """The places (i, j) of the points whose sums a[i] + b[j] are the vertices of the Minkowski sum, from left to right;
    edges of equal slope become one. O(|a| + |b|).
    """
    if not (a and b):
        return
    i, j = 0, 0
    yield i, j
    while i + 1 < len(a) or j + 1 < len(b):
        if j + 1 == len(b):
            steeper = 1
        elif i + 1 == len(a):
            steeper = -1
        else:
            steeper = turn(a[i], a[i + 1], b[j], b[j + 1])
        i += steeper >= 0
        j += steeper <= 0
        yield i, j


def sum_of(p: Point, q: Point) -> Point:
    """The sum of two points; one that is beyond the range of doubles is an error."""
    x, y = p[0] + q[0], p[1] + q[1]
    if not (is_finite(x) and is_finite(y)):
        raise InputError(f"the sum of the points {p} and {q} is beyond the range of doubles: scale the values down")
    return (x, y)


def support(chain: Chain, eta: Number) -> int:
    """The index of the point with the largest η·x − y; at a breakpoint, the right one. O(log n), exact.

    At η = ±inf the last and the first point win: the extreme slope (and of equal slopes the best intercept,
    the only one that a chain keeps).
    """
    if eta in (math.inf, -math.inf):
        return len(chain) - 1 if eta > 0 else 0
    low, high = 0, len(chain) - 1
    eta = Fraction(eta)
    while low < high:
        middle = (low + high) // 2
        (x, y), (next_x, next_y) = chain[middle], chain[middle + 1]
        # The edge from middle to middle + 1 rises by at most η: the right end is at least as good.
        if Fraction(next_y) - Fraction(y) <= eta * (Fraction(next_x) - Fraction(x)):
            low = middle + 1
        else:
            high = middle
    return low


def edge_slopes(chain: Chain) -> list[Number]:
    """The slopes of the hull's edges, which are the breakpoints of the envelope, in order: of exact numbers as
    fractions, of doubles correctly rounded. O(n).

    The exact slopes strictly increase. Two slopes closer than doubles can tell round to the same double; a slope
    beyond their range rounds to ±inf.
    """
    return [_slope(p, q) for p, q in pairwise(chain)]


def dual(pair: Point) -> Point:
    """The dual point (m, −b) of the line η·m + b, and back: the map is its own inverse. −0.0 becomes 0.0."""
    return (pair[0] + 0, 0 - pair[1])


def are_exact(points: Iterable[Point]) -> bool:
    """Whether all coordinates are exact numbers."""
    return not any(isinstance(coordinate, float) for point in points for coordinate in point)


def are_doubles(points: Iterable[Point]) -> bool:
    """Whether all coordinates are doubles, or whole numbers that doubles hold."""
    return all(
        isinstance(coordinate, float) or (isinstance(coordinate, int) and abs(coordinate) <= 2**53)
        for point in points
        for coordinate in point
    )


def is_finite(number: Number) -> bool:
    """Whether a number is neither infinite nor NaN; fractions may be larger than any double."""
    return not isinstance(number, float) or math.isfinite(number)


def rounded(number: Number) -> float:
    """The double nearest to a number: ±inf beyond the largest."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def upper_envelope(lines: Iterable[Point]) -> tuple[list[Point], list[Number]]:
    """The lines (slope, intercept) that win somewhere, by slope, and their breakpoints, O(n log n)."""
    chain = lower_hull(map(dual, lines))
    return [dual(point) for point in chain], edge_slopes(chain)


def _monotone_chain(ordered: Iterable[Point]) -> Chain:
    """The lower hull of points in lexicographic order, O(n): each is pushed and popped at most once."""
    hull: list[Point] = []
    for point in ordered:
        if hull and hull[-1][0] == point[0]:
            if hull[-1][1] <= point[1]:
                continue
            hull.pop()
        while len(hull) >= 2 and orientation(hull[-2], hull[-1], point) <= 0:
            hull.pop()
        hull.append(point)
    return tuple(hull)


def _slope(p: Point, q: Point) -> Number:
    rise = Fraction(q[1]) - Fraction(p[1])
    slope = rise / (Fraction(q[0]) - Fraction(p[0]))
    return slope if are_exact((p, q)) else rounded(slope)
