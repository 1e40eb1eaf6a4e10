"""Certified search in parts of any size, by any number of threads: the same to the bit."""

from __future__ import annotations

from dataclasses import fields
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hulltune.search.certified import candidates as candidates_module
from hulltune.search.certified import evaluate
from hulltune.search.certified.boxes import THINNEST, Box
from hulltune.search.certified.candidates import Candidates, candidates_of
from hulltune.search.certified.cell import _ends_around
from hulltune.search.certified.evaluate import first_boxes, split
from hulltune.search.certified.pools import list_pool
from hulltune.search.certified.space import Space, space_of
from hulltune.search.constraints import Constraints
from hulltune.search.directions import feature_units
from hulltune.search.problem import Line, Problem
from hulltune.search.shards import runner_of
from tests.search.certified.small_problems import certified, small_problem

METRICS = ["wer", "bleu", "chrf", "0.5*chrf - 0.5*ter"]
Floats = NDArray[np.float64]


def space_and_candidates(problem: Problem, threads: int, **constraints: Any) -> tuple[Space, Candidates]:
    compiled = Constraints(**constraints).compile(problem.feature_names)
    space = space_of(compiled, feature_units(problem.corpus))
    return space, candidates_of(problem, list_pool(problem), space, None, runner_of(threads))


def assert_same(one: Any, other: Any) -> None:
    """Check that all fields of two records are the same to the bit."""
    for field in fields(one):
        left, right = np.asarray(getattr(one, field.name)), np.asarray(getattr(other, field.name))
        assert left.dtype == right.dtype, field.name
        assert left.shape == right.shape, field.name
        assert left.tobytes() == right.tobytes(), field.name


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("tie", [(), [("f0", "f1")]])
def test_candidates_do_not_depend_on_the_parts(
    monkeypatch: pytest.MonkeyPatch, metric: str, tie: list[tuple[str, str]]
) -> None:
    for whole in (True, False):
        found = []
        for at_once, threads in ((1 << 12, 1), (1, 1), (7, 3), (50, 2)):
            monkeypatch.setattr(candidates_module, "AT_ONCE", at_once)
            problem = small_problem(5, metric, sentences=20, candidates=9, features=4, whole=whole)
            found.append(space_and_candidates(problem, threads, tie=tie)[1])
        for other in found[1:]:
            assert_same(other, found[0])
        monkeypatch.undo()


@pytest.mark.parametrize("metric", METRICS)
def test_boxes_do_not_depend_on_the_shares(monkeypatch: pytest.MonkeyPatch, metric: str) -> None:
    problem = small_problem(8, metric, sentences=15, candidates=9, features=3, whole=False, length=9)
    space, candidates = space_and_candidates(problem, 1)
    enough = float(np.quantile(first_boxes(candidates, space.faces, problem.metric, np.inf).losses, 0.3))

    def boxes_by(least: int, threads: int) -> list[Box]:
        monkeypatch.setattr(evaluate, "FEW", least)
        monkeypatch.setattr(evaluate, "AT_ONCE", max(least, 1 << 8))
        runner = runner_of(threads)
        found = [first_boxes(candidates, space.faces, problem.metric, enough, None, runner)]
        for _ in range(3):
            found.append(split(candidates, problem.metric, found[-1].boxes, enough, None, runner)[0])
        return [box for children in found for box in children.boxes]

    expected = boxes_by(1 << 20, 1)
    assert len(expected) > 40
    for least, threads in ((1, 1), (1, 3), (300, 2), (1 << 20, 4)):
        boxes = boxes_by(least, threads)
        assert len(boxes) == len(expected)
        for one, other in zip(boxes, expected, strict=True):
            assert_same(one, other)


