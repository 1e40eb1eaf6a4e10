"""Envelopes: the methods agree with each other, with enumeration of all derivations, and with decoding."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import hulltune
from hulltune import Corpus, Envelope, Forest, ForestBuilder, InputError, decode, envelope, envelopes
from tests.oracles import brute_force_envelope, derivations, edge_lines, output_of
from tests.strategies import counts, forests, lists, reals, values, vectors

FOREST_METHODS = ("lanes", "hull")
METHODS = ("scan", *FOREST_METHODS)

intervals = st.one_of(
    st.just((-math.inf, math.inf)),
    st.tuples(st.sampled_from([-math.inf, -2.0, -1e-300, 0.0, 0.5]), st.sampled_from([1.0, 1e300, math.inf])),
    st.tuples(st.floats(-5, 0), st.sampled_from([0.0, 1e-12])).filter(lambda ends: ends[0] < ends[1]),
)


def check_against_brute_force(
    forest: Forest, origin: list[float], direction: list[float], interval: tuple[float, float], found: Envelope
) -> None:
    per_edge = edge_lines(forest, origin, direction)
    every = list(derivations(forest))
    lines = [
        (sum((per_edge[e][0] for e in d), Fraction(0)), sum((per_edge[e][1] for e in d), Fraction(0))) for d in every
    ]
    expected: list[tuple[float, int]] = []
    for left, winner in brute_force_envelope(lines, *interval):
        start = _to_double(left)
        if expected and start >= interval[1]:
            break
        if expected and start <= expected[-1][0]:  # too thin for a double in between: the next one takes its place
            start = expected.pop()[0]
        expected.append((start, winner))
    assert found.breakpoints.tolist() == [start for start, _ in expected[1:]]
    assert found.slopes.tolist() == [float(lines[winner][0]) for _, winner in expected]
    assert found.intercepts.tolist() == [float(lines[winner][1]) for _, winner in expected]
    for index, (_, winner) in enumerate(expected):
        assert tuple(found.edges(index)) == every[winner]
        assert found[index].tokens == output_of(forest, every[winner])


def _to_double(number: Fraction | float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


@settings(max_examples=300, deadline=None)
@given(forests(), vectors(3), vectors(3), intervals)
def test_forest_methods_equal_enumeration(
    forest: Forest, origin: list[float], direction: list[float], interval: tuple[float, float]
) -> None:
    for method in FOREST_METHODS:
        found = envelope(forest, origin, direction, interval=interval, method=method)
        check_against_brute_force(forest, origin, direction, interval, found)


@settings(max_examples=200, deadline=None)
@given(forests(max_arity=1, max_nodes=7), vectors(3), vectors(3))
def test_lattices_equal_enumeration(forest: Forest, origin: list[float], direction: list[float]) -> None:
    for method in FOREST_METHODS:
        found = envelope(forest, origin, direction, method=method)
        check_against_brute_force(forest, origin, direction, (-math.inf, math.inf), found)


@settings(max_examples=300, deadline=None)
@given(lists(), vectors(3), vectors(3), intervals)
def test_list_methods_equal_enumeration(
    forest: Forest, origin: list[float], direction: list[float], interval: tuple[float, float]
) -> None:
    for method in METHODS:
        found = envelope(forest, origin, direction, interval=interval, method=method)
        check_against_brute_force(forest, origin, direction, interval, found)


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
    ]  # this one was searched for ever
    forest = Forest.from_nbest([str(n) for n in range(len(lines))], lines, feature_names=["slope", "height"])
    for method in METHODS:
        found = envelope(forest, [0.0, 1.0], [1.0, 0.0], method=method)
        check_against_brute_force(forest, [0.0, 1.0], [1.0, 0.0], (-math.inf, math.inf), found)


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
    check_against_brute_force(forest, [0.0, 1.0], [1.0, 0.0], (-math.inf, math.inf), found[0])
    assert len(found[0]) >= size // 2


@settings(max_examples=200, deadline=None)
@given(forests(elements=counts), vectors(3, counts), vectors(3, counts), st.integers(-64, 64).map(lambda n: n / 8))
def test_decoding_gives_the_winner_of_the_segment(
    forest: Forest, origin: list[float], direction: list[float], eta: float
) -> None:
    """What the surface predicts is what decoding gives; small integers and eighths, so that weights are exact too."""
    found = envelope(forest, origin, direction)
    if not len(found) or eta in found.breakpoints:
        return
    weights = np.array(origin) + eta * np.array(direction)
    decoded = decode(Corpus.pack([forest]), weights).envelope(0)
    assert tuple(decoded.edges(0)) == tuple(found.edges(found.index_at(eta)))
    assert decoded.at(0.0) == found.at(eta)


@settings(max_examples=200, deadline=None)
@given(forests(elements=reals), vectors(3, reals), vectors(3, reals), st.floats(-20, 20))
def test_decoding_gives_the_winner_beyond_rounding(
    forest: Forest, origin: list[float], direction: list[float], eta: float
) -> None:
    found = envelope(forest, origin, direction)
    if not len(found):
        return
    decoded = decode(Corpus.pack([forest]), np.array(origin) + eta * np.array(direction)).envelope(0)
    # The decoded derivation scores what the envelope says, up to the rounding of the weights themselves.
    assert decoded.at(0.0) == pytest.approx(found.at(eta), rel=1e-9, abs=1e-6)
    ends = [-math.inf, *found.breakpoints, math.inf]
    index = found.index_at(eta)
    if eta - ends[index] > 1e-6 and ends[index + 1] - eta > 1e-6 and np.ptp(found.slopes) < 1e3:
        gap = min(
            [abs(m * eta + b - found.at(eta)) for m, b in _other_lines(forest, origin, direction, found, index)]
            or [1.0]
        )
        if gap > 1e-6:
            assert tuple(decoded.edges(0)) == tuple(found.edges(index))


def _other_lines(
    forest: Forest, origin: list[float], direction: list[float], found: Envelope, index: int
) -> list[tuple[float, float]]:
    per_edge = edge_lines(forest, origin, direction)
    lines = {
        (float(sum(per_edge[e][0] for e in d)), float(sum(per_edge[e][1] for e in d))) for d in derivations(forest)
    }
    return [line for line in lines if line != (found.slopes[index], found.intercepts[index])]


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
    for eta in (-1.5, 0.25, 3.0):
        a, b = envelope(dense, origin, direction), envelope(sparse, origin, direction)
        if len(a):
            size = float(np.abs(forest.features.toarray()).sum() * max(np.abs([*origin, *direction])) * 4 + 1e-300)
            assert abs(a.at(eta) / size - b.at(eta) / size) < 1e-8


def _with_features(forest: Forest, *, sparse: bool) -> Forest:
    builder = ForestBuilder(feature_names=forest.feature_names, sparse=sparse)
    rows = forest.features.toarray().tolist()
    for node in range(forest.nodes):
        builder.add_node(node)
        for edge in range(forest.edge_offsets[node], forest.edge_offsets[node + 1]):
            builder.add_edge(node, forest.edge_tails(edge).tolist(), features=rows[edge])
    return builder.build(root=forest.root)


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
    """Many derivations with the same sum of word counts, split differently over edges, along awkward directions."""
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
        found = envelope(forest, rng.standard_normal(3), rng.standard_normal(3), method=method)
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


def test_magnitudes_of_150_decades_do_not_over_or_underflow() -> None:
    for size in (1e150, 1e-150, 1e280, 1e-300):
        rows = np.array([[-1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]) * size
        for weight in (1.0, 1e-90, 1e20):
            for method in METHODS:
                found = envelope(Forest.from_nbest(list("abc"), rows), [0.0, weight], [weight, 0.0], method=method)
                assert found.breakpoints.tolist() == [-1.0, 1.0]


def test_bad_arguments_are_named() -> None:
    forest = Forest.from_nbest(["a"], [[1.0, 2.0]], feature_names=["lm", "tm"])
    with pytest.raises(InputError, match=r"origin: expected 2 numbers \(lm, tm\), got an array of shape \(1,\)"):
        envelope(forest, [1.0], [1.0, 2.0])
    with pytest.raises(InputError, match="direction: the weight of 'tm' is nan"):
        envelope(forest, [1.0, 1.0], [1.0, math.nan])
    with pytest.raises(InputError, match="unknown feature in origin: 'xm' "):
        envelope(forest, {"xm": 1.0}, [1.0, 2.0])
    with pytest.raises(InputError, match=r"interval: expected low < high, got \(1.0, 1.0\)"):
        envelope(forest, [1.0, 1.0], [1.0, 2.0], interval=(1, 1))
    with pytest.raises(InputError, match="unknown method 'hul'; did you mean 'hull'"):
        envelope(forest, [1.0, 1.0], [1.0, 2.0], method="hul")
    with pytest.raises(InputError, match="threads: expected a positive number, got 0"):
        envelopes(Corpus.pack([forest]), [1.0, 1.0], [[1.0, 2.0]], threads=0)
    with pytest.raises(InputError, match="overflow"):
        envelope(Forest.from_nbest(["a"], [[1e200]]), [1e200], [1.0])
    lattice = Forest.from_lattice([(0, 1, "a", [1.0])], start=0, finals=[1], feature_names=["x"])
    with pytest.raises(InputError, match='"scan" is for n-best lists, but sentence 0 has 3 nodes'):
        envelope(lattice, [1.0], [1.0], method="scan")


def test_results_without_derivations_say_so() -> None:
    arcs = [(0, 1, "a", [1.0, 0.0]), (0, 1, "b", [0.0, 1.0])]
    corpus = Corpus.pack([Forest.from_lattice(arcs, start=0, finals=[1], feature_names=["p", "q"])])
    found = envelopes(corpus, [1, 1], [[1, 0]], derivations=False)
    assert len(found.envelope(0)) == 2
    for ask in (lambda: found.outputs(0), lambda: found.envelope(0)[0], lambda: found.envelope(0).edges(0)):
        with pytest.raises(InputError, match="computed without; ask for"):
            ask()
    a_list = Corpus.pack([Forest.from_nbest(["a"], [[1.0]])])
    assert envelopes(a_list, [1], [[1]], derivations=False).outputs() == [["a"]]  # lists name their winners anyway


def test_more_bad_arguments_are_named() -> None:
    forest = Forest.from_nbest(["a", "b"], [[1.0], [2.0]])
    corpus = Corpus.pack([forest])
    assert envelopes(forest, [1.0], [[1.0]]).outputs() == [["a", "b"]]  # a forest is a corpus of one
    assert decode(forest, [1.0]).outputs() == [["b"]]
    with pytest.raises(InputError, match="corpus: expected a Corpus or a Forest, got list"):
        envelopes([forest], [1.0], [[1.0]])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="directions: expected a list of at least one direction"):
        envelopes(corpus, [1.0], [])
    with pytest.raises(InputError, match="scorer: made for another corpus"):
        envelopes(corpus, [1.0], [[1.0]], scorer=hulltune.EdgeScorer(Corpus.pack([forest])))
    with pytest.raises(InputError, match="threads: expected a positive number, got '2'"):
        envelopes(corpus, [1.0], [[1.0]], threads="2")  # type: ignore[arg-type]
    with pytest.raises(IndexError):
        envelopes(corpus, [1.0], [[1.0]]).envelope(1)


@pytest.mark.parametrize("sparse", [False, True])
def test_sums_that_overflow_are_refused(sparse: bool) -> None:
    builder = ForestBuilder(feature_names=["x"], sparse=sparse)
    builder.add_edge(0, features=[1.0])
    for node in range(1, 1101):
        builder.add_edge(node, [node - 1, node - 1], features=[0.0])
    with pytest.raises(InputError, match="overflow"):
        envelope(builder.build(root=1100), [1.0], [1.0])


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


def test_decoding_is_as_exact_as_doubles_on_large_counts() -> None:
    """Counts that are not small are scored like reals: their weights are not rounded."""
    rng = np.random.default_rng(0)
    for _ in range(100):
        counted = rng.integers(1, 2**19, 3).astype(float)
        rows = np.column_stack([np.tile(counted, (20, 1)), rng.standard_normal(20) * 1e-4])
        rows[:, 0] += rng.integers(-2, 3, 20)
        weights = rng.standard_normal(4)
        picked = int(decode(Forest.from_nbest([str(i) for i in range(20)], rows), weights).derivation_edges[0])
        exact = [sum(Fraction(h) * Fraction(w) for h, w in zip(row, weights, strict=True)) for row in rows.tolist()]
        assert float(max(exact) - exact[picked]) <= 1e-14 * float(np.abs(rows).max() * np.abs(weights).max())


def test_public_names_resolve_and_nothing_heavy_is_imported() -> None:
    for name in hulltune.__all__:
        assert getattr(hulltune, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'envelop'"):
        _ = hulltune.envelop


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
