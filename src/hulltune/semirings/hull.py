"""The convex hull semiring: the envelope of all derivations, along a line through the weights.

Over a line w0 + η·v, a derivation with features H scores η·m + b, m = v·H and b = w0·H. Give every edge the
hull of its one line; the inside value of the root is then the upper envelope of all derivations (Dyer 2013).

The laws hold because a hull *is* a function of η, the maximum of its lines: ⊕ is the pointwise maximum, ⊗ the
pointwise sum. docs/theory.md has the proof. Over whole numbers and fractions they hold without any condition: there the
segments, winners and breakpoints of a forest are those on paper. It is slow and short, and what all faster code is
compared with.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Integral
from typing import Any, ClassVar

from hulltune.errors import InputError
from hulltune.geometry.hulls import (
    Chain,
    dual,
    edge_slopes,
    is_chain,
    is_finite,
    lower_hull,
    minkowski,
    minkowski_places,
    sum_of,
    support,
    union,
)
from hulltune.geometry.predicates import Number, Point
from hulltune.semirings.base import Semiring
from hulltune.semirings.hull_picture import envelope_picture

Labels = tuple[Any, ...]
"""The labels of a derivation: those of its factors, in the order of ⊗."""


@dataclass(frozen=True, slots=True)
class Hull:
    """A lower convex hull of points in the plane: the upper envelope of their dual lines.

    Canonical form, asserted: coordinates are finite, x strictly increases, and every three consecutive points
    make a strict left turn. So equal hulls compare and hash equal. Build one with ``from_points`` or
    ``from_lines``.

    ``a + b`` is a ⊕ b, the hull of the union, at most |a| + |b| points; ``a * b`` is a ⊗ b, the hull of the
    Minkowski sum, at most |a| + |b| − 1 points; both in linear time. Coordinates are exact numbers (int, Fraction), or
    doubles: then orientation tests are exact, and sums are where values are multiples of one unit, the grid of
    docs/theory.md; only there do the laws hold to the bit. ``sum`` works, and ``Hull.zero`` and ``Hull.one`` are the
    neutral elements. Iterating yields the lines that win, (slope, intercept) by slope.

    Lines may have labels, which tell *which* derivation wins: ⊗ joins them, ⊕ keeps those of the lines that stay (of
    equal lines, the first). They are no part of a hull's value: equal hulls may have different labels.

    >>> from hulltune.semirings import Hull
    >>> a, b = Hull.from_lines([(-1.0, 0.0), (1.0, 0.0)]), Hull.from_lines([(0.0, 2.0)])
    >>> (a + b), (a * b)
    (Hull(points=((-1.0, 0.0), (0.0, -2.0), (1.0, 0.0))), Hull(points=((-1.0, -2.0), (1.0, -2.0))))
    >>> Hull.from_lines([(-1, 0), (2, 1)]).breakpoints
    (Fraction(-1, 3),)
    >>> verb = Hull.from_lines({"recognise": (-2, -1), "wreck a nice": (-1, -3)})
    >>> (verb * Hull.from_lines({"speech": (-1, -1)})).labels
    (('recognise', 'speech'), ('wreck a nice', 'speech'))
    """

    points: Chain = ()
    """The vertices (m, −b) by increasing x: the dual points of the lines."""

    labels: tuple[Labels, ...] = field(default=(), compare=False, repr=False)
    """The labels of each line's derivation, in the order of ``lines``; () if there are none."""

    zero: ClassVar[Hull]
    """The empty hull: −∞ everywhere."""

    one: ClassVar[Hull]
    """The point (0, 0): 0 everywhere."""

    def __post_init__(self) -> None:
        assert is_chain(self.points), f"not a canonical lower hull: {self.points}; use Hull.from_points"
        assert len(self.labels) in (0, len(self.points)), f"{len(self.labels)} labels of {len(self.points)} points"

    @classmethod
    def from_points(cls, points: Iterable[Point]) -> Hull:
        """The lower hull of any finite points, exact if all coordinates are whole numbers or fractions, O(n log n)."""
        return cls(lower_hull(_finite(points)))

    @classmethod
    def from_lines(cls, lines: Iterable[Point] | Mapping[Any, Point]) -> Hull:
        """The upper envelope of lines (slope, intercept), in any order, or of {label: line}, O(n log n)."""
        if not isinstance(lines, Mapping):
            return cls(lower_hull(map(dual, _finite(lines))))
        points = list(map(dual, _finite(lines.values())))
        return _labelled(lower_hull(points), zip(points, ((label,) for label in lines), strict=True))

    @property
    def lines(self) -> tuple[Point, ...]:
        """The lines (slope, intercept) that win somewhere, by slope: the winners from η = −∞ to ∞."""
        return tuple(map(dual, self.points))

    @property
    def breakpoints(self) -> tuple[Number, ...]:
        """The points at which one line takes over from the line before it, one fewer than lines: fractions of exact
        numbers, and correctly rounded of doubles.
        """
        return tuple(edge_slopes(self.points))

    def winner(self, eta: Number) -> Point:
        """The highest line (slope, intercept) at η, ±inf included; at a breakpoint the steeper. O(log n)."""
        return dual(self.points[self._place(eta)])

    def winning_labels(self, eta: Number) -> Labels:
        """The labels of the derivation that wins at η, in the order of ⊗; () if it has none. O(log n)."""
        place = self._place(eta)
        return self.labels[place] if self.labels else ()

    def at(self, eta: Number) -> Number:
        """The value of the envelope at η, which is that of the winning line; −inf for the empty hull. O(log n)."""
        if not self.points:
            return -math.inf
        slope, intercept = self.winner(eta)
        return slope * eta + intercept if slope else intercept  # a level line at η = ±inf is not 0 · inf

    __call__ = at

    def _place(self, eta: Number) -> int:
        """The place of the line that wins at η."""
        if not self.points:
            raise InputError("the empty hull has no winner: there is no derivation")
        if math.isnan(eta):
            raise InputError("eta is NaN, expected a number or ±inf")
        return support(self.points, eta)

    def __add__(self, other: Hull) -> Hull:
        points = union(self.points, _checked(other).points)
        return _labelled(points, _with_labels((self, other)))

    def __radd__(self, other: int) -> Hull:
        return self if type(other) is int and other == 0 else self + _checked(other)  # ``sum`` begins with 0

    def __mul__(self, other: Hull) -> Hull:
        points = minkowski(self.points, _checked(other).points)
        if not (self.labels or other.labels):
            return Hull(points)
        pairs = list(_with_labels((self, other)))
        sums = ((pairs[i], pairs[len(self) + j]) for i, j in minkowski_places(self.points, other.points))
        return _labelled(points, ((sum_of(p, q), before + after) for (p, before), (q, after) in sums))

    def __rmul__(self, other: object) -> Hull:
        return self * _checked(other)

    def __iter__(self) -> Iterator[Point]:
        return iter(self.lines)

    def __len__(self) -> int:
        return len(self.points)

    def _repr_svg_(self) -> str:
        """The envelope as a picture, which notebooks show."""
        return envelope_picture(self.lines, [" ".join(map(str, each)) for each in self.labels])


