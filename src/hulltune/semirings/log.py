"""Sums of products of numbers written as logarithms, so that they neither over- nor underflow."""

from __future__ import annotations

import math
from typing import ClassVar

from hulltune.semirings.scores import ScoreSemiring


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
