"""Sensitivity: every range against decoding, point by point, just inside and just outside of its ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hulltune import Constraints, Dataset, InputError, Problem, TuneResult, read, score, tune
from hulltune.search.directions import feature_units
from hulltune.tuning.sensitivity import Sensitivity, sensitivity, usual_tolerance
from tests.tuning.corpora import QUICK, random_forests, random_lists


def worse(data: Dataset, weights: dict[str, float], metric: str, than: TuneResult) -> float:
    """How much worse decoding with the weights scores than the result."""
    change = score(data, weights, metric=metric) - than.score
    return -change if than.higher_is_better else change


def moved(result: TuneResult, names: list[str], weight: float) -> dict[str, float]:
    return {**result.weights, **dict.fromkeys(names, weight)}


def check_by_decoding(data: Dataset, result: TuneResult, metric: str, names: list[str]) -> None:
    """The score within the range is good, and just outside of it not."""
    assert result.sensitivity is not None
    tolerance = result.sensitivity.tolerance
    low, high = result.sensitivity.ranges[names[0]]
    weight = result.weights[names[0]]
    assert low is None or low <= weight
    assert high is None or weight <= high
    left, right = (weight - 50.0 if low is None else low), (weight + 50.0 if high is None else high)
    for share in (1e-7, 0.1, 0.3, 0.5, 0.77, 1 - 1e-7):
        inside = left + share * (right - left)
        assert worse(data, moved(result, names, inside), metric, result) <= tolerance + 1e-12
    step = 1e-9 * max(1.0, abs(left), abs(right))
    if low is not None:
        assert worse(data, moved(result, names, low - step), metric, result) > tolerance
    if high is not None:
        assert worse(data, moved(result, names, high + step), metric, result) > tolerance


@pytest.mark.parametrize("metric", ["wer", "bleu"])
@pytest.mark.parametrize("tolerance", [0.0, 0.02, None])
@pytest.mark.parametrize("seed", range(4))
def test_ranges_are_those_of_decoding(seed: int, tolerance: float | None, metric: str) -> None:
    lists = random_lists(seed)
    forests = read(*random_forests(seed))
    for data in (lists, forests):
        result = tune(data, **{**QUICK, "metric": metric}, tolerance=tolerance)
        assert result.sensitivity is not None
        wanted = usual_tolerance(result.score, result.baseline) if tolerance is None else tolerance
        assert result.sensitivity.tolerance == wanted
        assert list(result.sensitivity.ranges) == list(data.feature_names)
        for name in data.feature_names:
            check_by_decoding(data, result, metric, [name])


def test_constraints_end_ranges_and_tied_weights_move_together() -> None:
    data = random_lists(7, features=4)
    constraints = Constraints(fix={"f0": 1.0}, tie=[("f1", "f2")], min={"f3": 0.1}, max={"f3": 0.2})
    result = tune(data, **QUICK, constraints=constraints, tolerance=0.01)
    assert result.sensitivity is not None
    assert list(result.sensitivity.ranges) == ["f1", "f2", "f3"]
    assert result.sensitivity.ranges["f1"] == result.sensitivity.ranges["f2"]
    check_by_decoding(data, result, "wer", ["f1", "f2"])
    low, high = result.sensitivity.ranges["f3"]
    assert low is not None
    assert high is not None
    assert 0.1 <= low <= result.weights["f3"] <= high <= 0.2
    wide = tune(data, **QUICK, constraints=constraints, tolerance=1.0)
    assert wide.sensitivity is not None
    assert wide.sensitivity.ranges["f3"] == (0.1, 0.2)
    assert wide.sensitivity.ranges["f1"] == (None, None)


def test_a_weight_that_makes_no_difference_may_be_anything() -> None:
    candidates = [{"text": text, "features": {"x": x, "same": 3.0}} for text, x in (("a b", 1.0), ("a", 0.0))]
    records = [{"refs": ["a b"], "candidates": candidates}]
    result = tune(records, **QUICK)
    assert result.sensitivity is not None
    assert result.sensitivity.ranges["same"] == (None, None)
    low, high = result.sensitivity.ranges["x"]
    assert high is None
    assert low == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("wrong", [-0.1, float("nan"), float("inf"), "much"])
def test_a_wrong_tolerance_is_refused(wrong: Any) -> None:
    with pytest.raises(InputError, match="tolerance: expected a number of at least 0, got"):
        tune(random_lists(2), **QUICK, tolerance=wrong)


def test_every_weight_moves_without_constraints() -> None:
    data = random_lists(3)
    problem = Problem.of(data, "wer")
    weights = 1.0 / feature_units(problem.corpus)
    found = sensitivity(problem, weights, 0.05)
    assert isinstance(found, Sensitivity)
    assert list(found.ranges) == list(data.feature_names)
    for k, (name, (low, _)) in enumerate(found.ranges.items()):
        if low is not None:
            beyond = weights.copy()
            beyond[k] = np.nextafter(low, -np.inf) - 1e-9
            assert problem.score(beyond) > problem.score(weights) + 0.05, name
