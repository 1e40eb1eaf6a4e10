"""Envelopes: the methods agree with each other and with enumeration of all derivations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune import Corpus, Forest, ForestBuilder, InputError, envelope, envelopes
from tests.envelope_checks import FOREST_METHODS, METHODS, assert_equals_enumeration
from tests.strategies import forests, lists, reals, values, vectors

intervals = st.one_of(
    st.just((-math.inf, math.inf)),
    st.tuples(st.sampled_from([-math.inf, -2.0, -1e-300, 0.0, 0.5]), st.sampled_from([1.0, 1e300, math.inf])),
    st.tuples(st.floats(-5, 0), st.sampled_from([0.0, 1e-12])).filter(lambda ends: ends[0] < ends[1]),
)


@settings(max_examples=300, deadline=None)
@given(st.one_of(forests(), forests(max_arity=1, max_nodes=7)), vectors(3), vectors(3), intervals)
def test_forest_methods_equal_enumeration(
    forest: Forest, origin: list[float], direction: list[float], interval: tuple[float, float]
) -> None:
    for method in FOREST_METHODS:
        found = envelope(forest, origin, direction, interval=interval, method=method)
        assert_equals_enumeration(forest, origin, direction, interval, found)


@settings(max_examples=300, deadline=None)
@given(lists(), vectors(3), vectors(3), intervals)
def test_list_methods_equal_enumeration(
    forest: Forest, origin: list[float], direction: list[float], interval: tuple[float, float]
) -> None:
    for method in METHODS:
        found = envelope(forest, origin, direction, interval=interval, method=method)
        assert_equals_enumeration(forest, origin, direction, interval, found)


@pytest.mark.parametrize("size", [5, 17, 40, 300])
def test_lists_in_which_nearly_all_win(size: int) -> None:
    """More hypotheses are left after the scans than a SIMD row holds; every third is just below the others' hull."""
    slopes = np.random.default_rng(size).permutation(size).astype(float)
    rows = np.column_stack([slopes, -(slopes**2) - (slopes % 3 == 1)])
    forest = Forest.from_nbest([str(i) for i in range(size)], rows)
    found = [envelope(forest, [0.0, 1.0], [1.0, 0.0], method=method) for method in METHODS]
    for other in found[1:]:
        assert np.array_equal(found[0].breakpoints, other.breakpoints)
        assert [segment.edges for segment in found[0]] == [segment.edges for segment in other]
    assert_equals_enumeration(forest, [0.0, 1.0], [1.0, 0.0], (-math.inf, math.inf), found[0])
    assert len(found[0]) >= size // 2


@settings(max_examples=50, deadline=None)
@given(
    st.lists(forests(sparse=False), min_size=1, max_size=5),
    st.lists(vectors(3, reals), min_size=1, max_size=4),
    vectors(3, reals),
)
def test_corpus_equals_sentence_by_sentence_whatever_the_threads(
    parts: list[Forest], directions: list[list[float]], origin: list[float]
) -> None:
    corpus = Corpus.pack(parts)
    one, three = (envelopes(corpus, origin, directions, threads=threads) for threads in (1, 3))
    for name in ("offsets", "lefts", "slopes", "intercepts", "derivation_offsets", "derivation_edges"):
        assert np.array_equal(getattr(one, name), getattr(three, name))
    for d, direction in enumerate(directions):
        texts = one.outputs(d)
        for s, forest in enumerate(parts):
            alone, packed = envelope(forest, origin, direction), one.envelope(s, d)
            assert np.array_equal(alone.breakpoints, packed.breakpoints)
            assert [segment.edges for segment in alone] == [segment.edges for segment in packed]
            assert [" ".join(segment.tokens) for segment in alone] == texts[s]


@settings(max_examples=100, deadline=None)
@given(forests(elements=values), vectors(3), vectors(3))
def test_dense_and_sparse_features_agree_where_both_grids_are_exact(
    forest: Forest, origin: list[float], direction: list[float]
) -> None:
    """Sparse rows choose their own grid, so compare lines up to its width, relative to the sums involved."""
    dense = _with_features(forest, sparse=False)
    sparse = _with_features(forest, sparse=True)
    a, b = envelope(dense, origin, direction), envelope(sparse, origin, direction)
    assert bool(len(a)) == bool(len(b))
    if len(a):
        size = float(np.abs(forest.features.toarray()).sum() * max(np.abs([*origin, *direction])) * 4 + 1e-300)
        for eta in (-1.5, 0.25, 3.0):
            assert abs(a.at(eta) / size - b.at(eta) / size) < 1e-8


