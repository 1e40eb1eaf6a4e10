"""Sums of products of numbers written as logarithms, so that they neither over- nor underflow."""

from __future__ import annotations

import math
from typing import ClassVar

from hulltune.semirings.base import Semiring

TOLERANCE = 1e-12


class LogSemiring(Semiring[float]):
    """log(exp a + exp b) as ⊕ and a + b as ⊗, over the finite doubles and −inf.

    ⊕ rounds a logarithm, so no grid makes the laws exact: they hold to 1e-12, relative or absolute
    (``close``), for values of magnitude up to 1e3.
    """

    name = "log"
    commutative = True
    idempotent = False
    kernel: ClassVar[str | None] = "log"

    @property
    def zero(self) -> float:
        """log 0."""
        return -math.inf

    @property
    def one(self) -> float:
        """log 1."""
        return 0.0

    def plus(self, a: float, b: float) -> float:
        """log(exp a + exp b), through the larger of the two."""
        high, low = (a, b) if a >= b else (b, a)
        if high == -math.inf:
            return high
        return high + math.log1p(math.exp(low - high))

    def times(self, a: float, b: float) -> float:
        """log(exp a · exp b)."""
        return a + b

    def close(self, a: float, b: float) -> bool:
        """Equal to 1e-12, relative or absolute."""
        return math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
