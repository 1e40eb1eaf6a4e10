"""The best derivation and its score."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import total_ordering
from typing import Any

from hulltune.errors import InputError
from hulltune.semirings.base import Semiring


@total_ordering
@dataclass(frozen=True, slots=True)
class Derivation:
    """A score and the labels of a derivation, in the order in which ⊗ met them (top-down, left to right).

    Labels are whatever can be compared with each other, edge numbers for instance. Derivations are ordered
    best first: by falling score, then by length, then by their labels. The order of equal scores by length
    first (*shortlex*) is what keeps the laws: d < e implies a·d·b < a·e·b, which fails for the order of a
    dictionary, where (1) < (1, 2) but (1)·(3) > (1, 2)·(3).
    """

    score: float
    labels: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        if not self.score < math.inf:
            raise InputError(f"a derivation has score {self.score!r}, expected a finite number or -inf")
        if self.score == -math.inf:  # all impossible derivations are one value, without labels
            object.__setattr__(self, "labels", ())

    @property
    def rank(self) -> tuple[float, int, tuple[Any, ...]]:
        """The sort key: the smaller, the better."""
        return (-self.score, len(self.labels), self.labels)

    def __lt__(self, other: Derivation) -> bool:
        return self.rank < other.rank

    def then(self, other: Derivation) -> Derivation:
        """This derivation followed by the other: scores add, labels are joined, O(length)."""
        return Derivation(self.score + other.score, self.labels + other.labels)


_NONE = Derivation(-math.inf)
_EMPTY = Derivation(0.0)


class ViterbiSemiring(Semiring[Derivation]):
    """The better of two derivations as ⊕, one after the other as ⊗. Not commutative: labels keep their order.

    The laws are exact on grid-snapped scores. Elsewhere rounding can make two different sums equal; labels instead of
    scores then decide which derivation is better.
    """

    name = "viterbi"
    commutative = False
    idempotent = True

    @property
    def zero(self) -> Derivation:
        """Score −inf, no labels."""
        return _NONE

    @property
    def one(self) -> Derivation:
        """Score 0, no labels."""
        return _EMPTY

    def plus(self, a: Derivation, b: Derivation) -> Derivation:
        """The better one; of equal scores the shorter, then the one whose labels come first."""
        return min(a, b)

    def times(self, a: Derivation, b: Derivation) -> Derivation:
        """Both, one after the other."""
        return a.then(b)
