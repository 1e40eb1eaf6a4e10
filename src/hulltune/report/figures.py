"""Pictures of the line search, drawn with matplotlib (``pip install 'hulltune[figures]'``)."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hulltune.arrays import Floats
from hulltune.errors import InputError
from hulltune.formats.streams import written_atomically
from hulltune.report.figure_data import CandidateLines, Steps, view_around
from hulltune.wording import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from hulltune.tuning.planes import MetricPlane
    from hulltune.tuning.surfaces import MetricSurface

COLOURS = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
)  # Okabe and Ito: safe for colour-blind eyes
OBSCURED = "#8c8c8c"


def _figure(width: float, height: float) -> Figure:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError("figures need matplotlib: pip install 'hulltune[figures]'") from None
    return Figure(figsize=(width, height), layout="constrained")


def save(figure: Figure, path: str | Path, *, dpi: int = 150) -> Path:
    """Write the figure (PNG, SVG or PDF by its suffix), atomically, and return its path."""
    target = Path(path)
    if target.suffix.lower() not in {".png", ".svg", ".pdf"}:
        raise InputError(f"{target}: expected a name that ends in .png, .svg or .pdf")
    with written_atomically(target) as file:
        figure.savefig(file, format=target.suffix.lower()[1:], dpi=dpi)
    return target


def envelope_figure(
    lines: CandidateLines, steps: Steps, *, loss_label: str = "loss", view: tuple[float, float] | None = None
) -> Figure:
    """The candidates' lines and their upper envelope, above the error surface; both share the η axis."""
    low, high = view or view_around(lines.breakpoints)
    etas = np.array([low, *lines.breakpoints, high])
    figure = _figure(7.0, 6.0)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[2, 1])
    _draw_lines(above, lines, low, high)
    above.plot(etas, lines.scores(etas).max(axis=0), color="black", linewidth=3.2, zorder=1, label="upper envelope")
    above.legend(loc="upper center", frameon=False)
    above.set_ylabel("model score")
    above.set_title("Lines, upper envelope and error surface")
    below.stairs(steps.values, steps.edges, baseline=None, color="black", linewidth=2)
    below.set_ylabel(loss_label)
    below.set_xlabel("η  (step along the direction)")
    below.margins(y=0.25)
    if np.all(steps.values == np.rint(steps.values)):
        below.yaxis.get_major_locator().set_params(integer=True)
    for axes in (above, below):
        for point in lines.breakpoints:
            axes.axvline(point, color="0.75", linestyle=":", linewidth=1, zorder=0)
        axes.spines[["top", "right"]].set_visible(False)
    below.set_xlim(low, high)
    return figure


def duality_figure(lines: CandidateLines, *, view: tuple[float, float] | None = None) -> Figure:
    """The primal lines beside their dual points (slope, −intercept) with the lower hull."""
    low, high = view or view_around(lines.breakpoints)
    etas = np.array([low, *lines.breakpoints, high])
    figure = _figure(10.0, 4.6)
    primal, dual = figure.subplots(1, 2)
    _draw_lines(primal, lines, low, high)
    primal.plot(etas, lines.scores(etas).max(axis=0), color="black", linewidth=3.2, zorder=1)
    primal.set_title("primal: lines and their upper envelope")
    primal.set_xlabel("η")
    primal.set_ylabel("score  =  slope · η + intercept")
    primal.set_xlim(low, high)

    points = lines.dual_points
    hull = points[list(lines.winners)]
    dual.plot(hull[:, 0], hull[:, 1], color="black", linewidth=3.2, zorder=1)
    for index, (x, y) in enumerate(points):
        dual.scatter([x], [y], s=70, color=_colour(lines, index), zorder=3)
        offset, align = _beside_hull(lines, index)
        dual.annotate(
            lines.names[index], (x, y), textcoords="offset points", xytext=offset,
            ha=align, va="center", color=_colour(lines, index), fontsize=11,
        )  # fmt: skip
    below = 0.08 * np.ptp(points[:, 1])
    for (x0, y0), (x1, y1), point in zip(hull[:-1], hull[1:], lines.breakpoints, strict=True):
        dual.text(
            (x0 + x1) / 2, (y0 + y1) / 2 - below, f"breakpoint {point:.3g}".replace("-", "−"),
            ha="center", va="top", fontsize=9, color="0.3",
            rotation=np.degrees(np.arctan2(y1 - y0, x1 - x0)), rotation_mode="anchor", transform_rotates_text=True,
        )  # fmt: skip
    dual.margins(0.2, 0.28)
    dual.set_title("dual: points and their lower hull")
    dual.set_xlabel("slope")
    dual.set_ylabel("−intercept")
    for axes in (primal, dual):
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def _draw_lines(axes: Any, lines: CandidateLines, low: float, high: float) -> None:
    """Every candidate's line, named at its right end; names that would overlap are moved apart."""
    ends: Floats = np.array([low, high])
    scores = lines.scores(ends)
    for index in range(len(lines.names)):
        style = "--" if index in lines.obscured else "-"
        axes.plot(ends, scores[index], style, color=_colour(lines, index), linewidth=1.4, zorder=2)
    bottom, top = scores.min(), scores.max()
    places = spread_labels(scores[:, 1], (top - bottom) * 0.06)
    for index, place in enumerate(places):
        suffix = " (obscured)" if index in lines.obscured else ""
        axes.annotate(
            lines.names[index] + suffix, (high, place), textcoords="offset points", xytext=(6, 0),
            va="center", color=_colour(lines, index), fontsize=11, annotation_clip=False,
        )  # fmt: skip


