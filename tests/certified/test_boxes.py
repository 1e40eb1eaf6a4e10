"""The kernels of certified search against slow code: who may win in a box, and what a box can offer."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hulltune.certified.boxes import Bounded, Box, Queue, cut, evaluated, first_parts
from hulltune.certified.candidates import Candidates
from hulltune.certified.space import Space
from hulltune.kernels.certify import choices
from hulltune.kernels.certify.winners import Contestants, Undecided
from hulltune.search.problem import Problem
from tests.certified.small_problems import losses_at, prepared, small_problem

METRICS = ["wer", "bleu", "chrf", "mer", "0.5*chrf - 0.5*ter", "meteor"]


def points_in(box: Box, rng: np.random.Generator, count: int) -> NDArray[np.float64]:
    """Random points of a box, some of them at its corners."""
    shares = np.clip(rng.uniform(-0.3, 1.3, (count, len(box.low))), 1e-6, 1 - 1e-6)
    return box.low + (box.high - box.low) * shares


@pytest.mark.parametrize("metric", METRICS)
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 2**32), fix=st.booleans())
def test_random_boxes_are_sound(metric: str, seed: int, fix: bool) -> None:
    """No point of a box is better than its bound, and no winner is missing from it, however it came to be."""
    rng = np.random.default_rng(seed)
    problem = small_problem(seed, metric, sentences=6, candidates=7, features=4, whole=bool(seed % 2), length=7)
    space, candidates = prepared(problem, fix={"f0": 1.0} if fix else {})
    boxes = evaluated(candidates, problem.metric, first_parts(candidates, space), np.inf)
    for _ in range(5):
        chosen = [boxes[int(k)] for k in rng.choice(len(boxes), min(3, len(boxes)), replace=False)]
        for box in chosen:
            points = points_in(box, rng, 60)
            losses, clear = losses_at(problem, points @ space.axes.T)
            assert np.all(losses[clear] >= box.bound)
            _assert_no_winner_is_missing(problem, space, candidates, box, points, clear)
        boxes = evaluated(candidates, problem.metric, cut(chosen), np.inf) or boxes


def _assert_no_winner_is_missing(
    problem: Problem, space: Space, candidates: Candidates, box: Box, points: NDArray[np.float64],
    clear: NDArray[np.bool_],
) -> None:  # fmt: skip
    """Whoever wins at a point of the box is among its candidates, or has the statistics of the resolved sentence."""
    features = np.asarray(problem.corpus.features.values)
    edges = problem.corpus.sentence_edges
    for place, sentence in enumerate(box.sentences):
        first, last = edges[sentence], edges[sentence + 1]
        winners = first + np.argmax(points[clear] @ space.axes.T @ features[first:last].T, axis=1)
        left = box.candidates[box.offsets[place] : box.offsets[place + 1]]
        assert set(candidates.known.classes[winners].tolist()) <= set(candidates.known.classes[left].tolist())


@pytest.mark.parametrize("metric", METRICS)
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_what_boxes_shrink_by_is_not_better_than_enough(metric: str, seed: int) -> None:
    """The parts of a box, shrunk, hold all of its points that are better than what is reached."""
    rng = np.random.default_rng(seed)
    problem = small_problem(seed, metric, sentences=6, candidates=7, features=4, whole=bool(seed % 2), length=7)
    space, candidates = prepared(problem, fix={"f0": 1.0})
    boxes = evaluated(candidates, problem.metric, first_parts(candidates, space), np.inf)
    points = np.concatenate([points_in(box, rng, 200) for box in boxes])
    losses, clear = losses_at(problem, points @ space.axes.T)
    enough = float(np.quantile(losses, 0.2))
    for _ in range(6):
        parts = cut(boxes)
        thin = [box for number, box in enumerate(boxes) if number not in parts.numbers]
        children = evaluated(candidates, problem.metric, parts, enough)
        boxes = [box for box in children if box.bound < enough] + thin
        better = points[clear & (losses < enough)]
        # A part may be an outer face: then it holds a point of the same ray, which is as good.
        covered = np.zeros(len(better), dtype=bool)
        for box in boxes:
            scale = _scale_into(better, box)
            inside = (better * scale[:, None] >= box.low - 1e-12) & (better * scale[:, None] <= box.high + 1e-12)
            flat = box.spreads == 0.0
            covered |= np.all(inside | flat, axis=1)
        assert covered.all()
        if not boxes:
            break


def _scale_into(points: NDArray[np.float64], box: Box) -> NDArray[np.float64]:
    """What to multiply points by to reach a coordinate that is pinned in the box."""
    pinned = np.flatnonzero((box.low == box.high) & (box.spreads > 0.0))
    if not len(pinned):
        return np.ones(len(points))
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = box.low[pinned[0]] / points[:, pinned[0]]
    return np.where(np.isfinite(scale) & (scale > 0.0), scale, 1.0)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), max_size=6), min_size=1, max_size=5))
def test_first_of_equals(lists: list[list[tuple[int, int]]]) -> None:
    rows = [row for listed in lists for row in listed]
    offsets = np.cumsum([0, *map(len, lists)])
    matrix = np.array(rows, dtype=np.float64).reshape(-1, 2)
    wanted = [int(offsets[s]) + listed.index(row) for s, listed in enumerate(lists) for row in listed]
    assert choices.first_of_equals(np.ascontiguousarray(matrix.T), offsets).tolist() == wanted


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_sums_of_choices_are_those_of_enumeration(seed: int) -> None:
    """The least sum, and all sums, of one candidate a sentence, against itertools."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, int(rng.integers(1, 5)))
    statistics = rng.integers(0, 3, (int(sizes.sum()), 2)).astype(float)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    classes = choices.first_of_equals(np.ascontiguousarray(statistics.T), offsets).astype(np.int32)
    candidates = np.arange(len(statistics), dtype=np.int32)
    base, slopes = rng.integers(0, 9, (1, 2)).astype(float), rng.integers(-3, 4, (1, 2)).astype(float)
    rows = [statistics[first:last] for first, last in pairwise(offsets.tolist())]
    every = np.array([base[0] + np.sum(choice, axis=0) for choice in product(*rows)])
    chosen, hopes = np.zeros(1, dtype=np.int64), np.zeros((1, 1))
    features = np.zeros((len(statistics), 1)) + candidates[:, None]
    known = Contestants(features, np.zeros((len(sizes), 1)), np.ones(len(sizes), dtype=np.bool_), statistics, classes)
    left = Undecided(np.array([0, len(sizes)]), np.arange(len(sizes), dtype=np.int32), offsets, candidates, base)
    best = choices.minimisers(known, left, slopes, chosen, np.ones((1, 1)), hopes)
    assert float(best[0] @ slopes[0]) == float((every @ slopes[0]).min())
    firsts = base[0] + statistics[offsets[:-1]].sum(axis=0)
    assert hopes[0, 0] == pytest.approx(float((firsts - best[0]) @ slopes[0]))
    ends, sums = choices.all_choices(known, left, chosen, 81)
    assert ends.tolist() == [0, len(sums)]
    assert {tuple(row) for row in sums.tolist()} == {tuple(row) for row in every.tolist()}
    few, none = choices.all_choices(known, left, chosen, 1)
    distinct = int(np.prod([len(np.unique(part, axis=0)) for part in rows]))
    assert (few.tolist(), len(none)) == (([0, 1], 1) if distinct == 1 else ([0, 0], 0))


