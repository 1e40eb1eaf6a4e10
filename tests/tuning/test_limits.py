"""Constraints are kept to the bit, in every search and from every start."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune import Climb, Constraints, Forest, InputError, score, tune
from hulltune.tuning.strategies import STRATEGIES
from tests.tuning.corpora import QUICK, quick_search, random_lists

CASES: list[dict[str, Any]] = [
    {"fix": {"f0": 1.0}},
    {"fix": {"f0": -0.1, "f3": 0.0}},
    {"min": {"f1": 0.1}, "max": {"f1": 0.3, "f2": -0.7}},
    {"sign": {"f0": "+", "f1": "-", "f2": "-", "f3": "+"}},
    {"tie": [["f0", "f1"], ["f2", "f3"]]},
    {"tie": [["f0", "f2"]], "sign": {"f2": "-"}, "fix": {"f1": 1.0}, "max": {"f3": 1e-3}},
    {"min": {"f0": 0.25}, "max": {"f0": 0.25}, "tie": [["f0", "f3"]]},
    {"sign": {"f0": "+"}, "scale": "l2"},
]


def assert_kept(weights: dict[str, float], limits: dict[str, Any]) -> None:
    for name, value in limits.get("fix", {}).items():
        assert weights[name] == value
    for name, value in limits.get("min", {}).items():
        assert weights[name] >= value
    for name, value in limits.get("max", {}).items():
        assert weights[name] <= value
    for name, sign in limits.get("sign", {}).items():
        assert weights[name] >= 0 if sign == "+" else weights[name] <= 0
    for group in limits.get("tie", []):
        assert len({weights[name] for name in group}) == 1
    assert any(weights.values())


@pytest.mark.parametrize("limits", CASES)
@pytest.mark.parametrize("search", STRATEGIES)
def test_every_constraint_is_kept(limits: dict[str, Any], search: str) -> None:
    lists = random_lists(1, features=4)
    result = tune(lists, **{**QUICK, "search": quick_search(search)}, constraints=Constraints(**limits))
    assert_kept(dict(result.start), limits)
    assert_kept(dict(result.weights), limits)
    assert result.score <= result.start_score
    assert score(lists, result, metric="wer") == result.score


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("search", ["cma", "random", "powell"])
@pytest.mark.parametrize("size", [1e150, 1e308])
def test_huge_numbers_overflow_nowhere(size: float, search: str) -> None:
    """They are kept or, from where their squares would overflow, refused."""
    lists, options = random_lists(1, features=3), {**QUICK, "search": quick_search(search)}
    limits: list[dict[str, Any]] = [{"fix": {"f0": -size}}, {"min": {"f0": size}}, {"max": {"f0": -size}}]
    changes: list[dict[str, Any]] = [
        {"start": {"f0": size}},
        *({"constraints": Constraints(**each)} for each in limits),
    ]
    for change in changes:
        if size == 1e308:
            with pytest.raises(InputError, match=r"start with 'f0' at -?1e\+308; expected at most 1e\+152"):
                tune(lists, **{**options, **change})
        else:
            tune(lists, **{**options, **change})
    result = tune(lists, **options, regularise=size)
    assert result.weights == pytest.approx(dict(result.start))


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.floats(-2, 2), st.floats(0.001, 1), st.sampled_from(["+", "-"]))
def test_random_boxes_are_kept(seed: int, low: float, width: float, sign: str) -> None:
    lists = random_lists(seed, sentences=4, candidates=5, features=4)
    limits: dict[str, Any] = {
        "min": {"f0": low}, "max": {"f0": low + width}, "sign": {"f1": sign}, "tie": [["f2", "f3"]],
    }  # fmt: skip
    result = tune(lists, **{**QUICK, "search": Climb(restarts=2, directions=3)}, constraints=Constraints(**limits))
    assert_kept(dict(result.weights), limits)


@pytest.mark.parametrize(
    ("start", "limits", "complaint"),
    [
        (
            [1.0, 1.0, 1.0],
            {"fix": {"f0": 0.5}},
            "start: the weight of 'f0' is 1; its constraints ask for exactly 0.5",
        ),
        ([1.0, 1.0, 1.0], {"sign": {"f1": "-"}}, "start: the weight of 'f1' is 1"),
        ([1.0, 2.0, 1.0], {"tie": [["f0", "f1"]]}, "start: the weights of f0, f1 are tied, but differ"),
        ([0.0, 0.0, 0.0], {}, "start: all weights are 0"),
        ([1.0, 1.0], {}, "start: expected 3 numbers"),
        ({"f9": 1.0}, {}, "unknown feature in start: 'f9'"),
    ],
)
def test_a_start_outside_the_constraints_is_refused_not_returned(start: Any, limits: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        tune(random_lists(2), start=start, **QUICK, constraints=Constraints(**limits))


@pytest.mark.parametrize(
    ("limits", "complaint"),
    [
        ({"fix": {"lm": 1.0}}, "unknown feature in fix: 'lm'"),
        ({"sign": {"f0": "positive"}}, r"sign: the sign of 'f0' is 'positive'; expected '\+', '-' or 'any'"),
        ({"min": {"f0": 1.0}, "max": {"f0": 0.5}}, "'f0': no weight lies between 1 and 0.5"),
        ({"fix": {"f0": 2.0}, "max": {"f0": 1.0}}, "'f0' is fixed at 2, outside its bounds"),
        ({"tie": [["f0", "f1"], ["f1", "f2"]]}, "a feature stands in two groups"),
        ({"scale": "l3"}, "unknown scale 'l3'"),
        ({"fix": {"f0": "x"}}, "fix: 'f0' is 'x'; expected a number"),
        ({"fix": {"f0": 0.0, "f1": 0.0, "f2": 0.0}}, "every weight is fixed at 0"),
    ],
)
def test_constraints_that_make_no_sense(limits: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        tune(random_lists(3), **QUICK, constraints=Constraints(**limits))


def test_all_fixed_is_scored_as_it_is() -> None:
    lists = random_lists(4)
    weights = {"f0": 1.0, "f1": -2.0, "f2": 0.5}
    result = tune(lists, constraints=Constraints(fix=weights), **QUICK)
    assert result.weights == weights
    assert result.score == score(lists, weights, metric="wer")
    assert result.line_searches == 0


@pytest.mark.parametrize(("value", "what"), [(1e-320, "too little"), (1e-200, "too little"), (1.7e308, "too much")])
@pytest.mark.parametrize("forests", [False, True])
def test_a_feature_beyond_all_weights_is_refused(value: float, what: str, forests: bool) -> None:
    """No warning of numpy comes before the refusal: the tests would turn it into an error."""
    features = [[value, 1.0], [-value, 0.0]]
    records = [
        {
            "candidates": [
                {"text": text, "features": {"x": x, "y": y}} for text, (x, y) in zip("ab", features, strict=True)
            ]
        }
    ] * 3
    lattices = [Forest.from_nbest(["a", "b"], features, feature_names=("x", "y"))] * 3
    given: Any = lattices if forests else records
    with pytest.raises(InputError, match=rf"feature 'x' differs by .* within sentences, {what} .*; scale the feature"):
        tune(given, ["a", "a", "b"], metric="wer")
