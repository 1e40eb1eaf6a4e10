"""Figures: the data behind them, what is on them, and that files are written whole or not at all."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

from hulltune import ErrorSurface, Forest, InputError, envelope
from hulltune.report.figure_data import candidate_lines, four_candidates, surface_steps, view_around
from hulltune.report.figures import duality_figure, envelope_figure, save, spread_labels

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_four_candidates_have_three_winners_and_one_obscured_line() -> None:
    found, lines = four_candidates()
    assert lines.winners == (0, 1, 3)
    assert lines.obscured == (2,)
    assert lines.breakpoints.tolist() == pytest.approx([-0.8 / 0.75, 0.72])
    etas = np.linspace(-3, 3, 601)
    best = lines.scores(etas).max(axis=0)
    assert best.tolist() == pytest.approx([found.at(float(eta)) for eta in etas])
    obscured = lines.scores(etas)[2]
    assert np.all(obscured < best)


def test_winners_are_the_lower_hull_of_the_dual_points() -> None:
    _, lines = four_candidates()
    points = lines.dual_points
    hull = points[list(lines.winners)]
    edge_slopes = np.diff(hull[:, 1]) / np.diff(hull[:, 0])
    assert edge_slopes.tolist() == pytest.approx(lines.breakpoints.tolist())
    on_hull = np.interp(points[2, 0], hull[:, 0], hull[:, 1])
    assert points[2, 1] > on_hull


def test_figures_of_candidates_need_a_list() -> None:
    lattice = Forest.from_lattice([(0, 1, "a", [1.0])], start=0, finals=[1], feature_names=["x"])
    with pytest.raises(InputError, match="need an n-best list"):
        candidate_lines(envelope(lattice, [1.0], [1.0]), [1.0], [1.0])


def test_surface_steps_cut_to_the_view() -> None:
    surface = ErrorSurface.from_sentences([[-2.0, 0.0, 2.0]], [np.array([[3], [2], [1], [0]])])
    steps = surface_steps(surface, np.array([3.0, 2.0, 1.0, 0.0]), (-1.0, 2.0))
    assert steps.edges.tolist() == [-1.0, 0.0, 2.0]
    assert steps.values.tolist() == [2.0, 1.0]


def test_view_shows_all_breakpoints() -> None:
    assert view_around(np.array([])) == (-1.0, 1.0)
    assert view_around(np.array([3.0])) == (0.0, 6.0)
    assert view_around(np.array([0.0, 10.0]), margin=0.1) == (-1.0, 11.0)


def test_labels_do_not_overlap() -> None:
    assert spread_labels(np.array([1.0, 0.0, 0.1]), 0.5).tolist() == [1.0, 0.0, 0.5]


def test_envelope_figure_shows_lines_envelope_and_surface_on_one_axis() -> None:
    found, lines = four_candidates()
    surface = ErrorSurface.from_sentences([found.breakpoints], [np.array([[3], [1], [2]])])
    steps = surface_steps(surface, np.array([3.0, 1.0, 2.0]), (-2.0, 2.0))
    figure = envelope_figure(lines, steps, loss_label="errors", view=(-2.0, 2.0))
    above, below = figure.axes
    assert above.get_shared_x_axes().joined(above, below)
    assert below.get_xlim() == (-2.0, 2.0)
    assert {text.get_text() for text in above.texts} == {"y1", "y2", "y3 (obscured)", "y4"}
    drawn = next(line for line in above.lines if line.get_label() == "upper envelope")
    etas, scores = drawn.get_data()
    assert np.array_equal(etas, [-2.0, *found.breakpoints, 2.0])
    assert scores == pytest.approx(np.array([found.at(eta) for eta in np.asarray(etas)]))
    assert below.get_ylabel() == "errors"


def test_duality_figure_names_every_point_and_breakpoint() -> None:
    _, lines = four_candidates()
    dual = duality_figure(lines).axes[1]
    assert {text.get_text() for text in dual.texts} == {"y1", "y2", "y3", "y4", "breakpoint −1.07", "breakpoint 0.72"}


def test_save_writes_whole_files_or_none(tmp_path: Path) -> None:
    _, lines = four_candidates()
    figure = duality_figure(lines)
    for suffix, magic in ((".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")):
        assert save(figure, tmp_path / f"a{suffix}").read_bytes().startswith(magic)
    with pytest.raises(InputError, match=r"expected a name that ends in .png, .svg or .pdf"):
        save(figure, tmp_path / "a.gif")
    with pytest.raises(InputError, match="cannot be written"):
        save(figure, tmp_path / "missing" / "a.png")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.pdf", "a.png", "a.svg"]


@pytest.mark.parametrize("name", ["error_surface", "duality"])
def test_examples_draw_their_figure(name: str, tmp_path: Path) -> None:
    main = runpy.run_path(str(EXAMPLES / f"{name}.py"))["main"]
    picture = main(tmp_path / "new" / f"{name}.png")
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 10_000
