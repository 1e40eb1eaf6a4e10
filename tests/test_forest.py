"""Building, checking, pruning and packing forests."""

from __future__ import annotations

import math
from itertools import pairwise
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune import Corpus, Forest, ForestBuilder, InputError, Vocabulary, kbest
from hulltune.data import DenseFeatures, Pruned, SparseFeatures
from hulltune.data.features import dense_features, sparse_features
from tests.oracles import count_derivations, derivations, output_of
from tests.strategies import forests


def diamond(**options: Any) -> ForestBuilder:
    builder = ForestBuilder(feature_names=["lm", "words"], **options)
    builder.add_edge("S", ["A", "B"], features=[0.5, 0], output=[1, "and", 0])
    builder.add_edge("A", features={"lm": -1.0, "words": 1}, output=["a"])
    builder.add_edge("B", ["A", "A"], features=[0, 2])
    builder.add_edge("B", features=[3, 3], output=["b"])
    return builder


def test_edges_in_any_order_are_packed_bottom_up() -> None:
    forest = diamond().build(root="S")
    assert forest.node_names == ("A", "B", "S")
    assert forest.edge_ids.tolist() == [1, 2, 3, 0]
    assert forest.edge_offsets.tolist() == [0, 1, 3, 4]
    assert [forest.edge_tails(edge).tolist() for edge in range(4)] == [[], [0, 0], [], [0, 1]]
    assert forest.features.toarray().tolist() == [[-1, 1], [0, 2], [3, 3], [0.5, 0]]
    assert forest.pruned == Pruned(0, 0)
    assert [output_of(forest, d) for d in derivations(forest)] == [("a", "a", "and", "a"), ("b", "and", "a")]
    assert repr(forest) == "Forest(hypergraph: 3 nodes, 4 edges, 2 features)"


def test_unreachable_and_dead_end_parts_are_pruned_and_counted() -> None:
    builder = diamond()
    builder.add_edge("unreachable", ["A"])
    builder.add_node("dead end")
    builder.add_edge("B", ["dead end"])
    builder.add_edge("above the dead end", ["dead end"])
    forest = builder.build(root="S")
    assert forest.pruned == Pruned(nodes=3, edges=3)
    assert forest.node_names == ("A", "B", "S")


def test_root_without_derivation_stands_alone() -> None:
    builder = ForestBuilder(feature_names=["x"])
    builder.add_node("A")
    builder.add_edge("S", ["A"], features=[1])
    forest = builder.build(root="S")
    assert (forest.nodes, forest.edges, forest.pruned) == (1, 0, Pruned(nodes=1, edges=1))


