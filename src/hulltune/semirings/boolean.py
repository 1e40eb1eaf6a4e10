"""The existence of a derivation."""

from __future__ import annotations

from typing import ClassVar

from hulltune.semirings.base import Semiring


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
