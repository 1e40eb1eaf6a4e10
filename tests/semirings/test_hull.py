from __future__ import annotations

import math
import operator
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull, QhullError

from hulltune.errors import InputError
from hulltune.geometry.predicates import Point, orientation
from hulltune.semirings import Hull, HullSemiring, Polygon, PolygonSemiring, check_axioms
from tests.point_sets import grid_points, unit_grid_points, wild_floats, wild_points

Points = list[Point]

NASTY = [
    [],
    [(0.0, 0.0)],
    [(0.0, 0.0), (0.0, 0.0)],
    [(1.0, 5.0), (1.0, 2.0)],  # parallel lines
    [(0.0, 0.0), (1.0, 1.0), (2.0, 2.0), (3.0, 3.0)],  # collinear
    [(-1.0, 1.0), (0.0, 0.0), (1.0, 1.0)],
    [(-(2.0**50), 2.0**50), (0.0, 1.0), (2.0**50, -(2.0**50))],  # huge beside tiny
    [(0.0, 0.0), (2.0**50, 1.0), (2.0**50 - 1.0, 1.0)],  # nearly collinear
]


@pytest.mark.parametrize(("x_exponent", "y_exponent"), [(0, 0), (-500, -500), (-500, 500), (500, -500), (500, 500)])
def test_the_laws_hold_exactly_on_nasty_samples(x_exponent: int, y_exponent: int) -> None:
    sets = [[(x * 2.0**x_exponent, y * 2.0**y_exponent) for x, y in points] for points in NASTY]
    check_axioms(HullSemiring(), [Hull.from_points(points) for points in sets], equal=operator.eq)
    check_axioms(PolygonSemiring(), [Polygon.from_points(points) for points in sets], equal=operator.eq)


@settings(max_examples=60)
@given(st.lists(unit_grid_points(), min_size=3, max_size=3), st.sampled_from([2.0**-500, 1.0, 2.0**500]))
def test_the_laws_hold_exactly_on_random_samples(sets: list[Points], scale: float) -> None:
    sets = [[(x, y * scale) for x, y in points] for points in sets]
    check_axioms(HullSemiring(), map(Hull.from_points, sets), equal=operator.eq)
    check_axioms(PolygonSemiring(), map(Polygon.from_points, sets), equal=operator.eq)


@given(unit_grid_points(), unit_grid_points(), st.integers(-100, 100))
def test_the_function_view(a: Points, b: Points, eta: int) -> None:
    """⊕ is the pointwise maximum and ⊗ the pointwise sum of the envelopes, at integers exactly."""
    assume(all(abs(coordinate) < 2**44 for point in a + b for coordinate in point))
    f, g = Hull.from_points(a), Hull.from_points(b)
    assert (f + g)(eta) == max(f(eta), g(eta))
    assert (f * g)(eta) == f(eta) + g(eta)


@given(grid_points() | wild_points())
def test_points_and_lines_are_two_views_of_one_hull(points: Points) -> None:
    hull = Hull.from_points(points)
    assert Hull.from_lines(hull.lines) == hull == Hull.from_points(hull.points)
    assert hash(Hull.from_lines(hull.lines)) == hash(hull)
    assert Hull.from_lines((x, -y) for x, y in points) == hull
    slopes = [slope for slope, _ in hull.lines]
    assert all(a < b for a, b in pairwise(slopes))


@given(grid_points())
def test_winners_change_at_the_breakpoints(points: Points) -> None:
    hull = Hull.from_points(points)
    assume(hull.points)
    assert len(hull.breakpoints) == len(hull) - 1
    assert hull.winner(-math.inf) == hull.lines[0]
    assert hull.winner(math.inf) == hull.lines[-1]
    for left, right in pairwise([-math.inf, *hull.breakpoints, math.inf]):
        middle = right / 2 + left / 2 if math.isfinite(left) and math.isfinite(right) else None
        if middle is not None and left < middle < right:
            index = hull.breakpoints.index(right)
            assert hull.winner(middle) == hull.lines[index]


@given(wild_points(), wild_floats())
@example([(0.0, 3.0)], math.inf)
def test_evaluation_is_that_of_the_winning_line(points: Points, eta: float) -> None:
    hull = Hull.from_points(points)
    if not points:
        assert hull(eta) == -math.inf
        return
    slope, intercept = hull.winner(eta)
    expected = intercept if slope == 0.0 else slope * eta + intercept
    assert hull.at(eta) == hull(eta)
    assert hull(eta) == expected or math.isnan(expected)


def test_the_ends_of_the_line() -> None:
    hull = Hull.from_lines([(-1.0, 0.0), (0.0, 5.0), (2.0, 1.0), (2.0, 3.0)])
    assert hull.winner(math.inf) == (2.0, 3.0)
    assert hull(math.inf) == math.inf
    assert hull(-math.inf) == math.inf
    assert Hull.from_lines([(0.0, 5.0)])(-math.inf) == 5.0


def test_an_empty_hull() -> None:
    empty = Hull()
    assert empty == Hull.from_points([]) == HullSemiring().zero
    assert (empty.lines, empty.breakpoints, len(empty)) == ((), (), 0)
    with pytest.raises(InputError, match="no winner"):
        empty.winner(0.0)


def test_many_derivations_with_equal_sums_are_one_point() -> None:
    line = Hull.from_lines([(0.5, 0.25)])
    assert (line + line) * (line + line) == Hull.from_lines([(1.0, 0.5)])


