"""The convex hull semiring in full: convex polygons. Line search needs only their lower halves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hulltune.geometry.predicates import Point
from hulltune.semirings.base import Semiring
from hulltune.semirings.hull import Hull

_EMPTY = Hull()


@dataclass(frozen=True, slots=True)
class Polygon:
    """A convex polygon (or a segment, a point, nothing): its lower hull and the mirror image of its upper one.

    Mirroring in the x-axis commutes with unions and Minkowski sums, so ⊕ and ⊗ act on the halves separately,
    and the laws carry over from Hull. Canonical form, asserted: the halves span the same x and the lower is
    not above the upper. So equal polygons compare and hash equal. ``a + b`` is a ⊕ b, ``a * b`` is a ⊗ b,
    both in linear time.
    """

    lower: Hull = _EMPTY
    """The half that a maximising line search needs."""

    mirrored_upper: Hull = _EMPTY
    """The lower hull of the points (x, −y): the half that a minimising line search needs."""

    def __post_init__(self) -> None:
        lower, upper = self.lower.points, self.mirrored_upper.points
        assert bool(lower) == bool(upper), "one half of the polygon is empty; use Polygon.from_points"
        # lower(x) − upper(x) is convex, hence largest at an end.
        assert not lower or all(
            lower[end][0] == upper[end][0] and lower[end][1] <= -upper[end][1] for end in (0, -1)
        ), "the halves do not bound a polygon; use Polygon.from_points"

    @classmethod
    def from_points(cls, points: Iterable[Point]) -> Polygon:
        """The convex hull of any finite points, O(n log n)."""
        points = list(points)
        return cls(Hull.from_points(points), Hull.from_points((x, -y) for x, y in points))

    @property
    def vertices(self) -> tuple[Point, ...]:
        """The corners counter-clockwise from the lowest of the leftmost, each once."""
        upper = [(x, 0.0 - y) for x, y in reversed(self.mirrored_upper.points)]
        lower = self.lower.points
        return lower + tuple(point for point in upper if point not in (lower[0], lower[-1]))

    def __add__(self, other: Polygon) -> Polygon:
        return Polygon(self.lower + other.lower, self.mirrored_upper + other.mirrored_upper)

    def __mul__(self, other: Polygon) -> Polygon:
        return Polygon(self.lower * other.lower, self.mirrored_upper * other.mirrored_upper)


class PolygonSemiring(Semiring[Polygon]):
    """Convex hull of the union as ⊕, Minkowski sum as ⊗; exact on grid-snapped values."""

    name = "polygon"
    commutative = True
    idempotent = True

    @property
    def zero(self) -> Polygon:
        """The empty set."""
        return Polygon()

    @property
    def one(self) -> Polygon:
        """The point (0, 0)."""
        return Polygon.from_points([(0.0, 0.0)])

    def plus(self, a: Polygon, b: Polygon) -> Polygon:
        """The convex hull of the union."""
        return a + b

    def times(self, a: Polygon, b: Polygon) -> Polygon:
        """The Minkowski sum."""
        return a * b
