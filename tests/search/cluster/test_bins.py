"""Sums over bins give the steps that all changes give, to the bit, on random and on nasty lines."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hulltune import Climb, Constraints, Policy, Problem
from hulltune.kernels.bins import binned_changes, changes_within, sums_at
from hulltune.kernels.simd import LANES
from hulltune.metrics import get_metric
from hulltune.names import POLICIES
from hulltune.search.cluster import bins
from hulltune.search.cluster.protocol import Along, Outline, Question
from hulltune.search.cluster.worker import Worker
from hulltune.search.elsewhere import Lines, Steps
from hulltune.search.shards import Runner
from hulltune.search.steps import search_lines
from hulltune.simulate import simulated_task
from hulltune.tuning.tune import Run
from tests.search.cluster.fleets_for_tests import unreliable
from tests.search.cluster.test_driver import data, described
from tests.search.test_rounds import METRICS, WIDTH, corpora, points_of_lines, problem_of
from tests.strategies import vectors

Floats = NDArray[np.float64]


class PartWorker(Worker):
    """A worker over a part of a problem at hand, without a file."""

    def __init__(self, part: Problem) -> None:
        self._problem, self._kept, self._line = part, OrderedDict(), 0

    def answer(self, question: Question, telling: Any = None) -> Any:
        return pickle.loads(pickle.dumps(self._answer(question)))


class InBins:
    """A searcher that asks parts of a problem for bins; there are few, so that they are split often."""

    def __init__(self, problem: Problem, parts: int) -> None:
        sentences = np.array_split(np.arange(len(problem.corpus)), parts)
        self.workers = [PartWorker(problem.subset(part)) for part in sentences if len(part)]
        self.asked: list[str] = []

    def ask(self, question: Question) -> list[Any]:
        self.asked.append(type(question).__name__)
        return [worker.answer(question) for worker in self.workers]

    def total(self, problem: Problem, weights: Floats, runner: Runner) -> NDArray[Any]:
        return problem.picks(weights).total

    def best_steps(self, problem: Problem, lines: Lines, runner: Runner) -> Steps:
        along = Along(np.vstack([lines.origin, lines.directions]), lines.intervals)
        found = bins.best_steps(problem.metric, lines, along, self.ask)
        assert found is not None  # whole numbers
        return found


@settings(max_examples=150, deadline=None)
@given(
    corpora(),
    st.sampled_from([metric for metric in METRICS if "ter" not in metric and bins.can_be_bounded(get_metric(metric))]),
    vectors(WIDTH),
    st.lists(vectors(WIDTH), min_size=1, max_size=3),
    points_of_lines,
    st.sampled_from(POLICIES),
    st.integers(1, 3),
    st.sampled_from([Constraints(), Constraints(min={"f0": -1.0}, max={"f1": 2.0})]),
    st.sampled_from([(1, 2, 0, 1), (3, 8, 1, 1), (2, 4, 0, 2)]),
)
def test_bins_give_the_steps_of_all_changes(
    corpus: Any, metric: str, origin: Any, directions: Any, points: list[float], policy: str, parts: int,
    constraints: Constraints, sizes: tuple[int, int, int, int],
) -> None:  # fmt: skip
    problem, origin, directions = problem_of(corpus, metric), np.array(origin), np.array(directions)
    limits = constraints.compile(problem.feature_names)
    at = np.array([sorted(points)] * len(directions)).reshape(len(directions), -1)
    loss = problem.loss(origin)
    here = search_lines(problem, origin, loss, directions, limits, Policy(policy), points=at)
    first, most, few, single = sizes
    with patch.multiple(bins, FIRST=first, MOST=most, FEW=few, SINGLE=single):
        searcher = InBins(problem, parts)
        there = search_lines(problem.searched_by(searcher), origin, loss, directions, limits, Policy(policy), points=at)
    for field in ("numbers", "etas", "losses", "sampled"):
        assert np.array_equal(getattr(here, field), getattr(there, field), equal_nan=True), field


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("metric", ["wer", "bleu", "bleu - 0.5 * wer"])
def test_bins_on_ordinary_lines(metric: str, policy: str) -> None:
    """Many changes: most bins are passed over, some split, and few changes are fetched."""
    problem = Problem.of(simulated_task(sentences=150, candidates=20).lists, metric)
    limits, rng = Constraints().compile(problem.feature_names), np.random.default_rng(1)
    searcher = InBins(problem, 3)
    with patch.multiple(bins, FIRST=16, FEW=64):
        for _ in range(3):
            origin, directions = rng.normal(size=6), list(rng.normal(size=(8, 6)))
            loss, points = problem.loss(origin), np.sort(rng.normal(size=(8, 3)), axis=1)
            here = search_lines(problem, origin, loss, directions, limits, Policy(policy), points=points)
            there = search_lines(
                problem.searched_by(searcher), origin, loss, directions, limits, Policy(policy), points=points
            )
            for field in ("etas", "losses", "sampled"):
                assert np.array_equal(getattr(here, field), getattr(there, field)), field
    assert {"Outline", "Sums", "Within", "Places"} == set(searcher.asked)


def test_answers_do_not_grow_with_the_corpus(tmp_path: Path) -> None:
    """Eight times the sentences, less than two and a half times the bytes: all changes would be eight times as many."""
    sizes = []
    for sentences in (150, 1200):
        problem = Problem.of(simulated_task(sentences=sentences, candidates=15).lists, "bleu")
        origin, directions = np.array([1.0, 1.0, 1.5, 0.1, 0.1, 0.1]), list(np.eye(6))
        with (
            patch.multiple(bins, FIRST=32, MOST=64, FEW=100),
            unreliable(problem, 2, tmp_path, most_whole=0) as (searched, fleet),
        ):
            limits = Constraints(fix={"forward": 1.0}).compile(problem.feature_names)
            search_lines(searched, origin, problem.loss(origin), directions, limits, Policy(), reach=np.full(6, 50.0))
            sizes.append(fleet.received)
    assert sizes[1] < 2.5 * sizes[0]


@pytest.mark.parametrize("shards", [1, 2, 7])
@pytest.mark.parametrize("name", ["lists", "empty", "forests"])
def test_tuning_in_bins_is_tuning_in_one_process(name: str, shards: int, tmp_path: Path) -> None:
    run = Run(Climb(restarts=2, directions=5), Constraints(), threads=2)
    expected = described(run.tune(Problem.of(data(name), "bleu")))
    with (
        patch.multiple(bins, FIRST=4, MOST=8, FEW=4, SINGLE=2),
        unreliable(Problem.of(data(name), "bleu"), shards, tmp_path, most_whole=0) as (problem, _),
    ):
        assert described(run.tune(problem)) == expected


def test_real_statistics_are_sent_whole(tmp_path: Path) -> None:
    """Sums of real numbers over bins would be rounded: the driver goes back to all changes."""
    run = Run(Climb(restarts=1, directions=4), Constraints(), threads=1)
    from tests.search.function_metric import FunctionMetric, hits

    metric = FunctionMetric(lambda sentences, texts: hits(sentences, texts) * 0.25)
    metric.monotone = (-1, 1)
    assert bins.can_be_bounded(metric)
    expected = described(run.tune(Problem.of(data("lists"), metric)))
    with unreliable(Problem.of(data("lists"), metric), 2, tmp_path, most_whole=0) as (problem, _):
        assert described(run.tune(problem)) == expected


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_kernels_of_bins(seed: int) -> None:
    """Sums, changes and points, against loops over sentences."""
    rng = np.random.default_rng(seed)
    table = rng.integers(-3, 4, size=(5, 2))
    low, sentences = -4.0, []
    for _ in range(int(rng.integers(1, 5))):
        inner = np.unique(rng.integers(-3, 4, size=int(rng.integers(0, 5)))).astype(float)
        sentences.append((np.append(low, inner), rng.integers(0, 5, size=len(inner) + 1).astype(np.int32)))
    lefts = np.concatenate([each[0] for each in sentences])
    outputs = np.concatenate([each[1] for each in sentences])
    edges = np.unique(rng.integers(-4, 6, size=6)).astype(float)
    ends = (np.array([0]), np.array([len(lefts)]), np.array([low]), np.arange(5))
    bin_lows, bin_highs = edges[:-1:2], edges[1::2]
    bin_lows = bin_lows[: len(bin_highs)]
    offsets = np.array([0, len(bin_lows)])
    changes = [
        (place, table[new] - table[old])
        for places, rows in sentences
        for place, new, old in zip(places[1:], rows[1:], rows[:-1], strict=True)
        if new != old
    ]
    compact = np.pad(table, ((0, 0), (0, LANES - 2))).astype(np.int32).reshape(-1)
    counts, rises, falls = binned_changes(lefts, outputs, *ends, compact, 2, offsets, bin_lows, bin_highs)
    found = changes_within(lefts, outputs, *ends, compact, 2, offsets, bin_lows, bin_highs)
    for k, (begin, end) in enumerate(zip(bin_lows, bin_highs, strict=True)):
        inside = [change for place, change in changes if begin <= place < end]
        assert counts[k] == len(inside)
        assert np.array_equal(rises[k], sum((np.maximum(change, 0) for change in inside), np.zeros(2)))
        assert np.array_equal(falls[k], sum((np.minimum(change, 0) for change in inside), np.zeros(2)))
        assert np.array_equal(found[2][found[0] == k], np.array(inside).reshape(-1, 2))
    points = np.sort(rng.integers(-8, 12, size=(1, 4)) / 2)
    number, first, at_points = sums_at(lefts, outputs, *ends, compact, 2, points)
    assert number[0] == len(lefts) - len(sentences)
    assert np.array_equal(first[0], sum(table[rows[0]] for _, rows in sentences))
    for point, sums in zip(points[0], at_points[0], strict=True):
        rows_there = [rows[max(np.searchsorted(places, point, side="right") - 1, 0)] for places, rows in sentences]
        assert np.array_equal(sums, sum(table[row] for row in rows_there))


def test_an_outline_has_a_few_places() -> None:
    problem = Problem.of(simulated_task(sentences=100, candidates=20).lists, "wer")
    along = Along(np.vstack([np.ones(6), np.eye(6)[:2]]), np.array([[-np.inf, np.inf]] * 2))
    (outlined,) = InBins(problem, 1).ask(Outline(along, np.zeros((2, 1)), 16))
    assert all(16 <= len(places) <= 40 and np.all(np.diff(places) >= 0) for places in outlined.places)
    assert np.array_equal(outlined.at_points[0, 0], problem.picks(np.ones(6)).total)
