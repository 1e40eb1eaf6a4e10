"""The laws of a semiring, checked on samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import TypeVar

from hulltune.semirings.base import Semiring

T = TypeVar("T")

Instance = tuple[str, tuple[T, ...], T, T]
"""A law, the values that it is tried on, and its two sides."""


class AxiomError(AssertionError):
    """A law that does not hold. The message shows the law, the values and both sides; so do the attributes."""

    def __init__(self, semiring: object, law: str, values: tuple[object, ...], left: object, right: object) -> None:
        names = ", ".join(f"{name} = {value!r}" for name, value in zip("abc", values, strict=False))
        super().__init__(f"{semiring!r}: {law} fails for {names}: {left!r} is not {right!r}")
        self.law, self.values, self.left, self.right = law, values, left, right


def check_axioms(semiring: Semiring[T], samples: Iterable[T], *, equal: Callable[[T, T], bool] | None = None) -> None:
    """Raise AxiomError unless every law holds for all pairs and triples of the samples, O(n³) operations.

    zero and one are always among the samples. Commutativity of ⊗ and idempotence are checked where the
    semiring declares them. ``equal`` compares the two sides; by default it is the semiring's own ``close``:
    ==, or for some floating-point semirings a stated tolerance. ``sum`` and ``product`` must agree with ⊕ and
    ⊗.

    >>> from hulltune.semirings import Hull, HullSemiring, check_axioms
    >>> check_axioms(HullSemiring(), [Hull.from_lines([(1.0, 2.0)]), Hull.from_lines([(0.0, 1.0), (2.0, -1.0)])])
    """
    same = semiring.close if equal is None else equal
    values = [semiring.zero, semiring.one, *samples]
    for law, arguments, left, right in _instances(semiring, values):
        if not same(left, right):
            raise AxiomError(semiring, law, arguments, left, right)


def _instances(semiring: Semiring[T], values: Sequence[T]) -> Iterator[Instance[T]]:
    for a in values:
        yield from _laws_of_one(semiring, a)
    for a, b in product(values, repeat=2):
        yield from _laws_of_two(semiring, a, b)
    for a, b, c in product(values, repeat=3):
        yield from _laws_of_three(semiring, a, b, c)


def _laws_of_one(s: Semiring[T], a: T) -> Iterator[Instance[T]]:
    yield "zero ⊕ a = a", (a,), s.plus(s.zero, a), a
    yield "a ⊕ zero = a", (a,), s.plus(a, s.zero), a
    yield "one ⊗ a = a", (a,), s.times(s.one, a), a
    yield "a ⊗ one = a", (a,), s.times(a, s.one), a
    yield "zero ⊗ a = zero", (a,), s.times(s.zero, a), s.zero
    yield "a ⊗ zero = zero", (a,), s.times(a, s.zero), s.zero
    if s.idempotent:
        yield "a ⊕ a = a", (a,), s.plus(a, a), a


def _laws_of_two(s: Semiring[T], a: T, b: T) -> Iterator[Instance[T]]:
    yield "a ⊕ b = b ⊕ a", (a, b), s.plus(a, b), s.plus(b, a)
    if s.commutative:
        yield "a ⊗ b = b ⊗ a", (a, b), s.times(a, b), s.times(b, a)


def _laws_of_three(s: Semiring[T], a: T, b: T, c: T) -> Iterator[Instance[T]]:
    plus, times, three = s.plus, s.times, (a, b, c)
    a_plus_b, b_plus_c, a_times_b, a_times_c = plus(a, b), plus(b, c), times(a, b), times(a, c)
    yield "(a ⊕ b) ⊕ c = a ⊕ (b ⊕ c)", three, plus(a_plus_b, c), plus(a, b_plus_c)
    yield "(a ⊗ b) ⊗ c = a ⊗ (b ⊗ c)", three, times(a_times_b, c), times(a, times(b, c))
    yield "a ⊗ (b ⊕ c) = (a ⊗ b) ⊕ (a ⊗ c)", three, times(a, b_plus_c), plus(a_times_b, a_times_c)
    yield "(a ⊕ b) ⊗ c = (a ⊗ c) ⊕ (b ⊗ c)", three, times(a_plus_b, c), plus(a_times_c, times(b, c))
    yield "sum(a, b, c) = (a ⊕ b) ⊕ c", three, s.sum(three), plus(a_plus_b, c)
    yield "product(a, b, c) = (a ⊗ b) ⊗ c", three, s.product(three), times(a_times_b, c)
