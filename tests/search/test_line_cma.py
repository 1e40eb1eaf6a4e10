"""Evolution along exact lines: it learns what the plain formulas say, keeps constraints, and can be stopped."""

from __future__ import annotations

import dataclasses
import math
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hulltune import Constraints, LineCma, Problem, tune
from hulltune.search import line_cma, starts
from hulltune.search.climbing import Climber
from hulltune.search.line_cma import SPREADS, Evolution
from hulltune.search.steps import search_lines
from hulltune.search.strategy import Setting, Status
from hulltune.tuning.inputs import as_dataset
from tests.tuning.corpora import QUICK, random_forests, random_lists

Floats = NDArray[np.float64]


def setting_of(seed: int, *, features: int = 5, limits: Constraints | None = None, **sizes: Any) -> Setting:
    problem = Problem.of(as_dataset(random_lists(seed, features=features, **sizes)), "wer")
    return Setting.of(problem, limits or Constraints(), None)


class Plain:
    """CMA-ES by its formulas (Hansen 2016, "The CMA evolution strategy: a tutorial"), one sample after the other."""

    def __init__(self, mean: Floats, covariance: Floats, spread: float) -> None:
        self.mean, self.covariance, self.spread = mean, covariance, spread
        self.path, self.drawn_path, self.generation = np.zeros(len(mean)), np.zeros(len(mean)), 0

    def learn(self, drawn: Floats, samples: Floats, losses: Floats, lines: int) -> None:
        n, mu = len(self.mean), len(losses) // 2
        best = np.argsort(losses, kind="stable")[:mu]
        shares = np.log(mu + 0.5) - np.log(np.arange(1, mu + 1))
        shares /= shares.sum()
        effective = min(1.0 / np.sum(shares**2), lines)
        c_s = (effective + 2) / (n + effective + 5)
        d_s = 1 + 2 * max(0.0, math.sqrt((effective - 1) / (n + 1)) - 1) + c_s
        c_c = (4 + effective / n) / (n + 4 + 2 * effective / n)
        c_1 = 2 / ((n + 1.3) ** 2 + effective)
        c_m = min(1 - c_1, 2 * (effective - 2 + 1 / effective) / ((n + 2) ** 2 + effective))
        step = shares @ samples[best]
        self.mean = self.mean + self.spread * step
        self.generation += 1
        self.drawn_path = (1 - c_s) * self.drawn_path + math.sqrt(c_s * (2 - c_s) * effective) * (shares @ drawn[best])
        length = math.sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n))
        norm = float(np.linalg.norm(self.drawn_path))
        steady = norm / math.sqrt(1 - (1 - c_s) ** (2 * self.generation)) < (1.4 + 2 / (n + 1)) * length
        self.path = (1 - c_c) * self.path + steady * math.sqrt(c_c * (2 - c_c) * effective) * step
        spread_out = sum(share * np.outer(y, y) for share, y in zip(shares, samples[best], strict=True))
        rank_one = np.outer(self.path, self.path) + (0.0 if steady else c_c * (2 - c_c)) * self.covariance
        self.covariance = (1 - c_1 - c_m) * self.covariance + c_1 * rank_one + c_m * spread_out
        self.spread *= math.exp(c_s / d_s * (norm / length - 1))


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.integers(2, 7))
def test_learning_follows_the_plain_formulas(seed: int, count: int) -> None:
    setting = setting_of(seed, features=count, limits=Constraints(min={"f0": -1e9}))  # so that nothing is rescaled
    rng = np.random.default_rng(seed)
    evolution = Evolution(setting, rng.standard_normal(count), 0.3)
    plain = Plain(evolution._mean, evolution._covariance, evolution._spread)
    target = rng.standard_normal(count)
    for _ in range(5):
        drawn, lines = evolution.draw(16, rng)
        steps = evolution.steps
        points = steps[None, :, None] * lines[:, None, :]
        losses = np.sum((evolution._mean + points - target) ** 2, axis=2)
        relative = steps / evolution._spread
        samples = (relative[None, :, None] * lines[:, None, :]).reshape(-1, count)
        plain.learn((relative[None, :, None] * drawn[:, None, :]).reshape(-1, count), samples, losses.ravel(), 16)
        assert evolution.learn(drawn, lines, losses)
        np.testing.assert_allclose(evolution._mean, plain.mean, rtol=1e-4, atol=1e-4 * np.max(np.abs(plain.mean)))
        scale = np.max(np.abs(plain.covariance))
        np.testing.assert_allclose(evolution._covariance, plain.covariance, atol=1e-3 * scale)
        assert evolution._spread == pytest.approx(plain.spread, rel=0.05)  # exp to the second order
        plain.mean, plain.covariance, plain.spread = evolution._mean, evolution._covariance, evolution._spread


def test_steps_have_the_length_of_random_ones() -> None:
    for count in (2, 5, 30):
        evolution = Evolution(setting_of(1, features=count), np.ones(count), 1.0)
        lengths = evolution.steps[4:] / evolution._spread
        assert np.array_equal(evolution.steps[:4], -evolution.steps[4:][::-1])
        drawn = np.linalg.norm(np.random.default_rng(1).standard_normal((20_000, count)), axis=1)
        np.testing.assert_allclose(lengths, np.quantile(drawn, [0.125, 0.375, 0.625, 0.875]), rtol=0.05)


