"""Sums over bins give the steps that all changes give, to the bit, on random and on nasty lines."""

from __future__ import annotations

import itertools
import pickle
from collections import OrderedDict
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hulltune import Climb, Constraints, Policy, Problem
from hulltune.kernels.simd.simd import LANES
from hulltune.kernels.surfaces.bins import changes_in_order, changes_within, sums_over_bins
from hulltune.kernels.surfaces.step_limits import OUTER
from hulltune.metrics import get_metric
from hulltune.names import POLICIES
from hulltune.search import policies
from hulltune.search.cluster import bins
from hulltune.search.cluster.driver import Driver
from hulltune.search.cluster.protocol import Along, Outermost, Question, Start
from hulltune.search.cluster.worker import Worker
from hulltune.search.elsewhere import Lines, Steps
from hulltune.search.shards import Runner
from hulltune.search.steps import search_lines
from hulltune.simulate import simulated_task
from hulltune.tuning.tune import Run
from tests.search.cluster.fleets_for_tests import Unreliable, unreliable
from tests.search.cluster.test_driver import data, described
from tests.search.test_rounds import METRICS, WIDTH, corpora, points_of_lines, problem_of
from tests.strategies import vectors

SMALL = Problem.of(simulated_task(sentences=6, candidates=6).lists, "wer")
Floats = NDArray[np.float64]


def guess(lines: int, centre: float, spread: float) -> bins.Guess:
    return bins.Guess(np.full(lines, centre), np.full(lines, spread))


class PartWorker(Worker):
    """A worker over a part of a problem at hand, without a file."""

    def __init__(self, part: Problem) -> None:
        self._problem, self._kept, self._searched, self._line = part, OrderedDict(), OrderedDict(), 0

    def answer(self, question: Question, telling: Any = None) -> Any:
        return pickle.loads(pickle.dumps(self._answer(question)))


class InBins:
    """A searcher that asks parts of a problem for bins; there are few, so that they are split often."""

    def __init__(self, problem: Problem, parts: int, centre: float = 0.0, spread: float = 1.0) -> None:
        self.centre, self.spread = centre, spread
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
        found = bins.best_steps(problem.metric, lines, along, self.ask, guess(len(lines), self.centre, self.spread))
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
    st.sampled_from([(1, 2, 0, 0, 1), (3, 8, 1, 1, 1), (2, 4, 0, 0, 2), (5, 4, 6, 2, 1)]),
    st.sampled_from([(0.0, 1.0), (0.0, 1e-6), (-1.0, 1e9), (0.3, 0.1), (1e12, 1e-9), (-1e308, 1e308)]),
)
def test_bins_give_the_steps_of_all_changes(
    corpus: Any, metric: str, origin: Any, directions: Any, points: list[float], policy: str, parts: int,
    constraints: Constraints, sizes: tuple[int, int, int, int, int], guessed: tuple[float, float],
) -> None:  # fmt: skip
    problem, origin, directions = problem_of(corpus, metric), np.array(origin), np.array(directions)
    limits = constraints.compile(problem.feature_names)
    at = np.array([sorted(points)] * len(directions)).reshape(len(directions), -1)
    loss = problem.loss(origin)
    here = search_lines(problem, origin, loss, directions, limits, Policy(policy), points=at)
    first, most, few, short, single = sizes
    with patch.multiple(bins, FIRST=first, MOST=most, FEW=few, SHORT=short, SINGLE=single):
        searcher = InBins(problem, parts, *guessed)
        there = search_lines(problem.searched_by(searcher), origin, loss, directions, limits, Policy(policy), points=at)
    for field in ("numbers", "etas", "losses", "sampled"):
        assert np.array_equal(getattr(here, field), getattr(there, field), equal_nan=True), field


