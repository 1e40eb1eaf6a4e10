"""Results that draw: from the data they were tuned on, in notebooks, and after they were loaded from a file."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hulltune import InputError, Problem, TuneResult, tune
from tests.tuning.corpora import QUICK, random_forests, random_lists


def test_a_surface_around_the_tuned_weights() -> None:
    data = random_lists(1)
    result = tune(data, **QUICK)
    surface = result.surface("f1")
    assert surface.marks[0][1] == result.weights["f1"]
    at_tuned = surface.scores[np.searchsorted(surface.breakpoints, result.weights["f1"])]
    assert at_tuned == result.score
    assert result.surface(to=result.start).scores[-1] >= result.score
    picture = result.plot_surface("f1", view=(-1.0, 1.0))
    assert picture.axes[0].get_xlim() == (-1.0, 1.0)
    assert picture._repr_png_().startswith(b"\x89PNG")  # what IPython asks for at the end of a cell
    forests, references = random_forests(2)
    lattices = tune(forests, references, **QUICK)
    assert lattices.plot_surface("lm").axes[0].get_xlabel() == "weight of lm"


def test_a_plane_around_the_tuned_weights() -> None:
    result = tune(random_lists(1), **QUICK)
    plane = result.plane("f0", "f2", rows=7)
    assert plane.now == (result.weights["f0"], result.weights["f2"])
    assert plane.now_score == result.score
    assert plane.certificate.value <= result.score
    figure = result.plot_plane("f0", "f2", rows=7, view=(-1.0, 1.0, -2.0, 2.0))
    assert (figure.axes[0].get_xlim(), figure.axes[0].get_ylim()) == ((-1.0, 1.0), (-2.0, 2.0))


def test_the_sensitivity_has_a_panel_for_each_weight() -> None:
    result = tune(random_lists(1), **QUICK, tolerance=0.05)
    figure = result.plot_sensitivity()
    shown = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title() for axes in shown] == ["f0", "f1", "f2"]
    assert result.sensitivity is not None
    for axes in shown:
        low, high = result.sensitivity.ranges[axes.get_title()]
        left, right = axes.get_xlim()
        assert left < result.weights[axes.get_title()] < right
        assert low is None or left < low
        assert high is None or high < right


def test_files_copies_and_pickles_do_not_keep_the_data(tmp_path: Path) -> None:
    data = random_lists(1)
    result = tune(data, **QUICK)
    loaded = TuneResult.load(result.save(tmp_path / "w.json"))
    for other in (loaded, copy.copy(result), pickle.loads(pickle.dumps(result))):
        assert other == result
        with pytest.raises(InputError, match="data: a result from a file does not have the data it was tuned on"):
            other.plot_surface("f1")
        assert other.on(data).surface("f1").to_csv() == result.surface("f1").to_csv()
        assert other.on(Problem.of(data, "bleu")).surface("f1").metric.startswith("bleu")
    assert "_problem" not in result.to_dict()


def test_a_metric_with_options_must_be_given_again() -> None:
    data = random_lists(1)
    result = pickle.loads(pickle.dumps(tune(data, **{**QUICK, "metric": "bleu:tokenize=none"})))
    with pytest.raises(InputError, match=r"metric: the result was tuned for bleu\|.*give metric=…"):
        result.on(data)
    assert result.on(data, metric="bleu:tokenize=none").surface("f0").higher_is_better


def test_a_view_of_whole_numbers_needs_no_kernels_of_its_own() -> None:
    result = tune(random_lists(1), **QUICK)
    plane = result.plane("f0", "f1", view=(0, 1, -1, 1), rows=3)
    same = result.plane("f0", "f1", view=(0.0, 1.0, -1.0, 1.0), rows=3)
    assert [type(end) for end in plane.view] == [float] * 4
    assert all(np.array_equal(a, b) for a, b in zip(plane.breakpoints, same.breakpoints, strict=True))


def test_names_that_are_not_features_and_views_that_are_none() -> None:
    result = tune(random_lists(1), **QUICK)
    for view in ((1.0, -1.0), (0.0, float("inf")), (2.0, 2.0)):
        with pytest.raises(InputError, match="view: expected 2 finite numbers"):
            result.plot_surface("f1", view=view)
    wrong: list[Any] = [(0.0, 1.0, 2.0, 1.0), (0.0, 1.0), ((0, 1), (0, 1)), 3]
    for ends in wrong:
        with pytest.raises(InputError, match="view: expected 4 finite numbers"):
            result.plane("f0", "f1", view=ends)
    with pytest.raises(InputError, match="unknown feature 'lm'"):
        result.plot_surface("lm")
    with pytest.raises(InputError, match="expected two different features"):
        result.plot_plane("f1", "f1")
