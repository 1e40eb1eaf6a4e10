"""Corpora packed in parts by many threads: each sentence is the forest it was."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hulltune import Corpus, Forest
from hulltune.data import corpus as corpus_module
from hulltune.data.joining import with_common_features
from tests.strategies import forests


def words(forest: Forest) -> list[str | int]:
    return [forest.vocabulary[label] if label >= 0 else label for label in forest.labels.tolist()]


@given(
    st.lists(st.one_of(forests(sparse=False), forests(sparse=True), forests(width=0)), min_size=1, max_size=6),
    st.integers(1, 9),
    st.integers(1, 3),
)
@settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_a_packed_corpus_holds_the_forests(
    monkeypatch: pytest.MonkeyPatch, given_forests: list[Forest], at_once: int, threads: int
) -> None:
    monkeypatch.setattr(corpus_module, "AT_ONCE", at_once)
    whole = with_common_features(given_forests)  # each has a vocabulary of its own
    corpus = Corpus.pack(whole, threads=threads)
    assert len(corpus) == len(whole)
    for forest, packed in zip(whole, corpus, strict=True):
        for name in ("edge_offsets", "tail_offsets", "tails", "label_offsets", "edge_ids"):
            found, expected = getattr(packed, name), getattr(forest, name)
            assert found.dtype == expected.dtype
            assert np.array_equal(found, expected), name
        assert words(packed) == words(forest)
        assert packed.features.toarray().tobytes() == forest.features.toarray().tobytes()
        assert packed.pruned == forest.pruned


def test_a_corpus_is_float32_only_if_all_forests_are() -> None:
    small = Forest.from_nbest(["a"], np.array([[1.5]], dtype=np.float32), feature_names=["f"])
    large = Forest.from_nbest(["b"], [[2.5]], feature_names=["f"])
    assert Corpus.pack([small, small]).features.dtype == np.float32
    mixed = Corpus.pack([small, large])
    assert mixed.features.dtype == np.float64
    assert mixed.features.toarray().tolist() == [[1.5], [2.5]]


def test_words_are_numbered_in_the_order_of_the_forests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus_module, "AT_ONCE", 1)
    lists = [Forest.from_nbest([f"w{k}", "same"], [[1.0], [2.0]], feature_names=["f"]) for k in range(20)]
    tokens = [forest.vocabulary[0] for forest in lists]
    assert Corpus.pack(lists, threads=4).vocabulary.tokens == (tokens[0], "same", *tokens[1:])


def test_forests_over_common_features_stay_as_they_are() -> None:
    forest = Forest.from_nbest(["a"], [[1.0, 2.0]], feature_names=["x", "y"])
    assert with_common_features([forest, forest])[0] is forest