@pytest.mark.parametrize(
    ("size", "least", "most"),
    [
        (1e-308, -1.0, np.inf),  # the bounds are 1e308 steps away
        (1.0, -1.0, -1.0 + 2.0**-50),  # and between these there are only a few doubles
    ],
)
def test_lines_that_cannot_be_entered_are_left_alone(size: float, least: float, most: float) -> None:
    """The origin is outside of the bounds, and no step that is large enough, or exact enough, leads inside."""
    origin, directions = np.array([-2.0, 1.0, 1.0, 1.0, 1.0, 1.0]), size * np.eye(6)
    first = SMALL.feature_names[0]
    limits = Constraints(min={first: least}, max={first: most}).compile(SMALL.feature_names)
    loss = SMALL.loss(origin)
    here = search_lines(SMALL, origin, loss, directions[:1], limits, Policy())
    assert (here.etas.tolist(), here.losses.tolist()) == ([0.0], [loss])
    assert not len(here.gains())
    there = search_lines(SMALL.searched_by(InBins(SMALL, 2)), origin, loss, directions[:1], limits, Policy())
    assert (there.etas.tolist(), there.losses.tolist()) == ([0.0], [loss])


def test_bins_reach_to_the_largest_doubles() -> None:
    """Where four times an end of a bin is infinite."""
    origin, directions = np.array([1.0, 1.0, 1.5, 0.1, 0.1, 0.1]), 1e-308 * np.eye(6)
    limits, loss = Constraints().compile(SMALL.feature_names), SMALL.loss(origin)
    here = search_lines(SMALL, origin, loss, directions, limits, Policy())
    with patch.multiple(bins, FIRST=1, MOST=2, FEW=0, SINGLE=1):
        there = search_lines(SMALL.searched_by(InBins(SMALL, 2, 1e9)), origin, loss, directions, limits, Policy())
    assert np.array_equal(here.etas, there.etas)
    assert np.array_equal(here.losses, there.losses)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("metric", ["wer", "bleu", "bleu - 0.5 * wer"])
def test_bins_on_ordinary_lines(metric: str, policy: str) -> None:
    """Many changes: most bins are passed over, some split, and few changes are fetched."""
    problem = Problem.of(simulated_task(sentences=150, candidates=20).lists, metric)
    limits, rng = Constraints().compile(problem.feature_names), np.random.default_rng(1)
    searcher = InBins(problem, 3)
    with patch.multiple(bins, FIRST=16, FEW=64, SHORT=64):
        for _ in range(3):
            origin, directions = rng.normal(size=6), list(rng.normal(size=(8, 6)))
            loss, points = problem.loss(origin), np.sort(rng.normal(size=(8, 3)), axis=1)
            here = search_lines(problem, origin, loss, directions, limits, Policy(policy), points=points)
            there = search_lines(
                problem.searched_by(searcher), origin, loss, directions, limits, Policy(policy), points=points
            )
            for field in ("etas", "losses", "sampled"):
                assert np.array_equal(getattr(here, field), getattr(there, field)), field
    assert {"Start", "Further", "Outermost"} == set(searcher.asked)


