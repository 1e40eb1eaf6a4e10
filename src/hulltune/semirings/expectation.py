"""The total weight of all derivations, and weighted sums of quantities that they carry."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import NamedTuple

from hulltune.errors import InputError
from hulltune.semirings.base import Semiring

TOLERANCE = 1e-12


class Expectation(NamedTuple):
    """``total`` = Σ p(d) over derivations d, ``moments`` = Σ p(d)·r(d), one entry per quantity r."""

    total: float
    moments: tuple[float, ...]

    @property
    def means(self) -> tuple[float, ...]:
        """The expected value of each quantity under p normalised; NaN where the total is 0."""
        return tuple(moment / self.total if self.total else math.nan for moment in self.moments)


class ExpectationSemiring(Semiring[Expectation]):
    """First-order expectations (Li & Eisner 2009): quantities that add along a weighted derivation.

    The inside value of the root holds the total weight and the weighted sums of ``size`` quantities, over all
    derivations. The laws hold exactly where no operation rounds, and to a relative 1e-12 (``close``) for
    non-negative weights and quantities.
    """

    name = "expectation"
    commutative = True
    idempotent = False

    def __init__(self, size: int = 1) -> None:
        if size < 1:
            raise InputError(f"size is {size}, expected at least 1 quantity")
        self.size = size

    @property
    def zero(self) -> Expectation:
        """Total 0, all moments 0."""
        return Expectation(0.0, (0.0,) * self.size)

    @property
    def one(self) -> Expectation:
        """Total 1, all moments 0."""
        return Expectation(1.0, (0.0,) * self.size)

    def weight(self, p: float, quantities: Sequence[float]) -> Expectation:
        """The value of an edge of weight p that contributes these quantities: (p, p·r)."""
        if len(quantities) != self.size:
            raise InputError(f"got {len(quantities)} quantities, expected {self.size}, the size of the semiring")
        return Expectation(p, tuple(p * quantity for quantity in quantities))

    def plus(self, a: Expectation, b: Expectation) -> Expectation:
        """The sum of each component."""
        return Expectation(a.total + b.total, tuple(map(operator.add, a.moments, b.moments)))

    def times(self, a: Expectation, b: Expectation) -> Expectation:
        """The product rule: totals multiply, moments are a.total·b.moments + b.total·a.moments."""
        moments = tuple(a.total * q + b.total * p for p, q in zip(a.moments, b.moments, strict=True))
        return Expectation(a.total * b.total, moments)

    def close(self, a: Expectation, b: Expectation) -> bool:
        """Whether every component is equal to a relative 1e-12."""
        pairs = zip((a.total, *a.moments), (b.total, *b.moments), strict=True)
        return all(math.isclose(x, y, rel_tol=TOLERANCE) for x, y in pairs)

    def __repr__(self) -> str:
        return f"ExpectationSemiring(size={self.size})"
