"""The definitions, in rational arithmetic and without any cleverness."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from hulltune.geometry.predicates import Point

RationalPoint = tuple[Fraction, Fraction]


def rational(point: Point) -> RationalPoint:
    return (Fraction(point[0]), Fraction(point[1]))


def cross(p: Point, q: Point, r: Point, s: Point) -> Fraction:
    (px, py), (qx, qy), (rx, ry), (sx, sy) = map(rational, (p, q, r, s))
    return (qx - px) * (sy - ry) - (qy - py) * (sx - rx)


def lower_hull_by_definition(points: Iterable[RationalPoint]) -> list[RationalPoint]:
    """The points with nothing at or below them: no lower point at the same x, no segment between two others. O(n³)."""
    distinct = sorted(set(points))
    return [
        p
        for p in distinct
        if not any(q[0] == p[0] and q[1] < p[1] for q in distinct)
        and not any(
            q[0] < p[0] < r[0] and q[1] + (p[0] - q[0]) * (r[1] - q[1]) / (r[0] - q[0]) <= p[1]
            for q in distinct
            for r in distinct
        )
    ]


def minkowski_by_definition(a: Iterable[Point], b: Iterable[Point]) -> list[RationalPoint]:
    right = [rational(q) for q in b]
    return lower_hull_by_definition((p[0] + q[0], p[1] + q[1]) for p in map(rational, a) for q in right)
