"""Figures: the data behind them, what is on them, and that files are written whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from matplotlib.text import Annotation

from hulltune import (
    Forest,
    ForestBuilder,
    InputError,
    envelope,
    plot_envelope,
    plot_inside,
    plot_plus,
    plot_times,
)
from hulltune.lines.result import Envelope
from hulltune.report.figure_data import (
    CandidateLines,
    candidate_lines,
    edge_words,
    inside_steps,
    view_around,
)
from hulltune.report.teaching import duality_figure, labels_of, spread_labels
from hulltune.semirings import Hull
from tests.strategies import counts, forests


def four_candidates() -> tuple[Envelope, CandidateLines]:
    """Three win somewhere, one is obscured."""
    features = [[-1.0, 1.2], [-0.25, 2.0], [0.45, 1.2], [1.0, 1.1]]
    forest = Forest.from_nbest(["y1", "y2", "y3", "y4"], features, feature_names=["direction", "origin"])
    found = envelope(forest, [0.0, 1.0], [1.0, 0.0])
    return found, candidate_lines(found, [0.0, 1.0], [1.0, 0.0])


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


def lattice() -> Forest:
    arcs = [
        (0, 1, "recognise", [-2.0, -1.0]), (0, 1, "wreck a nice", [-1.0, -3.0]), (1, 2, "speech", [-1.0, -1.0]),
        (1, 2, "peach", [-0.5, -2.5]), (1, 2, "beach", [-0.4, -2.0]),
    ]  # fmt: skip
    return Forest.from_lattice(arcs, start=0, finals=[2], feature_names=["am", "lm"])


def test_the_lines_of_a_lattice_are_its_derivations() -> None:
    found = envelope(lattice(), [1.0, 0.0], [0.0, 1.0])
    lines = candidate_lines(found, [1.0, 0.0], [0.0, 1.0])
    assert lines.winners == (0, 1, 2, 3)
    assert len(lines.names) == len(set(lines.names)) == 6  # two ways to begin, three to end
    for name, slope, intercept in zip(lines.names, lines.slopes, lines.intercepts, strict=True):
        am = {"recognise": -2.0, "wreck": -1.0}[name.split()[0]] + {"speech": -1, "peach": -0.5, "beach": -0.4}[
            name.split()[-1]
        ]
        lm = {"recognise": -1.0, "wreck": -3.0}[name.split()[0]] + {"speech": -1, "peach": -2.5, "beach": -2}[
            name.split()[-1]
        ]
        assert (slope, intercept) == (pytest.approx(lm), pytest.approx(am))
    etas = np.linspace(-2, 2, 41)
    assert lines.scores(etas).max(axis=0) == pytest.approx([found.at(eta) for eta in etas.tolist()])
    with pytest.raises(InputError, match="names: only for the candidates of an n-best list"):
        candidate_lines(found, [1.0, 0.0], [0.0, 1.0], names=["a"])


@settings(max_examples=60, deadline=None)
@given(forests(elements=counts))
def test_no_line_of_a_forest_is_above_its_envelope(forest: Forest) -> None:
    found = envelope(forest, [1.0, 2.0, -1.0], [1.0, -1.0, 3.0])
    assume(len(found))
    lines = candidate_lines(found, [1.0, 2.0, -1.0], [1.0, -1.0, 3.0])
    etas = np.linspace(*view_around(found.breakpoints), 21)
    best = np.array([found.at(eta) for eta in etas.tolist()])
    assert lines.scores(etas).max(axis=0) == pytest.approx(best)


@settings(max_examples=60, deadline=None)
@given(forests(elements=counts))
def test_the_last_step_of_the_inside_algorithm_is_the_envelope(forest: Forest) -> None:
    steps = inside_steps(forest, [1.0, 2.0, -1.0], [1.0, -1.0, 3.0])
    found = envelope(forest, [1.0, 2.0, -1.0], [1.0, -1.0, 3.0])
    assert [step.node for step in steps] == list(range(forest.nodes))
    value = steps[-1].value
    assert [line[0] for line in value.lines] == found.slopes.tolist()
    assert [line[1] for line in value.lines] == found.intercepts.tolist()
    for step in steps:
        for eta in (-2.0, -0.3, 0.0, 1.7):
            assert step.value.at(eta) == max((product.at(eta) for product in step.products), default=-np.inf)


def test_the_steps_of_the_inside_algorithm_in_words() -> None:
    steps = inside_steps(lattice(), [1.0, 0.0], [0.0, 1.0])
    assert [step.formulas for step in steps] == [
        ("“ε”",),
        ("“recognise” ⊗ node 0", "“wreck a nice” ⊗ node 0"),
        ("“speech” ⊗ node 1", "“peach” ⊗ node 1", "“beach” ⊗ node 1"),
        ("“ε” ⊗ node 2",),
    ]
    builder = ForestBuilder(feature_names=["x"])
    for node in ("left", "right"):
        builder.add_edge(node, features=[0.0], output=[node])
    builder.add_edge("root", ["left", "right"], features=[0.0], output=[1, "of", 0])
    tree = builder.build(root="root")
    assert edge_words(tree, 2) == "[1] of [0]"
    figure = plot_inside(lattice(), [1.0, 0.0], [0.0, 1.0])
    assert [axes.get_title() for axes in figure.axes[:4]] == [
        "node 0 = “ε”",
        "node 0: 1 point",
        "node 1 = “recognise” ⊗ node 0 ⊕ “wreck a nice” ⊗ node 0",
        "node 1: 2 points",
    ]
    envelope_line = max(figure.axes[6].lines, key=lambda line: line.get_linewidth())
    assert len(np.asarray(envelope_line.get_xdata())) == len(steps[-1].value.breakpoints) + 2


def test_forests_too_large_for_a_row_each_are_refused() -> None:
    arcs = [(k, k + 1, "a", [1.0]) for k in range(20)]
    with pytest.raises(InputError, match="got 22 nodes, expected at most 12"):
        plot_inside(Forest.from_lattice(arcs, start=0, finals=[20], feature_names=["x"]), [1.0], [1.0])


A = Hull.from_lines([(-1.0, 1.2), (-0.25, 2.0), (1.0, 1.1)])
B = Hull.from_lines([(-0.6, 0.2), (0.2, 0.5), (1.4, -0.3)])


@pytest.mark.parametrize(("plot", "result", "sign"), [(plot_plus, A + B, "⊕"), (plot_times, A * B, "⊗")])
def test_operations_show_both_and_the_result(plot: Any, result: Hull, sign: str) -> None:
    panels = plot(A, B).axes
    assert [axes.get_title() for axes in panels[:2]] == ["A", "B"]
    assert panels[2].get_title().startswith(f"A {sign} B: ")
    thick = max(panels[2].lines, key=lambda line: line.get_linewidth())
    for eta, height in zip(*thick.get_data(), strict=True):
        expected = max(A.at(eta), B.at(eta)) if sign == "⊕" else A.at(eta) + B.at(eta)
        assert height == pytest.approx(expected)
    hull = max(panels[5].lines, key=lambda line: line.get_linewidth())
    assert list(zip(*hull.get_data(), strict=True)) == list(result.points)
    with pytest.raises(InputError, match="the empty hull has no picture"):
        plot(A, Hull())


def test_view_shows_all_breakpoints() -> None:
    assert view_around(np.array([])) == (-1.0, 1.0)
    assert view_around(np.array([3.0])) == (0.0, 6.0)
    assert view_around(np.array([0.0, 10.0]), margin=0.1) == (-1.0, 11.0)


def test_labels_do_not_overlap() -> None:
    assert spread_labels(np.array([1.0, 0.0, 0.1]), 0.5, (0.0, 2.0)).tolist() == pytest.approx([1.0, 0.0, 0.5])
    assert spread_labels(np.array([1.0, 1.0]), 0.5, (0.0, 1.0)).tolist() == pytest.approx([0.5, 1.0])
    assert spread_labels(np.array([]), 0.5, (0.0, 1.0)).tolist() == []


@settings(deadline=None)
@given(st.lists(st.floats(-5, 5), max_size=12), st.floats(0.01, 1.0))
def test_labels_keep_their_order_and_their_distance(heights: list[float], gap: float) -> None:
    order = np.argsort(heights, kind="stable")
    spread = spread_labels(np.array(heights), gap, (-5.0, 20.0))[order]
    assert np.all(np.diff(spread) >= gap - 1e-9)
    if np.all(np.diff(np.array(heights)[order]) >= gap):
        assert spread == pytest.approx(np.array(heights)[order])


def test_only_so_many_names_as_can_be_read() -> None:
    rows = [[float(k), -0.1 * k * k] for k in range(40)]
    names = [f"candidate number {k}" for k in range(40)]
    forest = Forest.from_nbest(names, rows, feature_names=["x", "y"])
    lines = candidate_lines(envelope(forest, [0.0, 1.0], [1.0, 0.0]), [0.0, 1.0], [1.0, 0.0])
    assert len(lines.winners) == 40
    view = view_around(lines.breakpoints)
    labels = labels_of(lines, *view)
    assert len(labels) == 10
    assert next(iter(labels.values())).startswith("1  candidate number")
    primal, dual = duality_figure(lines).axes
    heights = sorted(text.xy[1] for text in primal.texts if isinstance(text, Annotation))
    assert np.all(np.diff(heights) >= 0.06 * np.ptp(primal.get_ylim()))
    assert all(len(text.get_text()) <= 3 for text in dual.texts)  # numbers, not names


def test_lines_that_differ_little_are_drawn_apart() -> None:
    forest = Forest.from_nbest(["a", "b"], [[100.0, 1.0], [101.0, 0.5]], feature_names=["x", "y"])
    lines = candidate_lines(envelope(forest, [0.0, 1.0], [1.0, 0.0]), [0.0, 1.0], [1.0, 0.0])
    assert lines.level == (100.5, 0.75)
    primal, _ = plot_envelope(forest, [0.0, 1.0], [1.0, 0.0]).axes
    assert primal.get_ylabel() == "score, less the mean of all lines"
    drawn = [np.asarray(line.get_ydata()) for line in primal.lines[:2]]
    assert np.ptp(drawn[0]) < 2.0
    _, plain = four_candidates()
    assert plain.level == (0.0, 0.0)


def test_duality_figure_names_every_point_and_breakpoint() -> None:
    _, lines = four_candidates()
    dual = duality_figure(lines).axes[1]
    assert {text.get_text() for text in dual.texts} == {"y1", "y2", "y3", "y4", "breakpoint −1.07", "breakpoint 0.72"}


def test_save_writes_whole_files_or_none(tmp_path: Path) -> None:
    _, lines = four_candidates()
    figure = duality_figure(lines)
    for suffix, magic in ((".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")):
        assert figure.save(tmp_path / f"a{suffix}").read_bytes().startswith(magic)
    with pytest.raises(InputError, match=r"expected a name that ends in .png, .svg or .pdf"):
        figure.save(tmp_path / "a.gif")
    with pytest.raises(InputError, match="cannot be written"):
        figure.save(tmp_path / "missing" / "a.png")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.pdf", "a.png", "a.svg"]
