"""The metric along an axis: what the surface says is what scoring with these weights gives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.patches import Polygon, Rectangle

from hulltune import InputError, Problem
from hulltune.tuning.inputs import as_dataset
from hulltune.tuning.surfaces import MetricSurface, metric_surface
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
    surface = metric_surface(problem, weights, "f1")
    ends = np.concatenate([[surface.breakpoints[0] - 1], surface.breakpoints, [surface.breakpoints[-1] + 1]])
    for left, right, expected in zip(ends[:-1], ends[1:], surface.scores, strict=True):
        if right - left > SLIVER * max(abs(left), abs(right)):
            assert problem.score(np.array([weights[0], (left + right) / 2, weights[2]])) == expected
    way = metric_surface(problem, weights, to=others)
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
    assert lower.best == (1.0, -math.inf, 1.0)
    level = MetricSurface("x", np.array([0.0, 1.0, 1.5, 9.0]), np.array([2.0, 1.0, 1.0, 3.0, 1.0]), (), "wer|x", False)
    assert level.best == (1.0, 0.0, 1.5)  # two intervals with one score; the one without end is wider
    split = MetricSurface(
        "x", np.array([1.0, 2.0, 2.0 + 2.0**-50, 3.0]), np.array([2.0, 1, 5, 1, 2]), (), "wer|x", False
    )
    assert split.best == (1.0, 1.0, 3.0)  # a sliver between them does not part them
    assert MetricSurface("x", np.array([0.0]), np.array([1.0, 2.0]), (), "wer|x", False).best == (1.0, -math.inf, 0.0)
    sliver = MetricSurface("x", np.array([1.0, 1.0 + 2.0**-50]), np.array([2.0, 0.0, 3.0]), (), "wer|x", False)
    assert sliver.best == (2.0, -math.inf, 1.0)
    assert MetricSurface("x", np.array([]), np.array([1.0]), (), "wer|x", False).view() == (-1.0, 1.0)


def test_as_a_table() -> None:
    assert SURFACE.to_csv().splitlines()[:3] == ["from,to,score", "-inf,0.0,5.0", "0.0,1.0,7.0"]
    assert SURFACE.to_csv().endswith("4.0,inf,1.0\n")


def bands(axes: Any) -> list[tuple[float, float]]:
    """The ends of the coloured bands over the whole height: rectangles, and polygons before matplotlib 3.9."""
    drawn = [patch for patch in axes.patches if isinstance(patch, (Polygon, Rectangle))]
    ends = [patch.get_path().transformed(patch.get_patch_transform()).get_extents() for patch in drawn]
    return [(float(end.x0), float(end.x1)) for end in ends]


def test_the_figure_shows_marks_and_the_best_interval() -> None:
    figure = SURFACE.plot(view=(-1.0, 5.0))
    (axes,) = figure.axes
    assert axes.get_xlim() == (-1.0, 5.0)
    assert axes.get_xlabel() == "weight of lm"
    assert axes.get_ylabel() == "bleu (higher is better)"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["best 7.00, from 0 to 1", "now"]
    assert bands(axes) == [(0.0, 1.0)]


def test_the_best_interval_is_seen_however_narrow_it_is() -> None:
    """The band is some pixels wide, around the interval, and a close-up shows its true ends."""
    narrow = MetricSurface(
        "weight of lm", np.array([-50.0, 1.0, 1.0 + 1e-9, 30.0]), np.array([9.0, 5.0, 1.0, 4.0, 6.0]),
        (("now", 3.0),), "wer|x", False,
    )  # fmt: skip
    whole, close = narrow.plot().axes
    low, high = whole.get_xlim()
    ((left, right),) = bands(whole)
    assert left < 1.0 < 1.0 + 1e-9 < right
    assert 0.01 * (high - low) < right - left < 0.02 * (high - low)
    ((left, right),) = bands(close)
    assert (left, right) == pytest.approx((1.0, 1.0 + 1e-9), abs=1e-12)
    assert close.get_xlim()[1] - close.get_xlim()[0] == pytest.approx(4e-9, rel=1e-3)


def test_the_view_is_around_the_best() -> None:
    """Breakpoints far away, of weights that hardly matter any more, do not shrink what is near the best."""
    places = np.array([1.0, 1.5, 2.0, 2.2, 2.5, 3.0, 3.5, 1e3, 1e5])
    scores = np.array([9.0, 8.0, 7.0, 5.0, 1.0, 5.0, 7.0, 8.0, 9.0, 9.5])
    low, high = MetricSurface("x", places, scores, (("now", 2.8),), "wer|x", False).view()
    assert low < 2.2
    assert 2.8 < high < 5.0
    low, high = MetricSurface("x", places, scores, (("now", 40.0),), "wer|x", False).view()
    assert high > 40.0  # marks are always in view


def test_the_part_in_view_has_the_scores_there() -> None:
    edges, scores = SURFACE.within(0.5, 3.5)
    assert edges.tolist() == [0.5, 1.0, 3.0, 3.5]
    assert scores.tolist() == [7.0, 6.0, 7.0]


def test_a_surface_from_data() -> None:
    data = random_lists(3)
    weights = {"f0": 1.0, "f1": 0.5, "f2": 0.25}
    found = metric_surface(data, weights, "f1", metric="wer")
    again = metric_surface(Problem.of(data, "wer"), np.array([1.0, 0.5, 0.25]), "f1")
    assert found.to_csv() == again.to_csv()
    way = metric_surface(data, weights, to=[1.0, -1.0, 2.0], metric="wer")
    assert way.marks == (("first weights", 0.0), ("second weights", 1.0))
    with pytest.raises(InputError, match="feature, to: give one of them"):
        metric_surface(data, weights, metric="wer")
    with pytest.raises(InputError, match="feature, to: give one of them"):
        metric_surface(data, weights, "f1", to=weights, metric="wer")
    with pytest.raises(InputError, match="no line between them"):
        metric_surface(data, weights, to=weights, metric="wer")
