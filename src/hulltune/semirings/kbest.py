"""The k best derivations and their scores."""

from __future__ import annotations

import math
from collections.abc import Iterable
from heapq import heappop, heappush

from hulltune.errors import InputError
from hulltune.semirings.base import Semiring
from hulltune.semirings.viterbi import Derivation

Best = tuple[Derivation, ...]
"""Derivations, best first (see Derivation): at most k, no two with the same labels, none with score −inf."""


class KBestSemiring(Semiring[Best]):
    """The k best of both as ⊕, the k best of all pairs as ⊗. With k = 1 it is the Viterbi semiring.

    A value is a set of derivations of which only the k best are kept. Dropping the rest is safe: if k others beat a
    derivation, then k others still beat it after it is joined with any other, because the order respects joining and
    different derivations stay different. The laws are exact on grid-snapped scores. Not commutative.
    """

    name = "k-best"
    commutative = False
    idempotent = True

    def __init__(self, k: int) -> None:
        if k < 1:
            raise InputError(f"k is {k}, expected at least 1")
        self.k = k

    @property
    def zero(self) -> Best:
        """No derivation."""
        return ()

    @property
    def one(self) -> Best:
        """The empty derivation alone."""
        return (Derivation(0.0),)

    def value(self, derivations: Iterable[Derivation]) -> Best:
        """The canonical form: best first, cut to k, each sequence of labels once, with its best score."""
        best: dict[tuple[object, ...], Derivation] = {}
        for derivation in sorted(derivations):
            if derivation.score > -math.inf and len(best) < self.k:
                best.setdefault(derivation.labels, derivation)
        return tuple(best.values())

    def plus(self, a: Best, b: Best) -> Best:
        """The k best of both."""
        return self.value(a + b)

    def times(self, a: Best, b: Best) -> Best:
        """The k best pairs, found in order with a frontier (Huang & Chiang 2005).

        O(k log k) comparisons, unless pairs spell the same labels and have to be skipped."""
        if not a or not b:
            return ()
        best: dict[tuple[object, ...], Derivation] = {}
        frontier = [(a[0].then(b[0]), 0, 0)]
        while frontier and len(best) < self.k:
            derivation, i, j = heappop(frontier)
            best.setdefault(derivation.labels, derivation)
            if j + 1 < len(b):
                heappush(frontier, (a[i].then(b[j + 1]), i, j + 1))
            if j == 0 and i + 1 < len(a):  # each pair is reached once: down the first column, then along its row
                heappush(frontier, (a[i + 1].then(b[0]), i + 1, 0))
        return self.value(best.values())

    def sum(self, values: Iterable[Best]) -> Best:
        """The k best of all values, by one sort, O(n log n)."""
        return self.value(derivation for value in values for derivation in value)

    def __repr__(self) -> str:
        return f"KBestSemiring(k={self.k})"