def _with_features(forest: Forest, *, sparse: bool) -> Forest:
    builder = ForestBuilder(feature_names=forest.feature_names, sparse=sparse)
    rows = forest.features.toarray().tolist()
    for node in range(forest.nodes):
        builder.add_node(node)
        for edge in range(forest.edge_offsets[node], forest.edge_offsets[node + 1]):
            builder.add_edge(node, forest.edge_tails(edge).tolist(), features=rows[edge])
    return builder.build(root=forest.root)


def test_hulls_are_kept_within_the_interval() -> None:
    """A chain of 5,000 nodes whose envelope has 10,000 segments in all, but few in the interval."""
    slopes = np.random.default_rng(3).standard_normal((5000, 2))
    arcs = [(i, i + 1, str(k), [slopes[i, k], float(k)]) for i in range(5000) for k in range(2)]
    forest = Forest.from_lattice(arcs, start=0, finals=[5000], feature_names=["a", "b"])
    by_hull, by_lanes = (
        envelope(forest, [0.0, 1.0], [1.0, 0.0], interval=(0.4, 0.401), method=method) for method in FOREST_METHODS
    )
    assert np.array_equal(by_hull.breakpoints, by_lanes.breakpoints)
    assert 1 <= len(by_hull) < 50


@pytest.mark.parametrize("method", METHODS)
class TestEdgeCases:
    def test_zero_direction_is_decoding(self, method: str) -> None:
        found = envelope(Forest.from_nbest(["a", "b", "c"], [[1.0], [2.0], [2.0]]), [1.0], [0.0], method=method)
        assert [segment.tokens for segment in found] == [("b",)]  # the first of equals
        assert (found.slopes[0], found.intercepts[0]) == (0.0, 2.0)

    def test_zero_origin_breaks_only_at_zero(self, method: str) -> None:
        found = envelope(Forest.from_nbest(["a", "b", "c"], [[1.0], [2.0], [-2.0]]), [0.0], [1.0], method=method)
        assert found.breakpoints.tolist() == [0.0]
        assert [segment.tokens for segment in found] == [("c",), ("b",)]

    def test_one_derivation(self, method: str) -> None:
        found = envelope(Forest.from_nbest(["a"], [[1.5]]), [1.0], [2.0], method=method)
        assert (found[0].left, found[0].right, found[0].slope, found[0].intercept) == (-math.inf, math.inf, 3.0, 1.5)

    def test_no_derivation(self, method: str) -> None:
        found = envelope(Forest.from_nbest([], np.zeros((0, 1))), [1.0], [2.0], method=method)
        assert len(found) == 0
        assert found.segments == ()
        with pytest.raises(InputError, match="no derivation"):
            found.at(0.0)

    def test_ends_are_exact_however_far(self, method: str) -> None:
        """The winner at infinity is the extreme slope with the best intercept, even if it wins only beyond 1e15."""
        rows = [[0.0, 0.0], [1e-15, -1.0], [1e-15, -2.0], [-1e-15, -3.0]]
        found = envelope(
            Forest.from_nbest(["flat", "up", "lower", "down"], rows), [0.0, 1.0], [1.0, 0.0], method=method
        )
        assert [segment.tokens for segment in found] == [("down",), ("flat",), ("up",)]
        assert found.breakpoints.tolist() == pytest.approx([-3e15, 1e15])

    def test_three_lines_through_one_point(self, method: str) -> None:
        rows = [[0.0, 0.0], [1.0, -1.0], [2.0, -2.0], [3.0, -3.0]]
        found = envelope(Forest.from_nbest(list("abcd"), rows), [0.0, 1.0], [1.0, 0.0], method=method)
        assert [segment.tokens for segment in found] == [("a",), ("d",)]
        assert found.breakpoints.tolist() == [1.0]

    def test_interval_that_ends_on_breakpoints(self, method: str) -> None:
        rows = [[-1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
        forest = Forest.from_nbest(list("abc"), rows)
        found = envelope(forest, [0.0, 1.0], [1.0, 0.0], interval=(-1.0, 1.0), method=method)
        assert [segment.tokens for segment in found] == [("b",)]
        assert (found[0].left, found[0].right) == (-1.0, 1.0)
