"""The pick of one list at a time, as a product takes it, beside reranking."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hulltune
from hulltune import InputError
from hulltune.simulate import simulated_task

values = st.integers(-20, 20).map(lambda quarter: quarter / 4)  # sums are exact, so ties are ties for both
features = st.fixed_dictionaries({"a": values, "b": values, "c": values})


@given(st.lists(features, min_size=1, max_size=6), st.dictionaries(st.sampled_from("abc"), values))
def test_it_is_what_reranking_picks(lists: list[dict[str, float]], weights: dict[str, float]) -> None:
    beside = [{"text": str(number), **each} for number, each in enumerate(lists)]
    inside = [{"text": str(number), "features": each} for number, each in enumerate(lists)]
    expected = hulltune.rerank([{"candidates": inside}], weights).picks[0].index
    assert expected is not None
    assert hulltune.pick(beside, weights) is beside[expected]
    assert hulltune.pick(inside, weights) is inside[expected]


def test_weights_come_from_a_result_or_a_file(tmp_path: Path) -> None:
    task = simulated_task(sentences=10, candidates=5)
    result = hulltune.tune(task.lists, metric="wer", search=hulltune.Climb(restarts=1))
    candidates = [
        {name: float(place == k) for place, name in enumerate(result.weights)} for k in range(len(result.weights))
    ]
    best = max(result.weights, key=lambda name: result.weights[name])
    assert hulltune.pick(candidates, result)[best] == 1.0
    assert hulltune.pick(candidates, result.save(tmp_path / "weights.json"))[best] == 1.0


def test_weights_of_normalised_scores_are_refused(tmp_path: Path) -> None:
    (tmp_path / "weights.json").write_text('{"weights": {"lm": 1.0}, "normalisation": "rank"}')
    with pytest.raises(InputError, match="weights: are of scores normalised by 'rank'"):
        hulltune.pick([{"lm": 1.0}], tmp_path / "weights.json")


def test_a_missing_feature_is_an_error_unless_it_has_a_value() -> None:
    candidates = [{"lm": -1.0}, {"lm": -1.5, "bonus": 1.0}]
    with pytest.raises(InputError, match=r"candidate 0: lacks feature 'bonus'; expected a finite number \(missing=0"):
        hulltune.pick(candidates, {"lm": 1.0, "bonus": 1.0})
    assert hulltune.pick(candidates, {"lm": 1.0, "bonus": 1.0}, missing=0) is candidates[1]
    assert hulltune.pick(candidates, {"lm": 1.0, "bonus": 1.0}, missing=2.0) is candidates[0]


@pytest.mark.parametrize(
    ("candidates", "weights", "message"),
    [
        ([], {"lm": 1.0}, "nothing to pick from"),
        ([{"lm": "high"}], {"lm": 1.0}, "candidate 0: the feature 'lm' is 'high'; expected a finite number"),
        ([{"lm": float("nan")}], {"lm": 1.0}, "the feature 'lm' is nan"),
        ([{"lm": 1e308}], {"lm": 100.0}, r"the feature 'lm' is 1e\+308"),
        ([{"lm": 1.0}], {"lm": float("inf")}, "the weight of 'lm' is inf; expected a finite number"),
        ([{"lm": 1.0}], [1.0], "weights: expected weights by name"),
    ],
)
def test_mistakes_are_named(candidates: list[dict[str, Any]], weights: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        hulltune.pick(candidates, weights)