def _beside_hull(lines: CandidateLines, index: int) -> tuple[tuple[float, float], str]:
    """The offset and the alignment of a dual point's name: away from the hull, which goes through the winners."""
    if index in lines.obscured:
        return (0.0, 15.0), "center"
    if index == lines.winners[0]:
        return (-10.0, 0.0), "right"
    if index == lines.winners[-1]:
        return (10.0, 0.0), "left"
    return (0.0, -15.0), "center"


def spread_labels(heights: Floats, gap: float) -> Floats:
    """The heights, moved up as little as needed for neighbours to be ``gap`` apart; their order stays."""
    order = np.argsort(heights, kind="stable")
    moved = heights.astype(np.float64).copy()
    for lower, upper in pairwise(order):
        moved[upper] = max(moved[upper], moved[lower] + gap)
    return moved


def _colour(lines: CandidateLines, index: int) -> str:
    return OBSCURED if index in lines.obscured else COLOURS[lines.winners.index(index) % len(COLOURS)]


def metric_surface_figure(surface: MetricSurface, *, view: tuple[float, float] | None = None) -> Figure:
    """The metric along an axis, its marks, and the best interval."""
    low, high = view or surface.view()
    first = int(np.searchsorted(surface.breakpoints, low, side="right"))
    last = int(np.searchsorted(surface.breakpoints, high, side="left"))
    edges = np.concatenate([[low], surface.breakpoints[first:last], [high]])
    score, left, right = surface.best
    figure = _figure(7.0, 3.8)
    axes = figure.subplots()
    axes.stairs(surface.scores[first : last + 1], edges, baseline=None, color="black", linewidth=1.2)
    axes.axvspan(max(left, low), min(right, high), color=COLOURS[2], alpha=0.25, linewidth=0, label=f"best {score:.4g}")
    for number, (name, place) in enumerate(surface.marks):
        axes.axvline(place, color=COLOURS[number], linestyle="--", linewidth=1.4, label=name)
    axes.set_xlim(low, high)
    axes.set_xlabel(surface.axis)
    direction = "higher" if surface.higher_is_better else "lower"
    axes.set_ylabel(f"{surface.metric.split('|')[0]} ({direction} is better)")
    axes.set_title(surface.metric, fontsize=8, color="0.4")
    axes.legend(frameon=False, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def plane_figure(plane: MetricPlane) -> Figure:
    """The metric over two weights: better is lighter, with the optimum, the weights now, and a grid if there is one."""
    raster = plane.raster(len(plane.heights))
    low, high = colour_range(raster, plane.certificate.value, higher_is_better=plane.higher_is_better)
    figure = _figure(7.4, 6.0)
    axes = figure.subplots()
    name, direction = plane.certificate.metric.split("|")[0], "higher" if plane.higher_is_better else "lower"
    image = axes.imshow(
        raster, origin="lower", extent=plane.view, aspect="auto", interpolation="nearest",
        cmap="cividis" if plane.higher_is_better else "cividis_r", vmin=low, vmax=high,
    )  # fmt: skip
    side = "min" if plane.higher_is_better else "max"
    bar = figure.colorbar(image, ax=axes, extend=side)
    bar.set_label(f"{name} ({direction} is better)")
    if len(plane.grid):
        trial = plane.best_of_grid
        assert trial is not None
        axes.scatter(plane.grid[:, 0], plane.grid[:, 1], s=12, color="white", edgecolor="black", linewidth=0.6)
        axes.scatter(
            trial[0], trial[1], s=90, marker="s", color="none", edgecolor=COLOURS[4], linewidth=2,
            label=f"best of {counted(len(plane.grid), 'grid point')} {_score(trial[2])}",
        )  # fmt: skip
    axes.scatter(
        *plane.now, s=80, marker="o", color=COLOURS[1], edgecolor="white", linewidth=1.2, zorder=4,
        label=f"weights given {_score(plane.now_score)}",
    )  # fmt: skip
    proof = plane.certificate
    proven = "the best there is" if proof.is_optimal else f"proven to {proof.gap:.1g}"
    axes.scatter(
        *plane.best, s=260, marker="*", color=COLOURS[2], edgecolor="white", linewidth=1.4, zorder=5,
        label=f"optimum {_score(proof.value)}, {proven}",
    )  # fmt: skip
    axes.set_xlim(plane.view[0], plane.view[1])
    axes.set_ylim(plane.view[2], plane.view[3])
    axes.set_xlabel(f"weight of {plane.axes[0]}")
    axes.set_ylabel(f"weight of {plane.axes[1]}")
    axes.set_title(proof.metric, fontsize=8, color="0.4")
    figure.legend(loc="outside lower center", frameon=False, fontsize=9, ncols=3)
    return figure


def colour_range(scores: Floats, best: float, *, higher_is_better: bool) -> tuple[float, float]:
    """The range of scores that the colours tell apart: the better two thirds, so that the top is not one blot."""
    if higher_is_better:
        low = float(np.quantile(scores, 0.35))
        return min(low, best - 1e-9), max(best, float(scores.max()))
    high = float(np.quantile(scores, 0.65))
    return min(best, float(scores.min())), max(high, best + 1e-9)


def _score(score: float) -> str:
    return f"{score:.2f}" if abs(score) >= 2 else f"{score:.4f}"