def test_sums_that_rounding_cannot_tell_apart() -> None:
    columns = np.array([[0.1, 0.2, 0.3, 0.1], [0.2, 0.1, 0.3, 0.2]])
    sums, offsets = columns.sum(axis=0), np.array([0, 2, 4])
    assert choices.clearly_apart(sums, np.full(2, 1e-12), columns, offsets).tolist() == [False, True]
    assert choices.clearly_apart(sums[[0, 3]], np.full(1, 1e-12), columns[:, [0, 3]].copy(), np.array([0, 2])).all()


def test_possible_winners_leaves_out_only_losers() -> None:
    rng = np.random.default_rng(2)
    problem = small_problem(2, sentences=10, candidates=30, features=3, whole=False)
    _, candidates = prepared(problem, fix={"f0": 1.0})
    assert len(candidates.listed) < problem.corpus.edges
    features = np.asarray(problem.corpus.features.values)
    points = np.column_stack([np.ones(20000), rng.standard_cauchy((20000, 2))])
    edges = problem.corpus.sentence_edges
    for first, last in pairwise(edges.tolist()):
        winners = set((first + np.argmax(points @ features[first:last].T, axis=1)).tolist())
        assert winners <= set(candidates.listed.tolist())


def test_the_queue_gives_the_least_bound_first() -> None:
    nothing = np.empty(0)
    ids = np.empty(0, dtype=np.int32)
    queue = Queue()
    for bound in (3.0, 1.0, 2.0, 1.0):
        queue.put(Box(nothing, nothing, bound, nothing, ids, np.zeros(1, np.int64), ids, nothing, nothing))
    assert queue.bound == 1.0
    taken: list[Bounded] = []
    queue.take(3, 2.5, into=taken)
    assert [box.bound for box in taken] == [1.0, 1.0, 2.0]
    queue.take(3, 2.5, into=taken)
    assert len(taken) == 3
    assert len(queue) == 1
