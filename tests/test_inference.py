from __future__ import annotations

import math
import random
import struct
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hulltune import envelope
from hulltune.data import Forest, ForestBuilder
from hulltune.errors import InputError
from hulltune.inference import inside, outside
from hulltune.kernels.forests import inside as compiled
from hulltune.semirings import (
    BooleanSemiring,
    CountingSemiring,
    Derivation,
    ExpectationSemiring,
    Hull,
    HullSemiring,
    KBestSemiring,
    LogSemiring,
    Polygon,
    PolygonSemiring,
    RealSemiring,
    Semiring,
    TropicalSemiring,
    ViterbiSemiring,
)
from tests.counterexamples import DIRECTION, ORIGIN, digit_lattice, hull_weights, tent_map
from tests.oracles import derivations
from tests.strategies import counts, forests

small_forests = forests(elements=counts, width=2, max_nodes=4, max_derivations=300)
"""With features that every semiring but the log adds and multiplies exactly."""


def weights_for(semiring: Semiring[Any], forest: Forest) -> list[Any]:
    """Edge values that are exact under every semiring but the log, from small integer features."""
    rows = forest.features.toarray().tolist()
    make: dict[str, Callable[[float, float, int], Any]] = {
        "boolean": lambda x, y, e: x >= -1,
        "counting": lambda x, y, e: int(abs(x)),
        "real": lambda x, y, e: x / 4,
        "log": lambda x, y, e: x / 4,
        "tropical": lambda x, y, e: x,
        "viterbi": lambda x, y, e: Derivation(x, (e,)),
        "k-best": lambda x, y, e: (Derivation(x, (e,)),),
        "expectation": lambda x, y, e: ExpectationSemiring(1).weight(x / 4, [y]),
        "hull": lambda x, y, e: Hull.from_lines([(x, y)]),
        "polygon": lambda x, y, e: Polygon.from_points([(x, y)]),
    }
    return [make[semiring.name](x, y, edge) for edge, (x, y) in enumerate(rows)]


SEMIRINGS: list[Semiring[Any]] = [
    BooleanSemiring(),
    CountingSemiring(),
    RealSemiring(),
    LogSemiring(),
    TropicalSemiring(),
    ViterbiSemiring(),
    KBestSemiring(3),
    ExpectationSemiring(1),
    HullSemiring(),
    PolygonSemiring(),
]
COMMUTATIVE = [semiring for semiring in SEMIRINGS if semiring.commutative]
COMPILED = [semiring for semiring in SEMIRINGS if semiring.kernel in compiled.INSIDE]


@pytest.mark.parametrize("semiring", SEMIRINGS, ids=repr)
@settings(max_examples=40)
@given(forest=small_forests)
def test_inside_is_the_sum_over_all_derivations(semiring: Semiring[Any], forest: Forest) -> None:
    weights = weights_for(semiring, forest)
    expected = semiring.sum(
        [semiring.product(weights[edge] for edge in derivation) for derivation in derivations(forest)]
    )
    assert semiring.close(inside(forest, semiring, weights)[forest.root], expected)


@pytest.mark.parametrize("semiring", COMMUTATIVE, ids=repr)
@settings(max_examples=40)
@given(forest=small_forests)
def test_outside_times_inside_sums_over_the_uses_of_a_node(semiring: Semiring[Any], forest: Forest) -> None:
    weights = weights_for(semiring, forest)
    heads = [v for v in range(forest.nodes) for _ in range(forest.edge_offsets[v], forest.edge_offsets[v + 1])]
    expected = [semiring.zero] * forest.nodes
    for derivation in derivations(forest):
        value = semiring.product(weights[edge] for edge in derivation)
        for node, uses in Counter(heads[edge] for edge in derivation).items():
            for _ in range(uses):
                expected[node] = semiring.plus(expected[node], value)
    inside_values = inside(forest, semiring, weights)
    outside_values = outside(forest, semiring, weights, inside_values=inside_values)
    for node in range(forest.nodes):
        through = semiring.times(outside_values[node], inside_values[node])
        if semiring.name == "log":  # a value may be 0 in the end, where no relative error is small
            assert through == pytest.approx(expected[node], rel=1e-12, abs=1e-12)
        else:
            assert through == expected[node]
    assert outside_values == outside(forest, semiring, weights)


def bits(values: list[Any]) -> list[Any]:
    return [struct.pack("<d", value) if isinstance(value, float) else value for value in values]


