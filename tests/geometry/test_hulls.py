from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

from hulltune.errors import InputError
from hulltune.geometry.hulls import (
    dual,
    edge_slopes,
    is_chain,
    lower_hull,
    minkowski,
    support,
    union,
    upper_envelope,
)
from hulltune.geometry.predicates import Point
from tests.geometry.oracles import lower_hull_by_definition, minkowski_by_definition, rational
from tests.point_sets import grid_points, unit_grid_points, wild_floats, wild_points

Points = list[Point]


@given(grid_points() | wild_points())
def test_lower_hull_is_that_of_the_definition(points: Points) -> None:
    hull = lower_hull(points)
    assert list(map(rational, hull)) == lower_hull_by_definition(map(rational, points))
    assert is_chain(hull)


@given(wild_points(), wild_points())
def test_union_is_the_hull_of_all_points(a: Points, b: Points) -> None:
    hull = union(lower_hull(a), lower_hull(b))
    assert hull == lower_hull(a + b)
    assert len(hull) <= len(lower_hull(a)) + len(lower_hull(b))


@given(unit_grid_points(), unit_grid_points())
def test_minkowski_is_that_of_the_definition_on_a_grid(a: Points, b: Points) -> None:
    hull = minkowski(lower_hull(a), lower_hull(b))
    assert list(map(rational, hull)) == minkowski_by_definition(a, b)


@given(unit_grid_points(10), unit_grid_points(10))
def test_minkowski_has_fewer_points_than_both_together(a: Points, b: Points) -> None:
    a_hull, b_hull = lower_hull(a), lower_hull(b)
    assert len(minkowski(a_hull, b_hull)) <= max(len(a_hull) + len(b_hull) - 1, 0)


@given(wild_points(), wild_points())
def test_minkowski_is_canonical_also_where_sums_round(a: Points, b: Points) -> None:
    assume(all(abs(coordinate) < 8e307 for point in a + b for coordinate in point))
    hull = minkowski(lower_hull(a), lower_hull(b))
    assert is_chain(hull)
    if hull:
        assert hull[0][0] == min(a)[0] + min(b)[0]
        assert hull[-1][0] == max(a)[0] + max(b)[0]


def test_minkowski_beyond_the_doubles_says_so() -> None:
    with pytest.raises(InputError, match="beyond the range of doubles"):
        minkowski(((1e308, 0.0),), ((1e308, 0.0),))


@given(grid_points() | wild_points(), wild_floats() | st.sampled_from([math.inf, -math.inf]))
def test_support_is_the_best_point_of_all(points: Points, eta: float) -> None:
    hull = lower_hull(points)
    if not hull:
        return
    winner = hull[support(hull, eta)]
    if math.isinf(eta):
        extreme = (max if eta > 0 else min)(x for x, _ in points)
        assert winner == (extreme, min(y for x, y in points if x == extreme))
    else:
        exact_eta = Fraction(eta)
        scores = {p: exact_eta * Fraction(p[0]) - Fraction(p[1]) for p in points}
        assert scores[winner] == max(scores.values())
        assert winner[0] == max(x for (x, y), score in scores.items() if score == scores[winner])


@given(grid_points() | wild_points())
def test_edge_slopes_are_correctly_rounded_and_in_order(points: Points) -> None:
    hull = lower_hull(points)
    slopes = edge_slopes(hull)
    assert len(slopes) == max(len(hull) - 1, 0)
    assert all(a <= b for a, b in pairwise(slopes))
    for slope, (p, q) in zip(slopes, pairwise(hull), strict=True):
        exact = (Fraction(q[1]) - Fraction(p[1])) / (Fraction(q[0]) - Fraction(p[0]))
        if math.isinf(slope):
            assert abs(exact) > Fraction(1.7976931348623157e308)
        else:
            error = abs(Fraction(slope) - exact)
            for neighbour in (math.nextafter(slope, math.inf), math.nextafter(slope, -math.inf)):
                assert math.isinf(neighbour) or error <= abs(Fraction(neighbour) - exact)


def test_the_four_output_example() -> None:
    """Three winners and one line that is nowhere on top; the winner at each end is the extreme slope."""
    lines = [(-1.0, 0.0), (0.0, 1.0), (1.0, -1.0), (0.25, 0.25)]
    winners, breakpoints = upper_envelope(lines)
    assert winners == [(-1.0, 0.0), (0.0, 1.0), (1.0, -1.0)]
    assert breakpoints == [-1.0, 2.0]


@given(wild_floats(), wild_floats())
def test_duality_is_its_own_inverse(slope: float, intercept: float) -> None:
    assert dual(dual((slope, intercept))) == (slope, intercept)
    assert "-0.0" not in map(str, dual((-0.0, 0.0)))


@given(st.integers(0, 2**32 - 1), st.integers(3, 200))
def test_lower_hull_agrees_with_qhull(seed: int, size: int) -> None:
    points = np.random.default_rng(seed).normal(size=(size, 2))
    vertices = {tuple(points[v].tolist()) for v in ConvexHull(points).vertices}
    hull = lower_hull(map(tuple, points.tolist()))
    left, right = hull[0], hull[-1]
    below = {p for p in vertices if (right[0] - left[0]) * (p[1] - left[1]) < (right[1] - left[1]) * (p[0] - left[0])}
    assert set(hull) == below | {left, right}


@pytest.mark.parametrize(
    "points",
    [
        ((0.0, 0.0), (0.0, 1.0)),
        ((1.0, 0.0), (0.0, 0.0)),
        ((0.0, 0.0), (1.0, 0.0), (2.0, 0.0)),
        ((0.0, 0.0), (1.0, 1.0), (2.0, 0.0)),
        ((0.0, math.nan),),
        ((math.inf, 0.0),),
    ],
)
def test_what_is_not_a_chain(points: tuple[Point, ...]) -> None:
    assert not is_chain(points)
