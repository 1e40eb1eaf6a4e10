"""Lattices made of hypergraphs against enumeration: the same derivations, each as often, with the same features."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from decoder.unfolding import unfolded
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hulltune import Forest, ForestBuilder, InputError
from hulltune.data.forest import Pruned
from tests.oracles import count_derivations, derivations, output_of
from tests.strategies import counts, forests


def by_enumeration(forest: Forest) -> Counter[tuple[tuple[str, ...], tuple[float, ...]]]:
    """The number of derivations by output and sum of features; sums of whole numbers, exact in any order."""
    features = forest.features.toarray()
    return Counter(
        (output_of(forest, derivation), tuple((features[list(derivation)].sum(axis=0) + 0.0).tolist()))
        for derivation in derivations(forest)
    )


def repeats(forest: Forest) -> bool:
    rows = [forest.labels[first:last].tolist() for first, last in zip(
        forest.label_offsets[:-1], forest.label_offsets[1:], strict=True
    )]  # fmt: skip
    return any(len({label for label in row if label < 0}) < sum(label < 0 for label in row) for row in rows)


@settings(max_examples=200, deadline=None)
@given(forests(elements=counts))
def test_a_lattice_has_the_derivations_of_its_forest(forest: Forest) -> None:
    assume(not repeats(forest))
    lattice = unfolded(forest)
    assert lattice.arity <= 1
    assert lattice is forest or lattice.pruned == Pruned()  # every arc is on a path
    assert by_enumeration(lattice) == by_enumeration(forest)
    for edge in range(lattice.edges):  # read from the left: first the path so far, then words
        labels = lattice.labels[lattice.label_offsets[edge] : lattice.label_offsets[edge + 1]].tolist()
        assert labels[:1] == [-1] * len(lattice.edge_tails(edge))
        assert all(label >= 0 for label in labels[1:])


@settings(max_examples=30, deadline=None)
@given(forests(elements=counts), st.integers(1, 40))
def test_a_lattice_is_never_larger_than_allowed(forest: Forest, most: int) -> None:
    assume(not repeats(forest) and forest.edges)
    whole = unfolded(forest)
    arcs = whole.edges - 1  # the edge of the start is none
    if arcs <= most:
        assert unfolded(forest, most_edges=most).edges == whole.edges
    else:
        with pytest.raises(InputError, match=f"would have more than {most};"):
            unfolded(forest, most_edges=most)


@pytest.mark.parametrize("to_the_left", [True, False])
def test_a_chain_of_either_kind_stays_linear(to_the_left: bool) -> None:
    """X_n → X_{n−1} W_n, or W_n X_{n−1}, each with two words for W_n and two rules: 4ⁿ derivations."""
    builder = ForestBuilder(feature_names=["count"])
    builder.add_edge("X0", output=[])
    size = 200
    for n in range(1, size + 1):
        for word in "ab":
            builder.add_edge(f"W{n}", features=[1.0], output=[f"{word}{n}"])
        for rule in range(2):
            tails = [f"X{n - 1}", f"W{n}"]
            builder.add_edge(f"X{n}", tails if to_the_left else tails[::-1], features=[float(rule)], output=[0, 1])
    forest = builder.build(root=f"X{size}")
    lattice = unfolded(forest)
    assert count_derivations(lattice) == count_derivations(forest) == 4**size
    assert lattice.edges <= forest.edges + 2


def test_what_a_lattice_cannot_be() -> None:
    builder = ForestBuilder(feature_names=["count"])
    builder.add_edge("word", output=["a"])
    builder.add_edge("root", ["word"], output=[0, 0])
    with pytest.raises(InputError, match=re.escape("repeats the output of a tail")):
        unfolded(builder.build(root="root"))
    empty = ForestBuilder(feature_names=["count"])
    empty.add_node("root")
    assert unfolded(empty.build(root="root")).edges == 0