def test_feature_names_are_collected_from_mappings() -> None:
    builder = ForestBuilder()
    builder.add_edge("S", features={"b": 1.0})
    builder.add_edge("S", features={"a": 2.0, "b": 3.0})
    forest = builder.build(root="S")
    assert forest.feature_names == ("b", "a")
    assert forest.features.toarray().tolist() == [[1, 0], [3, 2]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_and_dense_hold_the_same_values(dtype: type) -> None:
    dense, sparse = (diamond(sparse=sparse, dtype=dtype).build(root="S") for sparse in (False, True))
    assert isinstance(dense.features, DenseFeatures)
    assert isinstance(sparse.features, SparseFeatures)
    assert dense.features.values.dtype == sparse.features.values.dtype == dtype
    assert np.array_equal(dense.features.toarray(), sparse.features.toarray())
    mixed = Corpus.pack([dense, sparse])
    assert isinstance(mixed.features, SparseFeatures)
    assert np.array_equal(mixed[0].features.toarray(), mixed[1].features.toarray())


class TestErrorsSayWhere:
    @pytest.mark.parametrize(
        ("nodes", "cycle"),
        [("AS", "S → A → S"), ("AA", "A → A"), ("XYX", "X → Y → X")],  # also where it would be pruned
    )
    def test_cycle(self, nodes: str, cycle: str) -> None:
        builder = diamond()
        for head, tail in pairwise(nodes):
            builder.add_edge(head, [tail])
        with pytest.raises(InputError, match=f"the forest has a cycle: {cycle}; expected an acyclic graph"):
            builder.build(root="S")

    def test_unknown_node(self) -> None:
        builder = diamond()
        builder.add_edge("S", ["A", "C"])
        with pytest.raises(InputError, match="edge 4 into 'S': unknown node 'C' among its tails"):
            builder.build(root="S")

    def test_missing_root(self) -> None:
        with pytest.raises(InputError, match="root: unknown node 'T'; expected one of the 3 nodes"):
            diamond().build(root="T")

    @pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
    @pytest.mark.parametrize("sparse", [False, True])
    def test_feature_that_is_not_finite(self, value: float, sparse: bool) -> None:
        builder = diamond(sparse=sparse)
        builder.add_edge("A", features=[0.0, value])
        with pytest.raises(InputError, match=f"edge 4 into 'A': feature 'words' is {value}; expected a finite number"):
            builder.build(root="S")

    def test_feature_count(self) -> None:
        with pytest.raises(InputError, match=r"edge 4: got 3 feature values, expected 2 \(lm, words\)"):
            diamond().add_edge("A", features=[1, 2, 3])
        with pytest.raises(InputError, match="edge 4: got 0 feature values, expected 2"):
            diamond().add_edge("A", features=[])
        with pytest.raises(InputError, match="edge 0: got 1 feature values, expected names with the values"):
            ForestBuilder().add_edge("A", features=[1])

    def test_feature_name_and_value(self) -> None:
        with pytest.raises(InputError, match="edge 4: unknown feature 'tm'; expected one of lm, words"):
            diamond().add_edge("A", features={"tm": 1})
        with pytest.raises(InputError, match="edge 4: feature 'lm' is 'x'; expected a number"):
            diamond().add_edge("A", features={"lm": "x"})  # type: ignore[dict-item]  # that is the point
        with pytest.raises(InputError, match="feature_names: 'a' is named twice"):
            ForestBuilder(feature_names=["a", "b", "a"])

    def test_output_slot(self) -> None:
        with pytest.raises(InputError, match=r"edge 4: output names tail 1, but the edge has 1 tail"):
            diamond().add_edge("S", ["A"], output=[1])

    def test_tails_given_as_text(self) -> None:
        with pytest.raises(InputError, match="tails must be a list of nodes, got 'AB'"):
            diamond().add_edge("S", "AB")

    def test_a_refused_edge_leaves_nothing_behind(self) -> None:
        builder = ForestBuilder(feature_names=["a"])
        with pytest.raises(InputError, match="output names tail 3"):
            builder.add_edge("S", features=[1], output=[3])
        builder.add_edge("S", features=[7.0])
        assert builder.build(root="S").features.toarray().tolist() == [[7.0]]

    def test_numbers_too_large_for_a_double(self) -> None:
        with pytest.raises(InputError, match="expected a number"):
            diamond().add_edge("A", features=[10**400, 0])

    def test_long_cycles_are_shortened(self) -> None:
        builder = ForestBuilder(feature_names=[])
        for node in range(20_000):
            builder.add_edge(node, [(node + 1) % 20_000])
        with pytest.raises(InputError, match=r"cycle: 0 → 19999 → .*… \(19989 more\).* → 0") as caught:
            builder.build(root=0)
        assert len(str(caught.value)) < 300

    def test_dtype(self) -> None:
        with pytest.raises(InputError, match="dtype: expected float32 or float64"):
            ForestBuilder(dtype=np.float16)  # type: ignore[arg-type]  # that is the point


class TestLists:
    def test_texts_and_tokens(self) -> None:
        forest = Forest.from_nbest(["the cat", ["the", "big cat"], ""], [[1], [2], [3]], feature_names=["lm"])
        assert forest.is_list
        assert [output_of(forest, d) for d in derivations(forest)] == [("the", "cat"), ("the", "big cat"), ()]

    def test_errors(self) -> None:
        with pytest.raises(InputError, match="features: expected a row for each of the 2 outputs, got 1"):
            Forest.from_nbest(["a", "b"], [[1.0]])
        with pytest.raises(InputError, match="feature_names: got 1 name for 2 columns"):
            Forest.from_nbest(["a"], [[1.0, 2.0]], feature_names=["x"])
        with pytest.raises(InputError, match="hypothesis 1: feature 'f0' is nan"):
            Forest.from_nbest(["a", "b"], [[1.0], [math.nan]])
        with pytest.raises(InputError, match=r"expected a matrix \(edges by features\), got 1 dimension"):
            dense_features([1.0, 2.0])
        with pytest.raises(InputError, match="expected a matrix of numbers"):
            dense_features([["x"]])
        with pytest.raises(InputError, match="feature_names: 'x' is named twice"):
            Forest.from_nbest(["a"], [[1.0, 2.0]], feature_names=["x", "x"])
        with pytest.raises(InputError, match="expected a list of names, got the text 'xy'"):
            Forest.from_nbest(["a"], [[1.0, 2.0]], feature_names="xy")
        with pytest.raises(InputError, match=r"hypothesis 0: expected a text or a list of tokens, got \[1\]"):
            Forest.from_nbest([[1]], [[1.0]])  # type: ignore[list-item]  # that is the point

    def test_numbers_that_are_not_real_are_refused(self) -> None:
        with pytest.raises(InputError, match="features: got a masked array; fill it first"):
            dense_features(np.ma.array([[1.0]], mask=[[True]]))
        for values in (np.array([[1j]]), np.array([["2026-01-01"]], dtype="datetime64[D]")):
            with pytest.raises(InputError, match="features: expected a matrix of real numbers, got"):
                dense_features(values)
        with pytest.raises(InputError, match="features: expected a matrix of numbers"):
            dense_features([[10**400]])

    def test_empty_list_and_sparse_rows_of_other_packages(self) -> None:
        assert Forest.from_nbest([], [], feature_names=["x", "y"]).features.shape == (0, 2)
        scipy_sparse = pytest.importorskip("scipy.sparse")
        rows = scipy_sparse.csr_matrix([[0.0, 2.0], [3.0, 0.0]])
        assert Forest.from_nbest(["a", "b"], rows).features.toarray().tolist() == [[0.0, 2.0], [3.0, 0.0]]

    def test_sparse_errors(self) -> None:
        with pytest.raises(InputError, match="row offsets that start at 0"):
            sparse_features([1, 2], [0], [1.0], 1)
        with pytest.raises(InputError, match="2 columns and 1 values, but the row offsets end at 2"):
            sparse_features([0, 2], [0, 0], [1.0], 1)
        with pytest.raises(InputError, match=r"columns must lie in 0\.\.0, got 0\.\.3"):
            sparse_features([0, 2], [0, 3], [1.0, 1.0], 1)


class TestLattices:
    def test_arcs_in_any_order_with_final_features(self) -> None:
        arcs = [(1, 2, "b", [1.0]), (0, 1, "a", [2.0]), (0, 2, None, [4.0]), (0, 1, ["x", "y"], [8.0])]
        forest = Forest.from_lattice(arcs, start=0, finals={2: [16.0], 1: [32.0]}, feature_names=["s"])
        assert forest.arity == 1
        rows = forest.features.toarray()[:, 0]
        paths = {(output_of(forest, d), sum(rows[list(d)])) for d in derivations(forest)}
        assert paths == {
            (("a", "b"), 19), (("x", "y", "b"), 25), ((), 20), (("a",), 34), (("x", "y"), 40),
        }  # fmt: skip

    def test_unknown_final_state(self) -> None:
        with pytest.raises(InputError, match="finals: unknown state 7; no arc touches it"):
            Forest.from_lattice([(0, 1, "a", [1.0])], start=0, finals=[7], feature_names=["s"])

    def test_bad_arcs_and_states(self) -> None:
        arcs = [(0, 1, "a", [1.0])]
        with pytest.raises(InputError, match="start: unknown state '0'; no arc touches it"):
            Forest.from_lattice(arcs, start="0", finals=[1], feature_names=["s"])
        with pytest.raises(InputError, match="finals: expected at least one accepting state"):
            Forest.from_lattice(arcs, start=0, finals=[], feature_names=["s"])
        wrong: Any = [(0, 1, "a")]
        with pytest.raises(InputError, match=r"arc 0: expected \(from, to, word or None, features\)"):
            Forest.from_lattice(wrong, start=0, finals=[1], feature_names=["s"])
        wrong = [(0, 1, [0], [1.0])]
        with pytest.raises(InputError, match="the arc from 0 to 1: expected words as texts"):
            Forest.from_lattice(wrong, start=0, finals=[1], feature_names=["s"])
        forest = Forest.from_lattice(iter(arcs), start=0, finals=[1], feature_names=["s"])
        assert forest.edges == 3

    def test_cycle_names_states(self) -> None:
        with pytest.raises(InputError, match="cycle: 1 → 2 → 1"):
            Forest.from_lattice(
                [(0, 1, "a", [1.0]), (1, 2, "b", [1.0]), (2, 1, "c", [1.0])], start=0, finals=[2], feature_names=["s"]
            )

    def test_start_that_is_final(self) -> None:
        forest = Forest.from_lattice([(0, 1, "a", [1.0])], start=0, finals=[0, 1], feature_names=["s"])
        assert sorted(output_of(forest, d) for d in derivations(forest)) == [(), ("a",)]


class TestCorpus:
    @settings(max_examples=50, deadline=None)
    @given(st.lists(forests(sparse=False), min_size=1, max_size=4))
    def test_slices_are_the_forests(self, parts: list[Forest]) -> None:
        corpus = Corpus.pack(parts)
        assert len(corpus) == len(parts)
        for forest, again in zip(parts, corpus, strict=True):
            for name in ("edge_offsets", "tail_offsets", "tails", "label_offsets", "edge_ids"):
                assert np.array_equal(getattr(forest, name), getattr(again, name))
            assert np.array_equal(forest.features.toarray(), again.features.toarray())
            assert [output_of(forest, d) for d in derivations(forest)] == [
                output_of(again, d) for d in derivations(again)
            ]

    def test_vocabularies_are_joined(self) -> None:
        first = Forest.from_nbest(["a b"], [[1]], vocabulary=Vocabulary(["z", "b"]))
        second = Forest.from_nbest(["b c"], [[1]])
        corpus = Corpus.pack([first, second])
        assert [output_of(forest, (0,)) for forest in corpus] == [("a", "b"), ("b", "c")]

    def test_errors(self) -> None:
        with pytest.raises(InputError, match="a corpus needs at least one forest"):
            Corpus.pack([])
        one = Forest.from_nbest(["a"], [[1.0]], feature_names=["x"])
        two = Forest.from_nbest(["a"], [[1.0, 2.0]], feature_names=["x", "y"])
        with pytest.raises(
            InputError, match=r"forest 1 has 2 features, expected the 1 of forest 0; .*'y' instead of None"
        ):
            Corpus.pack([one, two])
        with pytest.raises(IndexError, match="sentence 1 of a corpus of 1"):
            Corpus.pack([one])[1]


@settings(max_examples=100, deadline=None)
@given(forests(max_derivations=10**9), st.randoms(use_true_random=False))
def test_the_order_of_edges_does_not_change_what_is_derived(forest: Forest, random: Random) -> None:
    rows = forest.features.toarray().tolist()
    edges = [
        (node, forest.edge_tails(edge).tolist(), rows[edge])
        for node in range(forest.nodes)
        for edge in range(forest.edge_offsets[node], forest.edge_offsets[node + 1])
    ]
    random.shuffle(edges)
    builder = ForestBuilder(feature_names=forest.feature_names)
    for head, tails, features in edges:
        builder.add_edge(head, tails, features=features)
    builder.add_node(forest.root)
    again = builder.build(root=forest.root)
    assert count_derivations(again) == count_derivations(forest)
    for edge in range(again.edges):  # topological: every tail is below its head
        head = int(np.searchsorted(again.edge_offsets, edge, side="right")) - 1
        assert all(tail < head for tail in again.edge_tails(edge))


def test_an_empty_word_of_a_lattice_is_none() -> None:
    arcs = [(0, 1, "a", [1.0]), (1, 2, "", [2.0]), (2, 3, None, [3.0]), (3, 4, [], [4.0]), (4, 5, ["b", "c"], [5.0])]
    forest = Forest.from_lattice(arcs, start=0, finals=[5], feature_names=["f"])
    (best,) = kbest(forest, [1.0], 2).texts
    assert best == "a b c"
    for word in (["a", ""], [""]):
        with pytest.raises(InputError, match="the arc from 0 to 1: expected words as texts, got"):
            Forest.from_lattice([(0, 1, word, [1.0])], start=0, finals=[1], feature_names=["f"])
