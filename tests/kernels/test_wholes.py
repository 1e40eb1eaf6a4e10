"""Whole numbers in limbs against Python's own."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hulltune.arrays import Int64s
from hulltune.kernels.judging.wholes import BITS, MASK, compare_cross, quotient
from tests.exact_oracle import to_double

LIMBS = 12
numbers = st.one_of(st.integers(-(2**250) + 1, 2**250 - 1), st.integers(-3, 3), st.integers(0, 240).map(lambda n: 2**n))


def rows(*values: int) -> Int64s:
    table = np.zeros((len(values), LIMBS + 1), dtype=np.int64)
    for row, value in enumerate(values):
        table[row, :LIMBS] = [(abs(value) >> (BITS * i)) & MASK for i in range(LIMBS)]
        table[row, LIMBS] = (value > 0) - (value < 0)
    return table


@settings(max_examples=300, deadline=None)
@given(numbers, numbers, numbers, numbers)
def test_products_are_compared_exactly(a: int, b: int, c: int, d: int) -> None:
    table = rows(a, b, c, d)
    assert compare_cross(table, 0, table, 1, table, 2, table, 3) == (a * b > c * d) - (a * b < c * d)


@settings(max_examples=300, deadline=None)
@given(*[st.integers(-(2**120), 2**120)] * 4, st.integers(-1, 1))
def test_products_that_are_all_but_equal_are_compared_exactly(x: int, y: int, z: int, w: int, off: int) -> None:
    a, b, c, d = x * y + off, z * w, x * z, y * w
    table = rows(a, b, c, d)
    assert compare_cross(table, 0, table, 1, table, 2, table, 3) == (a * b > c * d) - (a * b < c * d)


@settings(max_examples=500, deadline=None)
@given(
    numbers, numbers.filter(bool), st.one_of(st.integers(-1300, 1300), st.integers(-3, 3), st.integers(-1080, -1060))
)
@example(1, 2, -1074)
@example(3, 4, -1074)
@example(1, 3, -1073)
@example(2**53 - 1, 1, 971)
@example(2**54 - 1, 1, 970)
def test_quotients_are_rounded_correctly(n: int, d: int, shift: int) -> None:
    table = rows(n, d)
    found = float(quotient(table, 0, table, 1, shift))
    assert found == to_double(Fraction(n, d) * Fraction(2) ** shift)


@settings(max_examples=500, deadline=None)
@given(
    st.integers(2**53, 2**54 - 1), st.integers(1, 2**180), st.integers(-1, 1), st.sampled_from([0, 1, -1, -1100, 960])
)
def test_quotients_beside_the_middle_of_two_doubles_are_rounded_correctly(m: int, d: int, off: int, shift: int) -> None:
    n = m * d + off
    table = rows(n, d)
    assert float(quotient(table, 0, table, 1, shift)) == to_double(Fraction(n, d) * Fraction(2) ** shift)
    assert math.copysign(1.0, float(quotient(table, 0, table, 1, shift))) == 1.0
