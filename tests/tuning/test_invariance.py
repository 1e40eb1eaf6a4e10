"""What must not change the result, and what must never make it worse."""

from __future__ import annotations

import copy
import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune import Climb, Constraints, Problem, TuneResult, rerank, score, tune
from hulltune.tuning.inputs import as_dataset
from hulltune.tuning.reranking import rank
from hulltune.tuning.strategies import STRATEGIES
from tests.tuning.corpora import QUICK, quick_search, random_forests, random_lists, random_records


def outcome(result: TuneResult) -> tuple[Any, ...]:
    return dict(result.weights), result.score, result.baseline, result.oracle, result.line_searches


@pytest.mark.parametrize("search", STRATEGIES)
def test_the_order_of_sentences_does_not_matter(search: str) -> None:
    records = random_records(1)
    turned = [{**record, "id": 11 - record["id"]} for record in reversed(records)]
    options = {**QUICK, "search": quick_search(search)}
    one, other = tune(records, **options), tune(turned, **options)
    assert outcome(other) == outcome(one)
    assert (other.gain, other.without) == (one.gain, one.without)
    forests, references = random_forests(3)
    straight, back = (tune(forests[::step], references[::step], **options) for step in (1, -1))
    assert (back.weights, back.score, back.oracle) == (straight.weights, straight.score, straight.oracle)


@pytest.mark.parametrize("metric", ["bleu", "ter", "meteor"])
def test_the_order_of_sentences_does_not_matter_for_intervals_and_folds(metric: str) -> None:
    """Also with sentences whose statistics are equal, with reals as statistics, and for held-out data."""
    records = [*random_records(1), *random_records(1)]
    records = [{**record, "id": place} for place, record in enumerate(records)]
    shuffled = [records[place] for place in np.random.default_rng(0).permutation(len(records))]
    turned = [{**record, "id": place} for place, record in enumerate(shuffled)]
    found = [
        tune(one, **{**QUICK, "metric": metric, "also": [], **more})
        for one, other in ((records, turned), (turned, records))
        for more in ({"folds": 3}, {"heldout": other})
    ]
    for before, after in ((found[0], found[2]), (found[1], found[3])):
        assert (before.heldout or before.folds) is not None
        assert after.gain == before.gain
        assert (after.heldout, after.folds) == (before.heldout, before.folds)


def test_the_seed_decides() -> None:
    lists = random_lists(3, sentences=40)
    assert outcome(tune(lists, seed=4, **QUICK)) == outcome(tune(lists, seed=4, **QUICK))
    assert len({tuple(tune(lists, seed=seed, **QUICK).weights.values()) for seed in range(4)}) > 1


def test_duplicates_do_not_matter() -> None:
    records = random_records(4)
    doubled = copy.deepcopy(records)
    for record in doubled:
        record["candidates"] += record["candidates"][::2]
    assert outcome(tune(doubled, **QUICK)) == outcome(tune(records, **QUICK))


def test_hypotheses_that_differ_in_a_feature_are_not_duplicates() -> None:
    candidates = [{"text": "a", "features": {"x": value}} for value in (1.0, 1.0 + 2.0**-52)]
    lists = tune([{"refs": ["a"], "candidates": candidates}], **QUICK)
    assert lists.candidates == 2


@pytest.mark.parametrize("power", [-8, 1, 13])
def test_the_unit_of_a_feature_does_not_matter(power: int) -> None:
    records = random_records(5)
    scaled = copy.deepcopy(records)
    for record in scaled:
        for candidate in record["candidates"]:
            candidate["features"]["f1"] *= 2.0**power
    options = {**QUICK, "constraints": Constraints(scale="none")}
    before, after = tune(records, **options), tune(scaled, **options)
    assert {**after.weights, "f1": after.weights["f1"] * 2.0**power} == before.weights
    assert after.score == before.score
    assert tune(scaled, **QUICK).score == tune(records, **QUICK).score


@pytest.mark.parametrize("search", STRATEGIES)
def test_continuing_never_makes_it_worse(search: str) -> None:
    lists = random_lists(6)
    result = tune(lists, **{**QUICK, "search": quick_search(search, restarts=0)})
    for seed in range(3):
        again = tune(lists, start=result, seed=seed, **{**QUICK, "search": quick_search(search, restarts=1)})
        assert again.start == result.weights
        assert again.start_score == result.score
        assert again.score <= result.score
        result = again


