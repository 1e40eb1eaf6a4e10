"""Measures of orders beside trec_eval, on random runs full of ties and on real ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hulltune.data.dataset import Dataset
from hulltune.data.normalising import Normalisation
from hulltune.errors import InputError
from hulltune.formats.trec import Judged, Run, as_references, fused, read_qrels, read_run
from hulltune.lines.scoring import EdgeScorer
from hulltune.metrics.orders import (
    AveragePrecision,
    Judgements,
    Ndcg,
    OrderMetric,
    PrecisionAt,
    RankBiasedPrecision,
    Recall,
    ReciprocalRank,
    Success,
)
from hulltune.search.orders import Orders

pytrec_eval = pytest.importorskip("pytrec_eval")

MEASURES: dict[str, OrderMetric] = {
    "ndcg": Ndcg(),
    "ndcg_cut_2": Ndcg(depth=2),
    "ndcg_cut_10": Ndcg(depth=10),
    "map": AveragePrecision(),
    "map_cut_3": AveragePrecision(depth=3),
    "recip_rank": ReciprocalRank(),
    "P_5": PrecisionAt(depth=5),
    "recall_5": Recall(depth=5),
    "recall_100": Recall(depth=100),
    "success_1": Success(depth=1),
    "success_5": Success(depth=5),
}
"""Our measure for each of trec_eval's."""
CRANFIELD = Path(__file__).parents[2] / "../shared/data/retrieval/cranfield"
RUNS = ("bm25", "bm25_title", "tfidf", "char", "lsa", "ql", "dense")


def judged_lists(runs: list[Run], judged: Judged, normalisation: str = "none") -> Dataset:
    """The lists of some runs with judgements; a document that a run did not return gets 0."""
    dataset = fused(runs, Normalisation.of(normalisation, missing=0.0))
    references = as_references(judged)
    return replace(dataset, references=tuple(references.get(str(query), ()) for query in dataset.ids))


def statistics(dataset: Dataset, metric: OrderMetric, weights: list[float]) -> np.ndarray:
    """The statistics of each query."""
    orders = Orders(EdgeScorer(dataset.corpus), Judgements.of(dataset, metric), metric)
    return orders.statistics(np.array(weights))


def values(dataset: Dataset, metric: OrderMetric, weights: list[float]) -> dict[str, float]:
    """The value of each query that counts."""
    rows = statistics(dataset, metric, weights)
    return {str(query): float(metric.score(row)) for query, row in zip(dataset.ids, rows, strict=True) if row[1]}


def by_trec_eval(run: dict[str, dict[str, float]], judged: Judged) -> dict[str, dict[str, float]]:
    """What trec_eval says of each query."""
    measures = {"ndcg", "ndcg_cut.2,10", "map", "map_cut.3", "recip_rank", "P.5", "recall.5,100", "success.1,5"}
    grades = {query: {d: int(g) for d, g in of_query.items()} for query, of_query in judged.items()}
    found: dict[str, dict[str, float]] = pytrec_eval.RelevanceEvaluator(grades, measures).evaluate(run)
    return found


DOCUMENTS = st.sampled_from(["d1", "d10", "d2", "d9", "é", "a", "zz", "D1"])
GRADED = st.dictionaries(DOCUMENTS, st.integers(-1, 3), min_size=1)
SCORED = st.dictionaries(DOCUMENTS, st.integers(0, 3).map(float), min_size=1)


@given(
    st.dictionaries(st.sampled_from(["q1", "q2", "q3"]), SCORED, min_size=1),
    st.dictionaries(st.sampled_from(["q1", "q2", "q4"]), GRADED, min_size=1),
)
def test_values_are_those_of_trec_eval(run: dict[str, dict[str, float]], judged: dict[str, dict[str, int]]) -> None:
    rows = [(query, document, score) for query, scores in run.items() for document, score in scores.items()]
    queries, documents, scores = zip(*rows, strict=True)
    dataset = judged_lists([Run("run", "run", queries, documents, np.array(scores))], judged)
    expected = by_trec_eval(run, judged)
    for name, metric in MEASURES.items():
        found = values(dataset, metric, [1.0])
        assert found.keys() == expected.keys()
        for query, value in found.items():
            assert value == pytest.approx(expected[query][name], abs=1e-12), (name, query)


