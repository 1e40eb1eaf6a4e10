"""Exact envelopes, against all derivations in fractions; and the grid, against exact envelopes."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune import Corpus, EdgeScorer, Forest, ForestBuilder, InputError, envelope
from hulltune.geometry.predicates import Number
from tests.envelope_checks import FOREST_METHODS, METHODS, assert_segments
from tests.nasty import nasty_case
from tests.oracles import count_derivations, decimal_lines, derivations, edge_lines
from tests.strategies import counts, forests, lists, vectors

whole = st.one_of(counts, st.integers(-(2**20), 2**20).map(float))
ends = st.one_of(
    st.just((-math.inf, math.inf)),
    st.tuples(st.floats(-5, 5), st.floats(-5, 5))
    .map(lambda pair: (min(pair), max(pair)))
    .filter(lambda p: p[0] < p[1]),
    st.sampled_from([(0.0, math.inf), (-math.inf, 0.0), (-1e300, 1e-300), (1e17, 1e300)]),
)
few = st.one_of(forests(max_derivations=60), lists(max_size=12))
few_whole = st.one_of(forests(elements=whole, max_derivations=60), lists(elements=whole, max_size=30))


def as_written(interval: tuple[float, float]) -> tuple[Number, Number]:
    low, high = (end if math.isinf(end) else Fraction(str(end)) for end in interval)
    return low, high


@settings(max_examples=150, deadline=None)
@given(few, vectors(3), vectors(3), ends)
def test_exact_envelopes_are_those_of_all_derivations(
    forest: Forest, origin: list[float], direction: list[float], interval: tuple[float, float]
) -> None:
    found = envelope(forest, origin, direction, interval=interval, exact=True)
    assert_segments(forest, decimal_lines(forest, origin, direction), as_written(interval), found)


@pytest.mark.parametrize("seed", range(30))
def test_exact_envelopes_of_nasty_cases(seed: int) -> None:
    forest, origin, direction = nasty_case(seed)
    found = envelope(forest, origin, direction, exact=True)
    assert_segments(forest, decimal_lines(forest, origin, direction), (-math.inf, math.inf), found)


@settings(max_examples=150, deadline=None)
@given(few_whole, vectors(3, whole), vectors(3, whole), ends)
def test_of_whole_numbers_the_grid_rounds_nothing(
    forest: Forest, origin: list[float], direction: list[float], interval: tuple[float, float]
) -> None:
    """Segments, winners, lines and breakpoints are those of exact arithmetic, by every method."""
    expected = envelope(forest, origin, direction, interval=interval, exact=True)
    for method in METHODS if forest.nodes == 1 else FOREST_METHODS:
        found = envelope(forest, origin, direction, interval=interval, method=method)
        assert list(found) == list(expected)


def largest_rounding(forest: Forest, weights: list[float]) -> tuple[Fraction, Fraction]:
    """The largest difference between the scores of a derivation on the grid and in fractions, and the bound on it that
    docs/theory.md proves: (n + k) / 2 + 1 units of the grid for n edges and k features.
    """
    lines = zip(edge_lines(forest, weights, weights), decimal_lines(forest, weights, weights), strict=True)
    errors = [rounded[1] - exact[1] for rounded, exact in lines]
    every = list(derivations(forest))
    worst = max((abs(sum((errors[edge] for edge in each), Fraction(0))) for each in every), default=Fraction(0))
    _, exponents = EdgeScorer(Corpus.pack([forest])).scores(0, 1, np.array([weights]))
    longest = max(map(len, every), default=0)
    return worst, Fraction(longest + len(weights) + 2, 2) * Fraction(2) ** int(exponents[0, 0])


tame = st.one_of(counts, st.floats(-10, 10).map(lambda value: round(value, 4)), st.sampled_from([0.1, 0.2, 0.3, 1 / 3]))


@settings(max_examples=200, deadline=None)
@given(st.one_of(forests(elements=tame, max_derivations=60), lists(elements=tame)), vectors(3, tame))
def test_scores_on_the_grid_are_within_the_bound(forest: Forest, weights: list[float]) -> None:
    worst, bound = largest_rounding(forest, weights)
    assert worst <= bound


@pytest.mark.parametrize("seed", range(60))
def test_scores_of_nasty_cases_are_within_the_bound(seed: int) -> None:
    forest, weights, _ = nasty_case(seed)
    if count_derivations(forest):
        worst, bound = largest_rounding(forest, weights)
        assert worst <= bound or bound == 0


def test_decimals_are_summed_as_decimals() -> None:
    """0.1 + 0.2 is 0.3, though not in doubles: one segment, won by the first derivation."""
    builder = ForestBuilder(feature_names=["penalty", "other"])
    builder.add_edge("a", features=[0.1, 1.0], output=["x"])
    builder.add_edge("b", ["a"], features=[0.2, 0.0])
    builder.add_edge("b", features=[0.3, 1.0], output=["y"])
    forest = builder.build(root="b")
    for origin, direction in [([1.0, 0.0], [0.0, 1.0]), ([0.0, 1.0], [1.0, 0.0]), ([1.0, 2.0], [-0.7, 1.0])]:
        found = envelope(forest, origin, direction, exact=True)
        assert [segment.tokens for segment in found] == [("x",)]


def test_singles_are_the_decimals_they_are_written_as() -> None:
    rows = np.array([[0.1, 1.0], [0.3, 0.0]], dtype=np.float32)
    found = envelope(Forest.from_nbest(["a", "b"], rows), [0.0, 1.0], [1.0, 0.0], exact=True)
    assert found.breakpoints.tolist() == [5.0]


def test_exact_envelopes_have_no_method() -> None:
    forest = Forest.from_nbest(["a"], [[1.0]])
    with pytest.raises(InputError, match="leave 'hull' out"):
        envelope(forest, [1.0], [1.0], method="hull", exact=True)
