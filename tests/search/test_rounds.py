"""All lines of a round in one call give what each line gives by itself: its whole surface, and the rule of policies."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hulltune import Constraints, Corpus, Forest
from hulltune.kernels.surfaces.steps import Intervals, choose_steps, intervals_between
from hulltune.kernels.surfaces.sweep import OutputRows, Segments, Wanted, sweep
from hulltune.metrics import get_metric
from hulltune.metrics.base import Metric
from hulltune.metrics.bleu import Bleu
from hulltune.metrics.memory import CompactTable
from hulltune.names import POLICIES
from hulltune.search import problem as problem_module
from hulltune.search.problem import Problem
from hulltune.search.steps import Policy, Round, search_lines, smooth
from hulltune.search.strategy import Setting
from hulltune.threads import Workers
from tests.problems import corpus_problem
from tests.search.function_metric import FunctionMetric
from tests.search.readable_steps import choose
from tests.strategies import counts, forests, lists, reals, values, vectors

WIDTH = 3
METRICS = ("wer", "bleu", "chrf", "accuracy", "ter", "bleu:smooth_method=add-k", "bleu - 0.5 * ter")
points_of_lines = st.lists(values | st.sampled_from([math.inf, -math.inf, 0.0]), max_size=4)


@st.composite
def corpora(draw: st.DrawFn) -> Corpus:
    """Lists and forests, of nasty or of small whole features."""
    elements = draw(st.sampled_from([values, counts]))
    kinds = lists(elements=elements, width=WIDTH) | forests(width=WIDTH)
    return Corpus.pack(draw(st.lists(kinds, min_size=1, max_size=4)))


def problem_of(corpus: Corpus, metric: str | Metric) -> Problem:
    chosen = get_metric(metric) if isinstance(metric, str) else metric
    return corpus_problem(corpus, chosen, [(f"a b {k % 2} c d",) for k in range(len(corpus))])


def assert_as_chosen_slowly(
    problem: Problem, found: Round, policy: Policy, points: NDArray[np.float64], limits: Any
) -> None:
    """Assert that each line of a round is that of its whole surface."""
    intervals, _ = limits.intervals(found.origin, found.directions)
    for line, (direction, interval) in enumerate(zip(found.directions, intervals, strict=True)):
        (surface,) = problem.surfaces(found.origin, direction[None], interval[None])
        losses = surface.losses(problem.metric.loss)
        scale = float(np.linalg.norm(found.origin) / np.linalg.norm(direction))
        step = choose(
            surface.breakpoints, losses,
            policy=policy, interval=tuple(interval), current_loss=found.current_loss, scale=scale,
        )  # fmt: skip
        assert found.losses[line] == step.loss
        assert found.etas[line] == pytest.approx(step.eta, rel=1e-12)  # the scale is computed another way
        at = points[found.numbers[line]]
        inside = (interval[0] <= at) & (at <= interval[1])
        np.testing.assert_array_equal(np.isnan(found.sampled[line]), ~inside)
        expected = losses[np.searchsorted(surface.breakpoints, at[inside], side="right")]
        np.testing.assert_array_equal(found.sampled[line][inside], expected)


@given(
    corpora(),
    vectors(WIDTH, st.floats(0.1, 3.0) | st.floats(-3.0, -0.1)),
    st.lists(vectors(WIDTH, counts).filter(any), min_size=1, max_size=18),
    st.sampled_from(METRICS),
    st.sampled_from(POLICIES),
    st.sampled_from(["none", "none", "mean"]),
    st.booleans(),
    points_of_lines,
    st.integers(1, 3),
)
def test_a_round_is_its_lines(
    corpus: Corpus,
    origin: list[float],
    directions: list[list[float]],
    metric: str,
    name: str,
    smoothing: str,
    bounded: bool,
    points: list[float],
    threads: int,
) -> None:
    problem = problem_of(corpus, metric)
    names = problem.feature_names
    start, policy = np.array(origin), Policy(name, smoothing=smoothing)
    limits = Constraints(min={names[0]: -3.5}, max={names[1]: 3.5}) if bounded else Constraints()
    compiled = limits.compile(names)
    sampled = np.tile(np.array(sorted(points)), (len(directions), 1))
    setting = Setting(problem, compiled, np.ones(WIDTH), start, policy=policy, workers=Workers(threads))
    found = search_lines(setting, start, problem.loss(start), np.array(directions), points=sampled)
    assert_as_chosen_slowly(problem_of(corpus, metric), found, policy, sampled, compiled)
    assert found.gains().tolist() == sorted(
        np.flatnonzero(found.losses < found.current_loss).tolist(), key=lambda line: (found.losses[line], line)
    )


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("policy", POLICIES)
def test_a_round_over_many_lists_is_its_lines(metric: str, policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(problem_module, "MOST_ROWS", 200)
    rng = np.random.default_rng(len(metric))
    words = ["a", "b", "a b", "a b 1", "c d", "b 1 c d", "a b 0 c", "d", "a b 1 c d"]
    corpus = Corpus.pack(
        [
            Forest.from_nbest([words[k] for k in rng.integers(0, 9, 40)], np.round(rng.normal(size=(40, WIDTH)), 2))
            for _ in range(60)
        ]
    )
    problem = problem_of(corpus, metric)
    start, directions = rng.normal(size=WIDTH), rng.normal(size=(37, WIDTH))
    points = np.sort(rng.normal(size=(37, 8)), axis=1)
    compiled = Constraints().compile(problem.feature_names)
    setting = Setting(problem, compiled, np.ones(WIDTH), start, policy=Policy(policy))
    results = [
        search_lines(replace(setting, workers=Workers(count)), start, problem.loss(start), directions, points=points)
        for count in (1, 2, 5)
    ]
    assert len(results[0].gains()) > 0
    assert_as_chosen_slowly(problem, results[0], Policy(policy), points, compiled)
    for other in results[1:]:
        for field in ("numbers", "etas", "losses", "sampled", "directions"):
            np.testing.assert_array_equal(getattr(other, field), getattr(results[0], field))


def test_real_statistics_and_large_sums_are_searched_line_by_line() -> None:
    rng = np.random.default_rng(5)
    corpus = Corpus.pack([Forest.from_nbest(list("abcd"), rng.normal(size=(4, WIDTH))) for _ in range(20)])
    for factor in (0.1, 2.0**40):
        known = {text: factor * (ord(text) % 3) for text in "abcd"}

        def of_texts(sentences: Any, outputs: Any, known: dict[str, float] = known) -> NDArray[np.float64]:
            return np.array([[known[text], 1.0] for text in outputs])

        problem = corpus_problem(corpus, FunctionMetric(of_texts), [("a",)] * 20)
        compiled = Constraints().compile(problem.feature_names)
        start, points = np.ones(WIDTH), np.zeros((9, 1))
        setting = Setting(problem, compiled, np.ones(WIDTH), start)
        found = search_lines(setting, start, problem.loss(start), rng.normal(size=(9, WIDTH)), points=points)
        assert_as_chosen_slowly(problem, found, Policy(), points, compiled)


def test_directions_without_room_have_no_line() -> None:
    problem = problem_of(Corpus.pack([Forest.from_nbest(["a", "b"], np.eye(2))]), "wer")
    first, second = problem.feature_names
    fixed = Constraints(fix={first: 1.0}).compile((first, second))
    setting = Setting(problem, fixed, np.ones(2), np.ones(2))
    found = search_lines(setting, np.ones(2), 1.0, [np.eye(2)[0], np.eye(2)[1]])
    assert found.numbers.tolist() == [1]
    none = search_lines(setting, np.ones(2), 1.0, [])
    assert (len(none), none.gains().tolist()) == (0, [])


near = st.integers(0, 3).map(lambda k: k * 2.0**-52)
places = st.lists(st.floats(-100, 100) | st.builds(lambda at, by: at * (1.0 + by), st.sampled_from([1.0, -3.0]), near))


@given(
    places.map(lambda some: sorted(set(some))),
    st.data(),
    st.sampled_from(POLICIES),
    st.sampled_from(["none", "min", "mean"]),
    st.tuples(st.just(-math.inf) | st.floats(-300, -101), st.just(math.inf) | st.floats(101, 300)),
    st.floats(0.01, 100.0),
    st.sampled_from([math.inf, 1.0, 2.0]),
)
def test_the_rule_is_the_readable_one(
    breakpoints: list[float],
    data: st.DataObject,
    name: str,
    smoothing: str,
    interval: tuple[float, float],
    scale: float,
    current: float,
) -> None:
    """Slivers among the intervals change neither the point nor the ends around it."""
    points, size = np.array(breakpoints), len(breakpoints) + 1
    losses = np.array(data.draw(st.lists(st.sampled_from([0.0, 1.0, 2.0]), min_size=size, max_size=size)))
    policy = Policy(name, smoothing=smoothing)
    smoothed = smooth(losses, smoothing, policy.window)
    here = int(np.searchsorted(points, 0.0, side="right"))
    own = current if smoothing == "none" else float(smoothed[here])
    intervals = Intervals(*intervals_between(points, *interval, scale))
    etas, chosen, around = choose_steps(intervals, smoothed, np.array([own]), np.array([scale]), POLICIES.index(name))
    step = choose(points, losses, policy=policy, interval=interval, current_loss=current, scale=scale)
    if chosen[0] < 0:
        assert (step.eta, step.loss) == (0.0, current)
    else:
        assert (etas[0], losses[chosen[0]], *around[0]) == (step.eta, step.loss, step.left, step.right)


@pytest.mark.parametrize("points", [[], [0.5], [-1.0]])
@pytest.mark.parametrize("scale", [9e307, 1.7e308])
def test_steps_along_unbounded_intervals_are_finite(points: list[float], scale: float) -> None:
    """Two steps of the largest scale beyond the last breakpoint would be no double any more."""
    losses = np.array([1.0] * len(points) + [0.0])
    intervals = Intervals(*intervals_between(np.array(points), -math.inf, math.inf, scale))
    for policy in range(len(POLICIES)):
        etas, chosen, _ = choose_steps(intervals, losses, np.ones(1), np.array([scale]), policy)
        assert chosen.tolist() == [len(points)]
        assert math.isfinite(etas[0])


rows_of_bleu = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 60), *[st.integers(0, 12)] * 4, *[st.integers(0, 60)] * 4),
    min_size=1,
    max_size=30,
    unique=True,
)


@settings(deadline=None)
@given(rows_of_bleu, st.sampled_from(["exp", "floor", "add-k", "none"]), st.booleans(), reals)
def test_no_best_row_of_bleu_is_passed_over(
    rows: list[tuple[int, ...]], smoothing: str, effective: bool, below: float
) -> None:
    metric = Bleu(smooth_method=smoothing, effective_order=effective)
    statistics: NDArray[np.int64] = np.array(rows, dtype=np.int64)
    losses = metric.loss(statistics)
    table, rough, count = CompactTable(1).of(statistics), metric.rough, len(rows)
    assert table is not None
    lefts = np.concatenate([[-math.inf], np.arange(1.0, count)])
    segments = Segments(lefts, np.arange(count, dtype=np.int32), np.array([0]), np.array([count]))
    output_rows = OutputRows(np.arange(count), np.empty(0, dtype=np.int64), table, 10)
    wanted = Wanted(rough.kind, rough.numbers, rough.value(np.array([below]), 10), True)
    everywhere = np.array([[-math.inf, math.inf]])
    _, _, _, found, _, kept, _ = sweep(segments, output_rows, everywhere, np.ones(1), wanted, np.empty((1, 0)))
    np.testing.assert_array_equal(kept, statistics[found])
    if losses.min() < below:
        assert set(np.flatnonzero(losses == losses.min())) <= set(found)
