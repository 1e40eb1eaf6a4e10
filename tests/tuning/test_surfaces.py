"""The metric along an axis: what the surface says is what scoring with these weights gives."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune import InputError, Problem
from hulltune.report.figures import metric_surface_figure
from hulltune.tuning.inputs import as_dataset
from hulltune.tuning.surfaces import MetricSurface, along_feature, between
from tests.tuning.corpora import random_lists

SLIVER = 1e-12
"""Where two sentences change at the same place, rounding may leave a sliver between them, too thin for weights that are
doubles to be inside of it reliably."""


@settings(max_examples=25)
@given(st.integers(0, 10**6))
def test_every_interval_scores_what_it_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = Problem.of(as_dataset(random_lists(seed, sentences=5, candidates=6)), "wer")
    weights, others = rng.normal(size=(2, 3))
    surface = along_feature(problem, weights, "f1")
    ends = np.concatenate([[surface.breakpoints[0] - 1], surface.breakpoints, [surface.breakpoints[-1] + 1]])
    for left, right, expected in zip(ends[:-1], ends[1:], surface.scores, strict=True):
        if right - left > SLIVER * max(abs(left), abs(right)):
            assert problem.score(np.array([weights[0], (left + right) / 2, weights[2]])) == expected
    way = between(problem, weights, others)
    for eta in rng.uniform(-1, 2, size=10):
        index = int(np.searchsorted(way.breakpoints, eta))
        if np.min(np.abs(way.breakpoints - eta), initial=1.0) > SLIVER:
            assert problem.score(weights + eta * (others - weights)) == way.scores[index]
    score, left, right = surface.best
    left, right = max(left, ends[0]), min(right, ends[-1])
    assert problem.score(np.array([weights[0], (left + right) / 2, weights[2]])) == score


SURFACE = MetricSurface(
    axis="weight of lm",
    breakpoints=np.array([0.0, 1.0, 3.0, 4.0]),
    scores=np.array([5.0, 7.0, 6.0, 7.0, 1.0]),
    marks=(("now", 2.0),),
    metric="bleu|x",
    higher_is_better=True,
)


def test_the_best_interval_is_bounded_if_it_can_be() -> None:
    assert SURFACE.best == (7.0, 0.0, 1.0)
    lower = MetricSurface("x", np.array([0.0, 1.0]), np.array([1.0, 1.0, 3.0]), (), "wer|x", False)
    assert lower.best == (1.0, 0.0, 1.0)
    assert MetricSurface("x", np.array([0.0]), np.array([1.0, 2.0]), (), "wer|x", False).best == (1.0, -math.inf, 0.0)
    sliver = MetricSurface("x", np.array([1.0, 1.0 + 2.0**-50]), np.array([2.0, 0.0, 3.0]), (), "wer|x", False)
    assert sliver.best == (2.0, -math.inf, 1.0)
    assert MetricSurface("x", np.array([]), np.array([1.0]), (), "wer|x", False).view() == (-1.0, 1.0)


def test_as_a_table() -> None:
    assert SURFACE.to_csv().splitlines()[:3] == ["from,to,score", "-inf,0.0,5.0", "0.0,1.0,7.0"]
    assert SURFACE.to_csv().endswith("4.0,inf,1.0\n")


def test_the_figure_shows_marks_and_the_best_interval() -> None:
    axes = metric_surface_figure(SURFACE, view=(-1.0, 5.0)).axes[0]
    assert axes.get_xlim() == (-1.0, 5.0)
    assert axes.get_xlabel() == "weight of lm"
    assert axes.get_ylabel() == "bleu (higher is better)"
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["best 7", "now"]
    low, high = SURFACE.view()
    assert low < 0.0 < 4.0 < high


def test_what_cannot_be_drawn() -> None:
    problem = Problem.of(as_dataset(random_lists(1)), "wer")
    weights = np.ones(3)
    with pytest.raises(InputError, match="unknown feature 'lm'"):
        along_feature(problem, weights, "lm")
    with pytest.raises(InputError, match="no line between them"):
        between(problem, weights, weights)