def test_a_further_feature_at_0_never_makes_it_worse() -> None:
    records = random_records(7)
    result = tune(records, **QUICK)
    rng = np.random.default_rng(0)
    more = copy.deepcopy(records)
    for record in more:
        for candidate in record["candidates"]:
            candidate["features"]["new"] = float(rng.normal() * 1e3)
    start = {**result.weights, "new": 0.0}
    assert score(more, start, metric="wer") == result.score
    again = tune(more, start=start, **QUICK)
    assert again.start_score == result.score
    assert again.score <= result.score


def test_weights_are_never_all_zero_and_never_explode() -> None:
    """Every score negative, every feature useless or worse: a list where staying at 0 would look good."""
    records = [
        {"refs": ["right"], "candidates": [
            {"text": "wrong", "features": {"a": -1.0, "b": -5.0}},
            {"text": "right", "features": {"a": -2.0, "b": -9.0}},
        ]}
        for _ in range(4)
    ]  # fmt: skip
    for scale in ("l1", "l2", "none"):
        for policy in ("middle", "closest", "widest"):
            search = Climb(restarts=3, directions=6, policy=policy)
            result = tune(records, **{**QUICK, "search": search, "constraints": Constraints(scale=scale)})
            values = np.array(list(result.weights.values()))
            assert result.score == 0.0
            assert np.any(values)
            assert np.all(np.abs(values) < 1e7)
            if scale == "l1":
                assert math.isclose(np.abs(values).sum(), 1.0)
            if scale == "l2":
                assert math.isclose(np.linalg.norm(values), 1.0)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from(["l1", "l2", "none"]), st.sampled_from(["random", "powell"]))
def test_weights_stay_readable_on_random_lists(seed: int, scale: str, search: str) -> None:
    lists = random_lists(seed, sentences=4, candidates=4)
    constraints = Constraints(fix={"f0": 1.0} if scale == "none" else {}, scale=scale)
    options = {**QUICK, "search": quick_search(search, restarts=1, directions=2)}
    result = tune(lists, constraints=constraints, **options)
    values = np.array(list(result.weights.values()))
    assert np.any(values)
    assert np.all(np.isfinite(values))
    if scale == "none":
        assert values[0] == 1.0
        assert np.all(np.abs(values) <= 1e7)
    else:
        assert math.isclose(np.linalg.norm(values, 1 if scale == "l1" else 2), 1.0)
    assert score(lists, result, metric="wer") == result.score
    assert result.score <= result.start_score


@settings(max_examples=40)
@given(st.integers(0, 10**6))
def test_ties_are_broken_by_one_rule(seed: int) -> None:
    """Features are few and round, so that many candidates tie: the first of a list wins, wherever it is asked."""
    rng = np.random.default_rng(seed)
    lists = random_lists(seed, sentences=5, candidates=8, features=2, empty=True)
    weights = rng.integers(-1, 2, size=2).astype(np.float64)
    problem = Problem.of(as_dataset(lists), "wer")
    expected = []
    for first, last in zip(lists.corpus.sentence_edges[:-1], lists.corpus.sentence_edges[1:], strict=True):
        scores = (lists.corpus.features.matrix()[first:last] @ weights).tolist()  # exact: halves times whole numbers
        expected.append(int(first) + scores.index(max(scores)) if scores else -1)
    assert problem.picks(weights).outputs.tolist() == expected
    assert rerank(lists, weights.tolist()) == [lists.text(row) if row >= 0 else "" for row in expected]
    ranked = rank(lists, weights.tolist())
    for sentence, (first, last) in enumerate(pairwise(lists.corpus.sentence_edges.tolist())):
        listed = ranked[sentence]
        rows = [first + edge for derivation in listed for edge in derivation.edges]
        assert sorted(rows) == list(range(first, last))
        totals = lists.corpus.features.matrix()[rows] @ weights
        assert [derivation.score for derivation in listed] == totals.tolist()
        assert [" ".join(derivation.tokens) for derivation in listed] == [lists.text(row) for row in rows]
        assert rows == sorted(rows, key=lambda row: (-float(lists.corpus.features.matrix()[row] @ weights), row))
        assert (rows[0] if rows else -1) == expected[sentence]
