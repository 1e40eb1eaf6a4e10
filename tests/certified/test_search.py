"""Certified search finds the best there is, and its bound is a bound."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hulltune
from hulltune import Certified
from hulltune.errors import InputError
from hulltune.search.constraints import Constraints
from hulltune.search.directions import feature_units
from hulltune.tuning.result import TuneResult
from hulltune.tuning.summary import proof_text
from tests.certified.small_problems import (
    best_in_plane,
    bound_of,
    candidate,
    certified,
    losses_at,
    problem_of,
    proof_of,
    small_problem,
)
from tests.tuning.corpora import random_lists

METRICS = ["wer", "accuracy", "bleu", "chrf", "ter", "mer", "fmeasure", "0.5*bleu - 0.5*ter"]


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32), whole=st.booleans())
def test_the_best_cell_of_all_is_found_in_a_plane(seed: int, whole: bool) -> None:
    problem = small_problem(seed, whole=whole)
    if not np.any(feature_units(problem.corpus)[1:]):
        return
    found = certified(problem, fix={"f0": 1.0})
    assert proof_of(found).gap == 0.0
    assert found.loss == best_in_plane(problem)


@pytest.mark.parametrize("metric", METRICS)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_no_weights_are_better_than_the_bound(metric: str, seed: int) -> None:
    problem = small_problem(seed, metric, sentences=6, candidates=6, features=4, whole=False)
    found = certified(problem)
    rng = np.random.default_rng(seed)
    losses, clear = losses_at(problem, rng.standard_normal((3000, 4)) * 10.0 ** rng.uniform(-2, 2, (3000, 4)))
    assert losses[clear].min() >= bound_of(problem, found)
    assert losses[clear].min() >= found.loss
    assert proof_of(found).gap <= 1e-9 * max(abs(found.loss), 1.0)
    assert found.loss == float(problem.metric.loss(problem.picks(found.weights).total))


def test_the_result_is_in_the_middle_of_a_cell() -> None:
    problem = small_problem(3, sentences=20, candidates=8, whole=False)
    found = certified(problem, fix={"f0": 1.0})
    names = list(problem.feature_names)
    assert proof_of(found).cell
    for name, (low, high) in proof_of(found).cell.items():
        assert low is not None
        assert high is not None
        assert low < found.weights[names.index(name)] < high
        for near in (0.999, 0.5, 0.001):
            moved = found.weights.copy()
            moved[names.index(name)] = low + (high - low) * near
            assert np.array_equal(problem.picks(moved).statistics, problem.picks(found.weights).statistics)
        beyond = found.weights.copy()
        beyond[names.index(name)] = high + 1e-6 * (high - low)
        assert not np.array_equal(problem.picks(beyond).outputs, problem.picks(found.weights).outputs)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_constraints_hold(seed: int) -> None:
    problem = small_problem(seed, sentences=5, candidates=5, features=4, whole=False)
    constraints: dict[str, Any] = {
        "fix": {"f0": 0.7}, "min": {"f1": -0.5}, "max": {"f1": 2.0}, "sign": {"f2": "+"},
    }  # fmt: skip
    found = certified(problem, **constraints)
    compiled = Constraints(**constraints).compile(problem.feature_names)
    assert compiled.violation(found.weights) is None
    rng = np.random.default_rng(seed)
    points = np.column_stack([
        np.full(2000, 0.7), rng.uniform(-0.5, 2.0, 2000),
        np.abs(rng.standard_cauchy(2000)), rng.standard_cauchy(2000),
    ])  # fmt: skip
    losses, clear = losses_at(problem, points)
    assert losses[clear].min() >= found.loss


def test_tied_weights_stay_tied() -> None:
    problem = small_problem(5, sentences=6, candidates=6, features=4, whole=False)
    found = certified(problem, tie=[["f1", "f2"]])
    assert found.weights[1] == found.weights[2]
    rng = np.random.default_rng(0)
    points = rng.standard_normal((4000, 4))
    points[:, 2] = points[:, 1]
    losses, clear = losses_at(problem, points)
    assert losses[clear].min() >= found.loss


def test_identical_candidates_and_ties() -> None:
    same, wrong, other = candidate("a b", x=1.0, y=2.0), candidate("c d", x=1.0, y=2.0), candidate("a d", x=2.0, y=1.0)
    # The first of two with the same features wins, whatever the weights.
    assert certified(problem_of([same, wrong, other])).loss == 0.0
    assert certified(problem_of([wrong, same, other])).loss == 0.5


def test_a_tie_that_is_better_than_both_its_sides_is_no_answer() -> None:
    # At y = 0 both sentences pick their first; on either side one of them is wrong.
    right = candidate("a b", x=1.0, y=0.0)
    problem = problem_of([right, candidate("c c", x=1.0, y=1.0)], [right, candidate("c c", x=1.0, y=-1.0)])
    on_the_tie = float(problem.metric.loss(problem.picks(np.array([1.0, 0.0])).total))
    found = certified(problem, fix={"x": 1.0})
    assert on_the_tie == 0.0
    assert (found.loss, proof_of(found).gap) == (0.5, 0.0)


def test_one_sentence_one_candidate_and_empty_lists() -> None:
    a, b = candidate("a b", x=1.0, y=0.0), candidate("c", x=0.0, y=1.0)
    assert certified(problem_of([a, b])).loss == 0.0
    assert certified(problem_of([a, b], [b], [])).loss == 4 / 6  # one word wrong and three left out
    with pytest.raises(InputError, match="no feature differs"):
        certified(problem_of([a]))


def test_weights_that_are_all_held_are_a_clear_error() -> None:
    held = Constraints(fix={"f0": 1.0, "f1": 1.0, "f2": 1.0})
    with pytest.raises(InputError, match="no weight is free"):
        hulltune.tune(random_lists(1), metric="wer", search="certified", constraints=held)


def test_tune_carries_the_certificate(tmp_path: Path) -> None:
    seen: list[hulltune.Progress] = []
    result = hulltune.tune(
        random_lists(4), metric="wer", search=Certified(gap=0.0), also=(), progress=seen.append,
        constraints=Constraints(free=["f0", "f2"], fix={"f1": 1.0}),
    )  # fmt: skip
    proof = result.certificate
    assert proof is not None
    assert (proof.value, proof.gap, proof.is_optimal) == (result.score, 0.0, True)
    assert proof.region["f1"] == (1.0, 1.0)
    assert set(proof.cell) == {"f0", "f2"}
    assert proof.metric == result.metric
    assert seen[-1].bound == proof.bound
    best = f"no weights of the region score less than {proof.value:.6f}"
    assert proof_text(proof, result) == best
    assert proof_text(replace(proof, exact=False), result) == f"{best}, up to rounding"
    again = TuneResult.load(result.save(tmp_path / "result.json"))
    assert again == result
    assert "Infinity" not in json.dumps(result.to_dict())
    random = hulltune.tune(random_lists(4), metric="wer", constraints=Constraints(fix={"f1": 1.0}), also=(), threads=1)
    assert random.score >= result.score