dyadic = st.builds(lambda n, k: float(n) * 2.0**k, st.integers(-999, 999), st.integers(-4, 4))
one_line = st.builds(lambda m, b: Hull.from_lines([(m, b)]), dyadic, dyadic)
numbers: dict[str, st.SearchStrategy[Any]] = {
    "hull": one_line,
    "boolean": st.booleans(),
    "real": st.floats(-1e6, 1e6) | st.sampled_from([0.0, -0.0, 1e-200, 1e200, 5e-324]),
    "log": st.floats(-50.0, 50.0) | st.floats(-1e3, 1e3) | st.just(-math.inf),
    "tropical": st.floats(-1e150, 1e150) | st.sampled_from([0.0, -0.0, -math.inf]),
}


@pytest.mark.parametrize("semiring", COMPILED, ids=repr)
@given(forest=forests(elements=counts, max_nodes=8, max_derivations=10**30), data=st.data())
def test_kernels_give_the_same_bits(semiring: Semiring[Any], forest: Forest, data: st.DataObject) -> None:
    weights = data.draw(st.lists(numbers[semiring.name], min_size=forest.edges, max_size=forest.edges))
    fast, slow = inside(forest, semiring, weights), inside(forest, semiring, weights, method="generic")
    assert bits(fast) == bits(slow)
    assert [type(value) for value in fast] == [type(value) for value in slow]
    assert bits(outside(forest, semiring, weights)) == bits(outside(forest, semiring, weights, method="generic"))


@pytest.mark.parametrize(
    "odd_one", [Hull(), Hull.from_lines([(0.0, 0.0), (1.0, -1.0)]), Hull.from_lines([(0.1, 1e30)])], ids=repr
)
def test_hulls_that_the_kernel_cannot_serve_are_left_to_the_generic_algorithm(odd_one: Hull) -> None:
    """No line, two lines, or lines whose sums are not exact."""
    forest = twice()
    weights = [Hull.from_lines([(1.0, 1e-3)]), odd_one, Hull.from_lines([(0.5, 0.25)])]
    assert compiled.INSIDE["hull"](forest, weights) is None
    fast, slow = inside(forest, HullSemiring(), weights), inside(forest, HullSemiring(), weights, method="generic")
    assert fast == slow
    assert len(slow[forest.root]) >= 1


def test_the_hull_kernel_serves_lines_on_a_grid() -> None:
    weights = [Hull.from_lines([(1.0, 0.5)]), Hull.from_lines([(2.0, -0.5)]), Hull.from_lines([(0.0, 0.0)])]
    assert compiled.INSIDE["hull"](twice(), weights) == inside(twice(), HullSemiring(), weights, method="generic")


def long_lattice(length: int, width: int, seed: int) -> Forest:
    rng = random.Random(seed)
    builder = ForestBuilder(feature_names=["x", "y"])
    for position in range(length):
        for _ in range(width):
            tails = [position - rng.randint(1, min(3, position))] if position else []
            builder.add_edge(position, tails, features=[rng.uniform(-5, 5), rng.uniform(-5, 5)])
    return builder.build(root=length - 1)


@pytest.mark.parametrize("semiring", COMPILED, ids=repr)
def test_kernels_give_the_same_bits_on_a_larger_forest(semiring: Semiring[Any]) -> None:
    forest = long_lattice(400, 5, seed=1)
    weights = weights_for(semiring, forest)
    assert bits(inside(forest, semiring, weights)) == bits(inside(forest, semiring, weights, method="generic"))
    assert bits(outside(forest, semiring, weights)) == bits(outside(forest, semiring, weights, method="generic"))


def test_the_four_plain_semirings_are_compiled() -> None:
    assert {"boolean", "real", "log", "tropical"} <= set(compiled.INSIDE)
    assert {"boolean", "real", "log", "tropical"} <= set(compiled.OUTSIDE)


def twice() -> Forest:
    """A root that names one tail twice; the tail has two derivations."""
    builder = ForestBuilder(feature_names=["x"])
    builder.add_edge("tail", features=[2])
    builder.add_edge("tail", features=[3])
    builder.add_edge("root", ["tail", "tail"], features=[1])
    return builder.build(root="root")


def test_a_tail_named_twice_counts_twice() -> None:
    forest = twice()
    counts = CountingSemiring()
    assert inside(forest, counts, lambda edge: 1) == [2, 4]
    assert outside(forest, counts, lambda edge: 1) == [4, 1]  # either of two positions, beside either derivation
    weights = forest.features.toarray()[:, 0]
    assert inside(forest, RealSemiring(), weights) == [5.0, 25.0]
    assert outside(forest, RealSemiring(), weights) == [10.0, 1.0]  # the derivative of t² is 2t
    assert inside(forest, TropicalSemiring(), weights) == [3.0, 7.0]


