"""Every semiring, on samples that try to break it. Hulls and polygons have a file of their own."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune import semirings
from hulltune.semirings import (
    AxiomError,
    BooleanSemiring,
    CountingSemiring,
    Derivation,
    Expectation,
    ExpectationSemiring,
    HullSemiring,
    KBestSemiring,
    LogSemiring,
    PolygonSemiring,
    RealSemiring,
    Semiring,
    TropicalSemiring,
    ViterbiSemiring,
    check_axioms,
)

dyadic = st.integers(-1024, 1024).map(lambda n: n / 32)
"""Products of three of these, and sums of such products, are exact."""
grid = st.integers(-(2**50), 2**50).map(lambda n: n * 2.0**-40)
few = st.integers(-1, 1).map(float)
derivations = st.builds(
    Derivation,
    few | grid | st.just(-math.inf),
    st.lists(st.integers(0, 1), max_size=3).map(tuple),
)
positive = st.floats(1e-50, 1e50)


@dataclass(frozen=True)
class Case:
    semiring: Semiring[Any]
    samples: st.SearchStrategy[Any]
    exact: bool = True
    label: str = ""

    def __str__(self) -> str:
        return f"{self.semiring!r}-{self.label or ('exact' if self.exact else 'close')}"


def expectations(numbers: st.SearchStrategy[float]) -> st.SearchStrategy[Expectation]:
    return st.builds(Expectation, numbers, st.tuples(numbers, numbers))


def best_of(k: int) -> st.SearchStrategy[tuple[Derivation, ...]]:
    return st.lists(derivations, max_size=4).map(KBestSemiring(k).value)


CASES = [
    Case(BooleanSemiring(), st.booleans()),
    Case(CountingSemiring(), st.integers(0, 10**30) | st.integers(0, 3)),
    Case(RealSemiring(), dyadic),
    Case(RealSemiring(), positive, exact=False),
    Case(LogSemiring(), st.floats(-1e3, 1e3) | st.just(-math.inf), exact=False),
    Case(TropicalSemiring(), grid | few | st.just(-math.inf)),
    Case(TropicalSemiring(), st.floats(0.0, 1e150) | st.just(-math.inf), exact=False),
    Case(ViterbiSemiring(), derivations),
    Case(KBestSemiring(1), best_of(1)),
    Case(KBestSemiring(2), best_of(2)),
    Case(KBestSemiring(5), best_of(5)),
    Case(ExpectationSemiring(2), expectations(dyadic)),
    Case(ExpectationSemiring(2), expectations(positive), exact=False),
]


@pytest.mark.parametrize("case", CASES, ids=str)
@settings(max_examples=40)
@given(data=st.data())
def test_the_laws_hold(case: Case, data: st.DataObject) -> None:
    samples = data.draw(st.lists(case.samples, min_size=3, max_size=4))
    check_axioms(case.semiring, samples, equal=operator.eq if case.exact else None)


def test_every_semiring_is_tried() -> None:
    tried = {type(case.semiring) for case in CASES} | {HullSemiring, PolygonSemiring}
    exported = [kind for kind in vars(semirings).values() if isinstance(kind, type) and issubclass(kind, Semiring)]
    ours = set(exported) - {Semiring}
    assert tried == ours


class Broken(CountingSemiring):
    """The counting semiring with one operation replaced."""

    def __init__(
        self,
        plus: Callable[[int, int], int] = operator.add,
        times: Callable[[int, int], int] = operator.mul,
        *,
        idempotent: bool = False,
    ) -> None:
        self._plus = plus
        self._times = times
        self.idempotent = idempotent  # type: ignore[misc]  # of the class in all others

    def plus(self, a: int, b: int) -> int:
        return self._plus(a, b)

    def times(self, a: int, b: int) -> int:
        return self._times(a, b)


@pytest.mark.parametrize(
    ("broken", "law"),
    [
        (Broken(plus=lambda a, b: a + 2 * b), "zero ⊕ a = a|a ⊕ zero = a|a ⊕ b = b ⊕ a"),
        (Broken(plus=lambda a, b: a + b + 1), "zero ⊕ a = a"),
        (Broken(plus=lambda a, b: a + b + a * b), r"\(a ⊗ b\) ⊕ \(a ⊗ c\)|\(a ⊗ c\) ⊕ \(b ⊗ c\)"),
        (Broken(plus=lambda a, b: a + b - (a * b == 6)), r"a ⊕ \(b ⊕ c\)"),
        (Broken(times=lambda a, b: 2 * a * b), "one ⊗ a = a"),
        (Broken(times=lambda a, b: a**b), "zero ⊗ a|one ⊗ a"),
        (Broken(times=lambda a, b: a * b if a < 2 or b < 2 else a * b + a), "a ⊗ b = b ⊗ a"),
        (Broken(idempotent=True), "a ⊕ a = a"),
    ],
)
def test_a_broken_law_is_found_and_shown(broken: Semiring[int], law: str) -> None:
    with pytest.raises(AxiomError, match=law) as caught:
        check_axioms(broken, [2, 3])
    assert "Broken()" in str(caught.value)
    assert caught.value.left != caught.value.right
    assert repr(caught.value.values[0]) in str(caught.value)


def test_a_sum_that_is_not_a_sum_is_found() -> None:
    class Hasty(CountingSemiring):
        def sum(self, values: Any) -> int:
            return max(values, default=0)

    with pytest.raises(AxiomError, match=r"sum\(a, b, c\)"):
        check_axioms(Hasty(), [1])


def test_rounding_breaks_exact_laws_as_documented() -> None:
    """What the docstrings warn of is real: off the grid ⊗ of the tropical semiring is not associative."""
    with pytest.raises(AxiomError, match=r"a ⊗ \(b ⊗ c\)"):
        check_axioms(TropicalSemiring(), [0.1, 0.2, 0.3], equal=operator.eq)
    check_axioms(TropicalSemiring(), [0.1, 0.2, 0.3])


def test_dictionary_order_would_break_viterbi() -> None:
    """The reason for shortlex: with plain tuple order, right distributivity fails on a prefix."""
    d, e, tail = Derivation(0.0, (1,)), Derivation(0.0, (1, 2)), Derivation(0.0, (3,))
    assert d.labels < e.labels
    assert d.then(tail).labels > e.then(tail).labels
    assert d < e
    assert d.then(tail) < e.then(tail)


@given(st.lists(derivations, max_size=8), st.lists(derivations, max_size=8), st.integers(1, 6))
def test_k_best_pairs_are_those_of_full_enumeration(a: list[Derivation], b: list[Derivation], k: int) -> None:
    semiring = KBestSemiring(k)
    everything = KBestSemiring(10**6)
    pairs = everything.value(p.then(q) for p in everything.value(a) for q in everything.value(b))
    assert semiring.times(semiring.value(a), semiring.value(b)) == pairs[:k]


@pytest.mark.parametrize("make", [lambda: KBestSemiring(0), lambda: ExpectationSemiring(0)])
def test_sizes_are_at_least_one(make: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match="expected at least 1"):
        make()


def test_a_derivation_needs_a_score() -> None:
    with pytest.raises(ValueError, match="expected a finite number or -inf"):
        Derivation(math.nan)
    assert Derivation(-math.inf, (1, 2)) == ViterbiSemiring().zero


def test_means_of_an_expectation() -> None:
    semiring = ExpectationSemiring(1)
    value = semiring.plus(semiring.weight(0.25, [8.0]), semiring.weight(0.75, [4.0]))
    assert value.means == (5.0,)
    assert math.isnan(semiring.zero.means[0])
    with pytest.raises(ValueError, match="got 2 quantities, expected 1"):
        semiring.weight(1.0, [1.0, 2.0])
