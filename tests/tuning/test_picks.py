"""Picks: index, score and features of what weights choose, against the lists and derivations themselves."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hulltune
from hulltune import Dataset, Forest, read, rerank, tune
from hulltune.data.features import SparseFeatures
from hulltune.lines.derivations import kbest
from hulltune.tuning.picks import Reranked
from hulltune.tuning.reranking import derivation_lines
from tests.strategies import forests, vectors
from tests.tuning.corpora import FOREST_FEATURES, QUICK, random_forests, random_lists, random_records

WEIGHTS = {"f0": 0.5, "f1": -0.25, "f2": 1.0}


def best_by_hand(record: dict[str, Any]) -> int:
    scores = [sum(WEIGHTS[name] * value for name, value in each["features"].items()) for each in record["candidates"]]
    return scores.index(max(scores))


def test_picks_of_lists_are_candidates_as_written() -> None:
    records = random_records(3, empty=True)
    for record in records:  # duplicates count once, and places are those of the list as written nevertheless
        record["candidates"] = record["candidates"][:1] * 2 + record["candidates"]
    found = rerank(records, WEIGHTS)
    assert [pick.text for pick in found.picks] == found
    for record, pick in zip(records, found.picks, strict=True):
        assert pick.id == record["id"]
        if not record["candidates"]:
            assert (pick.text, pick.index, pick.score, pick.features) == ("", None, None, {})
            continue
        assert pick.index == best_by_hand(record)
        candidate = record["candidates"][pick.index]
        assert (pick.text, pick.features) == (candidate["text"], candidate["features"])
        assert pick.score == sum(WEIGHTS[name] * value for name, value in candidate["features"].items())


@pytest.mark.parametrize("seed", range(3))
def test_picks_of_forests_are_the_best_derivations(seed: int) -> None:
    made, _ = random_forests(seed)
    empty = Forest.from_nbest([], np.zeros((0, 3)), feature_names=FOREST_FEATURES)
    weights = np.random.default_rng(seed).normal(size=3).tolist()
    dataset = read([*made, empty])
    best = kbest(dataset.corpus, weights, 1)
    found = rerank(dataset, weights)
    for sentence, pick in enumerate(found.picks[:-1]):
        (derivation,) = best[sentence]
        assert (pick.text, pick.score) == (" ".join(derivation.tokens), derivation.score)
        assert dict(pick.features) == derivation.features
        assert pick.index is None
    assert (found[-1], found.picks[-1].score, found.picks[-1].features) == ("", None, {})


def test_picks_of_sparse_lists_leave_out_zeros() -> None:
    records = [
        {"refs": ["a"], "sparse": True, "candidates": [
            {"text": "a", "features": {f"a{k}": 1.0}}, {"text": "b", "features": {"x": 2.0, f"b{k}": -1.0}},
        ]}
        for k in range(100)
    ]  # fmt: skip
    lists = read(records)
    assert isinstance(lists.corpus.features, SparseFeatures)
    found = rerank(lists, {"x": 1.0})
    assert [dict(pick.features) for pick in found.picks] == [{"x": 2.0, f"b{k}": -1.0} for k in range(100)]
    assert [(pick.index, pick.score) for pick in found.picks] == [(1, 2.0)] * 100


def test_the_first_choices_of_lists_have_their_own_scores() -> None:
    records = random_records(4, sentences=3)
    for record in records:
        for place, candidate in enumerate(record["candidates"]):
            candidate["score"] = float(place == 5)
    found = Reranked.first_choices(read(records))
    assert [(pick.index, pick.score) for pick in found.picks] == [(5, 1.0)] * 3
    assert [pick.text for pick in found.picks] == [record["candidates"][5]["text"] for record in records] == found
    assert [dict(pick.features) for pick in found.picks] == [record["candidates"][5]["features"] for record in records]
    unscored = Reranked.first_choices(random_lists(4, sentences=3))
    assert [(pick.index, pick.score) for pick in unscored.picks] == [(0, None)] * 3
    assert unscored.picks[0].features


def test_a_copy_has_the_picks_and_not_the_data() -> None:
    lists = random_lists(1, sentences=40, candidates=200)
    found = rerank(lists, WEIGHTS)
    packed = pickle.dumps(found)
    assert pickle.loads(packed).picks == found.picks == copy.deepcopy(found).picks
    assert len(packed) < lists.corpus.features.nbytes / 4
    changed = rerank(lists, WEIGHTS)
    assert changed == list(found)
    changed.reverse()
    changed.append("more")
    assert changed.picks == found.picks  # a list is its owner's to change, the picks are not


def test_the_result_of_tuning_has_the_picks() -> None:
    lists: Dataset = random_lists(2, empty=True)
    result = tune(lists, **QUICK)
    assert result.picks == hulltune.rerank(lists, result).picks
    assert "picks" not in result.to_dict()
    assert "outputs" not in result.to_dict()


@settings(max_examples=40, deadline=None)
@given(forests(elements=st.floats(-4, 4)), vectors(3, st.floats(-1, 1)))
def test_lines_of_derivations_read_back(
    tmp_path_factory: pytest.TempPathFactory, forest: Forest, weights: list[float]
) -> None:
    path = tmp_path_factory.getbasetemp() / "lines.moses"
    found = kbest(forest, weights, 5)
    path.write_text("".join(f"{line}\n" for line, _ in derivation_lines([0], found, "moses")), encoding="utf-8")
    if not len(found.scores):
        assert path.read_text() == ""
        return
    expected: dict[tuple[str, tuple[tuple[str, float], ...]], float] = {}
    for each in found[0]:  # equal outputs with equal features are one
        features = tuple(sorted((name, value) for name, value in each.features.items() if value))
        expected.setdefault((" ".join(each.tokens), features), each.score)
    again = read(path, missing=0.0, format="moses")
    rows = zip(
        map(again.text, range(again.corpus.edges)), again.corpus.features.by_name(again.feature_names), strict=True
    )
    written = [(text, tuple(sorted((name, v) for name, v in features.items() if v))) for text, features in rows]
    assert written == list(expected)
    assert again.scores is not None
    assert again.scores.tolist() == list(expected.values())


def test_each_output_once_where_it_was_first_drawn() -> None:
    forest = Forest.from_nbest(["a", "b", "a", "c", "b"], [[5.0], [4.0], [3.0], [2.0], [1.0]])
    lines = list(derivation_lines(["u"], kbest(forest, [1.0], 9), "moses", unique=True))
    assert [line for line, _ in lines] == [
        "u ||| a ||| f0=5.0 ||| 5.0", "u ||| b ||| f0=4.0 ||| 4.0", "u ||| c ||| f0=2.0 ||| 2.0",
    ]  # fmt: skip
