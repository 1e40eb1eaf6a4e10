"""Where a proof could go wrong: very different units, interrupts, far bounds, ties that no weights resolve."""

from __future__ import annotations

import importlib
import json
import signal
from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hulltune
from hulltune import Certified, read
from hulltune.certified import boxes, branch_and_bound
from hulltune.certified.cells import extents
from hulltune.metrics import Given, Meteor, ScoreTable
from hulltune.metrics.bounds import Ranges
from hulltune.search.constraints import Constraints
from hulltune.search.directions import feature_units
from tests.certified.small_problems import (
    bound_of,
    candidate,
    certified,
    problem_of,
    proof_of,
    records_of,
    small_problem,
)


def two_sentences(size: float) -> list[list[dict[str, Any]]]:
    """Right in both only if 0 < y < ``size`` · x."""
    return [
        [candidate("a b", x=size, y=0.0), candidate("c d", x=0.0, y=1.0)],
        [candidate("a b", x=0.0, y=3.0), candidate("c d", x=size, y=0.0)],
    ]


@pytest.mark.parametrize("size", [1e-9, 1e-15, 1e-150, 1e30, 1e150])
def test_the_middle_of_a_cell_is_found_whatever_the_units(size: float) -> None:
    """Even where the squares of features overflow."""
    found = certified(problem_of(*two_sentences(size)))
    assert (found.loss, proof_of(found).bound) == (0.0, 0.0)
    assert proof_of(found).stopped == "gap"


