"""Tuning for orders of documents: every way to use weights works for them, or refuses in one line."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hulltune import Certified, Climb, Constraints, Dataset, InputError, LineCma, TuneResult, compare, tune
from hulltune.arrays import Floats
from hulltune.data.lists import lists_of_texts
from hulltune.metrics import get_metric
from hulltune.search.problem import Problem
from hulltune.simulate import simulated_rankings
from hulltune.tuning.evaluation import fused_by_ranks
from hulltune.wording import nouns_of, tells_orders

QUICK: dict[str, Any] = {"metric": "ndcg@5", "search": LineCma(restarts=0), "threads": 1}


@pytest.fixture(scope="module")
def data() -> Dataset:
    return simulated_rankings(queries=40, documents=25)


@pytest.fixture(scope="module")
def result(data: Dataset) -> TuneResult:
    return tune(data, folds=3, also=["map", "mrr"], **QUICK)


def table_of(data: Dataset) -> Floats:
    """The features of all documents, in columns."""
    columns = data.corpus.features.some_columns(np.arange(len(data.feature_names)))
    table: Floats = np.column_stack(list(columns))
    return table


def with_ranks(data: Dataset) -> Dataset:
    """The data with 1 / (60 + rank) in place of scores: the slow way to fuse ranks. The last of a ranker gets 0."""
    table, edges = table_of(data), data.corpus.sentence_edges
    ranks = np.zeros_like(table)
    for first, last in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        for k in range(table.shape[1]):
            column = table[first:last, k]
            for i, value in enumerate(column.tolist()):
                above = sum(other > value or (other == value and j < i) for j, other in enumerate(column.tolist()))
                ranks[first + i, k] = 1.0 / (61.0 + above) if value > column.min() else 0.0
    return lists_of_texts(list(data.ids), edges, data.texts(), ranks, data.feature_names, references=data.references)


def test_the_summary_tells_of_queries_signs_and_documents_nobody_judged(result: TuneResult) -> None:
    text = result.summary()
    assert "40 queries, 1,000 documents" in text
    assert "weights are at least 0 (--sign any frees them)" in text
    assert "0.0% of the first 5 documents are not judged" in text
    assert "sentence" not in text
    assert result.baseline_kind == "equal weights"
    assert "40 queries" in repr(result)


def test_signs_are_told_only_where_no_weight_may_be_negative(data: Dataset) -> None:
    found = tune(data, constraints=Constraints(sign={"age": "any"}), oracle=False, **QUICK)
    assert not found.positive
    assert "weights are at least 0" not in found.summary()


def test_the_baseline_is_that_of_equal_weights(result: TuneResult) -> None:
    assert result.baseline == result.problem.score(list(result.start.values()))


def test_other_measures_are_those_of_the_orders_under_the_weights(data: Dataset, result: TuneResult) -> None:
    for name in ("map", "mrr"):
        problem = Problem.of(data, name)
        expected = tuple(problem.score(list(weights.values())) for weights in (result.start, result.weights))
        assert result.others[get_metric(name).signature] == expected


def test_ranks_are_fused_as_by_hand(data: Dataset) -> None:
    rows = fused_by_ranks(Problem.of(data, "ndcg@5"))
    slow = Problem.of(with_ranks(data), "ndcg@5").picks([1.0, 1.0, 1.0]).statistics
    assert rows is not None
    np.testing.assert_array_equal(rows, slow)


def test_features_that_are_no_scores_of_rankers_are_not_fused(data: Dataset) -> None:
    assert fused_by_ranks(Problem.of(replace(data, normalisation="none"), "ndcg@5")) is None


def test_the_verdict_is_against_equal_weights_one_ranker_and_ranks(result: TuneResult) -> None:
    verdict = result.verdict
    assert list(verdict.against) == ["start", "single", "rrf"]
    assert result.folds is not None
    assert result.folds.gain_over_rrf is not None
    assert verdict.against["rrf"] == (result.folds.gain_over_rrf.low > 0)
    assert "baseline" not in verdict.sentence


def test_documents_without_judgements_are_counted(data: Dataset) -> None:
    assert data.references is not None
    some = tuple(group[:1] + tuple(t for t in group[1:] if t[0] != "0") for group in data.references)
    unknown = replace(data, references=some)
    found = tune(unknown, oracle=False, **QUICK)
    assert found.unjudged is not None
    assert found.unjudged.depth == 5
    weights = np.array(list(found.weights.values()))
    scores, edges = table_of(unknown) @ weights, unknown.corpus.sentence_edges
    texts, missing = unknown.texts(), 0
    for query, group in enumerate(unknown.references or ()):
        best = sorted(range(edges[query], edges[query + 1]), key=lambda k: -scores[k])[:5]
        missing += sum(texts[k] not in {text.split()[1] for text in group} for k in best)
    assert found.unjudged.tuned == missing / (5 * len(unknown))


@pytest.mark.parametrize("search", ["cma", "random", "coordinate", "powell"])
def test_every_search_answers_alike_with_any_threads(data: Dataset, search: str) -> None:
    one, four = (tune(data, metric="ndcg@5", search=search, threads=n, oracle=False) for n in (1, 4))
    assert one.weights == four.weights
    assert one.score == four.score >= one.start_score
    assert min(one.weights.values()) >= 0.0


def test_a_search_by_gradients_refuses_orders(data: Dataset) -> None:
    with pytest.raises(InputError, match="measures orders; expected another search"):
        tune(data, metric="ndcg@5", search="gradient")


def test_constraints_hold(data: Dataset) -> None:
    limits = Constraints(fix={"bm25": 0.5}, tie=[["dense", "age"]], max={"dense": 0.4})
    found = tune(data, constraints=limits, **QUICK).weights
    assert found["bm25"] == 0.5
    assert 0.0 <= found["dense"] == found["age"] <= 0.4


@pytest.mark.parametrize("strength", [0.01, "auto"])
def test_regularised_tuning_tells_its_penalty(data: Dataset, strength: float | str) -> None:
    found = tune(data, regularise=strength, **QUICK)
    assert found.regularisation is not None
    assert found.score == found.problem.score(list(found.weights.values()))


def test_replicates_have_held_out_scores(data: Dataset) -> None:
    unseen = simulated_rankings(queries=20, documents=25, seed=9)
    found = tune(data, replicates=2, heldout=unseen, metric="ndcg@5", search=Climb(restarts=0), threads=1)
    assert found.replicates is not None
    assert found.heldout is not None
    assert found.replicates.heldout_scores[0] == found.heldout.score
    assert found.heldout.rrf is not None


def test_weights_are_compared_with_equal_ones(data: Dataset, result: TuneResult) -> None:
    found = compare(data, "baseline", result, metric="ndcg@5")
    assert (found.old, found.old_score, found.new_score) == ("equal weights", result.baseline, result.score)
    assert all(not change.references for change in found.changes)
    assert "of 40 queries changed" in found.summary()


def test_surfaces_and_ranges_agree_with_decoding(result: TuneResult) -> None:
    surface = result.surface("dense")
    for place, score in list(zip(surface.breakpoints.tolist(), surface.scores[1:].tolist(), strict=True))[::7]:
        ends = surface.breakpoints[surface.breakpoints > place]
        inside = place + 1.0 if not len(ends) else (place + float(ends[0])) / 2.0
        assert result.problem.score({**result.weights, "dense": inside}) == score
    assert result.sensitivity is not None
    low, high = result.sensitivity.ranges["dense"]
    assert (low or 0.0) <= result.weights["dense"] <= (high or np.inf)


def test_a_proof_is_as_good_as_any_search(data: Dataset, result: TuneResult) -> None:
    proven = tune(data, metric="ndcg@5", search=Certified(gap=0, time=20.0), threads=1)
    assert proven.certificate is not None
    assert proven.certificate.gap == 0.0
    assert proven.score >= result.score


def test_a_subset_has_the_statistics_of_its_queries(data: Dataset) -> None:
    problem, some = Problem.of(data, "ndcg@5"), np.array([7, 3, 20])
    rows = problem.picks([1.0, 2.0, 0.5]).statistics
    np.testing.assert_array_equal(problem.subset(some).picks([1.0, 2.0, 0.5]).statistics, rows[some])


def test_grades_in_a_column_are_tuned_and_told_like_judgements(data: Dataset, result: TuneResult) -> None:
    assert data.references is not None
    grades = np.array([float(text.split()[0]) for group in data.references for text in group])
    column = replace(data, references=None, qualities={"grade": grades})
    found = tune(column, **{**QUICK, "metric": "ndcg@5:column=grade"})
    assert (found.score, found.weights) == (result.score, result.weights)
    assert found.random is None


def test_nouns_follow_the_metric() -> None:
    assert nouns_of(get_metric("0.5*ndcg@10 + 0.5*recall@100").signature) == ("query", "document")
    assert not tells_orders(get_metric("bleu").signature)
    assert nouns_of(None) == ("sentence", "candidate")
