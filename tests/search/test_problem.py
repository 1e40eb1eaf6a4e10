"""One problem for lists, lattices and hypergraphs: against the enumeration of all derivations."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hulltune import Corpus, Forest, ForestBuilder, InputError, envelopes, kbest
from hulltune.data.copies import AT_ONCE, taken
from hulltune.kernels.outputs.output import PackedDerivations
from hulltune.metrics import get_metric
from hulltune.search.directions import feature_units
from hulltune.search.outputs import Outputs, Sentences
from hulltune.search.problem import Problem
from hulltune.search.whitening import rivals
from hulltune.threads import Workers
from hulltune.tuning.oracle import _best_outputs
from tests.oracles import derivations, output_of
from tests.problems import corpus_problem
from tests.search.function_metric import hits
from tests.search.function_metric import problem_of as function_problem
from tests.strategies import counts, forests, lists, reals

WHOLE = np.array([[-np.inf, np.inf]])
REFERENCES = ["a b c", "c", "b b a", "a"]
tame = st.one_of(counts, reals)


def problem_of(given: Sequence[Forest], metric: str = "wer") -> Problem:
    references = [(REFERENCES[i % len(REFERENCES)],) for i in range(len(given))]
    return corpus_problem(given, get_metric(metric), references)


def best_output(forest: Forest, weights: np.ndarray[tuple[int], np.dtype[np.float64]]) -> set[str]:
    """The outputs of all derivations whose score is the largest, but for rounding."""
    features = forest.features.toarray()
    scored = [
        (float(features[list(edges)].sum(axis=0) @ weights), " ".join(output_of(forest, edges)))
        for edges in derivations(forest)
    ]
    top = max((score for score, _ in scored), default=0.0)
    return {text for score, text in scored if score >= top - 1e-9 * (1.0 + abs(top))}


corpora = st.lists(st.one_of(forests(elements=tame, max_derivations=60), lists(elements=tame, max_size=6)), min_size=1,
                   max_size=4)  # fmt: skip


@settings(deadline=None, max_examples=60)
@given(
    corpora, st.lists(tame, min_size=3, max_size=3), st.lists(tame, min_size=3, max_size=3),
    st.sampled_from(["wer", "bleu"]),
)  # fmt: skip
def test_the_surface_is_what_enumeration_says(
    given: list[Forest], origin: list[float], direction: list[float], metric: str
) -> None:
    problem = problem_of(given, metric)
    start, way = np.array(origin), np.array(direction)
    (surface,) = problem.surfaces(start, way[None, :], WHOLE)
    prepared = problem.metric.prepare(problem.references)
    ends = np.concatenate([[-1e3], surface.breakpoints, [1e3]])
    for left, right in pairwise(ends.tolist()):
        if right - left < 1e-6 * (1.0 + abs(left)):
            continue
        eta = (left + right) / 2
        # A sentence may have several winners here that only rounding tells apart: one choice must give the statistics.
        sums: set[tuple[int, ...]] = {tuple([0] * len(problem.metric.columns))}
        for sentence, forest in enumerate(given):
            texts = sorted(best_output(forest, start + eta * way)) or [""]
            rows = prepared.statistics(np.full(len(texts), sentence), texts)
            sums = {tuple(np.add(total, row).tolist()) for total in sums for row in rows}
        assert tuple(surface.at(eta).tolist()) in sums


@settings(deadline=None, max_examples=40)
@given(corpora, st.lists(tame, min_size=3, max_size=3))
def test_picks_are_what_decoding_puts_out(given: list[Forest], weights: list[float]) -> None:
    problem = problem_of(given)
    picks = problem.picks(np.array(weights))
    for forest, candidate in zip(given, picks.outputs.tolist(), strict=True):
        if candidate < 0:
            assert forest.edges == 0
        assert problem.text(candidate) in (best_output(forest, np.array(weights)) or {""})


@settings(deadline=None, max_examples=40)
@given(corpora, st.lists(st.lists(tame, min_size=3, max_size=3), min_size=1, max_size=4), st.integers(1, 3))
def test_searches_along_many_directions_are_those_along_each(
    given: list[Forest], directions: list[list[float]], threads: int
) -> None:
    lines = np.array(directions)
    together = problem_of(given)
    found = together.search(np.ones(3), lines, np.tile(WHOLE, (len(lines), 1)), workers=Workers(threads))
    whole = envelopes(together.corpus, np.ones(3), lines)
    for number, line in enumerate(lines):
        alone = problem_of(given)
        (one,) = alone.surfaces(np.ones(3), line[None, :], WHOLE)
        several = together.surface(found[number])
        assert several.breakpoints.tolist() == one.breakpoints.tolist()
        assert several.statistics.tolist() == one.statistics.tolist()
        texts = [text for each in whole.outputs(number) for text in each]
        assert together.outputs.described(found[number].outputs.astype(np.int64))[1] == texts


@settings(deadline=None, max_examples=60)
@given(corpora)
def test_units_are_ranges_over_derivations(given: list[Forest]) -> None:
    ranges = []
    for forest in given:
        rows = [forest.features.toarray()[list(edges)].sum(axis=0) for edges in derivations(forest)]
        if rows:
            ranges.append(np.max(rows, axis=0) - np.min(rows, axis=0))
    largest = np.max([np.zeros(3), *ranges], axis=0) / 2**40
    differing = [[each[k] for each in ranges if each[k] > largest[k]] for k in range(3)]
    expected = [float(np.mean(column)) if column else 0.0 for column in differing]
    found = feature_units(Corpus.pack(given))
    assert found == pytest.approx(expected, abs=1e-9)


def many_outputs(size: int) -> Forest:
    """A lattice with 4 ** size outputs, all of them different."""
    builder = ForestBuilder(feature_names=["x", "y", "z"])
    builder.add_edge(0, features=[0, 0, 0], output=[])
    rng = np.random.default_rng(size)
    for node in range(1, size + 1):
        for word in "abcd":
            builder.add_edge(node, [node - 1], features=rng.normal(size=3).tolist(), output=[0, word])
    return builder.build(root=size)


def test_the_table_of_outputs_grows_and_finds_everything_again() -> None:
    forest = many_outputs(8)
    corpus = Corpus.pack([forest, forest])
    outputs = Outputs(corpus)
    every = [np.array(edges, dtype=np.int32) for edges in derivations(forest)][:20_000]
    offsets = np.concatenate([[0], np.cumsum([len(edges) for edges in every])])
    found = PackedDerivations(np.array([0, 9_000, len(every)]), offsets, np.concatenate(every))
    graphs = Sentences(corpus, outputs, np.array([0, 1])).graphs
    assert graphs.simple.all()
    first = outputs.of_derivations(graphs, (0, 2), found)
    assert first.tolist() == list(range(len(every)))  # each is new: 4 ** 8 different texts, or another sentence
    again = outputs.of_derivations(graphs, (0, 2), found)
    assert again.tolist() == first.tolist()
    assert len(outputs) == len(every)
    sentences, texts = outputs.described(first)
    assert texts == [" ".join(output_of(forest, tuple(edges.tolist()))) for edges in every]
    assert sentences.tolist() == [0] * 9_000 + [1] * (len(every) - 9_000)


def test_threads_may_number_outputs_at_once() -> None:
    """Each output has one number, whoever met it first, and the number leads back to its words."""
    forest = many_outputs(6)
    corpus = Corpus.pack([forest])
    every = [np.array(edges, dtype=np.int32) for edges in derivations(forest)]
    expected = [" ".join(output_of(forest, tuple(edges.tolist()))) for edges in every]
    outputs = Outputs(corpus)
    graphs = Sentences(corpus, outputs, np.array([0])).graphs

    def number(part: int) -> list[tuple[int, str]]:
        chosen = np.random.default_rng(part).permutation(len(every))[: 200 * (part + 1)].tolist()
        offsets = np.concatenate([[0], np.cumsum([len(every[k]) for k in chosen])])
        edges, cells = np.concatenate([every[k] for k in chosen]), np.array([0, len(chosen)])
        found = outputs.of_derivations(graphs, (0, 1), PackedDerivations(cells, offsets, edges))
        assert outputs.described(found)[1] == [expected[k] for k in chosen]
        return [(int(number), expected[k]) for number, k in zip(found, chosen, strict=True)]

    pairs = {pair for some in Workers(7).map(number, range(20)) for pair in some}
    assert len(pairs) == len({number for number, _ in pairs}) == len({text for _, text in pairs}) == len(outputs)


def test_the_metric_is_asked_once_for_each_output() -> None:
    asked: list[tuple[int, str]] = []

    def spy(sentences: NDArray[np.int64], outputs: Sequence[str]) -> NDArray[np.int64]:
        asked.extend(zip(sentences.tolist(), outputs, strict=True))
        return hits(sentences, outputs)

    forest = many_outputs(6)
    listed = Forest.from_nbest(["a", "b", "a"], np.eye(3), feature_names=["x", "y", "z"])
    problem = function_problem(Corpus.pack([forest, listed, forest]), spy)
    rng = np.random.default_rng(1)
    for _ in range(3):
        problem.surfaces(rng.normal(size=3), rng.normal(size=(5, 3)), np.tile(WHOLE, (5, 1)))
        problem.picks(rng.normal(size=3))
    assert len(asked) == len(set(asked)) > 20


def test_rivals_are_winners_around_the_weights() -> None:
    problem = problem_of([many_outputs(4), many_outputs(3)])
    weights = np.array([0.5, -0.2, 1.0])
    offsets, candidates, features = rivals(problem, weights, feature_units(problem.corpus))
    assert offsets[-1] == len(candidates) == features.shape[0]
    picks = problem.picks(weights).outputs
    for sentence in range(2):
        mine = slice(offsets[sentence], offsets[sentence + 1])
        assert len(set(candidates[mine].tolist())) == offsets[sentence + 1] - offsets[sentence] > 2
        assert candidates[mine][np.argmax(features.times(weights)[mine])] == picks[sentence]


def test_the_choices_of_a_list_are_all_of_it_and_of_a_forest_what_was_met() -> None:
    listed = Forest.from_nbest(["x", "a b c", "y"], [[0.0, 0, 0], [0, 0, 0], [1, 0, 0]], feature_names=["x", "y", "z"])
    forest = many_outputs(3)
    problem = problem_of([listed, forest])
    assert not problem.is_lists
    offsets, candidates = problem.choices()
    assert [problem.text(number) for number in candidates.tolist()] == ["x", "a b c", "y"]
    assert offsets.tolist() == [0, 3, 3]
    problem.picks(np.array([1.0, 0.5, 0.2]))
    offsets, candidates = problem.choices()
    assert offsets.tolist() == [0, 3, 4]


def test_the_pool_of_a_list_is_all_of_it_and_of_a_forest_its_best() -> None:
    listed = Forest.from_nbest(["x", "a b c", "y"], [[0.0, 0, 0], [0, 0, 0], [1, 0, 0]], feature_names=["x", "y", "z"])
    forest, weights = many_outputs(3), np.array([1.0, 0.5, 0.2])
    problem = problem_of([forest, listed, forest])
    problem.picks(-weights)  # outputs met before make no difference
    outputs = _best_outputs(problem, weights, 4, None)
    outputs = outputs[np.argsort(problem.outputs.sentences(outputs), kind="stable")]
    texts = [problem.text(number) for number in outputs.tolist()]
    best = list(kbest(Corpus.pack([forest]), weights, 4, distinct=True).texts)
    assert texts == [*best, "x", "a b c", "y", *best]


def test_lists_keep_their_own_first_choice() -> None:
    listed = Forest.from_nbest(["one", "two", "three"], [[3.0], [2.0], [1.0]], feature_names=["x"])
    builder = ForestBuilder(feature_names=["x"])
    builder.add_edge(0, features=[0.0], output=["l"])
    builder.add_edge(1, [0], features=[1.0], output=[0, "r"])
    builder.add_edge(1, [0], features=[2.0], output=[0, "s"])
    forest = builder.build(root=1)
    empty = Forest.from_nbest([], np.zeros((0, 1)), feature_names=["x"])
    corpus = Corpus.pack([listed, forest, empty])
    metric = get_metric("wer")
    problem = corpus_problem(corpus, metric, [("a",)] * 3, first_choices=np.array([1, -1, -1]))
    for weights, expected in (([1.0], ["two", "l s", ""]), ([-1.0], ["two", "l r", ""])):
        picks = problem.baseline(np.array(weights)).outputs.tolist()
        assert [problem.text(number) for number in picks] == expected
    assert not problem.has_own_choice
    with pytest.raises(ValueError, match="no first choice of its own"):
        problem.baseline()
    assert problem.subset(np.array([0, 2])).has_own_choice


@settings(deadline=None, max_examples=40)
@given(corpora, st.data())
def test_the_surfaces_of_a_subset_are_those_of_its_own_problem(given: list[Forest], data: st.DataObject) -> None:
    chosen = np.array(data.draw(st.permutations(range(len(given)))))[: max(1, len(given) - 1)]
    direction = np.array([data.draw(st.lists(tame, min_size=3, max_size=3))])
    problem = problem_of(given)
    problem.surfaces(np.ones(3), direction, WHOLE)  # outputs of all sentences are known before
    part = problem.subset(chosen)
    references = [problem.references[int(sentence)] for sentence in chosen]
    # Not packed anew: a part whose features are all dense has other grids than a whole with sparse ones.
    alone = corpus_problem(problem.corpus.take(chosen), problem.metric, references)
    (mine,), (own,) = part.surfaces(np.ones(3), direction, WHOLE), alone.surfaces(np.ones(3), direction, WHOLE)
    assert mine.breakpoints.tolist() == own.breakpoints.tolist()
    assert mine.statistics.tolist() == own.statistics.tolist()
    weights = direction[0]
    assert part.picks(weights).statistics.tolist() == problem.picks(weights).statistics[chosen].tolist()
    first = part.subset(np.array([0])).picks(weights).statistics
    assert first.tolist() == problem.picks(weights).statistics[chosen[:1]].tolist()


def test_weights_of_a_problem_may_be_given_in_any_way() -> None:
    problem = function_problem(Forest.from_nbest(["a", "b"], [[1.0, 2.0], [2.0, 1.0]], feature_names=["x", "y"]), hits)
    as_array = np.array([1.0, 0.0])
    for weights in ([1, 0], (1.0, 0.0), {"x": 1.0}):
        assert problem.loss(weights) == problem.loss(as_array)
        assert problem.score(weights) == problem.score(as_array)
        assert problem.picks(weights).outputs.tolist() == problem.picks(as_array).outputs.tolist() == [1]
    with pytest.raises(InputError, match=r"weights: expected 2 numbers \(x, y\), got an array of shape \(1,\)"):
        problem.loss([1.0])
    with pytest.raises(InputError, match=r"unknown feature in weights: 'z'"):
        problem.score({"z": 1.0})


@pytest.mark.parametrize("count", [0, 1, AT_ONCE - 1, AT_ONCE, 2 * AT_ONCE + 3])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float64])
def test_rows_are_copied_in_parts(count: int, dtype: type) -> None:
    rng = np.random.default_rng(count)
    table: NDArray[Any] = rng.integers(-9, 9, (50, 3)).astype(dtype)
    rows = rng.integers(0, 50, count)
    found = taken(table, rows, Workers(3))
    assert found.dtype == table.dtype
    np.testing.assert_array_equal(found, table[rows])
