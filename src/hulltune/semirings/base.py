"""The base class of semirings: ⊕ over alternatives and ⊗ along a derivation, with their neutral elements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import ClassVar, Generic, TypeVar

T = TypeVar("T")


class Semiring(ABC, Generic[T]):
    """A set of values of type T with ⊕ and ⊗ that satisfy, for all a, b, c:

    - ⊕ is associative and commutative, with neutral element ``zero``;
    - ⊗ is associative, with neutral element ``one``;
    - ⊗ distributes over ⊕ from the left and from the right;
    - ``zero`` annihilates: a ⊗ zero = zero ⊗ a = zero.

    Distributivity is what lets an algorithm over a packed forest sum over exponentially many derivations
    (Goodman 1999). ``check_axioms`` tests all of it. A semiring knows nothing of forests, and its values are
    immutable.
    """

    name: ClassVar[str]

    commutative: ClassVar[bool]
    """Whether a ⊗ b = b ⊗ a. Outside values need it: they multiply what lies around a node in another order."""

    idempotent: ClassVar[bool]
    """Whether a ⊕ a = a: finding the same alternative twice changes nothing (best score, but not a sum)."""

    kernel: ClassVar[str | None] = None
    """The name under which compiled inference for this semiring is registered, if there is any."""

    @property
    @abstractmethod
    def zero(self) -> T:
        """The value of no derivation at all."""

    @property
    @abstractmethod
    def one(self) -> T:
        """The value of the empty derivation."""

    @abstractmethod
    def plus(self, a: T, b: T) -> T:
        """a ⊕ b: either of two alternatives."""

    @abstractmethod
    def times(self, a: T, b: T) -> T:
        """a ⊗ b: one and then the other."""

    def sum(self, values: Iterable[T]) -> T:
        """((zero ⊕ v1) ⊕ v2) ⊕ …; a semiring with a quicker way to the same value overrides it."""
        total = self.zero
        for value in values:
            total = self.plus(total, value)
        return total

    def product(self, values: Iterable[T]) -> T:
        """((one ⊗ v1) ⊗ v2) ⊗ …"""
        total = self.one
        for value in values:
            total = self.times(total, value)
        return total

    def close(self, a: T, b: T) -> bool:
        """Whether a and b count as equal when laws are checked: exact, unless a semiring states its rounding."""
        return a == b

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"
