"""The line search: no point of the line is better, ties stay put; and the policies, by the readable rule of steps."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hulltune import Corpus, Forest, InputError, Policy, Problem, line_search
from hulltune.lines.compute import decode
from hulltune.names import POLICIES, SMOOTHINGS
from hulltune.search.steps import smooth
from tests.search.function_metric import FunctionMetric, hits, problem_of, right
from tests.search.readable_steps import choose
from tests.strategies import counts, forests, lists, reals, vectors
from tests.tuning.corpora import random_lists

Floats = NDArray[np.float64]


def decoded_loss(corpus: Corpus, weights: Sequence[float] | Floats) -> float:
    """The loss of what decoding puts out, by way of texts: an oracle of all that a problem does."""
    metric = FunctionMetric(hits)
    texts = [(sentence, each[0]) for sentence, each in enumerate(decode(corpus, weights).outputs()) if each]
    texts += [(sentence, "") for sentence, forest in enumerate(corpus) if not forest.edges]
    return float(metric.loss(hits(np.array([s for s, _ in texts]), [text for _, text in texts]).sum(axis=0)))


some_corpora = st.lists(
    st.one_of(lists(elements=counts), forests(elements=counts, sparse=False)), min_size=1, max_size=4
).filter(lambda parts: any(forest.edges for forest in parts))
policies = st.sampled_from([Policy("middle"), Policy("closest"), Policy("widest")])


def _renamed(forest: Forest) -> Forest:
    import dataclasses

    return dataclasses.replace(forest, feature_names=("f0", "f1", "f2"))


@settings(max_examples=150, deadline=None)
@given(some_corpora, vectors(3, counts), vectors(3, counts), policies)
def test_no_point_of_a_grid_beats_the_search_and_decoding_agrees(
    parts: list[Forest], origin: list[float], direction: list[float], policy: Policy
) -> None:
    corpus = Corpus.pack([_renamed(forest) for forest in parts])
    found = line_search(problem_of(corpus), origin, direction, policy=policy)

    def loss_at(eta: float) -> float:
        return decoded_loss(corpus, np.array(origin) + eta * np.array(direction))

    assert found.loss == loss_at(found.eta)
    assert found.current_loss == loss_at(0.0)
    assert found.loss <= found.current_loss
    assert found.improved == (found.loss < found.current_loss)
    if not found.improved:
        assert found.eta == 0.0
    breakpoints = set(found.surface.breakpoints.tolist())
    for eta in np.arange(-4, 4.125, 0.125):
        if float(eta) not in breakpoints:  # on a breakpoint decoding may take any of the tied outputs
            assert found.loss <= loss_at(float(eta))


@st.composite
def nearly_parallel(draw: st.DrawFn) -> Forest:
    """A list whose candidates differ in few features, so that many lines meet in one point, up to rounding."""
    shared = draw(vectors(3, reals))
    rows = [list(shared) for _ in range(draw(st.integers(2, 8)))]
    for row in rows:
        row[draw(st.integers(0, 2))] = draw(reals)
    return Forest.from_nbest([draw(st.sampled_from(["a", "b", "a b", "h7"])) for _ in rows], rows)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(nearly_parallel(), min_size=1, max_size=3), vectors(3, reals), vectors(3, reals), policies, st.booleans()
)
def test_decoding_agrees_also_where_lines_meet(
    parts: list[Forest], origin: list[float], direction: list[float], policy: Policy, along_an_axis: bool
) -> None:
    corpus = Corpus.pack(parts)
    line = [1.0, 0.0, 0.0] if along_an_axis else direction
    found = line_search(problem_of(corpus), origin, line, policy=policy)
    assert found.loss == decoded_loss(corpus, found.weights)
    assert found.current_loss == decoded_loss(corpus, origin)
    assert found.loss <= found.current_loss


class TestTies:
    def test_a_sliver_that_only_rounding_makes_is_not_entered(self) -> None:
        rows = [[-0.39631458987390566, 0.1, -0.54], [0.3771906632801799, 0.1, -0.54], [1.9212679513298463, 0.1, -0.54]]
        forest = Forest.from_nbest(["low", "middle", "high"], rows)
        found = line_search(problem_of(forest, right("middle")), [0.362, 1.304, 0.947], [1, 0, 0])
        assert (found.eta, found.loss) == (0.0, 1.0)

    @pytest.mark.parametrize(("answer", "current", "best"), [("y", 1.0, 0.0), ("x", 0.0, 0.0)])
    def test_the_origin_is_a_tie_without_a_breakpoint(self, answer: str, current: float, best: float) -> None:
        """On both sides of 0 the output is "y", but at 0 itself, where all tie, it is the first: "x"."""
        forest = Forest.from_nbest(["x", "y", "y"], [[0.0], [-1.0], [1.0]])
        found = line_search(problem_of(forest, right(answer)), [0.0], [1.0])
        assert (found.current_loss, found.loss) == (current, best)

    def test_the_origin_is_an_end_of_the_interval(self) -> None:
        forest = Forest.from_nbest(["x", "y"], [[0.0], [1.0]])
        found = line_search(problem_of(forest, right("y")), [0.0], [1.0], interval=(0.0, math.inf))
        assert (found.current_loss, found.loss) == (1.0, 0.0)
        assert found.eta > 0.0


@settings(max_examples=100, deadline=None)
@given(
    some_corpora,
    vectors(3, counts),
    vectors(3, counts),
    policies,
    st.sampled_from([(0.5, 3.0), (-2.0, 0.0), (1.0, math.inf)]),
)
def test_the_interval_is_respected(
    parts: list[Forest], origin: list[float], direction: list[float], policy: Policy, interval: tuple[float, float]
) -> None:
    corpus = Corpus.pack([_renamed(forest) for forest in parts])
    found = line_search(problem_of(corpus), origin, direction, policy=policy, interval=interval)
    assert interval[0] <= found.eta <= interval[1]
    whole = line_search(problem_of(corpus), origin, direction, policy=policy)
    assert whole.loss <= found.loss


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("smoothing", SMOOTHINGS)
@pytest.mark.parametrize("seed", range(3))
def test_the_step_is_that_of_the_readable_rule(name: str, smoothing: str, seed: int) -> None:
    problem = Problem.of(random_lists(seed), "wer")
    origin, direction = np.random.default_rng(seed).normal(size=(2, 3))
    policy, scale = Policy(name, smoothing=smoothing), float(np.linalg.norm(origin) / np.linalg.norm(direction))
    found = line_search(problem, origin, direction, policy=policy)
    losses = found.surface.losses(problem.metric.loss)
    step = choose(found.surface.breakpoints, losses, policy=policy, current_loss=found.current_loss, scale=scale)
    assert (found.eta, found.loss, found.left, found.right) == (step.eta, step.loss, step.left, step.right)


class TestPolicies:
    breakpoints = np.array([-4.0, -3.0, 1.0, 2.0, 6.0, 7.0])
    losses = np.array([5.0, 1.0, 3.0, 1.0, 4.0, 1.0, 2.0])

    def pick(self, policy: Policy) -> tuple[float, float]:
        choice = choose(self.breakpoints, self.losses, policy=policy)
        return choice.eta, choice.loss

    def test_middle_takes_the_closest_of_equals(self) -> None:
        assert self.pick(Policy("middle")) == (1.5, 1.0)

    def test_closest_enters_by_a_tenth(self) -> None:
        assert self.pick(Policy("closest")) == (1.1, 1.0)

    def test_widest(self) -> None:
        breakpoints = np.array([-4.0, -2.0, 1.0, 2.0])
        choice = choose(breakpoints, np.array([5.0, 1.0, 3.0, 1.0, 4.0]), policy=Policy("widest"))
        assert (choice.eta, choice.left, choice.right) == (-3.0, -4.0, -2.0)

    def test_neighbours_of_equal_loss_are_merged(self) -> None:
        choice = choose(np.array([1.0, 2.0, 5.0]), np.array([3.0, 1.0, 1.0, 2.0]), policy=Policy())
        assert (choice.eta, choice.left, choice.right) == (3.0, 1.0, 5.0)

    def test_current_point_is_not_left_for_an_equal_loss(self) -> None:
        losses = np.array([5.0, 1.0, 1.0, 1.0, 4.0, 1.0, 2.0])
        for name in ("middle", "closest", "widest"):
            assert choose(self.breakpoints, losses, policy=Policy(name)).eta == 0.0

    def test_current_point_on_a_breakpoint_has_the_loss_of_decoding(self) -> None:
        breakpoints, losses = np.array([0.0]), np.array([2.0, 3.0])
        assert choose(breakpoints, losses, policy=Policy(), current_loss=2.0).eta == 0.0
        better = choose(breakpoints, losses, policy=Policy(), current_loss=2.5)
        assert better.eta < 0.0
        assert better.loss == 2.0

    def test_unbounded_ends_are_entered_by_the_mean_gap(self) -> None:
        losses = np.array([5.0, 4.0, 3.0, 2.0])
        choice = choose(np.array([1.0, 2.0, 5.0]), losses, policy=Policy())
        assert (choice.eta, choice.right) == (7.0, math.inf)
        choice = choose(np.array([-5.0, -2.0, -1.0]), losses[::-1].copy(), policy=Policy())
        assert (choice.eta, choice.left) == (-7.0, -math.inf)
        assert choose(np.array([10.0]), losses[:2], policy=Policy()).eta == 20.0
        assert choose(np.array([1e-3]), losses[:2], policy=Policy(), scale=5.0).eta == pytest.approx(5.001)

    def test_a_far_end_is_really_entered(self) -> None:
        choice = choose(np.array([1e20, 1e20 + 2.0**15]), np.array([3.0, 2.0, 1.0]), policy=Policy())
        assert choice.eta > 1e20 + 2.0**15

    def test_an_interval_without_a_double_inside_is_passed_over(self) -> None:
        thin = np.nextafter(1.0, 2.0)
        choice = choose(np.array([1.0, thin]), np.array([3.0, 1.0, 2.0]), policy=Policy())
        assert choice.loss == 2.0
        assert choice.eta > thin

    def test_one_interval_stays_or_takes_a_feasible_point(self) -> None:
        nothing = np.array([])
        assert choose(nothing, np.array([1.0]), policy=Policy()).eta == 0.0
        assert choose(nothing, np.array([1.0]), policy=Policy(), interval=(2.0, 4.0)).eta == 3.0
        assert choose(nothing, np.array([1.0]), policy=Policy(), interval=(2.0, math.inf), scale=1.0).eta == 3.0

    def test_smoothing_passes_over_a_spike(self) -> None:
        assert smooth(self.losses, "min", 3).tolist() == [5.0, 5.0, 3.0, 4.0, 4.0, 4.0, 2.0]
        assert smooth(np.array([1.0, 2.0, 6.0]), "mean", 3).tolist() == [1.5, 3.0, 4.0]
        assert self.pick(Policy("middle", smoothing="min", window=3))[1] == 2.0
        breakpoints = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
        losses = np.array([9.0, 0.0, 9.0, 2.0, 2.0, 2.0, 9.0])
        assert choose(breakpoints, losses, policy=Policy()).eta == 1.5
        assert choose(breakpoints, losses, policy=Policy(smoothing="min")).eta == 4.5
        assert choose(breakpoints, losses, policy=Policy(smoothing="mean")).eta == 4.5

    def test_a_window_has_a_middle(self) -> None:
        with pytest.raises(InputError, match="window: expected an odd number of intervals such as 3, got 2"):
            Policy(window=2)


def test_statistics_are_asked_once_for_each_distinct_output() -> None:
    corpus = Corpus.pack([Forest.from_nbest(["a", "a", "b", "c"], [[0.0], [1.0], [-1.0], [0.5]])] * 2)
    asked: list[tuple[int, str]] = []

    def spy(sentences: NDArray[np.int64], outputs: Sequence[str]) -> NDArray[np.int64]:
        asked.extend(zip(sentences.tolist(), outputs, strict=True))
        return hits(sentences, outputs)

    line_search(problem_of(corpus, spy), [1.0], [1.0])
    assert sorted(asked) == [(0, "a"), (0, "b"), (1, "a"), (1, "b")]
    asked.clear()
    line_search(problem_of(corpus, spy), [0.0], [1.0])  # the origin is a tie, and is decoded as well
    assert sorted(asked) == [(0, "a"), (0, "b"), (1, "a"), (1, "b")]


def test_errors() -> None:
    empty = Corpus.pack([Forest.from_nbest([], np.zeros((0, 1)))])
    with pytest.raises(InputError, match="no sentence has a derivation"):
        line_search(problem_of(empty), [1.0], [1.0])
    corpus = Corpus.pack([Forest.from_nbest(["a"], [[1.0]])])
    with pytest.raises(InputError, match=r"its statistics are float64 of shape \(2,\); expected shape \(1, 2\)"):
        line_search(problem_of(corpus, lambda sentences, outputs: np.zeros(2)), [1.0], [1.0])


def test_breakpoints_at_the_edge_of_the_double_range() -> None:
    """Neither squares nor sums of ends overflow on the way to a point between them."""
    breakpoints = np.array([-1e308, -1e200, 1e200, 1e308])
    choice = choose(breakpoints, np.array([5.0, 4.0, 3.0, 1.0, 2.0]), policy=Policy())
    assert 1e200 < choice.eta < 1e308
    assert choice.loss == 1.0