@pytest.mark.parametrize("semiring", SEMIRINGS, ids=repr)
def test_a_root_without_derivations_has_the_value_zero(semiring: Semiring[Any]) -> None:
    builder = ForestBuilder(feature_names=["x"])
    builder.add_node("root")
    forest = builder.build(root="root")
    assert inside(forest, semiring, []) == [semiring.zero]
    if semiring.commutative:
        assert outside(forest, semiring, []) == [semiring.one]


@given(small_forests, st.integers(-20, 20))
def test_the_hull_of_the_root_is_the_tropical_value_at_every_eta(forest: Forest, eta: int) -> None:
    """The semiring homomorphism h ↦ h(η), at integers, where nothing rounds."""
    hulls = inside(forest, HullSemiring(), weights_for(HullSemiring(), forest))
    scores = forest.features.toarray() @ [float(eta), 1.0]
    assert [hull(eta) for hull in hulls] == inside(forest, TropicalSemiring(), scores)


@given(small_forests, st.integers(1, 4))
def test_k_best_starts_with_viterbi_and_follows_the_enumeration(forest: Forest, k: int) -> None:
    assume(forest.edges)
    scores = forest.features.toarray()[:, 0].tolist()
    ranked = sorted(
        Derivation(sum(scores[edge] for edge in derivation), derivation) for derivation in derivations(forest)
    )
    best = inside(forest, KBestSemiring(k), lambda edge: (Derivation(scores[edge], (edge,)),))[forest.root]
    assert list(best) == ranked[:k]
    assert inside(forest, ViterbiSemiring(), lambda edge: Derivation(scores[edge], (edge,)))[-1] == ranked[0]


@pytest.mark.parametrize(("a", "b", "c", "edges", "points"), [(3, 3, 5, 45, 47), (10, 10, 10, 320, 1009)])
def test_a_lattice_with_more_segments_than_edges(a: int, b: int, c: int, edges: int, points: int) -> None:
    forest = digit_lattice(a, b, c)
    assert forest.edges == edges == 2 * a + a * b + b * c + c * a
    hull = inside(forest, HullSemiring(), hull_weights(forest))[forest.root]
    assert len(hull) == points == a * b * c + a - 1


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4))
@settings(max_examples=25)
def test_the_small_lattices_by_brute_force(a: int, b: int, c: int) -> None:
    forest = digit_lattice(a, b, c)
    lines = forest.features.toarray()
    every = derivations(forest)
    assert every is not None
    sums = [lines[list(derivation)].sum(axis=0) for derivation in derivations(forest)]
    envelope = Hull.from_lines((float(m), float(b)) for m, b in sums)
    assert inside(forest, HullSemiring(), hull_weights(forest))[forest.root] == envelope


@pytest.mark.parametrize("rounds", range(13))
def test_a_hypergraph_with_exponentially_many_segments(rounds: int) -> None:
    forest = tent_map(rounds)
    assert forest.edges == 3 * rounds + 4
    hull = inside(forest, HullSemiring(), hull_weights(forest))[forest.root]
    assert len(hull) == 2**rounds + 1
    assert list(hull.breakpoints) == list(range(1 - 2**rounds, 2**rounds, 2))  # the odd integers between


@pytest.mark.parametrize("method", ["hull", "lanes"])
@pytest.mark.parametrize(("build", "sizes"), [(digit_lattice, (3, 3, 5)), (digit_lattice, (5, 5, 5)), (tent_map, (8,))])
def test_the_engine_finds_what_the_semiring_says(
    build: Callable[..., Forest], sizes: tuple[int, ...], method: str
) -> None:
    forest = build(*sizes)
    hull = inside(forest, HullSemiring(), hull_weights(forest))[forest.root]
    found = envelope(forest, ORIGIN, DIRECTION, method=method)
    assert tuple(zip(found.slopes.tolist(), found.intercepts.tolist(), strict=True)) == hull.lines
    assert tuple(found.breakpoints.tolist()) == hull.breakpoints


def test_outside_needs_commutativity() -> None:
    with pytest.raises(InputError, match=r"outside needs a commutative semiring, got ViterbiSemiring\(\)"):
        outside(twice(), ViterbiSemiring(), [Derivation(0.0)] * 3)


def test_the_number_of_weights_is_checked() -> None:
    with pytest.raises(InputError, match="weight: got 2 values, expected one for each of 3 edges"):
        inside(twice(), CountingSemiring(), [1, 1])
    with pytest.raises(InputError, match="inside_values: got 1 values, expected one for each of 2 nodes"):
        outside(twice(), CountingSemiring(), [1, 1, 1], inside_values=[1])
    with pytest.raises(InputError, match="method is 'fast'"):
        inside(twice(), CountingSemiring(), [1, 1, 1], method="fast")  # type: ignore[arg-type]  # that is the point
