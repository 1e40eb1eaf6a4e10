"""Penalised searches: no point of a line is better than the one chosen, and penalties are what they say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from hulltune import Constraints, Forest
from hulltune.kernels.surfaces.constants import INNER, LEAST_GAIN, RESOLUTION
from hulltune.search.penalty import Penalty
from hulltune.search.problem import Problem
from hulltune.search.steps import search_lines
from hulltune.search.strategy import Setting
from hulltune.threads import Workers
from tests.problems import corpus_problem

Floats = NDArray[np.float64]
WORDS = ["a", "b", "a b", "a b 1", "c d", "b 1 c d", "a b 0 c", "d", "a b 1 c d"]


def random_problem(seed: int, metric: str, sentences: int = 12, width: int = 3) -> Problem:
    rng = np.random.default_rng(seed)
    forests = [
        Forest.from_nbest([WORDS[k] for k in rng.integers(0, 9, 8)], np.round(rng.normal(size=(8, width)), 2))
        for _ in range(sentences)
    ]
    return corpus_problem(forests, metric, [("a b 1 c d",)] * sentences)


def slow_penalty(penalty: Penalty, weights: Floats) -> float:
    """The definition: the squared distance of scaled weights, of length √n each where only directions matter."""
    scaled = weights * penalty.units
    if penalty.angle:
        length = math.sqrt(penalty.size)
        between = scaled * (length / np.linalg.norm(scaled)) - length * penalty.reference
    else:
        between = scaled / penalty.size - penalty.reference
    return float(penalty.strength * (between @ between))


settings_of_tests = st.tuples(
    st.integers(0, 10**6), st.sampled_from(["wer", "bleu", "chrf"]), st.booleans(), st.booleans(),
    st.sampled_from([1e-4, 0.01, 0.3, 10.0]), st.integers(1, 3),
)  # fmt: skip


@given(settings_of_tests)
def test_no_point_of_a_grid_is_better_than_the_chosen_one(given_: tuple[int, str, bool, bool, float, int]) -> None:
    seed, metric, fixed, near, strength, threads = given_
    rng = np.random.default_rng(seed)
    plain = random_problem(seed, metric)
    names = plain.feature_names
    limits = Constraints(fix={names[0]: 0.5}, min={names[1]: -4.0}) if fixed else Constraints()
    compiled = limits.compile(names)
    units, reference, origin = rng.uniform(0.5, 2.0, 3), rng.normal(size=3), rng.normal(size=3)
    origin[0] = reference[0] = 0.5
    penalty = Penalty.of(strength, compiled, units, reference if near or not fixed else np.zeros(3))
    assert penalty.angle is not fixed
    assert penalty(origin) == pytest.approx(slow_penalty(penalty, origin))
    current = plain.loss(origin) + penalty(origin)
    directions, points = rng.normal(size=(5, 3)), np.sort(rng.normal(size=(5, 4)), axis=1)
    setting = Setting(plain, compiled, units, origin, penalty=penalty, workers=Workers(threads))
    found = search_lines(setting, origin, current, directions, points=points)
    intervals, _ = compiled.intervals(origin, found.directions)
    for line, direction in enumerate(found.directions):
        (surface,) = plain.surfaces(origin, direction[None], intervals[line][None])
        losses = surface.losses(plain.metric.loss)

        def value(
            eta: float, losses: Floats = losses, places: Floats = surface.breakpoints, along: Floats = direction
        ) -> float:
            at = int(np.searchsorted(places, eta, side="right"))
            return float(losses[at]) + slow_penalty(penalty, origin + eta * along)

        chosen, eta = float(found.losses[line]), float(found.etas[line])
        if eta != 0.0:
            assert chosen == pytest.approx(value(eta), abs=1e-9)
            assert chosen == pytest.approx(
                plain.loss(origin + eta * direction) + penalty(origin + eta * direction), abs=1e-9
            )
            assert chosen < current
        else:
            assert chosen == current
        bar = min(chosen, current - LEAST_GAIN * slow_penalty(penalty, origin)) if eta == 0.0 else chosen
        low, high = intervals[line].tolist()
        places = surface.breakpoints
        # Unbounded intervals are searched up to two mean gaps beyond the last breakpoint, and at the flat point.
        gap = float(places[-1] - places[0]) / (len(places) - 1) if len(places) > 1 else 1e-3
        first, last = (float(places[0]), float(places[-1])) if len(places) else (0.0, 0.0)
        lowest = low if math.isfinite(low) else first - 2 * gap
        highest = high if math.isfinite(high) else last + 2 * gap
        ends = np.concatenate([[lowest], places, [highest]])
        for left, right in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
            width = right - left
            if width > 2 * RESOLUTION * max(abs(left), abs(right), 10.0):
                grid = np.linspace(left + INNER * width, right - INNER * width, 23)
                assert min(map(value, grid.tolist())) >= bar - 1e-9
        inside = (points[line] >= low) & (points[line] <= high)
        expected = [value(point) for point in points[found.numbers[line]][inside].tolist()]
        np.testing.assert_allclose(found.sampled[line][inside], expected, atol=1e-9)


@given(st.integers(0, 10**6), st.booleans())
def test_the_least_penalty_of_a_line_is_a_bound(seed: int, fixed: bool) -> None:
    rng = np.random.default_rng(seed)
    names = ("f0", "f1", "f2", "f3")
    compiled = Constraints(fix={"f0": 1.0} if fixed else {}).compile(names)
    penalty = Penalty.of(2.0, compiled, rng.uniform(0.1, 3.0, 4), rng.normal(size=4))
    rows = penalty.along(rng.normal(size=4), rng.normal(size=(6, 4)))
    points = np.tan(np.linspace(-math.pi / 2 + 1e-9, math.pi / 2 - 1e-9, 20001))
    values = penalty.at(rows, np.tile(points, (6, 1)))
    assert np.all(values >= penalty.least(rows)[:, None])
    np.testing.assert_allclose(values.min(axis=1), penalty.least(rows), rtol=0.02, atol=2e-2)


def test_a_distance_of_one_is_one_typical_weight_changed_by_its_own_size() -> None:
    names, units = ("f0", "f1", "f2"), np.array([1.0, 10.0, 0.5])
    reference = 1.0 / units
    fixed = Penalty.of(0.25, Constraints(fix={"f0": 1.0}).compile(names), units, reference)
    assert fixed(reference) == 0.0
    assert fixed(reference * [1, 2, 1]) == pytest.approx(0.25)
    assert fixed(reference * [1, 0, 0]) == pytest.approx(0.5)
    from_zero = Penalty.of(0.25, Constraints(fix={"f0": 1.0}).compile(names), units, np.zeros(3))
    assert from_zero(np.array([0.0, 0.2, 0.0])) == pytest.approx(0.25 * 4)
    free = Penalty.of(0.25, Constraints().compile(names), units, reference)
    assert free(7.0 * reference) == pytest.approx(0.0, abs=1e-12)  # the scale does not matter
    assert free(-reference) == pytest.approx(0.25 * 4 * 3)
