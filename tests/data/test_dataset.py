"""Datasets: some of their sentences, other features, references, and what they say of themselves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune import Corpus, Dataset, Forest, InputError, decode, kbest, read, write
from hulltune.data.dataset import own_first_choices
from hulltune.data.features import DenseFeatures, SparseFeatures
from hulltune.data.lists import lists_of_texts
from tests.strategies import forests

RECORDS: list[dict[str, Any]] = [
    {"refs": ["a b"], "candidates": [
        {"text": "a b", "features": {"x": 1.0, "y": 2.0}, "score": 1.0},
        {"text": "", "features": {"x": 2.0, "y": 2.0}, "score": 3.0},
        {"text": "a b", "features": {"x": 3.0, "y": 2.0}, "score": 3.0},
        {"text": "a b", "features": {"x": 1.0, "y": 2.0}, "score": 2.0},
    ]},
    {"refs": ["c"], "source": "s", "candidates": []},
    {"refs": ["a b"], "candidates": [{"text": "a b", "features": {"x": 0.0, "y": 1.0}, "score": 0.0}]},
]  # fmt: skip


def test_a_list_is_a_node_with_an_edge_for_each_hypothesis() -> None:
    lists = read(RECORDS)
    corpus = lists.corpus
    assert (lists.ids, lists.is_lists, len(lists), corpus.nodes, corpus.edges) == (range(3), True, 3, 3, 4)
    assert lists.texts() == ["a b", "", "a b", "a b"]
    assert [lists.text(edge) for edge in range(4)] == lists.texts()
    assert corpus.labels.tolist() == [0, 0, 1]  # equal texts of a list are one token
    assert corpus.label_offsets.tolist() == [0, 1, 1, 2, 3]
    assert corpus.edge_ids.tolist() == [0, 1, 2, 0]
    assert np.asarray(lists.copies).tolist() == [2, 1, 1, 1]
    assert np.asarray(lists.scores).tolist() == [2.0, 3.0, 3.0, 0.0]
    assert lists.first_choices.tolist() == [1, -1, 0]
    assert (lists.duplicates, lists.empty_ids, lists.sources) == (1, (1,), (None, "s", None))
    assert decode(lists, [1.0, 0.0]).outputs() == [["a b"], [], ["a b"]]
    assert kbest(lists.corpus, [1.0, 0.0], 5, distinct=True).texts == ["a b", "", "a b"]
    with pytest.raises(IndexError):
        lists.text(4)


def test_what_a_dataset_says_of_itself() -> None:
    lists = read(RECORDS)
    assert repr(lists) == "Dataset(lists: 3 sentences, 4 hypotheses, 2 features)"
    lattice = Forest.from_lattice([(0, 1, "a", {"f0": 1.0})], start=0, finals=[1])
    assert repr(read([lattice])) == "Dataset(lattices: 1 sentence, 3 nodes, 3 edges, 1 feature)"
    both = [lattice, Forest.from_nbest(["a"], [[1.0]])]
    assert repr(read(both)) == "Dataset(mixed: 2 sentences, 4 nodes, 4 edges, 1 feature)"


@given(st.lists(st.lists(st.integers(-2, 2), max_size=5), max_size=6))
def test_own_first_choices(scores: list[list[int]]) -> None:
    offsets = np.cumsum([0, *map(len, scores)]).astype(np.int64)
    values = np.array([value for each in scores for value in each], dtype=np.float64)
    expected = [each.index(max(each)) if each else -1 for each in scores]
    assert own_first_choices(offsets, values).tolist() == expected
    assert own_first_choices(offsets, None).tolist() == [0 if each else -1 for each in scores]


def assert_same_forests(one: Corpus, other: Corpus) -> None:
    assert len(one) == len(other)
    for mine, theirs in zip(one, other, strict=True):
        for name in ("edge_offsets", "tail_offsets", "tails", "label_offsets", "labels", "edge_ids"):
            np.testing.assert_array_equal(getattr(mine, name), getattr(theirs, name), err_msg=name)
        np.testing.assert_array_equal(mine.features.toarray(), theirs.features.toarray())
        assert mine.pruned == theirs.pruned


@settings(deadline=None, max_examples=60)
@given(st.lists(forests(max_derivations=20), min_size=1, max_size=5), st.booleans(), st.data())
def test_some_sentences_of_a_corpus(parts: list[Forest], sparse: bool, data: st.DataObject) -> None:
    corpus = Corpus.pack(parts)
    if sparse:
        rows, columns = np.nonzero(np.ones(corpus.features.shape))
        values = corpus.features.toarray()[rows, columns]
        offsets = np.arange(corpus.edges + 1, dtype=np.int64) * len(corpus.feature_names)
        wide = SparseFeatures(offsets, columns.astype(np.int32), values, len(corpus.feature_names))
        corpus = replace(corpus, features=wide)
    chosen = data.draw(st.lists(st.integers(0, len(parts) - 1), min_size=1, max_size=6))
    assert_same_forests(corpus.take(np.array(chosen)), Corpus.pack([corpus[i] for i in chosen]))
    places = sorted(data.draw(st.sets(st.integers(0, 9), min_size=len(parts), max_size=len(parts))))
    spread = corpus.spread(np.array(places), 10)
    nothing = Forest.from_nbest([], [], feature_names=corpus.feature_names)
    by_place = dict(zip(places, corpus, strict=True))
    assert_same_forests(spread, Corpus.pack([by_place.get(place, nothing) for place in range(10)]))
    assert_same_forests(spread.take(np.array(places)), corpus)


def test_leaving_out_empty_sentences_copies_nothing() -> None:
    lists = read(RECORDS)
    some = lists.take(np.array([0, 2]))
    assert some.corpus.features is lists.corpus.features
    assert some.scores is lists.scores
    assert (some.ids, some.references, some.texts()) == ((0, 2), (("a b",), ("a b",)), lists.texts())


def test_some_sentences_of_a_dataset() -> None:
    lists = read(RECORDS)
    some = lists.take(np.array([2, 1]))
    assert (some.ids, some.texts(), some.sources) == ((2, 1), ["a b"], (None, "s"))
    assert (np.asarray(some.scores).tolist(), np.asarray(some.copies).tolist()) == ([0.0], [1])
    assert some.first_choices.tolist() == [0, -1]
    forest = Forest.from_lattice([(0, 1, "a", {"f0": 1.0})], start=0, finals=[1])
    assert len(read([forest, forest]).take(np.array([1])).members_of(0)) == 1


def test_features_by_name() -> None:
    lists = read(RECORDS)
    assert lists.with_features(("x", "y")) is lists
    swapped = lists.with_features(("y", "z", "x"), may_lack=["z"])
    assert swapped.corpus.features.toarray()[0].tolist() == [2.0, 0.0, 1.0]
    with pytest.raises(InputError, match="records: no feature 'z', which the lists that are tuned on have"):
        lists.with_features(("y", "z"))
    with pytest.raises(InputError, match="none of the features z; they have x, y"):
        lists.with_features(("z",), may_lack=None)
    assert lists.with_features(("z", "y"), may_lack=None).feature_names == ("z", "y")


@pytest.mark.parametrize("sparse", [False, True])
def test_more_features(sparse: bool) -> None:
    lists = read(RECORDS)
    features: Any = lists.corpus.features
    if sparse:
        columns = np.tile(np.array([0, 1], dtype=np.int32), 4)
        features = SparseFeatures(np.arange(0, 9, 2), columns, features.values.ravel(), 2)
        lists = replace(lists, corpus=replace(lists.corpus, features=features))
    more = lists.with_more_features(["n", "m"], [np.arange(4.0), -np.arange(4.0)])
    assert more.feature_names == ("x", "y", "n", "m")
    expected = np.column_stack([features.toarray(), np.arange(4.0), -np.arange(4.0)])
    np.testing.assert_array_equal(more.corpus.features.toarray(), expected)
    with pytest.raises(InputError, match="already have a feature 'x'"):
        lists.with_more_features(["x"], [np.arange(4.0)])


def test_references_of_lists_and_of_forests_are_matched_by_their_own_rules() -> None:
    lines = tuple((f"line {number}",) for number in range(5))
    lists = read([{"id": 3, "candidates": [{"text": "a", "features": {"x": 1}}]}])
    matched = lists.matched(lines)
    assert (matched.ids, matched.references, matched.empty_ids) == (range(5), lines, (0, 1, 2, 4))  # empty outputs
    members = tuple(lists.members_of(sentence) for sentence in range(len(lists)))
    among_forests = replace(lists, members=members).matched(lines)
    assert (len(among_forests), among_forests.references) == (4, lines[:4])  # as many as there are, by number
    forest = Forest.from_nbest(["a"], [[1.0]])
    with pytest.raises(InputError, match="1 sentence, but 5 reference lines"):
        read([forest]).matched(lines)
    with pytest.raises(InputError, match="lists: no sentence has a candidate"):
        read([{"candidates": []}], ["r"])
    with pytest.raises(InputError, match="forests: no sentence has a derivation"):
        read([Forest.from_nbest([], [], feature_names=("x",))], ["r"])


def test_everything_in_memory_is_taken() -> None:
    lists = read(RECORDS)
    assert read(lists) is lists
    forest = Forest.from_nbest(["a b", "c"], [[1.0], [2.0]])
    for source in (forest, [forest], [[forest]], Corpus.pack([forest])):
        found = read(source)
        assert (len(found), found.corpus.edges, found.is_lists) == (1, 2, False)
        assert found.first_choices.tolist() == [-1]  # a forest has no order of its own
    assert len(read([[], [forest, forest]])) == 2
    assert read(iter(RECORDS)).texts() == lists.texts()
    assert read(lists, features=["words"]).feature_names == ("x", "y", "words")
    refused: list[tuple[Any, dict[str, Any], str]] = [
        (lists, {"negate": True}, "negate: is for files, and this is a Dataset"),
        (forest, {"missing": 0}, "missing: is for files, and this is forests"),
        (RECORDS, {"ids": "name"}, "ids: is for files, and this is records"),
        (3, {}, "paths: got 3; expected the name of a file"),
        ([], {}, "at least one file"),
    ]
    for wrong, options, message in refused:
        with pytest.raises(InputError, match=message):
            read(wrong, **options)


def test_lists_of_texts_are_those_of_records() -> None:
    lists = lists_of_texts(range(2), np.array([0, 2, 3]), ["a", "b", "a"], np.array([[1.0], [2.0], [3.0]]), ("x",))
    assert isinstance(lists.corpus.features, DenseFeatures)
    records = [
        {"candidates": [{"text": "a", "features": {"x": 1.0}}, {"text": "b", "features": {"x": 2.0}}]},
        {"candidates": [{"text": "a", "features": {"x": 3.0}}]},
    ]
    same: Dataset = read(records)
    assert_same_forests(lists.corpus, same.corpus)
    assert lists.texts() == same.texts()
    assert np.array_equal(lists.first_choices, same.first_choices)


def test_whatever_read_takes_is_written(tmp_path: Path) -> None:
    records = [{"id": 0, "refs": ["a"], "candidates": [{"text": "a b", "features": {"x": 1.5}}]}]
    write(records, tmp_path / "lists.jsonl")
    write(tmp_path / "lists.jsonl", tmp_path / "lists.hull")
    again = read(tmp_path / "lists.hull")
    assert (again.text(0), again.feature_names, again.references) == ("a b", ("x",), (("a",),))


def test_a_sparse_row_keeps_the_signs_of_zeros_as_a_matrix() -> None:
    rows = SparseFeatures(np.array([0, 3]), np.array([0, 2, 2], dtype=np.int32), np.array([-0.0, 1.0, 1.5]), 4)
    assert str(rows.toarray().tolist()) == "[[-0.0, 0.0, 2.5, 0.0]]"