def test_samples_outside_of_the_constraints_are_not_learnt_from() -> None:
    setting = setting_of(2, features=3, limits=Constraints(sign={"f0": "+"}))
    evolution = Evolution(setting, np.array([0.0, 1.0, 1.0]) / setting.units, 0.3)
    rng = np.random.default_rng(1)
    for _ in range(10):
        drawn, lines = evolution.draw(16, rng)
        found = search_lines(
            setting, evolution.weights, math.inf, evolution.directions(lines), points=np.tile(evolution.steps, (16, 1))
        )
        ends = evolution._mean[0] + evolution.steps * lines[found.numbers, :1]
        assert np.all(np.isnan(found.sampled) == (ends < 0.0))
        losses = np.where(np.isnan(found.sampled), np.nan, ends)  # smallest at the bound
        assert evolution.learn(drawn[found.numbers], lines[found.numbers], losses)
        assert evolution.weights[0] >= 0.0
    assert not evolution.learn(drawn, lines, np.full((16, 8), np.nan))
    assert not evolution.learn(drawn, lines, np.ones((16, 8))), "nothing to learn where all losses are equal"


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_every_position_keeps_the_constraints_and_has_the_loss_of_decoding(seed: int, scaled: bool) -> None:
    limits = Constraints(
        fix={} if scaled else {"f1": 1.0},
        sign={"f0": "-"},
        max={} if scaled else {"f2": 0.25},
        tie=[["f3", "f4"]],
    )
    setting = setting_of(seed, features=6, limits=limits)
    climber = Climber(setting, 0, setting.first, np.random.default_rng(seed), SPREADS[seed % 2])
    position = climber.first_position()
    spent = 0
    for moved in LineCma().climb(climber, position):
        assert setting.constraints.violation(moved.weights) is None
        assert moved.loss == setting.problem.loss(moved.weights) <= position.loss
        assert moved.line_searches > spent
        position, spent = moved, moved.line_searches


def test_it_finds_what_climbs_find_and_more() -> None:
    """On lists where eight features hide one another, with about as many lines."""
    rng = np.random.default_rng(5)
    mixing = rng.standard_normal((8, 8))
    records = []
    for sentence in range(60):
        quality = rng.integers(0, 6, 30)
        values = (np.column_stack([quality, *(3.0 * rng.standard_normal((7, 30)))])) @ mixing
        candidates = [
            {"text": "a " * right + "b " * (5 - right), "features": dict(zip("abcdefgh", row, strict=True))}
            for right, row in zip(quality.tolist(), values.tolist(), strict=True)
        ]
        records.append({"id": sentence, "refs": ["a a a a a"], "candidates": candidates})
    options: dict[str, Any] = {"metric": "wer", "threads": 1, "also": (), "oracle": False}
    evolved = tune(records, search=LineCma(restarts=0), **options)
    assert evolved.score <= tune(records, search="random", **options).score
    assert evolved.line_searches < 5000


def test_it_can_be_stopped_at_any_time() -> None:
    setting = setting_of(3, sentences=30)
    whole = LineCma(restarts=3).find(setting, seed=1, threads=1)
    assert whole.interrupted is False
    for rounds in (0, 1, 5, 20):
        stop = threading.Event()
        seen: list[Status] = []
        left = rounds

        class Counting(threading.Event):
            def is_set(self) -> bool:
                nonlocal left
                left -= 1
                return left < 0

        stop = Counting()
        found = LineCma(restarts=3).find(dataclasses.replace(setting, stop=stop), seed=1, threads=1, report=seen.append)
        assert found.interrupted is True
        assert found.loss == setting.problem.loss(found.weights) <= found.start_loss
        assert found.line_searches <= whole.line_searches
        assert seen


def test_far_starts_have_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []
    real = starts.random_start

    def remembered(*arguments: Any) -> Floats:
        drawn.append(1)
        return real(*arguments)

    monkeypatch.setattr(line_cma, "random_start", remembered)
    found = LineCma(restarts=7).find(setting_of(4), seed=1, threads=1)
    assert len(drawn) == 2
    assert found.ended is None


@pytest.mark.parametrize("features", [1, 2])
def test_few_features_are_no_trouble(features: int) -> None:
    result = tune(random_lists(5, features=features), **{**QUICK, "search": LineCma(restarts=2)})
    assert result.score <= tune(random_lists(5, features=features), **QUICK).score


def test_forests_are_searched_as_lists_are() -> None:
    forests, texts = random_forests(6, sentences=10)
    options = {**QUICK, "also": ()}
    result = tune(forests, texts, **{**options, "search": LineCma(restarts=1)})
    assert result.score <= tune(forests, texts, **options).score


def test_too_many_features_for_a_covariance_are_climbed(monkeypatch: pytest.MonkeyPatch) -> None:
    from hulltune import Climb
    from hulltune.search import whitening

    monkeypatch.setattr(whitening, "MOST_WHITENED", 3)
    setting = setting_of(7, features=4)
    climbers = [Climber(setting, 0, setting.first, np.random.default_rng(1)) for _ in range(2)]
    first = climbers[0].first_position()
    evolved, climbed = (list(way.climb(c, first)) for way, c in zip((LineCma(), Climb()), climbers, strict=True))
    assert [each.loss for each in evolved] == [each.loss for each in climbed]
