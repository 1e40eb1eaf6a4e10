from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hulltune.geometry import predicates
from hulltune.geometry.predicates import Point, orientation, turn
from tests.geometry.oracles import cross
from tests.point_sets import wild_floats

wild_point = st.tuples(wild_floats(), wild_floats())


def sign(x: Fraction) -> int:
    return (x > 0) - (x < 0)


@given(wild_point, wild_point, wild_point, wild_point)
@example((0.0, 0.0), (1e-200, 1e-200), (0.0, 0.0), (1e-200, 2e-200))  # both products underflow to zero
@example((0.0, 0.0), (1e200, 1e200), (0.0, 0.0), (1e200, 2e200))  # both overflow
@example((-1.7e308, 0.0), (1.7e308, 1.0), (0.0, 0.0), (1.0, 5e-324))  # a difference overflows
def test_turn_is_the_sign_of_the_exact_cross_product(p: Point, q: Point, r: Point, s: Point) -> None:
    assert turn(p, q, r, s) == sign(cross(p, q, r, s))


@given(st.integers(-3, 3), st.integers(-3, 3), st.integers(0, 2**53), st.integers(0, 2**53))
def test_turn_of_nearly_parallel_vectors(dx: int, dy: int, x: int, y: int) -> None:
    """Vectors of 53 bits that differ in the last one: plain doubles cannot tell them from parallel ones."""
    q, s = (float(x), float(y)), (float(max(x + dx, 0)), float(max(y + dy, 0)))
    assert turn((0.0, 0.0), q, (0.0, 0.0), s) == sign(cross((0.0, 0.0), q, (0.0, 0.0), s))


@given(wild_point, wild_point, wild_point)
def test_orientation_changes_sign_with_the_order(p: Point, q: Point, r: Point) -> None:
    assert orientation(p, q, r) == orientation(q, r, p) == -orientation(q, p, r)


def test_the_filter_decides_the_easy_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        raise AssertionError("the exact path was taken")

    monkeypatch.setattr(predicates, "_exact_turn", fail)
    assert orientation((0.0, 0.0), (1.0, 0.1), (2.0, 0.3)) == 1
    assert orientation((0.0, 0.0), (1e-100, 0.1), (2.0, 1e100)) == 1


def test_the_filter_alone_would_be_wrong() -> None:
    """Three points on the line y = x but for the last bit of one, far from the origin: the known trap."""
    p, q, r = (0.5 + 2.0**-53, 0.5), (12.0, 12.0), (24.0, 24.0)
    plain = (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])
    assert orientation(p, q, r) == sign(cross(p, q, p, r)) != sign(Fraction(plain))