def test_answers_do_not_grow_with_the_corpus(tmp_path: Path) -> None:
    """Eight times the sentences, less than two and a half times the bytes: all changes would be eight times as many."""
    sizes = []
    for sentences in (150, 1200):
        problem = Problem.of(simulated_task(sentences=sentences, candidates=15).lists, "bleu")
        origin, directions = np.array([1.0, 1.0, 1.5, 0.1, 0.1, 0.1]), list(np.eye(6))
        with (
            patch.multiple(bins, FIRST=32, MOST=64, FEW=100, SHORT=100),
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
        patch.multiple(bins, FIRST=4, MOST=8, FEW=4, SHORT=4, SINGLE=2),
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
    """Changes in order, their sums over bins, and those within bins, against loops over sentences."""
    rng = np.random.default_rng(seed)
    table = rng.integers(-3, 4, size=(5, 2))
    low, sentences = -4.0, []
    for _ in range(int(rng.integers(1, 5))):
        inner = np.unique(rng.integers(-3, 4, size=int(rng.integers(0, 5)))).astype(float)
        sentences.append((np.append(low, inner), rng.integers(0, 5, size=len(inner) + 1).astype(np.int32)))
    lefts = np.concatenate([each[0] for each in sentences])
    outputs = np.concatenate([each[1] for each in sentences])
    edges = np.unique(rng.integers(-4, 6, size=6)).astype(float)
    bin_lows, bin_highs = edges[:-1:2], edges[1::2]
    bin_lows = bin_lows[: len(bin_highs)]
    expected = sorted(
        (place, *(table[new] - table[old]).tolist())
        for places, rows in sentences
        for place, new, old in zip(places[1:], rows[1:], rows[:-1], strict=True)
        if new != old
    )
    compact = np.pad(table, ((0, 0), (0, LANES - 2))).astype(np.int32).reshape(-1)
    offsets, places, olds, news, first = changes_in_order(
        lefts, outputs, np.array([0]), np.array([len(lefts)]), np.array([low]), np.arange(5), compact, 2
    )
    found = sorted(
        (place, *(table[new] - table[old]).tolist()) for place, old, new in zip(places, olds, news, strict=True)
    )
    assert offsets.tolist() == [0, len(expected)]
    assert found == expected
    assert np.all(np.diff(places) >= 0.0)
    assert np.array_equal(first[0], sum(table[rows[0]] for _, rows in sentences))
    bins_asked = np.array([0, len(bin_lows)]), bin_lows, bin_highs
    counts, sums, least, most = sums_over_bins(offsets, places, olds, news, compact, 2, *bins_asked)
    bins_found, at, within = changes_within(offsets, places, olds, news, compact, 2, *bins_asked)
    for k, (begin, end) in enumerate(zip(bin_lows, bin_highs, strict=True)):
        inside = [change for change in expected if begin <= change[0] < end]
        together = {place: np.zeros(2, dtype=int) for place, *_ in inside}
        for place, *change in inside:
            together[place] += change
        running = np.cumsum([np.zeros(2, dtype=int), *together.values()], axis=0)
        assert counts[k] == len(inside)
        assert np.array_equal(sums[k], running[-1])
        assert np.array_equal(least[k], running.min(axis=0))
        assert np.array_equal(most[k], running.max(axis=0))
        real = {place: change.tolist() for place, change in together.items() if change.any()}
        assert at[bins_found == k].tolist() == list(real)
        assert within[bins_found == k].tolist() == list(real.values())


def test_the_first_bins_are_even() -> None:
    """On ordinary lines, with a good guess; and whatever the guess, they cover a line once."""
    problem = Problem.of(simulated_task(sentences=200, candidates=20).lists, "wer")
    (worker,) = InBins(problem, 1).workers
    directions = np.eye(6)[:2]
    intervals = np.array([[-np.inf, np.inf], [-0.5, 3.0]])
    lines = Lines(np.ones(6), directions, intervals, 0.0, Policy(), np.ones(2), np.array([[0.25, np.inf]] * 2))
    along = Along(np.vstack([lines.origin, directions]), intervals)
    for centre, spread in itertools.product((0.0, -2.5, 1e300), (1e-300, 1e-6, 1.0, 1e300)):
        named = bins._first_bins(lines, guess(2, centre, spread))
        for first, last in itertools.pairwise(named.offsets):
            lows, highs = named.lows[first:last], named.highs[first:last]
            assert lows[0] == -np.inf
            assert highs[-1] == np.inf
            assert np.array_equal(lows[1:], highs[:-1])
            assert np.all(lows <= highs)
    named = bins._first_bins(lines, guess(2, 0.0, 1.0))
    counts = worker.answer(Start(along, named)).binned.counts
    for first, last in itertools.pairwise(named.offsets):
        assert counts[first:last].max() < 0.02 * counts[first:last].sum()


def test_bins_are_even_on_lines_that_nearly_lead_through_zero() -> None:
    """Winners change where the weights are shortest, far from the origin of the line: the driver guesses where."""
    problem = Problem.of(simulated_task(sentences=200, candidates=20).lists, "wer")
    (worker,) = InBins(problem, 1).workers
    driver = Driver(problem, Unreliable([]), [(0, len(problem.corpus))])
    origin, rng = np.ones(6), np.random.default_rng(3)
    directions = -np.outer([0.1, 1.0, 30.0], origin) * (1.0 + 0.05 * rng.normal(size=(3, 6)))
    intervals = np.array([[-np.inf, np.inf]] * 3)
    lines = Lines(origin, directions, intervals, 0.0, Policy(), np.ones(3), np.empty((3, 0)))
    named = bins._first_bins(lines, driver._guess(problem, lines))
    counts = worker.answer(Start(Along(np.vstack([origin, directions]), intervals), named)).binned.counts
    for first, last in itertools.pairwise(named.offsets):
        assert counts[first:last].max() < 0.04 * counts[first:last].sum()


@pytest.mark.parametrize("shards", [1, 2, 3])
@pytest.mark.parametrize("policy", POLICIES)
def test_a_line_that_is_best_at_its_end(policy: str, shards: int) -> None:
    """The outermost changes of shards give the step that all breakpoints give, of which there are thousands."""
    problem = Problem.of(simulated_task(sentences=900, candidates=12).lists, "wer")
    limits, rng = Constraints().compile(problem.feature_names), np.random.default_rng(1)
    good = Run(Climb(restarts=1, directions=6), Constraints(), threads=2).tune(problem).weights
    direction = np.array([good[name] for name in problem.feature_names])
    origin = rng.normal(size=6) * np.abs(direction).max()
    searcher = InBins(problem, shards)
    loss = problem.loss(origin)
    here = search_lines(problem, origin, loss, [direction], limits, Policy(policy))
    there = search_lines(problem.searched_by(searcher), origin, loss, [direction], limits, Policy(policy))
    assert np.array_equal(here.etas, there.etas)
    assert np.array_equal(here.losses, there.losses)
    assert "Outermost" in searcher.asked
    (surface,) = problem.surfaces(origin, direction[None], np.array([[-np.inf, np.inf]]), judged=False)
    assert len(surface.breakpoints) > 2 * OUTER
    losses = surface.losses(problem.metric.loss)
    scale = float(np.linalg.norm(origin) / np.linalg.norm(direction))
    assert here.losses[0] == losses[-1]
    assert (
        here.etas[0]
        == policies.choose(surface.breakpoints, losses, policy=Policy(policy), current_loss=loss, scale=scale).eta
    )


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_ends_of_shards_whose_changes_cancel(seed: int, parts: int) -> None:
    """However few places are asked for, the step beyond the last breakpoint is that of all of them."""
    rng = np.random.default_rng(seed)
    problem = SMALL
    values = rng.integers(-2, 3, size=problem.corpus.features.toarray().shape).astype(float)
    features = replace(problem.corpus.features, values=np.asfortranarray(values))
    assert problem.dataset is not None
    problem = Problem.of(replace(problem.dataset, corpus=replace(problem.corpus, features=features)), "wer")
    weights = rng.integers(-2, 3, size=(2, 6)).astype(float)
    along = Along(weights, np.array([[-np.inf, np.inf]]))
    workers = InBins(problem, parts).workers
    (surface,) = problem.surfaces(weights[0], weights[1:], along.intervals, judged=False)
    line = Lines(weights[0], weights[1:], along.intervals, 0.0, Policy(), np.ones(1), np.empty((1, 0)))
    with patch.object(bins, "OUTER", 2), patch.object(policies, "OUTER", 2):
        named = bins._first_bins(line, guess(1, 0.0, 1.0))
        search = bins._Search(problem.metric, line, [each.answer(Start(along, named)) for each in workers], named)
        search.open_ended = [0]
        bins._learn_ends(search, along, lambda question: [worker.answer(question) for worker in workers])
        assert search.beyond[0] == policies.end_step(surface.breakpoints, 1.0)


def test_ends_are_bounded() -> None:
    problem = Problem.of(simulated_task(sentences=100, candidates=20).lists, "wer")
    along = Along(np.vstack([np.ones(6), np.eye(6)[:2]]), np.array([[-np.inf, np.inf]] * 2))
    (worker,) = InBins(problem, 1).workers
    for ends in worker.answer(Outermost(along, (0, 1), 16)):
        assert not ends.are_all
        assert len(ends.first.places) == len(ends.last.places) == 16
        assert ends.first.places[-1] < ends.last.places[0]
    (ends,) = worker.answer(Outermost(along, (1,), 10**6))
    assert ends.are_all
