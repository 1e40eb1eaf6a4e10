"""Kernels by themselves: exact comparisons, sorting, and sums of changes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hulltune.kernels.forests import lanes
from hulltune.kernels.forests.graph import group
from hulltune.kernels.scores import exact
from hulltune.kernels.simd import simd
from hulltune.kernels.simd.simd import LANES
from hulltune.surface import ErrorSurface

grid_integers = st.integers(-(2**53), 2**53).map(float)


@given(grid_integers, grid_integers, grid_integers, grid_integers)
def test_products_are_compared_exactly(a: float, b: float, c: float, d: float) -> None:
    difference = Fraction(a) * Fraction(b) - Fraction(c) * Fraction(d)
    assert exact.compare_products(a, b, c, d) == (difference > 0) - (difference < 0)


@given(st.integers(2**52, 2**53 - 2), st.integers(2**52, 2**53 - 2), st.integers(-2, 2))
def test_products_that_round_to_the_same_double(a: int, b: int, shift: int) -> None:
    """(a + 1)(b + 1) − 1 and the like: neighbours that doubles cannot tell apart."""
    left, right = (float(a + 1), float(b)), (float(a), float(b + 1 + shift))
    difference = (a + 1) * b - a * (b + 1 + shift)
    assert exact.compare_products(*left, *right) == (difference > 0) - (difference < 0)


def test_far_and_near_lie_beyond_all_crossings() -> None:
    """A crossing is a quotient of integers of at most 2^53; see envelopes._to_grid."""
    assert Fraction(exact.FAR) > Fraction(2**53, 1)
    assert Fraction(exact.NEAR) < Fraction(1, 2**53)


def test_every_operation_has_its_definition() -> None:
    """The names for kernels are in a file that does not need Numba, and what they do in another."""
    from numba.extending import _Intrinsic

    from hulltune.kernels.simd import operations as simd_operations

    named = {name for name, value in vars(simd).items() if isinstance(value, simd.Operation)} | {"load32", "load64"}
    assert named == {name for name, value in vars(simd_operations).items() if isinstance(value, _Intrinsic)}
    assert all(getattr(simd, name).name == name for name in named - {"load32", "load64"})


@given(st.lists(st.integers(0, 5), max_size=30))
def test_group_is_a_stable_sort(keys: list[int]) -> None:
    offsets, positions = group(np.array(keys, dtype=np.int64), 6)
    assert positions.tolist() == sorted(range(len(keys)), key=lambda i: keys[i])
    assert np.diff(offsets).tolist() == [keys.count(key) for key in range(6)]


@given(st.floats(-100, 100), st.floats(0.001, 100))
def test_first_points_ascend_from_end_to_end(low: float, width: float) -> None:
    for ends in ((low, low + width), (-exact.FAR, low), (low, exact.FAR), (-exact.FAR, exact.FAR)):
        points = np.empty(2 * LANES)
        lanes.spread_points(ends[0], ends[1], points)
        assert np.all(np.diff(points[:LANES]) >= 0)
        assert (points[0], points[LANES - 1]) == ends
        assert np.all(points[LANES:] == 1.0)


def test_changes_that_cancel_out_leave_no_breakpoint() -> None:
    table = np.array([[1], [2]])
    offsets, lefts, rows = np.array([0, 2, 4]), np.array([-np.inf, 1.0, -np.inf, 1.0]), np.array([0, 1, 1, 0])
    surface = ErrorSurface.from_rows(offsets, lefts, rows, table)
    assert surface.breakpoints.tolist() == []
    assert surface.statistics.tolist() == [[3]]
