from __future__ import annotations

import math
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hulltune.errors import InputError
from hulltune.geometry.grid import grid_step, snap
from tests.point_sets import SCALES

small_enough = st.floats(-1e300, 1e300, allow_subnormal=True)


@given(st.lists(small_enough, min_size=1, max_size=50), st.sampled_from([*SCALES, 2.0**-1000]), st.randoms())
def test_sums_of_snapped_values_are_exact_in_any_order(values: list[float], scale: float, random: Random) -> None:
    values = [value / 1e300 * scale for value in values]
    step = grid_step(sum(map(abs, values)))
    snapped = snap(values, step).tolist()
    exact = sum(map(Fraction, snapped))
    for _ in range(3):
        random.shuffle(snapped)
        assert Fraction(sum(snapped)) == exact
    # ... and so is the difference of the two farthest sums.
    high, low = sum(x for x in snapped if x > 0), sum(x for x in snapped if x < 0)
    assert Fraction(high - low) == Fraction(high) - Fraction(low)


@given(st.lists(small_enough, min_size=1, max_size=20), st.floats(1e-310, 1e300))
def test_snapping_moves_a_value_by_at_most_half_a_step(values: list[float], bound: float) -> None:
    step = grid_step(bound)
    for value, snapped in zip(values, snap(values, step).tolist(), strict=True):
        assert abs(Fraction(value) - Fraction(snapped)) <= Fraction(step) / 2
        assert (Fraction(snapped) / Fraction(step)).denominator == 1


@given(st.floats(5e-324, 1.7e308))
def test_the_step_is_a_power_of_two_that_leaves_51_bits(bound: float) -> None:
    step = grid_step(bound)
    assert math.frexp(step)[0] == 0.5
    assert Fraction(bound) < Fraction(step) * 2**51
    assert step == 5e-324 or Fraction(bound) >= Fraction(step) * 2**50


@given(st.lists(small_enough, max_size=20), st.floats(1e-310, 1e300))
def test_snapping_twice_changes_nothing(values: list[float], bound: float) -> None:
    once = snap(values, grid_step(bound))
    assert np.array_equal(once, snap(once, grid_step(bound)))


def test_plain_doubles_do_not_add_associatively() -> None:
    """The failure that snapping prevents: two derivations with the same edges, summed in different orders."""
    a, b, c = 0.1, 0.2, 0.3
    assert (a + b) + c != a + (b + c)
    a, b, c = snap([a, b, c], grid_step(a + b + c)).tolist()
    assert (a + b) + c == a + (b + c)


@pytest.mark.parametrize("bound", [-1.0, math.nan, math.inf])
def test_a_bound_must_be_finite(bound: float) -> None:
    with pytest.raises(InputError, match="bound is"):
        grid_step(bound)


@pytest.mark.parametrize("step", [0.0, 3.0, -1.0, math.inf, math.nan])
def test_a_step_must_be_a_power_of_two(step: float) -> None:
    with pytest.raises(InputError, match="power of two"):
        snap([1.0], step)


def test_only_finite_values_snap() -> None:
    with pytest.raises(InputError, match="finite"):
        snap([1.0, math.nan], 0.5)