@pytest.mark.parametrize("points", [[(0.0, 1.0), (0.0, 0.0)], [(0.0, 0.0), (1.0, 1.0), (2.0, 2.0)]])
def test_the_canonical_form_is_asserted(points: Points) -> None:
    with pytest.raises(AssertionError, match="not a canonical lower hull"):
        Hull(tuple(points))


exact_numbers = st.one_of(st.integers(-(10**40), 10**40), st.fractions(max_denominator=10**6), st.integers(-3, 3))
exact_points = st.lists(st.tuples(exact_numbers, exact_numbers), max_size=5)


@settings(max_examples=15, deadline=None)
@given(st.lists(exact_points, min_size=3, max_size=3))
def test_the_laws_hold_for_exact_numbers_of_any_size(sets: list[Points]) -> None:
    check_axioms(HullSemiring(), map(Hull.from_points, sets), equal=operator.eq)


@given(exact_points, exact_points, st.fractions())
def test_hulls_of_exact_numbers_are_exact_functions(a: Points, b: Points, eta: Fraction) -> None:
    f, g = Hull.from_points(a), Hull.from_points(b)
    if a and b:
        assert (f + g)(eta) == max(f(eta), g(eta)) == max(eta * x - y for x, y in a + b)
        assert (f * g)(eta) == f(eta) + g(eta)
    for hull in (f, g, f + g, f * g):
        for place, (before, after) in zip(hull.breakpoints, pairwise(hull.lines), strict=True):
            assert before[0] * place + before[1] == after[0] * place + after[1] == hull(place)


@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=1))
def test_whole_numbers_and_doubles_have_the_same_hull(points: list[tuple[int, int]]) -> None:
    exact, doubles = Hull.from_points(points), Hull.from_points([(float(x), float(y)) for x, y in points])
    assert exact == doubles
    assert [float(place) for place in exact.breakpoints] == list(doubles.breakpoints)
    assert all(isinstance(number, int) for point in exact.points for number in point)
    assert Hull.from_points(np.array(points)) == exact


def test_fractions_and_doubles_do_not_mix() -> None:
    third, half = Hull(((Fraction(1, 3), 0),)), Hull(((0.5, 0.0),))
    with pytest.raises(AssertionError, match="not a canonical lower hull"):
        third + half


def test_only_finite_points() -> None:
    with pytest.raises(InputError, match=r"pair 1 is \(0.0, nan\)"):
        Hull.from_points([(0.0, 0.0), (0.0, math.nan)])
    with pytest.raises(InputError, match="eta is NaN"):
        HullSemiring().one.winner(math.nan)


@given(grid_points(12) | wild_points())
def test_vertices_go_round_counter_clockwise(points: Points) -> None:
    polygon = Polygon.from_points(points)
    vertices = polygon.vertices
    assert len(set(vertices)) == len(vertices)
    assert set(vertices) <= set(points)
    if len(vertices) >= 3:
        corners = zip(vertices, vertices[1:] + vertices[:1], vertices[2:] + vertices[:2], strict=True)
        assert all(orientation(p, q, r) > 0 for p, q, r in corners)
    for p, q in zip(vertices, vertices[1:] + vertices[:1], strict=True):
        assert all(orientation(p, q, point) >= 0 for point in points)
    assert Polygon.from_points(vertices) == polygon


@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=3, max_size=30))
def test_polygon_agrees_with_qhull(points: list[tuple[int, int]]) -> None:
    try:
        expected = ConvexHull(np.array(points, dtype=float))
    except QhullError:  # all on a line
        assert len(Polygon.from_points(points).vertices) <= 2
        return
    corners = {(float(x), float(y)) for x, y in expected.points[expected.vertices]}
    assert set(Polygon.from_points(points).vertices) == corners


@given(unit_grid_points(), unit_grid_points())
def test_minkowski_sum_of_polygons_is_the_hull_of_all_sums(a: Points, b: Points) -> None:
    sums = [(p[0] + q[0], p[1] + q[1]) for p in a for q in b]
    assert Polygon.from_points(a) * Polygon.from_points(b) == Polygon.from_points(sums)
    assert Polygon.from_points(a) + Polygon.from_points(b) == Polygon.from_points(a + b)


@given(unit_grid_points(), unit_grid_points())
def test_the_lower_half_of_a_polygon_is_the_hull(a: Points, b: Points) -> None:
    p, q = Polygon.from_points(a), Polygon.from_points(b)
    assert (p + q).lower == Hull.from_points(a) + Hull.from_points(b)
    assert (p * q).lower == Hull.from_points(a) * Hull.from_points(b)


def test_degenerate_polygons() -> None:
    assert Polygon().vertices == ()
    assert Polygon.from_points([(1.0, 2.0)]).vertices == ((1.0, 2.0),)
    assert Polygon.from_points([(0.0, 1.0), (0.0, 3.0), (0.0, 2.0)]).vertices == ((0.0, 1.0), (0.0, 3.0))
    assert Polygon.from_points([(0.0, 0.0), (1.0, 1.0), (2.0, 2.0)]).vertices == ((0.0, 0.0), (2.0, 2.0))


@pytest.mark.parametrize(
    ("lower", "upper"),
    [([(0.0, 0.0)], []), ([(0.0, 0.0)], [(1.0, 0.0)]), ([(0.0, 1.0)], [(0.0, 0.0)])],
)
def test_halves_that_bound_nothing_are_refused(lower: Points, upper: Points) -> None:
    with pytest.raises(AssertionError, match=r"use Polygon\.from_points"):
        Polygon(Hull.from_points(lower), Hull.from_points(upper))
