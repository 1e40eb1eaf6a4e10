"""The base class of semirings over scores."""

from __future__ import annotations

import math

from hulltune.semirings.base import Semiring

TOLERANCE = 1e-12


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
