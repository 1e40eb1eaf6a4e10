"""Pictures of a metric along a line, over a plane, and around tuned weights, drawn with matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from hulltune.arrays import Floats
from hulltune.metrics.counts import percent_of
from hulltune.report.picture import new_picture
from hulltune.semirings.hull_picture import COLOURS
from hulltune.wording import counted

if TYPE_CHECKING:
    from hulltune.report.picture import Picture
    from hulltune.tuning.sensitivity import Sensitivity
    from hulltune.tuning.surfaces import MetricPlane, MetricSurface

OBSCURED = "#8c8c8c"
LEAST_BAND = 0.012
"""The least width of the band of the best interval, as a share of the axis: about eight pixels."""
NARROW = 0.05
"""A best interval below this share of the view is shown again in a close-up."""


def plot_surface(surface: MetricSurface, *, view: tuple[float, float] | None = None) -> Picture:
    """The metric along an axis, its marks, and the best interval, with a close-up where that is narrow.

    >>> from hulltune import metric_surface, plot_surface
    >>> from hulltune.simulate import simulated_task
    >>> task = simulated_task(sentences=20, candidates=10)
    >>> surface = metric_surface(task.lists, task.optimum, "forward", metric="wer")
    >>> plot_surface(surface).save("surface.png").name
    'surface.png'
    """
    low, high = view or surface.view()
    score, left, right = surface.best
    close = surface.close_up() if right - left < NARROW * (high - low) else None
    figure = new_picture(7.4 if close is None else 10.4, 4.2)
    panels = figure.subplots(
        1, 1 if close is None else 2, squeeze=False, width_ratios=None if close is None else [5, 2]
    )
    views = [(low, high)] if close is None else [(low, high), close]
    ends = f"from {_place(left)} to {_place(right)}"
    for number, (axes, (start, end)) in enumerate(zip(panels[0], views, strict=True)):
        edges, scores = surface.within(start, end)
        axes.stairs(scores, edges, baseline=None, color="black", linewidth=1.3, zorder=3)
        # A band of at least a few pixels, so that it can be seen however narrow the interval is.
        room = max(0.0, LEAST_BAND * (end - start) - (min(right, end) - max(left, start))) / 2
        band = (max(left, start) - room, min(right, end) + room)
        if start < band[1] and band[0] < end:
            axes.axvspan(*band, color=COLOURS[2], alpha=0.35, linewidth=0, label=f"best {_score(score)}, {ends}")
        for colour, (name, place) in zip((COLOURS[0], COLOURS[1], *COLOURS[3:]), surface.marks, strict=False):
            if start <= place <= end:
                axes.axvline(place, color=colour, linestyle="--", linewidth=1.3, label=name, zorder=4)
        axes.set_xlim(start, end)
        axes.margins(y=0.08)
        axes.set_xlabel(surface.axis if number == 0 else "close-up of the best")
        axes.spines[["top", "right"]].set_visible(False)
        _in_percent(axes.yaxis, surface.metric)
    if close is not None:
        panels[0, 1].locator_params(axis="x", nbins=3)
    direction = "higher" if surface.higher_is_better else "lower"
    panels[0, 0].set_ylabel(f"{surface.metric.split('|')[0]} ({direction} is better)")
    figure.suptitle(surface.metric, fontsize=8, color="0.4")
    handles, labels = panels[0, -1].get_legend_handles_labels()
    more, names = panels[0, 0].get_legend_handles_labels()
    shown = dict(zip([*names, *labels], [*more, *handles], strict=True))
    figure.legend(shown.values(), shown.keys(), loc="outside lower center", frameon=False, fontsize=9, ncols=3)
    return figure


def plot_sensitivity(surfaces: Sequence[MetricSurface], found: Sensitivity, names: Sequence[str]) -> Picture:
    """The metric along each weight, around the range in which it is hardly worse than with the tuned weight.

    >>> from hulltune import plot_sensitivity, tune
    >>> from hulltune.simulate import simulated_task
    >>> task = simulated_task(sentences=20, candidates=10)
    >>> result = tune(task.lists, metric="wer")
    >>> surfaces = [result.surface(name) for name in ("forward", "length")]
    >>> plot_sensitivity(surfaces, result.sensitivity, ["forward", "length"]).save("sensitivity.png").name
    'sensitivity.png'
    """
    columns = min(3, len(names))
    rows = -(-len(names) // columns)
    figure = new_picture(3.6 * columns, 2.3 * rows + 0.8)
    panels = figure.subplots(rows, columns, squeeze=False, sharey=True)
    for axes in panels.flat[len(names) :]:
        axes.set_visible(False)
    for axes, surface, name in zip(panels.flat, surfaces, names, strict=False):
        now = surface.marks[0][1]
        view = range_view(found.ranges[name], now, surface)
        edges, scores = surface.within(*view)
        axes.stairs(scores, edges, baseline=None, color="black", linewidth=1.2, zorder=3)
        low, high = found.ranges[name]
        inside = (view[0] if low is None else max(low, view[0]), view[1] if high is None else min(high, view[1]))
        axes.axvspan(*inside, color=COLOURS[5], alpha=0.35, linewidth=0, label=f"worse {found.allowed(surface.metric)}")
        axes.axvline(now, color=COLOURS[0], linestyle="--", linewidth=1.2, label="tuned weight", zorder=4)
        axes.set_xlim(*view)
        axes.locator_params(axis="x", nbins=4)
        axes.set_title(name if len(name) < 36 else f"{name[:34]}…", fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
    first = surfaces[0]
    _in_percent(panels[0, 0].yaxis, first.metric)
    figure.supylabel(f"{first.metric.split('|')[0]} ({'higher' if first.higher_is_better else 'lower'} is better)")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", frameon=False, fontsize=9, ncols=2)
    return figure


def range_view(ends: tuple[float | None, float | None], now: float, surface: MetricSurface) -> tuple[float, float]:
    """A view three times as wide as a range; where the range has no end, as far as the surface is interesting."""
    low, high = surface.view()
    left, right = low if ends[0] is None else ends[0], high if ends[1] is None else ends[1]
    room = (right - left) or 0.05 * (high - low)
    return min(left, now) - room, max(right, now) + room


def plot_plane(plane: MetricPlane) -> Picture:
    """The metric over two weights: better is lighter, with the optimum, the weights now, an outline of what is worse
    by less than chance, and a grid if there is one.

    >>> from hulltune import metric_plane, plot_plane
    >>> from hulltune.simulate import simulated_task
    >>> task = simulated_task(sentences=20, candidates=10)
    >>> plane = metric_plane(task.lists, task.optimum, ("forward", "backward"), metric="wer", rows=20)
    >>> plot_plane(plane).save("plane.png").name
    'plane.png'
    """
    raster = plane.raster(len(plane.heights))
    low, high = colour_range(raster, plane.certificate.value, higher_is_better=plane.higher_is_better)
    figure = new_picture(7.4, 6.0)
    axes = figure.subplots()
    name, direction = plane.certificate.metric.split("|")[0], "higher" if plane.higher_is_better else "lower"
    image = axes.imshow(
        raster, origin="lower", extent=plane.view, aspect="auto", interpolation="nearest",
        cmap="cividis" if plane.higher_is_better else "cividis_r", vmin=low, vmax=high,
    )  # fmt: skip
    side = "min" if plane.higher_is_better else "max"
    bar = figure.colorbar(image, ax=axes, extend=side)
    bar.set_label(f"{name} ({direction} is better)")
    _in_percent(bar.ax.yaxis, plane.certificate.metric)
    columns = len(plane.heights)
    chance = plane.chance(columns)
    if min(chance.shape) > 1 and chance.any() and not chance.all():
        middles = plane.view[0] + (np.arange(columns) + 0.5) * (plane.view[1] - plane.view[0]) / columns
        axes.contour(middles, plane.heights, chance, levels=[0.5], colors="black", linewidths=1.2, linestyles="--")
        axes.plot([], [], color="black", linewidth=1.2, linestyle="--", label="worse by less than chance")
    if len(plane.grid):
        trial = plane.best_of_grid
        assert trial is not None
        axes.scatter(plane.grid[:, 0], plane.grid[:, 1], s=12, color="white", edgecolor="black", linewidth=0.6)
        axes.scatter(
            trial[0], trial[1], s=90, marker="s", color="none", edgecolor=COLOURS[4], linewidth=2,
            label=f"best of {counted(len(plane.grid), 'grid point')} {_score(trial[2])}",
        )  # fmt: skip
    axes.scatter(
        *plane.now, s=34, marker="o", color=COLOURS[1], edgecolor="white", linewidth=0.8, zorder=6,
        label=f"weights given {_score(plane.now_score)}",
    )  # fmt: skip
    proof = plane.certificate
    proven = (
        "the best there is" if proof.is_optimal else f"proven to {proof.gap:.1g}" if proof.gap else "up to rounding"
    )
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


def _in_percent(axis: Any, signature: str) -> None:
    """Label the ticks of an axis of scores in per cent, where the metric is an error rate."""
    if percent_of(signature, 0.0) is not None:
        axis.set_major_formatter(lambda score, _: f"{percent_of(signature, score):.4g} %")


def colour_range(scores: Floats, best: float, *, higher_is_better: bool) -> tuple[float, float]:
    """The range of scores that the colours tell apart: the better two thirds, so that the top is not one blot."""
    if higher_is_better:
        low = float(np.quantile(scores, 0.35))
        return min(low, best - 1e-9), max(best, float(scores.max()))
    high = float(np.quantile(scores, 0.65))
    return min(best, float(scores.min())), max(high, best + 1e-9)


def _score(score: float) -> str:
    return f"{score:.2f}" if abs(score) >= 2 else f"{score:.4f}"


def _place(end: float) -> str:
    return f"{end:.5g}".replace("-", "−") if isfinite(end) else "−∞" if end < 0 else "∞"
