"""The fast kernels of lists give what the general ones give, to the bit, however a problem is cut into shards."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hulltune import Corpus, EdgeScorer, Forest, envelopes
from hulltune.data.copies import AT_ONCE
from hulltune.data.features import DenseFeatures
from hulltune.lines.compute import decode, list_segments
from hulltune.metrics.memory import CompactTable
from hulltune.search.problem import NO_TABLE, Line, Problem, _line
from hulltune.search.shards import WHOLE_LINE, Shard, cut
from hulltune.surface import ErrorSurface
from hulltune.threads import Workers
from tests.problems import corpus_problem
from tests.search.function_metric import FunctionMetric
from tests.strategies import counts, lists, values, vectors

WIDTH = 3
EMPTY = Forest.from_nbest([], np.zeros((0, 1)))
WORDS = ("a", "b", "c d")


@st.composite
def corpora(draw: st.DrawFn, elements: st.SearchStrategy[float] = values) -> Corpus:
    """Lists of 0 to 40 hypotheses."""
    parts = draw(st.lists(lists(elements=elements, width=WIDTH), min_size=1, max_size=4))
    if draw(st.booleans()):
        parts.append(Forest.from_nbest([], np.zeros((0, WIDTH)), feature_names=parts[0].feature_names))
    return Corpus.pack(parts)


def problem_of(corpus: Corpus) -> Problem:
    return corpus_problem(corpus, "wer", [(f"a b {k % 2}",) for k in range(len(corpus))])


def whole(problem: Problem) -> Shard:
    (shard,) = cut(problem.sentences, 1)
    return shard


def slow_surface(problem: Problem, line: Line) -> ErrorSurface:
    """The surface without the table of 32 bits."""
    rows = problem._output_rows()._replace(table=NO_TABLE)
    return ErrorSurface.along(line.low, line.lefts, line.outputs, rows, problem.table)


def assert_surfaces_agree(problem: Problem, origin: Any, directions: Any, intervals: Any, threads: int = 1) -> bool:
    """Check that the kernel of lists, where it is used, equals that of forests; return whether it was used."""
    origin, directions, intervals = np.array(origin), np.array(directions), np.array(intervals)
    fast = list_segments(problem.scorer, (0, len(problem.corpus)), np.vstack([origin, directions]), intervals)
    general = envelopes(problem.corpus, origin, directions, interval=intervals, method="lanes")
    surfaces = problem.surfaces(origin, directions, intervals, workers=Workers(threads))
    for number, surface in enumerate(surfaces):
        rows = general.offsets[number]
        here = slice(rows[0], rows[-1])
        lefts = general.lefts[here]
        outputs = general.derivation_edges[here] + np.repeat(problem.corpus.sentence_edges[:-1], np.diff(rows)).astype(
            np.int32
        )
        if fast is not None:
            own = _line(fast, intervals, number)
            np.testing.assert_array_equal(own.lefts, lefts)
            np.testing.assert_array_equal(own.outputs, outputs)
        slow = slow_surface(problem, Line(intervals[number, 0], lefts, outputs))
        np.testing.assert_array_equal(surface.breakpoints, slow.breakpoints)
        assert np.all(np.diff(surface.breakpoints) > 0)
        np.testing.assert_array_equal(surface.statistics, slow.statistics)
        assert surface.statistics.dtype == slow.statistics.dtype
    return fast is not None


ends = st.floats(-5, 5) | st.sampled_from([math.inf, -math.inf, 0.0])


@given(
    corpora(),
    vectors(WIDTH),
    st.lists(vectors(WIDTH), min_size=1, max_size=19),
    st.tuples(ends, ends).filter(lambda pair: pair[0] < pair[1]),
    st.integers(1, 3),
)
def test_surfaces_of_any_lists(
    corpus: Corpus, origin: list[float], directions: list[list[float]], interval: tuple[float, float], threads: int
) -> None:
    assert_surfaces_agree(problem_of(corpus), origin, directions, [interval] * len(directions), threads)


@given(corpora(counts), vectors(WIDTH, counts), st.lists(vectors(WIDTH, counts), min_size=1, max_size=17))
def test_surfaces_with_many_ties_take_the_fast_path(
    corpus: Corpus, origin: list[float], directions: list[list[float]]
) -> None:
    assert assert_surfaces_agree(problem_of(corpus), origin, directions, [(-math.inf, math.inf)] * len(directions))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("size", "reach"), [(1, math.inf), (3, 0.1), (16, math.inf), (33, 0.1), (64, math.inf),
                                             (65, 0.001), (400, math.inf), (400, 0.03), (1500, 0.01)])  # fmt: skip
def test_surfaces_of_long_lists(dtype: type[np.float64], size: int, reach: float) -> None:
    """Within a short reach most hypotheses are dropped beforehand, which changes nothing."""
    rng = np.random.default_rng(size)
    sentences, width = 20, 7
    matrix = np.asfortranarray(rng.normal(size=(sentences * size, width)).astype(dtype))
    matrix[: size // 2] = matrix[0]  # a crowd of equals, for the sort by buckets
    corpus = Corpus.pack(
        [
            Forest.from_nbest([WORDS[k % 3] for k in range(size)], DenseFeatures(matrix[i * size : (i + 1) * size]))
            for i in range(sentences)
        ]
    )
    directions = rng.standard_cauchy((33, width))
    assert assert_surfaces_agree(problem_of(corpus), rng.normal(size=width), directions, [(-reach, 2 * reach)] * 33)


def test_intervals_that_end_at_a_breakpoint_or_leave_out_the_start() -> None:
    rng = np.random.default_rng(3)
    corpus = Corpus.pack(
        [Forest.from_nbest([WORDS[k % 3] for k in range(30)], rng.normal(size=(30, 4))) for _ in range(25)]
    )
    problem, origin, direction = problem_of(corpus), rng.normal(size=4), rng.normal(size=4)
    whole = problem.surfaces(origin, np.array([direction]), np.array([[-math.inf, math.inf]]))[0]
    near = whole.breakpoints[np.abs(whole.breakpoints) < 3.0]
    assert len(near) > 10
    places = [*near.tolist(), *np.nextafter(near, math.inf).tolist(), 0.0, -math.inf, math.inf, -3.0, 3.0]
    pairs = [(low, high) for low, high in rng.choice(places, size=(300, 2)).tolist() if low < high]
    assert assert_surfaces_agree(problem, origin, [direction] * len(pairs), pairs)


def test_a_hull_of_all_hypotheses() -> None:
    x = np.linspace(-3, 3, 200)
    corpus = Corpus.pack([Forest.from_nbest([WORDS[k % 3] for k in range(200)], np.stack([x, -x * x], axis=1))])
    directions = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]]
    assert assert_surfaces_agree(problem_of(corpus), [0.0, 1.0], directions, [(-math.inf, math.inf)] * 3)


def takes_fast_path(corpus: Corpus, weights: list[float]) -> bool:
    lines = np.array([weights, [0.0] * len(weights)])
    return list_segments(EdgeScorer(corpus), (0, len(corpus)), lines, WHOLE_LINE) is not None


def assert_winners_agree(corpus: Corpus, weights: list[float]) -> bool:
    """Check that the fast kernel, where it is used, picks what decoding picks; return whether it was used."""
    found = envelopes(corpus, weights, [np.zeros(len(weights))], method="lanes")
    filled = np.diff(corpus.sentence_edges) > 0
    winners = whole(problem_of(corpus)).winners(np.array(weights))
    np.testing.assert_array_equal(winners[filled], found.derivation_edges + corpus.sentence_edges[:-1][filled])
    assert np.all(winners[~filled] == -1)
    np.testing.assert_array_equal(decode(corpus, weights).derivation_edges, found.derivation_edges)
    return takes_fast_path(corpus, weights)


@given(corpora(), vectors(WIDTH))
def test_winners_of_any_lists(corpus: Corpus, weights: list[float]) -> None:
    assert_winners_agree(corpus, weights)


@given(corpora(counts), vectors(WIDTH, counts))
def test_winners_with_many_ties_take_the_fast_path(corpus: Corpus, weights: list[float]) -> None:
    assert assert_winners_agree(corpus, weights)


def test_numbers_of_any_size_are_left_to_the_general_path() -> None:
    corpus = Corpus.pack([Forest.from_nbest(["a", "b", "c"], [[1e-250, 0.0], [1e-250, 0.0], [2e-250, 0.0]])])
    problem = problem_of(corpus)
    assert not takes_fast_path(corpus, [1.0, 0.0])
    assert problem.picks(np.array([1.0, 0.0])).outputs.tolist() == [2]
    surfaces = problem.surfaces(np.array([1.0, 0.0]), np.array([[-1.0, 0.0]]), np.array([[-math.inf, math.inf]]))
    assert [surface.breakpoints.tolist() for surface in surfaces] == [[1.0]]


def test_real_statistics_are_summed_as_by_the_general_path() -> None:
    rng = np.random.default_rng(4)
    lists_ = [Forest.from_nbest([str(k) for k in range(9)], rng.normal(size=(9, 2))) for _ in range(12)]
    lists_.insert(5, Forest.from_nbest([], np.zeros((0, 2)), feature_names=lists_[0].feature_names))
    metric = FunctionMetric(lambda sentences, outputs: np.array([[len(text) / 10, 0.3] for text in outputs]))
    problem = corpus_problem(lists_, metric, [("a b",)] * len(lists_))
    assert assert_surfaces_agree(
        problem, [1.0, 0.5], rng.normal(size=(5, 2)), [(-math.inf, math.inf), (-1.0, 2.0)] * 2 + [(0.5, 1.0)]
    )
    assert problem.table.dtype == np.float64


def test_statistics_that_do_not_fit_are_left_to_the_general_path() -> None:
    compact = CompactTable(2)
    table = np.array([[1, 2], [-3, 4]])
    rows = compact.of(table)
    assert rows is not None
    assert rows.reshape(-1, 16)[:2, :2].tolist() == table.tolist()
    grown = np.vstack([table, [[5, 6]] * 40])
    rows = compact.of(grown)
    assert rows is not None
    assert rows.reshape(-1, 16)[: len(grown), :2].tolist() == grown.tolist()
    assert compact.of(np.vstack([grown, [[0, 2**31 // 3 + 1]]])) is None
    assert CompactTable(2).of(np.array([[0.5]])) is None


@pytest.mark.parametrize("large", [None, 0, 3 * AT_ONCE])
def test_threads_copy_the_parts_of_a_large_table(large: int | None) -> None:
    table = np.random.default_rng(1).integers(-1000, 1000, (3 * AT_ONCE + 5, 3))
    if large is not None:
        table[large, 1] = -(2**31)
    rows = CompactTable(2).of(table, Workers(3))
    assert (rows is None) == (large is not None)
    assert rows is None or np.array_equal(rows.reshape(-1, 16)[: len(table), :3], table)


@given(st.lists(st.integers(0, 5), max_size=12), st.integers(1, 9))
def test_parts_of_a_corpus_have_all_sentences_once(sizes: list[int], edges: int) -> None:
    corpus = Corpus.pack([Forest.from_nbest([("a",)] * size, np.zeros((size, 1))) for size in sizes] or [EMPTY])
    parts = corpus.parts(edges)
    assert [sentence for part in parts for sentence in range(part.start, part.stop)] == list(range(len(corpus)))
    for part in parts:
        first, last = corpus.sentence_edges[[part.start, part.stop]].tolist()
        assert last - first < edges + max(sizes, default=0)
