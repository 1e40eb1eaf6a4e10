"""The picture of a plane shows what decoding gives."""

from __future__ import annotations

import csv

import numpy as np

from hulltune import tune
from hulltune.report.figures import colour_range
from hulltune.search.problem import Problem
from hulltune.tuning.sensitivity import LIKELY
from hulltune.tuning.surfaces import metric_plane
from tests.certified.small_problems import small_problem
from tests.tuning.corpora import QUICK, random_lists
from tests.tuning.test_sensitivity import plain_error


def test_pixels_are_what_decoding_gives() -> None:
    problem = small_problem(3, sentences=8, candidates=6, whole=False)
    weights = np.array([1.0, 0.3, -0.2])
    plane = metric_plane(problem, weights, ("f1", "f2"), view=(-2.0, 3.0, -1.0, 2.0), rows=12, grid=(4, 3))
    raster = plane.raster(10)
    for row, height in enumerate(plane.heights):
        for column in range(10):
            place = -2.0 + (column + 0.5) * 0.5
            assert raster[row, column] == problem.score(np.array([1.0, place, height]))
    assert plane.certificate.value == problem.score(np.array([1.0, *plane.best]))
    assert plane.certificate.value <= raster.min()
    assert len(plane.grid) == 12
    trial = plane.best_of_grid
    assert trial is not None
    assert trial[2] == plane.grid_scores.min() == problem.score(np.array([1.0, *trial[:2]]))
    assert plane.now_score == problem.score(weights)


def test_cells_by_chance_are_those_of_the_paired_errors_of_decoding() -> None:
    problem = Problem.of(random_lists(4, sentences=60), "wer")
    weights = np.array([1.0, 0.5, 1.5])
    plane = metric_plane(problem, weights, ("f1", "f2"), view=(-2.013, 2.987, -1.017, 1.983), rows=12, seconds=20)
    chance = plane.chance(10)
    assert 5 < chance.sum() < 115
    for row, height in enumerate(plane.heights.tolist()):
        for column in range(10):
            others = np.array([1.0, -2.013 + (column + 0.5) * 0.5, height])
            worse = problem.loss(others) - problem.loss(weights)
            assert chance[row, column] == (worse <= LIKELY * plain_error(problem, weights, others) + 1e-12)
    labels = [text.get_text() for text in plane.plot().legends[0].get_texts()]
    assert "worse by less than chance" in labels


def test_error_rates_are_drawn_in_per_cent() -> None:
    for metric, is_rate in (("wer", True), ("bleu", False)):
        result = tune(random_lists(3, sentences=20), **{**QUICK, "metric": metric})
        for figure in (result.plot_surface("f1"), result.plot_sensitivity(), result.plot_plane("f0", "f1", rows=9)):
            figure.draw_without_rendering()
            ticks = [axes.yaxis.get_major_formatter()(0.25, 0) for axes in figure.axes if axes.get_visible()]
            assert ("25 %" in ticks) == is_rate


def test_the_view_shows_both_weights_and_the_optimum() -> None:
    problem = small_problem(5, "bleu", sentences=8, candidates=6, whole=False)
    plane = metric_plane(problem, np.array([1.0, 2.0, -3.0]), ("f1", "f2"), rows=5)
    left, right, bottom, top = plane.view
    for x, y in (plane.now, plane.best):
        assert left < x < right
        assert bottom < y < top
    assert plane.best_of_grid is None
    figure = plane.plot()
    assert figure.legends[0].get_texts()[0].get_text().startswith("weights given")


def test_a_plane_as_a_table_has_every_interval_of_every_row() -> None:
    problem = small_problem(3, sentences=8, candidates=6, whole=False)
    plane = metric_plane(problem, [1.0, 0.3, -0.2], ("f1", "f2"), view=(-2.0, 3.0, -1.0, 2.0), rows=5)
    header, *rows = csv.reader(plane.to_csv().splitlines())
    assert header == ["f2", "f1 from", "f1 to", "score"]
    assert len(rows) == sum(map(len, plane.scores))
    for text in rows:
        height, start, end, score = map(float, text)
        assert problem.score(np.array([1.0, (start + end) / 2, height])) == score
    assert {float(row[0]) for row in rows} == set(plane.heights.tolist())
    assert [float(row[1]) for row in rows].count(-2.0) == [float(row[2]) for row in rows].count(3.0) == 5


def test_a_plane_of_two_weights_alone_is_scaled_to_the_weights_given() -> None:
    problem = small_problem(6, sentences=6, candidates=6, features=2, whole=False)
    plane = metric_plane(problem, np.array([4.0, 2.0]), ("f0", "f1"), rows=5)
    assert max(map(abs, plane.best)) == 4.0
    assert plane.certificate.value == problem.score(np.array(plane.best))


def test_colours_reach_from_the_middle_to_the_best() -> None:
    scores = np.linspace(0.0, 1.0, 101)
    low, high = colour_range(scores, 1.0, higher_is_better=True)
    assert 0.2 < low < 0.5
    assert high == 1.0
    low, high = colour_range(scores, 0.0, higher_is_better=False)
    assert low == 0.0
    assert 0.5 < high < 0.8