@pytest.mark.parametrize("metric", METRICS)
def test_certificates_do_not_depend_on_threads_and_shares(monkeypatch: pytest.MonkeyPatch, metric: str) -> None:
    def found(threads: int) -> list[Any]:
        problem = small_problem(9, metric, sentences=15, candidates=8, features=3, whole=False, length=9)
        proven = certified(problem, gap=0.01, threads=threads)
        outcome = proven.outcome
        return [proven.weights.tolist(), proven.loss, outcome.bound, outcome.boxes, outcome.history,
                proven.certificate.cell]  # fmt: skip

    expected = found(1)
    monkeypatch.setattr(evaluate, "FEW", 100)
    monkeypatch.setattr(candidates_module, "AT_ONCE", 30)
    for threads in (1, 3):
        assert found(threads) == expected


def slow_parts(box: Box) -> list[tuple[Floats, Floats]] | None:
    """The parts of a box by arrays; None where it is left by the outer faces."""
    free, differ = box.high > box.low, box.spreads > 0.0
    if not np.any(differ & ~free):
        return None
    wide = box.high - box.low > THINNEST * np.maximum(np.abs(box.low), np.abs(box.high))
    promises = np.where(wide, box.hopes, 0.0)
    if not np.any(promises > 0.0):
        promises = np.where(wide, (box.high - box.low) * box.spreads, 0.0)
    axis = int(np.argmax(promises))
    if not promises[axis] > 0.0:
        return []
    (low, left), (right, high) = box.parts()
    assert left[axis] == right[axis]
    assert np.all(np.delete(left, axis) == np.delete(box.high, axis))
    assert np.all(np.delete(right, axis) == np.delete(box.low, axis))
    return [(box.low, left), (right, box.high)] if low is box.low and high is box.high else []


numbers = st.sampled_from([0.0, 0.0, -0.0, 1.0, -1.0, 0.5, -3.0, 1e300, 1e-300, 1.0 + 2.0**-40, 5e-324])


@given(st.data(), st.integers(1, 4))
@settings(deadline=None)
def test_a_box_is_cut_as_by_arrays(data: st.DataObject, width: int) -> None:
    ends = [sorted(data.draw(st.tuples(numbers, numbers))) for _ in range(width)]
    amounts = st.lists(st.sampled_from([0.0, 1.0, 2.0, 1e300, 5e-324]), min_size=width, max_size=width)
    box = Box(
        low=np.array([low for low, _ in ends]),
        high=np.array([high for _, high in ends]),
        bound=0.0,
        base=np.zeros(1),
        sentences=np.zeros(0, dtype=np.int32),
        offsets=np.zeros(1, dtype=np.int64),
        candidates=np.zeros(0, dtype=np.int32),
        spreads=np.array(data.draw(amounts)),
        hopes=np.array(data.draw(amounts)),
    )
    with np.errstate(over="ignore"):
        expected = slow_parts(box)
    if expected is not None:
        found = box.parts()
        assert len(found) == len(expected)
        for (low, high), (left, right) in zip(found, expected, strict=True):
            assert np.array_equal(low, left)
            assert np.array_equal(high, right)


places = st.one_of(st.sampled_from([-1.0, -0.0, 0.0, 1e-9, -1e-9, 2.0, -np.inf]), st.floats(-3, 3))


@given(st.lists(places, max_size=12), st.sampled_from([-np.inf, -5.0]), st.sampled_from([np.inf, 5.0]),
       st.sampled_from([0.0, 1e-9, 1.0]))  # fmt: skip
@settings(deadline=None)
def test_the_ends_around_a_place_are_those_of_all(lefts: list[float], low: float, high: float, size: float) -> None:
    line = Line(low, np.array([low, *lefts]), np.zeros(len(lefts) + 1, dtype=np.int32))
    all_ends = np.concatenate([[low], line.changes[line.changes > low], [high]])
    line = Line(low, np.maximum(line.lefts, low), line.outputs)
    found = _ends_around(line, high, -size, size).tolist()
    pairs = list(zip(all_ends[:-1].tolist(), all_ends[1:].tolist(), strict=True))
    expected = [pair for pair in pairs if pair[0] <= size and pair[1] >= -size]
    got = list(pairwise(found))
    assert [pair for pair in got if pair[0] <= size and pair[1] >= -size] == expected
    assert set(got) <= set(pairs)