@pytest.fixture(scope="module")
def cranfield() -> Dataset:
    if not CRANFIELD.is_dir():
        pytest.skip("real data (../shared/data) is not there")
    runs = [read_run(CRANFIELD / f"{name}.run.gz") for name in RUNS]
    return judged_lists(runs, read_qrels(CRANFIELD / "qrels.gz"), "minmax")


def test_real_runs_have_the_known_values(cranfield: Dataset) -> None:
    known = {"ndcg_cut_10": 0.405915, "recip_rank": 0.564425, "map": 0.345509}
    for name, value in known.items():
        metric = MEASURES[name]
        total = statistics(cranfield, metric, [1.0] * 7).sum(axis=0)
        assert float(metric.score(total)) == pytest.approx(value, abs=5e-7)
    at_ten = ReciprocalRank(depth=10)
    assert at_ten.score(statistics(cranfield, at_ten, [1.0] * 7).sum(axis=0)) == pytest.approx(0.559677, abs=5e-7)


def test_real_orders_are_worth_what_trec_eval_says(cranfield: Dataset) -> None:
    random = np.random.default_rng(3)
    judged = read_qrels(CRANFIELD / "qrels.gz")
    features, texts, edges = cranfield.corpus.features.values, cranfield.texts(), cranfield.corpus.sentence_edges
    for weights in random.normal(size=(3, 7)):
        scores = features @ weights
        run = {}
        for query, first, last in zip(cranfield.ids, edges[:-1], edges[1:], strict=True):
            # trec_eval keeps 24 bits of a score: it is given the places of our order instead.
            order = sorted(range(first, last), key=lambda d: -scores[d])
            run[str(query)] = {texts[document]: float(last - place) for place, document in enumerate(order)}
        expected = by_trec_eval(run, judged)
        for name, metric in MEASURES.items():
            found = values(cranfield, metric, weights.tolist())
            assert found == pytest.approx({query: each[name] for query, each in expected.items()}, abs=1e-12), name


def test_gains_and_persistence() -> None:
    judged = {"q": {"a": 2, "b": 1, "c": 0, "d": 3}}
    run = Run("run", "run", ["q"] * 3, ["c", "a", "b"], np.array([3.0, 2.0, 1.0]))
    dataset = judged_lists([run], judged)
    ideal = 7.0 + 3.0 / np.log2(3.0) + 1.0 / 2.0
    assert values(dataset, Ndcg(exponential=True), [1.0])["q"] == pytest.approx(
        (3.0 / np.log2(3.0) + 1.0 / 2.0) / ideal, abs=1e-12
    )
    assert values(dataset, RankBiasedPrecision(p=0.5), [1.0])["q"] == pytest.approx(0.5 * (0.5 + 0.25), abs=1e-12)
    perfect = judged_lists([replace(run, documents=["d", "a", "b"])], judged)
    for metric in (Ndcg(), Ndcg(exponential=True), AveragePrecision(), Recall(depth=3), ReciprocalRank()):
        assert values(perfect, metric, [1.0]) == {"q": 1.0}


def test_wrong_options_and_judgements_are_one_line() -> None:
    with pytest.raises(InputError, match="p: expected a number of documents after it, such as p@10"):
        PrecisionAt()
    with pytest.raises(InputError, match="depth"):
        Ndcg(depth=0)
    with pytest.raises(InputError, match="rbp: p is 1"):
        RankBiasedPrecision(p=1.0)
    dataset = judged_lists([Run("run", "run", ["q"], ["a"], np.array([1.0]))], {"q": {"a": 1}})
    with pytest.raises(InputError, match="query q: the reference 'a house' is no judgement"):
        Judgements.of(replace(dataset, references=(("a house",),)), Ndcg())
    with pytest.raises(InputError, match="told by the order of all candidates"):
        Ndcg().prepare([["1 a"]]).statistics(np.array([0]), ["a"])