Hull.zero, Hull.one = Hull(), Hull(((0, 0),))


class HullSemiring(Semiring[Hull]):
    """The hull of the union as ⊕, the hull of the Minkowski sum as ⊗; exact over exact numbers and values on a grid."""

    name = "hull"
    commutative = True
    idempotent = True
    kernel: ClassVar[str | None] = "hull"

    @property
    def zero(self) -> Hull:
        """The empty hull: −∞ everywhere."""
        return Hull.zero

    @property
    def one(self) -> Hull:
        """The point (0, 0): 0 everywhere."""
        return Hull.one

    def plus(self, a: Hull, b: Hull) -> Hull:
        """The hull of the union."""
        return a + b

    def times(self, a: Hull, b: Hull) -> Hull:
        """The hull of the Minkowski sum."""
        return a * b

    def sum(self, values: Iterable[Hull]) -> Hull:
        """The hull of the union of all, by one sort that finds the sorted runs, O(n log k) for k hulls."""
        values = list(values)
        return _labelled(lower_hull(point for value in values for point in value.points), _with_labels(values))


def _with_labels(hulls: Iterable[Hull]) -> Iterator[tuple[Point, Labels]]:
    """The points of hulls with their labels, which are () for a hull without; nothing if no hull has any."""
    hulls = list(hulls)
    if any(hull.labels for hull in hulls):
        for hull in hulls:
            yield from zip(hull.points, hull.labels or [()] * len(hull), strict=True)


def _labelled(points: Chain, labels: Iterable[tuple[Point, Labels]]) -> Hull:
    """The hull with these points, each with the first of its labels; without labels if there are none."""
    first: dict[Point, Labels] = {}
    for point, its_labels in labels:
        first.setdefault(point, its_labels)
    return Hull(points, tuple(first[point] for point in points) if first else ())


def _checked(other: object) -> Hull:
    """The other operand, which must be a hull."""
    if isinstance(other, Hull):
        return other
    raise InputError(
        f"{other!r} is no Hull: ⊕ (+) and ⊗ (*) take two hulls; a line is Hull.from_lines([(slope, intercept)]), "
        "and products begin with Hull.one, as in math.prod(hulls, start=Hull.one)"
    )


def _finite(pairs: Iterable[Point]) -> list[Point]:
    """The pairs as exact numbers if all are, else as floats (−0.0 as 0.0); or an error that names the first that is not
    finite.
    """
    pairs = list(pairs)
    if all(isinstance(number, (Integral, Fraction)) for pair in pairs for number in pair):
        return [(_plain(x), _plain(y)) for x, y in pairs]
    checked = [(float(x) + 0.0, float(y) + 0.0) for x, y in pairs]
    for number, pair in enumerate(checked):
        if not (is_finite(pair[0]) and is_finite(pair[1])):
            raise InputError(f"pair {number} is {pair}, expected two finite numbers")
    return checked


def _plain(number: Number) -> Number:
    """An exact number as Python's own: NumPy's overflow."""
    return number if isinstance(number, Fraction) else int(number)
