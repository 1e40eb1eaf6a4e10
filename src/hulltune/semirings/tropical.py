"""The score of the best derivation."""

from __future__ import annotations

import math
from typing import ClassVar

from hulltune.semirings.base import Semiring

TOLERANCE = 1e-12


class TropicalSemiring(Semiring[float]):
    """max as ⊕ and + as ⊗, over the finite doubles and −inf (costs to be minimised enter with a minus sign).

    Distributivity is exact for all doubles, because rounding is monotone. Associativity of ⊗ is exact on
    grid-snapped values; elsewhere it holds to 1e-12 relative to the largest term (``close`` allows 1e-12,
    relative or absolute).
    """

    name = "tropical"
    commutative = True
    idempotent = True
    kernel: ClassVar[str | None] = "tropical"

    @property
    def zero(self) -> float:
        """−inf: nothing scores worse."""
        return -math.inf

    @property
    def one(self) -> float:
        """0.0."""
        return 0.0

    def plus(self, a: float, b: float) -> float:
        """The larger."""
        return a if a >= b else b

    def times(self, a: float, b: float) -> float:
        """The sum."""
        return a + b

    def close(self, a: float, b: float) -> bool:
        """Equal to 1e-12, relative or absolute."""
        return math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
