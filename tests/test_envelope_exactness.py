"""Envelopes of numbers at the edge of what doubles can tell apart: nothing is decided by rounding."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hulltune import Forest, ForestBuilder, InputError, envelope
from tests.envelope_checks import FOREST_METHODS, METHODS, assert_equals_enumeration


@settings(max_examples=200, deadline=None)
@given(
    st.floats(-3, 3),
    st.integers(-(2**47), 2**47),
    st.lists(st.tuples(st.integers(-(2**47), 2**47), st.integers(-1, 1)), min_size=3, max_size=12),
)
@example(0.9561290038548782, 0, [])
def test_lines_that_all_but_meet_in_one_point(point: float, height: int, beside: list[tuple[int, int]]) -> None:
    """Where three lines meet within a rounding error, points beside a crossing may lie on the other side of another."""
    lines = [(float(slope), float(round(height - slope * point) + off)) for slope, off in beside] or [
        (-213476325176755.0, -77364070572813.0),
        (-150673515297400.0, -137411658622048.0),
        (-30083321303292.0, -252711440680301.0),
    ]  # the search for this one once never ended
    forest = Forest.from_nbest([str(n) for n in range(len(lines))], lines, feature_names=["slope", "height"])
    for method in METHODS:
        found = envelope(forest, [0.0, 1.0], [1.0, 0.0], method=method)
        assert_equals_enumeration(forest, [0.0, 1.0], [1.0, 0.0], (-math.inf, math.inf), found)


@pytest.mark.parametrize("scale", [-1.578319820816, -0.3, 1 / 3, -7.7])
def test_along_the_weights_themselves_all_lines_cross_within_rounding(scale: float) -> None:
    """Every line is 0 where origin + η · direction is: breakpoints an ulp apart, which probes cannot tell in order."""
    rng = np.random.default_rng(1)
    builder = ForestBuilder(feature_names=[f"f{i}" for i in range(6)])
    builder.add_edge(0, output=[])
    for node in range(1, 31):
        for _ in range(6):
            builder.add_edge(node, [node - 1], features=rng.normal(size=6).tolist())
    forest = builder.build(root=30)
    origin = rng.normal(size=6)
    found = envelope(forest, origin, origin * scale, method="lanes")
    expected = envelope(forest, origin, origin * scale, method="hull")
    assert found.breakpoints.tolist() == expected.breakpoints.tolist()
    assert found.slopes.tolist() == expected.slopes.tolist()


def test_a_winner_whose_height_above_the_extremes_is_lost_in_rounding() -> None:
    """Of three lines the middle one wins between the others, by less than the products of their differences show."""
    rows = np.zeros((30, 2))
    rows[22], rows[28] = [-4.0, -1.0], [2.0**53, 0.0]
    forest = Forest.from_nbest([str(i) for i in range(30)], rows)
    found = [[segment.edges[0] for segment in envelope(forest, [1.0, 1.0], [-9.0, 0.0], method=m)] for m in METHODS]
    assert found == [[28, 0, 22]] * len(METHODS)


def test_float32_features_are_searched_as_the_numbers_they_are() -> None:
    rows = np.random.default_rng(5).standard_normal((50, 3)).astype(np.float32)
    narrow = Forest.from_nbest([str(i) for i in range(50)], rows)
    wide = Forest.from_nbest([str(i) for i in range(50)], rows.astype(np.float64))
    assert narrow.features.values.dtype == np.float32
    a, b = (envelope(forest, [1, 2, 3], [0.3, -0.1, 0.7]) for forest in (narrow, wide))
    assert np.array_equal(a.breakpoints, b.breakpoints)
    assert len(a) > 3


@pytest.mark.parametrize("method", FOREST_METHODS)
def test_spurious_ambiguity_gives_one_segment(method: str) -> None:
    """Many derivations with the same sum of word counts, split differently over edges, along whole directions."""
    rng = np.random.default_rng(1)
    for _ in range(50):
        builder = ForestBuilder(feature_names=["words", "phrases", "bonus"])
        n = 8
        for i in range(n):
            for j in range(i + 1, n + 1):
                builder.add_edge((i, j), features=[j - i, 0.5 * (j - i), 3 * (j - i)], output=["w"] * (j - i))
                for k in range(i + 1, j):
                    builder.add_edge((i, j), [(i, k), (k, j)], features=[0, 0, 0])
        forest = builder.build(root=(0, n))
        found = envelope(forest, rng.integers(-9, 10, 3), rng.integers(-9, 10, 3), method=method)
        assert len(found) == 1
        assert found[0].tokens == ("w",) * n


@pytest.mark.parametrize("method", FOREST_METHODS)
def test_reordered_edges_give_one_segment(method: str) -> None:
    """The same real-valued edges in another order sum to the same, to the bit."""
    rng = np.random.default_rng(2)
    for _ in range(50):
        steps = rng.standard_normal((6, 4)) * 10.0 ** rng.integers(-3, 4, (6, 4))
        arcs = []
        for used in range(1 << 6):
            arcs += [(used, used | 1 << i, str(i), steps[i]) for i in range(6) if not used >> i & 1]
        forest = Forest.from_lattice(arcs, start=0, finals=[(1 << 6) - 1], feature_names=list("abcd"))
        assert len(envelope(forest, rng.standard_normal(4), rng.standard_normal(4), method=method)) == 1


def test_magnitudes_of_150_decades_do_not_over_or_underflow() -> None:
    for size in (1e150, 1e-150, 1e280, 1e-300):
        rows = np.array([[-1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]) * size
        for weight in (1.0, 1e-90, 1e20):
            for method in METHODS:
                found = envelope(Forest.from_nbest(list("abc"), rows), [0.0, weight], [weight, 0.0], method=method)
                assert found.breakpoints.tolist() == [-1.0, 1.0]


@pytest.mark.parametrize("sparse", [False, True])
def test_sums_that_overflow_are_refused(sparse: bool) -> None:
    builder = ForestBuilder(feature_names=["x"], sparse=sparse)
    builder.add_edge(0, features=[1.0])
    for node in range(1, 1101):
        builder.add_edge(node, [node - 1, node - 1], features=[0.0])
    with pytest.raises(InputError, match="overflow"):
        envelope(builder.build(root=1100), [1.0], [1.0])
