"""Lists with sparse rows: every answer is that of the matrix with the same numbers, to the bit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hulltune import decode
from hulltune.data.corpus import Corpus
from hulltune.data.features import SparseFeatures
from hulltune.data.forest import Forest
from hulltune.lines.compute import list_segments
from hulltune.lines.scoring import EdgeScorer
from hulltune.search.directions import feature_units
from hulltune.search.outputs import Sentences
from hulltune.search.problem import _line
from tests.search.test_shards import corpora, problem_of, whole
from tests.strategies import counts, values, vectors

WIDTH = 3


def as_sparse(corpus: Corpus, seed: int = 0) -> Corpus:
    """The corpus with sparse rows, whose columns are in any order and may have a value of 0."""
    rng = np.random.default_rng(seed)
    matrix = corpus.features.values
    offsets, columns, numbers = [0], [], []
    for row in matrix:
        kept = rng.permutation(np.flatnonzero((row != 0) | (rng.random(len(row)) < 0.2)))
        columns += kept.tolist()
        numbers += row[kept].tolist()
        offsets.append(len(columns))
    features = SparseFeatures(
        np.array(offsets), np.array(columns, dtype=np.int32), np.array(numbers, dtype=matrix.dtype), matrix.shape[1]
    )
    return replace(corpus, features=features)


def assert_equal(pair: Sequence[Any]) -> None:
    np.testing.assert_array_equal(pair[0], pair[1])


def assert_same_answers(dense: Corpus, origin: Any, directions: Any, interval: tuple[float, float], seed: int) -> None:
    sparse = as_sparse(dense, seed)
    weights, intervals = np.vstack([origin, directions]), np.array([interval] * len(directions))
    scores = [EdgeScorer(corpus).scores(0, len(corpus), weights) for corpus in (dense, sparse)]
    assert_equal([numbers for numbers, _ in scores])
    assert_equal([exponents for _, exponents in scores])
    assert_equal([feature_units(corpus) for corpus in (dense, sparse)])
    shards = [whole(problem_of(corpus)) for corpus in (dense, sparse)]
    assert_equal([shard.winners(weights[0]) for shard in shards])
    segments = [shard.segments(weights, intervals) for shard in shards]
    for number in range(len(directions)):
        lines = [_line(each, intervals, number) for each in segments]
        assert_equal([line.lefts for line in lines])
        assert_equal([line.outputs for line in lines])
    left_out = [list_segments(each.sentences.scorer, (0, len(dense)), weights, intervals) is None for each in shards]
    assert left_out[0] == left_out[1]
    assert_equal([decode(corpus, weights[0]).derivation_edges for corpus in (dense, sparse)])


ends = st.floats(-5, 5) | st.sampled_from([math.inf, -math.inf, 0.0])


@given(
    corpora(),
    vectors(WIDTH),
    st.lists(vectors(WIDTH), min_size=1, max_size=19),
    st.tuples(ends, ends).filter(lambda pair: pair[0] < pair[1]),
    st.integers(0, 9),
)
def test_sparse_rows_answer_as_a_matrix(
    corpus: Corpus, origin: list[float], directions: list[list[float]], interval: tuple[float, float], seed: int
) -> None:
    assert_same_answers(corpus, origin, directions, interval, seed)


@given(
    corpora(counts | st.just(0.0)), vectors(WIDTH, counts), st.lists(vectors(WIDTH, counts), min_size=1, max_size=17)
)
def test_sparse_rows_with_many_ties_answer_as_a_matrix(
    corpus: Corpus, origin: list[float], directions: list[list[float]]
) -> None:
    assert_same_answers(corpus, origin, directions, (-math.inf, math.inf), 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1, 3, 15, 16, 33, 130])
def test_wide_rows_answer_as_a_matrix(dtype: type[np.float64], size: int) -> None:
    rng = np.random.default_rng(size)
    sentences, width = 12, 150
    parts = []
    for _ in range(sentences):
        matrix = np.where(rng.random((size, width)) < 0.08, rng.normal(size=(size, width)), 0.0)
        parts.append(Forest.from_nbest([str(k) for k in range(size)], matrix.astype(dtype)))
    corpus = Corpus.pack(parts)
    assert_same_answers(corpus, rng.normal(size=width), rng.normal(size=(33, width)), (-math.inf, math.inf), size)
    axes = np.eye(width)[:20]
    assert_same_answers(corpus, rng.normal(size=width), axes, (-1.0, math.inf), size)
    assert_same_answers(corpus, rng.normal(size=width), rng.normal(size=(17, width)), (-0.01, 0.02), size)


@pytest.mark.parametrize("scale", [1e-250, 1e-150, 1e150, 1e250])
def test_numbers_of_any_size_answer_as_a_matrix(scale: float) -> None:
    rng = np.random.default_rng(3)
    parts = [
        Forest.from_nbest(
            [str(k) for k in range(20)],
            np.where(rng.random((20, 5)) < 0.5, rng.normal(size=(20, 5)), 0.0) * np.array([1.0, scale, 1.0, 1.0, 0.0]),
        )
        for _ in range(5)
    ]
    assert_same_answers(Corpus.pack(parts), np.ones(5), rng.normal(size=(3, 5)), (-math.inf, math.inf), 5)


def test_lists_among_forests_keep_the_scores_of_the_matrix() -> None:
    rng = np.random.default_rng(8)
    some = Forest.from_nbest(["a", "b", "c"], rng.normal(size=(3, 2)), feature_names=["x", "y"])
    arcs = [(0, 1, "a", [1.0, 0.5]), (0, 1, "b", [0.25, -2.0]), (1, 2, "c", [0.0, 1.0])]
    corpus = Corpus.pack([some, Forest.from_lattice(arcs, start=0, finals=[2], feature_names=["x", "y"]), some])
    weights = rng.normal(size=(3, 2))
    dense, sparse = (EdgeScorer(each).scores(0, 3, weights)[0] for each in (corpus, as_sparse(corpus)))
    lists = np.r_[0:3, corpus.edges - 3 : corpus.edges]
    np.testing.assert_array_equal(dense[:, lists], sparse[:, lists])
    problem = problem_of(as_sparse(corpus))
    assert isinstance(problem.sentences, Sentences)
    np.testing.assert_array_equal(
        problem.picks(weights[0]).outputs[[0, 2]], problem_of(corpus).picks(weights[0]).outputs[[0, 2]]
    )


def test_a_column_that_stands_twice_counts_twice() -> None:
    twice = SparseFeatures(np.array([0, 3, 4]), np.array([1, 0, 1, 0], dtype=np.int32), np.array([1.0, 0, 2, 3]), 2)
    tidy = twice.tidy()
    assert tidy.toarray().tolist() == twice.toarray().tolist() == [[0.0, 3.0], [3.0, 0.0]]
    assert tidy.offsets.tolist() == [0, 1, 2]
    assert tidy.tidy() is tidy


@given(st.lists(st.lists(st.tuples(st.integers(0, 50), values), max_size=60), max_size=6))
def test_tidy_rows_keep_their_numbers(rows: list[list[tuple[int, float]]]) -> None:
    offsets = np.cumsum([0, *map(len, rows)])
    columns = np.array([column for row in rows for column, _ in row], dtype=np.int32)
    numbers = np.array([value for row in rows for _, value in row])
    features = SparseFeatures(offsets, columns, numbers, 51)
    tidy = features.tidy()
    for row in range(len(rows)):
        own = tidy.columns[tidy.offsets[row] : tidy.offsets[row + 1]]
        assert np.all(np.diff(own) > 0)
    assert np.all(tidy.values != 0.0)
    np.testing.assert_array_equal(tidy.toarray(), features.toarray())
