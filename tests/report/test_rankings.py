"""The page of rankings: queries, their documents before and after, and the curve of the measure."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from hulltune import LineCma, TuneResult, tune, write_report
from hulltune.report.html.rankings import SHOWN, page_queries, rankings_html
from hulltune.report.html.subject import subject_of
from hulltune.simulate import simulated_rankings
from tests.report.decoding import decoded


@pytest.fixture(scope="module")
def result() -> TuneResult:
    data = simulated_rankings(queries=30, documents=15)
    return tune(data, metric="ndcg@5", search=LineCma(restarts=0), also=["map"], threads=1)


def test_documents_stand_in_order_with_their_grades(result: TuneResult) -> None:
    problem = result.problem
    dataset = problem.dataset
    before, after = (np.array(list(each.values())) for each in (result.start, result.weights))
    table = np.column_stack(list(problem.corpus.features.some_columns(np.arange(3))))
    changes = []
    for query in page_queries(problem, before, after):
        number = list(dataset.ids).index(query.id)
        first, last = problem.corpus.sentence_edges[number : number + 2].tolist()
        assert dataset.references is not None
        grades = {text.split()[1]: float(text.split()[0]) for text in dataset.references[number]}
        orders = []
        for side, weights in ((query.before, before), (query.after, after)):
            scores = table[first:last] @ weights
            order = [dataset.texts()[first + k] for k in np.argsort(-scores, kind="stable").tolist()]
            assert [each.document for each in side] == order[:SHOWN]
            assert [each.grade for each in side] == [grades[document] for document in order[:SHOWN]]
            orders.append(order)
        for each in query.after:
            assert each.other_rank == orders[0].index(each.document) + 1
        changes.append(abs(query.values[1] - query.values[0]))
    assert len(changes) == 30
    assert changes == sorted(changes, reverse=True)
    assert changes[0] > 0.0


def test_the_values_of_queries_have_the_mean_of_the_result(result: TuneResult) -> None:
    before, after = (np.array(list(each.values())) for each in (result.start, result.weights))
    values = np.array([query.values for query in page_queries(result.problem, before, after)])
    np.testing.assert_allclose(values.mean(axis=0), [result.baseline, result.score], rtol=0, atol=1e-12)


def test_a_page_has_the_curve_and_the_queries(result: TuneResult, tmp_path: Path) -> None:
    text = result.report(tmp_path / "page.html", also=["map"]).read_text(encoding="utf-8")
    (block,) = re.findall(r'<script type="application/octet-stream"[^>]*>([^<]*)<', text)
    header, arrays = decoded(block)
    assert [each["label"] for each in header["metrics"]] == ["ndcg@5", "map"]
    unit = 10.0 ** header["metrics"][0]["digits"]
    for number, line in enumerate(header["lines"]):
        edges, scores = arrays[f"line{number}.edges"], arrays[f"line{number}.scores0"]
        for k in range(1, len(edges), 9):
            if scores[k] >= 0:  # no gap
                middle = (edges[k - 1] + edges[k]) / 2
                own = result.problem.score({**result.weights, line["name"]: float(middle)})
                assert abs(scores[k] - own * unit) <= 0.5 + 1e-6
    assert text.count("<details><summary><bdi>q") == 30
    assert "30 queries, 450 documents" in text
    assert "equal weights" in text


def test_weights_alone_are_compared_with_equal_ones(result: TuneResult, tmp_path: Path) -> None:
    subject = subject_of(dict(result.weights), result.problem)
    assert subject.result.baseline == result.baseline
    path = write_report(dict(result.weights), tmp_path / "page.html", data=result.problem.dataset, metric="ndcg@5")
    assert "these weights" in path.read_text(encoding="utf-8")


def test_queries_are_left_out_where_there_is_no_room(result: TuneResult) -> None:
    weights = np.array(list(result.weights.values()))
    whole = rankings_html(result.problem, weights, weights, ("<before>", "after"), 10**6)
    some = rankings_html(result.problem, weights, weights, ("<before>", "after"), 6000)
    assert len(some) < len(whole)
    assert "<before>" not in whole
    assert 0 < some.count("<details>") < 30
    assert rankings_html(result.problem, weights, weights, ("a", "b"), 10) == ""
