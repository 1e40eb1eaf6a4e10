"""Semirings over scores, which add along a derivation: the best one, and the sum of all in logarithms."""

from __future__ import annotations

import math
from typing import ClassVar

from hulltune.semirings.base import Semiring
from hulltune.semirings.numbers import TOLERANCE


class ScoreSemiring(Semiring[float]):
    """+ as ⊗, over the finite doubles and −inf: scores that add along a derivation, such as logarithms."""

    commutative = True

    @property
    def zero(self) -> float:
        """−inf, the logarithm of 0: nothing scores worse."""
        return -math.inf

    @property
    def one(self) -> float:
        """0.0, the logarithm of 1."""
        return 0.0

    def times(self, a: float, b: float) -> float:
        """The sum."""
        return a + b

    def close(self, a: float, b: float) -> bool:
        """Whether two scores are equal to 1e-12, relative or absolute."""
        return math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


class TropicalSemiring(ScoreSemiring):
    """max as ⊕ and + as ⊗, over the finite doubles and −inf (costs to be minimised enter with a minus sign).

    Distributivity is exact for all doubles, because rounding is monotone. Associativity of ⊗ is exact on
    grid-snapped values; elsewhere it holds to 1e-12 relative to the largest term (``close`` allows 1e-12,
    relative or absolute).
    """

    name = "tropical"
    idempotent = True
    kernel: ClassVar[str | None] = "tropical"

    def plus(self, a: float, b: float) -> float:
        """The larger."""
        return a if a >= b else b


class LogSemiring(ScoreSemiring):
    """log(exp a + exp b) as ⊕ and a + b as ⊗, over the finite doubles and −inf.

    ⊕ rounds a logarithm, so no grid makes the laws exact: they hold to 1e-12, relative or absolute
    (``close``), for values of magnitude up to 1e3.
    """

    name = "log"
    idempotent = False
    kernel: ClassVar[str | None] = "log"

    def plus(self, a: float, b: float) -> float:
        """log(exp a + exp b), through the larger of the two."""
        high, low = (a, b) if a >= b else (b, a)
        if high == -math.inf:
            return high
        return high + math.log1p(math.exp(low - high))
