"""The sign of the turn between two vectors, computed exactly: all geometry here rests on it.

A wrong sign is not a small error: it drops a winner from an envelope or keeps a loser. Whole numbers and fractions do
not round. For doubles the sign is computed in plain arithmetic first, with a bound on the rounding error. Where that
does not settle it (nearly or exactly parallel vectors, products that over- or underflow), it is computed again in
fractions.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, TypeAlias

Number: TypeAlias = Any
"""A double, or an exact number: an int or a Fraction. (Type checkers know no sums of a float and a Fraction.)"""
Point: TypeAlias = tuple[Number, Number]

_RELATIVE_ERROR = 4.0 * 2.0**-53
"""With u = 2^-53, the roundings of the differences, the products and the last subtraction amount to at most
(3 + 16u)u times the sum of the products' magnitudes (Shewchuk 1997); 4u leaves room for rounding the bound itself."""

_NO_UNDERFLOW = 2.0**-900
"""Products that sum to more than this have lost at most 2^-1074 to underflow, far below u times their sum."""


def turn(p: Point, q: Point, r: Point, s: Point) -> int:
    """The sign of the cross product (q − p) × (s − r): 1 when it turns left, −1 right, 0 parallel. Exact.

    For vectors that point to the right (growing x), 1 says that s − r is steeper than q − p. Any finite doubles are
    allowed, also where differences or products leave their range, or any exact numbers, but not both at once (whole
    numbers up to 2^53 are doubles, too). O(1).
    """
    left = (q[0] - p[0]) * (s[1] - r[1])
    right = (q[1] - p[1]) * (s[0] - r[0])
    difference = left - right
    if not isinstance(difference, float):
        return int(difference > 0) - int(difference < 0)
    size = abs(left) + abs(right)
    # An overflow makes size infinite or NaN, and the comparisons false.
    if size > _NO_UNDERFLOW and _RELATIVE_ERROR * size < abs(difference):
        return 1 if difference > 0 else -1
    return _exact_turn(p, q, r, s)


def orientation(p: Point, q: Point, r: Point) -> int:
    """The turn of p, q, r: 1 for left (counter-clockwise), −1 for right, 0 for collinear. Exact."""
    return turn(p, q, p, r)


def _exact_turn(p: Point, q: Point, r: Point, s: Point) -> int:
    left = (Fraction(q[0]) - Fraction(p[0])) * (Fraction(s[1]) - Fraction(r[1]))
    right = (Fraction(q[1]) - Fraction(p[1])) * (Fraction(s[0]) - Fraction(r[0]))
    return (left > right) - (left < right)
