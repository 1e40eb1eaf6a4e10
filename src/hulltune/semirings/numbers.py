"""Semirings of plain truth values and numbers: is there a derivation, how many, and their weight in all."""

from __future__ import annotations

import math
from typing import ClassVar

from hulltune.semirings.base import Semiring

TOLERANCE = 1e-12
"""Two sides of a law differ by a few roundings (2^-53 each) where no cancellation magnifies them."""


class BooleanSemiring(Semiring[bool]):
    """Or as ⊕, and as ⊗: whether some derivation has only true edges."""

    name = "boolean"
    commutative = True
    idempotent = True
    kernel: ClassVar[str | None] = "boolean"

    @property
    def zero(self) -> bool:
        """False."""
        return False

    @property
    def one(self) -> bool:
        """True."""
        return True

    def plus(self, a: bool, b: bool) -> bool:
        """Or."""
        return a or b

    def times(self, a: bool, b: bool) -> bool:
        """And."""
        return a and b


class CountingSemiring(Semiring[int]):
    """Sums and products of Python integers, exact at any size: with weight 1 per edge, the number of derivations."""

    name = "counting"
    commutative = True
    idempotent = False

    @property
    def zero(self) -> int:
        """0."""
        return 0

    @property
    def one(self) -> int:
        """1."""
        return 1

    def plus(self, a: int, b: int) -> int:
        """The sum."""
        return a + b

    def times(self, a: int, b: int) -> int:
        """The product."""
        return a * b


class RealSemiring(Semiring[float]):
    """Sum and product of finite doubles.

    The laws hold exactly where no operation rounds (small dyadic rationals), and to a relative 1e-12
    (``close``) for numbers ≥ 0 away from over- and underflow. Between numbers of both signs cancellation
    allows no relative bound.
    """

    name = "real"
    commutative = True
    idempotent = False
    kernel: ClassVar[str | None] = "real"

    @property
    def zero(self) -> float:
        """0.0."""
        return 0.0

    @property
    def one(self) -> float:
        """1.0."""
        return 1.0

    def plus(self, a: float, b: float) -> float:
        """The sum."""
        return a + b

    def times(self, a: float, b: float) -> float:
        """The product."""
        return a * b

    def close(self, a: float, b: float) -> bool:
        """Whether two numbers are equal to a relative 1e-12."""
        return math.isclose(a, b, rel_tol=TOLERANCE)
