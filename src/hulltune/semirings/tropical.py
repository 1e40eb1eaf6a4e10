"""The score of the best derivation."""

from __future__ import annotations

from typing import ClassVar

from hulltune.semirings.scores import ScoreSemiring


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