def test_weights_that_must_leave_a_tie_keep_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Boxes have been dropped for the loss on the tie: that is all that is proven."""
    problem = problem_of(*two_sentences(1.0))
    monkeypatch.setattr(branch_and_bound, "middle_of_cell", lambda setting, at, *rest: replace(at, loss=at.loss + 0.25))
    found = certified(problem)
    proof = proof_of(found)
    assert (found.loss, proof.bound, proof.gap, proof.stopped) == (0.25, 0.0, 0.25, "rounding")
    assert not proof.is_optimal


def interrupt(*_: Any, **__: Any) -> Any:
    raise KeyboardInterrupt


def test_an_interrupt_before_the_first_boxes_proves_what_the_metric_does(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = small_problem(11, "bleu", sentences=12, candidates=8, whole=False)
    monkeypatch.setattr(boxes, "first_parts", interrupt)
    proof = proof_of(certified(problem, start=[1.0, 0.0, 0.3]))
    assert proof.stopped == "interrupt"
    assert 100.0 <= proof.bound < 100.0 + 1e-9
    assert not proof.is_optimal
    result = hulltune.tune(
        read(records_of(*two_sentences(1.0))), metric="wer", search="certified", also=(), oracle=False,
        start={"x": 1.0, "y": 2.0},
    )  # fmt: skip
    assert result.interrupted
    assert result.certificate is not None
    assert (result.certificate.value, result.certificate.bound) == (result.score, 0.0)
    assert "Infinity" not in json.dumps(result.to_dict())


@pytest.mark.parametrize("method", ["receive", "offer"])
@pytest.mark.parametrize("call", [0, 1, 2, 3])
def test_an_interrupt_at_any_time_leaves_a_bound_that_holds(
    monkeypatch: pytest.MonkeyPatch, method: str, call: int
) -> None:
    problem = small_problem(11, "bleu", sentences=12, candidates=8, whole=False)
    best = certified(problem).loss
    whole, calls = getattr(branch_and_bound.BranchAndBound, method), [0]

    def interrupted(self: Any, *arguments: Any) -> Any:
        calls[0] += 1
        whole(self, *arguments)
        if calls[0] > call:
            raise KeyboardInterrupt

    monkeypatch.setattr(branch_and_bound.BranchAndBound, method, interrupted)
    found = certified(problem, start=[-1.0, 0.0, 0.3])
    assert bound_of(problem, found) <= best <= found.loss


def test_an_interrupt_after_the_proof_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def measure_and_interrupt(*arguments: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return extents(*arguments)

    problem = small_problem(11, "bleu", sentences=12, candidates=8, whole=False)
    whole = certified(problem, Certified(gap=0.5))
    monkeypatch.setattr(importlib.import_module("hulltune.certified.certify"), "extents", measure_and_interrupt)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        found = certified(problem, Certified(gap=0.5))
    finally:
        signal.signal(signal.SIGINT, before)
    assert (found.interrupted, proof_of(found).stopped) == (True, "gap")
    assert replace(proof_of(found), seconds=0.0) == replace(proof_of(whole), seconds=0.0)


def test_no_box_is_lost_between_the_queue_and_who_takes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = small_problem(11, "bleu", sentences=12, candidates=8, whole=False)
    best = certified(problem).loss
    monkeypatch.setattr(boxes, "cut", interrupt)
    found = certified(problem)
    assert proof_of(found).stopped == "interrupt"
    assert bound_of(problem, found) <= best


@pytest.mark.parametrize("bounds", [{"min": {"lm": 1e8}}, {"max": {"lm": -1e8}}, {"max": {"lm": 1e8}}])
def test_bounds_however_far_are_kept(bounds: dict[str, Any]) -> None:
    lists = [
        [candidate("a b", am=1.0, lm=0.0), candidate("c d", am=0.0, lm=1.0)],
        [candidate("a b", am=0.0, lm=3.0), candidate("c d", am=1.0, lm=0.0)],
    ]
    found = certified(problem_of(*lists), **bounds)
    low, high = proof_of(found).region["lm"]
    assert low is not None
    assert high is not None
    assert low < high
    assert (low, high)["max" in bounds] == next(iter(bounds.values()))["lm"]
    # am > lm > 0 is right in both sentences; with lm below 0 one is wrong whatever am is
    assert found.loss == proof_of(found).bound == (0.5 if bounds == {"max": {"lm": -1e8}} else 0.0)


def test_bounds_beyond_the_reach_of_a_small_fixed_weight() -> None:
    lists = [
        [candidate("c d", am=1.0, lm=0.0), candidate("a b", am=0.0, lm=1e-8)],
        [candidate("a b", am=0.0, lm=3.0), candidate("c d", am=1.0, lm=0.0)],
    ]
    problem = problem_of(*lists)
    found = certified(problem, start=[1e-9, -1.0], fix={"am": 1e-9}, min={"lm": -10.0}, max={"lm": 10.0})
    assert proof_of(found).region["lm"] == (-10.0, 10.0)
    assert (found.loss, proof_of(found).bound) == (0.0, 0.0)


def tied_lists(first: tuple[float, float], second: tuple[float, float]) -> list[list[dict[str, Any]]]:
    return [
        [candidate("c d", x=first[0], y=first[1], z=0.0), candidate("a b", x=second[0], y=second[1], z=0.0)],
        [candidate("a b", x=1.0, y=1.0, z=0.0), candidate("c d", x=0.0, y=0.0, z=1.0)],
    ]


@pytest.mark.parametrize("constraints", [{"tie": [["x", "y"]]}, {"fix": {"x": 1.0, "y": 1.0}}])
def test_of_candidates_that_no_weights_tell_apart_the_first_wins(constraints: dict[str, Any]) -> None:
    lists = tied_lists((1.0, 0.0), (0.0, 1.0))
    found = certified(problem_of(*lists), **constraints)
    assert (found.loss, proof_of(found).gap) == (0.5, 0.0)
    swapped = certified(problem_of(lists[0][::-1], lists[1]), **constraints)
    assert (swapped.loss, proof_of(swapped).gap) == (0.0, 0.0)


def test_sums_that_only_rounding_tells_apart_tie() -> None:
    """0.1 + 0.2 is 0.3 as decimals, and for decoding at nearly all weights; doubles differ."""
    lists = tied_lists((0.1, 0.2), (0.3, 0.0))
    problem = problem_of(*lists)
    found = certified(problem, tie=[["x", "y"]])
    assert (found.loss, proof_of(found).gap) == (0.5, 0.0)
    assert found.loss == float(problem.metric.loss(problem.picks(found.weights).total))
    swapped = certified(problem_of(lists[0][::-1], lists[1]), tie=[["x", "y"]])
    assert (swapped.loss, proof_of(swapped).gap) == (0.0, 0.0)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_tied_whole_numbers_never_crash_and_the_bound_holds(seed: int) -> None:
    problem = small_problem(seed, sentences=5, candidates=6, features=4)
    if not np.any(feature_units(problem.corpus) > 0.0):
        return
    choices: list[dict[str, Any]] = [
        {"tie": [["f0", "f1"], ["f2", "f3"]]},
        {"fix": {"f0": 1.0, "f1": 2.0, "f2": -1.0}},
    ]
    constraints = choices[seed % 2]
    compiled = Constraints(**constraints).compile(problem.feature_names)
    units = feature_units(problem.corpus)
    if not any(np.any(units[group] > 0.0) for group in compiled.free_groups):
        return
    found = certified(problem, Certified(gap=0.0, time=2.0), **constraints)  # some ties take for ever
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((500, 4))
    points[:, 1], points[:, 2] = points[:, 0], points[:, 3]
    if seed % 2:
        points[:, :3] = [1.0, 2.0, -1.0]
    losses = [float(problem.metric.loss(problem.picks(point).total)) for point in points]
    assert min(losses) >= bound_of(problem, found)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_the_bound_of_meteor_holds_for_texts_of_no_words(alpha: float, seed: int) -> None:
    """Sums of rows, many of them without words, are nowhere better than the bound of their ranges."""
    rng = np.random.default_rng(seed)
    rows = np.zeros((3, 4, 6))
    rows[..., 4:] = rng.integers(0, 5, (3, 4, 2)) * (rng.random((3, 4, 2)) < 0.5)
    matched = rng.integers(0, rows[..., 4:].min(axis=-1).astype(np.int64) + 1)
    rows[..., 0] = matched
    rows[..., 3] = rng.integers(np.minimum(1, matched), matched + 1)
    low, high = rows.min(axis=1).sum(axis=0)[None], rows.max(axis=1).sum(axis=0)[None]
    metric = Meteor(alpha=alpha)
    bound = metric.loss_bound(Ranges(low, high, rows[:, 0].sum(axis=0)[None], high[0], True, True))
    proven = float(bound.proven(low)[0])
    for choice in rng.integers(0, 4, (100, 3)):
        assert float(metric.loss(rows[np.arange(3), choice].sum(axis=0))) >= proven


@pytest.mark.parametrize("metric", ["wer", "bleu", "ter"])
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32), whole=st.booleans(), bounded=st.booleans())
def test_one_free_weight_is_always_proven(metric: str, seed: int, whole: bool, bounded: bool) -> None:
    """Against decoding between every two crossings of any two candidates."""
    problem = small_problem(seed, metric, sentences=6, candidates=6, features=2, whole=whole)
    if not feature_units(problem.corpus)[1] > 0.0:
        return
    bounds: dict[str, Any] = {"min": {"f1": -0.7}, "max": {"f1": 1.3}} if bounded else {}
    found = certified(problem, fix={"f0": 1.0}, **bounds)
    values = np.asarray(problem.corpus.features.values, dtype=np.float64)
    low, high = (-0.7, 1.3) if bounded else (-1e3, 1e3)
    crossings = [low, high]
    for first, last in pairwise(problem.corpus.sentence_edges.tolist()):
        for a, b in combinations(values[first:last], 2):
            if a[1] != b[1] and low < -(a[0] - b[0]) / (a[1] - b[1]) < high:
                crossings.append(-(a[0] - b[0]) / (a[1] - b[1]))
    middles = [(a + b) / 2.0 for a, b in pairwise(sorted(crossings)) if b - a > 1e-9]
    best = min(float(problem.metric.loss(problem.picks(np.array([1.0, middle])).total)) for middle in middles)
    assert (found.loss, proof_of(found).gap, proof_of(found).stopped) == (best, 0.0, "gap")
    assert float(problem.metric.loss(problem.picks(found.weights).total)) == best


def test_a_bounded_weight_alone() -> None:
    """Nothing is fixed that matters, but the bounds set the scale: on one side of 0 one cell, on the other another."""
    problem = problem_of([candidate("a b", x=1.0), candidate("c d", x=0.0)])
    found = certified(problem, min={"x": -2.0}, max={"x": 0.5})
    assert (found.loss, proof_of(found).gap) == (0.0, 0.0)
    assert 0.0 < found.weights[0] < 0.5
    assert certified(problem, min={"x": -2.0}, max={"x": -0.5}).loss == 1.0
    thin = certified(problem, min={"x": 0.5}, max={"x": 0.5 + 2.0**-50})
    assert (thin.loss, proof_of(thin).gap) == (0.0, 0.0)


@pytest.mark.parametrize(("right", "exact"), [(0.1, False), (3.0, True)])
def test_sums_that_round_are_never_proven_to_the_bit(right: float, exact: bool) -> None:
    table = ScoreTable([0, 0, 1, 1], ["a b", "c d", "a b", "c d"], [right, 0.0, right, 0.0])
    found = certified(problem_of(*two_sentences(1.0), metric=Given(scores=table)))
    assert found.loss == pytest.approx(-right)
    assert proof_of(found).exact is exact
    assert proof_of(found).is_optimal is exact


@pytest.mark.parametrize("size", [1e6, 1e12, 1e15, 1e18])
def test_cells_that_are_small_beside_an_outlier_count(size: float) -> None:
    """All are right for 1/3 < y < 1 only, whatever the unit of x has become."""
    outlier = [candidate("a b", x=size, y=0.0), candidate("c d", x=0.0, y=0.0)]
    problem = problem_of(*two_sentences(1.0), outlier)
    found = certified(problem, fix={"x": 1.0})
    assert (found.loss, proof_of(found).bound) == (0.0, 0.0)
    assert 1.0 / 3.0 < found.weights[1] < 1.0
    assert proof_of(certified(problem)).bound <= 0.0
