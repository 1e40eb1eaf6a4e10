"""Sensitivity: every range against decoding, point by point, just inside and just outside of its ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hulltune import Constraints, Dataset, InputError, Problem, TuneResult, read, score, tune
from hulltune.arrays import Floats
from hulltune.search.directions import feature_units
from hulltune.search.gradient import loss_gradient
from hulltune.search.problem import row_sums
from hulltune.tuning.evaluation import standard_error
from hulltune.tuning.sensitivity import LIKELY, Sensitivity, sensitivity, standard_errors
from tests.tuning.corpora import QUICK, random_forests, random_lists, random_rankings


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
    assert tolerance is not None
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
@pytest.mark.parametrize("tolerance", [0.0, 0.02])
@pytest.mark.parametrize("seed", range(4))
def test_ranges_are_those_of_decoding(seed: int, tolerance: float, metric: str) -> None:
    lists = random_lists(seed)
    forests = read(*random_forests(seed))
    for data in (lists, forests):
        result = tune(data, **{**QUICK, "metric": metric}, tolerance=tolerance)
        assert result.sensitivity is not None
        assert result.sensitivity.tolerance == tolerance
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


# Ranges by chance.


def linear(problem: Problem, origin: Floats, weights: Floats) -> Floats:
    """The change of each sentence that has outputs, from one weights to others, in a linear loss."""
    before, after = problem.picks(origin), problem.picks(weights)
    slopes = loss_gradient(problem.metric, before.total)
    changes: Floats = ((after.statistics - before.statistics) @ slopes)[before.outputs >= 0]
    return changes


def plain_error(problem: Problem, origin: Floats, weights: Floats) -> float:
    """The standard error of the sum of changes."""
    changes = linear(problem, origin, weights)
    return float(np.sqrt(len(changes)) * np.std(changes))


def errors_along(problem: Problem, origin: Floats, direction: Floats) -> tuple[Floats, Floats]:
    """Breakpoints on a line, and the standard errors between them."""
    picks = problem.picks(origin)
    slopes = loss_gradient(problem.metric, picks.total)
    (line,) = problem.learned_lines(origin, direction[None], np.array([[-np.inf, np.inf]]))
    surface, own = problem.surface(line), row_sums(picks.statistics, slopes)
    if problem.orders is None:
        own = own[picks.outputs >= 0]
    return surface.breakpoints, standard_errors(surface, *problem.loss_shares(line, slopes), own)


@pytest.mark.parametrize("metric", ["wer", "bleu", "ndcg@3", "0.5*map + 0.5*mrr@2"])
@pytest.mark.parametrize("kind", ["lists", "forests"])
@pytest.mark.parametrize("seed", range(4))
def test_errors_are_those_of_decoding(kind: str, seed: int, metric: str) -> None:
    data = random_lists(seed, empty=True) if kind == "lists" else read(*random_forests(seed))
    data = data if metric in ("wer", "bleu") else random_rankings(seed, documents=4 if kind == "lists" else 8)
    problem = Problem.of(data, metric)
    origin = np.ones(3) if seed == 0 else np.random.default_rng(seed).normal(size=3)  # with many ties
    for direction in np.eye(3):
        breakpoints, found = errors_along(problem, origin, direction)
        ends = np.concatenate([[breakpoints[0] - 2], breakpoints, [breakpoints[-1] + 2]])
        middles, wide = (ends[1:] + ends[:-1]) / 2, np.diff(ends) > 1e-9
        expected = np.array([plain_error(problem, origin, origin + step * direction) for step in middles.tolist()])
        assert np.count_nonzero(expected) > 5
        np.testing.assert_allclose(found[wide] ** 2, expected[wide] ** 2, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("metric", ["wer", "bleu", "chrf"])
def test_errors_are_those_of_the_paired_bootstrap(metric: str) -> None:
    problem = Problem.of(random_lists(3, sentences=400), metric)
    origin, step = np.array([1.0, 1.0, 1.0]), np.array([0.0, -0.1, 0.0])
    before, after = (problem.picks(weights).statistics for weights in (origin, origin + step))
    breakpoints, errors = errors_along(problem, origin, step)
    found = errors[np.searchsorted(breakpoints, 1.0)]
    assert found == pytest.approx(standard_error(problem.metric, before, after, samples=4000), rel=0.05)


@pytest.mark.parametrize("metric", ["wer", "bleu"])
@pytest.mark.parametrize("seed", range(4))
def test_a_range_ends_where_the_score_is_worse_by_more_than_chance(seed: int, metric: str) -> None:
    data = random_lists(seed, sentences=60)
    result = tune(data, **{**QUICK, "metric": metric})
    problem, found = Problem.of(data, metric), result.sensitivity
    assert found is not None
    assert found.tolerance is None
    weights = np.array(list(result.weights.values()))
    ended = 0
    for k, name in enumerate(data.feature_names):
        low, high = found.ranges[name]

        def too_bad(weight: float, k: int = k) -> bool:
            others = weights.copy()
            others[k] = weight
            change = problem.loss(others) - problem.loss(weights)
            return change > LIKELY * plain_error(problem, weights, others) + 1e-9 * abs(problem.loss(weights))

        left, right = weights[k] - 9.0 if low is None else low, weights[k] + 9.0 if high is None else high
        for share in (1e-7, 0.1, 0.3, 0.5, 0.77, 1 - 1e-7):
            assert not too_bad(left + share * (right - left)), name
        for end, outside in ((low, -1e-9), (high, 1e-9)):
            if end is not None:
                ended += 1
                assert too_bad(end + outside * max(1.0, abs(end))), name
        first, last = found.cells[name]
        assert (left if first is None else first) >= left
        assert (right if last is None else last) <= right
    assert ended > 0


def test_nothing_changes_in_a_cell() -> None:
    data = random_lists(5)
    result = tune(data, **QUICK)
    problem, found = Problem.of(data, "wer"), result.sensitivity
    assert found is not None
    picks = problem.picks(result.weights)
    for name, (low, high) in found.cells.items():
        now = result.weights[name]
        left, right = now - 9.0 if low is None else low, now + 9.0 if high is None else high
        for share in (1e-6, 0.5, 1 - 1e-6):
            moved_picks = problem.picks({**result.weights, name: left + share * (right - left)})
            assert np.array_equal(moved_picks.statistics, picks.statistics)
        for end, outside in ((low, -1e-9), (high, 1e-9)):
            if end is not None:
                beyond = problem.picks({**result.weights, name: end + outside * max(1.0, abs(end))})
                assert not np.array_equal(beyond.statistics, picks.statistics)
