"""Pictures of the theory: lines and their envelope, the dual hull, ⊕ and ⊗, and the inside algorithm step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hulltune.arrays import Floats
from hulltune.data.forest import Forest
from hulltune.errors import InputError
from hulltune.lines.compute import envelope
from hulltune.report.figure_data import CandidateLines, InsideStep, candidate_lines, inside_steps, view_around
from hulltune.report.figures import OBSCURED
from hulltune.report.picture import new_picture
from hulltune.semirings.hull import Hull
from hulltune.semirings.hull_picture import COLOURS
from hulltune.wording import counted

if TYPE_CHECKING:
    from hulltune.report.picture import Picture

LONGEST_NAME = 26
"""The most characters of a candidate's name in a picture."""
SHORT = 6
"""Names up to this long stand beside their dual points; longer ones have a number there."""
MOST_NAMES = 10
"""The most names of winners in a picture: of more, those of the widest segments."""
TOO_NEAR = 0.05
"""A dual point nearer than this to one with a name, as a share of the picture, has none: they would overlap."""
LONG_ENOUGH = 0.45
"""The least length of an edge of the hull with a text along it, as a share of the points' range."""
MOST_STEPS = 12
"""The most nodes that the inside algorithm is drawn for, a row each."""


def plot_envelope(
    forest: Forest,
    origin: object,
    direction: object,
    *,
    names: Sequence[str] | None = None,
    view: tuple[float, float] | None = None,
) -> Picture:
    """The lines of the candidates of a list, lattice or hypergraph along w = origin + η · direction with their upper
    envelope, beside the dual points with their lower hull.

    Of a lattice or hypergraph, the derivations that win somewhere are shown, and some that come near. ``names`` are
    those of the candidates of a list, ``view`` the ends of the part of the line to draw.

    >>> from hulltune import Forest, plot_envelope
    >>> arcs = [(0, 1, "wreck", [-1.0, -3.0]), (0, 1, "recognise", [-2.0, -1.0]), (1, 2, "speech", [-1.0, -1.0])]
    >>> lattice = Forest.from_lattice(arcs, start=0, finals=[2], feature_names=["am", "lm"])
    >>> plot_envelope(lattice, {"am": 1.0}, {"lm": 1.0}).save("envelope.png").name
    'envelope.png'
    """
    return duality_figure(
        candidate_lines(envelope(forest, origin, direction), origin, direction, names=names), view=view
    )


def duality_figure(lines: CandidateLines, *, view: tuple[float, float] | None = None) -> Picture:
    """The primal lines beside their dual points (slope, −intercept) with the lower hull."""
    low, high = view or view_around(lines.breakpoints)
    figure = new_picture(12.0, 5.0)
    primal, dual = figure.subplots(1, 2)
    slope, intercept = lines.level
    shown = replace(lines, slopes=lines.slopes - slope, intercepts=lines.intercepts - intercept)
    _draw_lines(primal, shown, low, high)
    etas = _places(lines, low, high)
    primal.plot(etas, shown.scores(etas).max(axis=0), color="black", linewidth=3.2, zorder=1)
    height = "score  =  slope · η + intercept" if slope == 0.0 else "score, less the mean of all lines"
    _look(primal, "primal: lines and their upper envelope", "η", height)
    primal.set_xlim(low, high)
    _draw_points(dual, lines, labels_of(lines, low, high))
    _look(dual, "dual: points and their lower hull", "slope", "−intercept")
    return figure


def plot_plus(a: Hull, b: Hull) -> Picture:
    """A ⊕ B: the maximum of two envelopes, and the hull of the union of their points.

    >>> from hulltune import plot_plus
    >>> from hulltune.semirings import Hull
    >>> a, b = Hull.from_lines([(-1.0, 1.0), (1.0, 1.0)]), Hull.from_lines([(0.0, 2.0)])
    >>> plot_plus(a, b).save("plus.png").name
    'plus.png'
    """
    return _operation(a, b, a + b, "⊕", "the larger of both", "the hull of all points")


def plot_times(a: Hull, b: Hull) -> Picture:
    """A ⊗ B: the sum of two envelopes, and the hull of all sums of their points (the Minkowski sum).

    >>> from hulltune import plot_times
    >>> from hulltune.semirings import Hull
    >>> a, b = Hull.from_lines([(-1.0, 1.0), (1.0, 1.0)]), Hull.from_lines([(0.0, 2.0)])
    >>> plot_times(a, b).save("times.png").name
    'times.png'
    """
    return _operation(a, b, a * b, "⊗", "the sum of both", "the hull of all sums of points")


def plot_inside(forest: Forest, origin: object, direction: object) -> Picture:
    """The inside algorithm under the convex hull semiring, a row for each node: the values of its edges (each the ⊗ of
    its own line and of the values of its tails), and their ⊕, which is the value of the node. The last is the envelope.

    >>> from hulltune import Forest, plot_inside
    >>> arcs = [(0, 1, "wreck", [-1.0, -3.0]), (0, 1, "recognise", [-2.0, -1.0]), (1, 2, "speech", [-1.0, -1.0])]
    >>> lattice = Forest.from_lattice(arcs, start=0, finals=[2], feature_names=["am", "lm"])
    >>> plot_inside(lattice, {"am": 1.0}, {"lm": 1.0}).save("inside.png").name
    'inside.png'
    """
    steps = inside_steps(forest, origin, direction)
    if len(steps) > MOST_STEPS:
        raise InputError(f"forest: got {len(steps)} nodes, expected at most {MOST_STEPS}, a row of the picture each")
    figure = new_picture(11.0, 2.9 * len(steps))
    panels = figure.subplots(len(steps), 2, squeeze=False)
    view = view_around(np.array(steps[-1].value.breakpoints))
    for step, (primal, dual) in zip(steps, panels, strict=True):
        _draw_step(primal, dual, step, view)
    return figure


def _draw_step(primal: Any, dual: Any, step: InsideStep, view: tuple[float, float]) -> None:
    """The values of the edges of a node in colours, and the value of the node in black."""
    name = f"node {step.node} = " + " ⊕ ".join(step.formulas)
    _look(primal, _cut(name, 58) if step.formulas else f"node {step.node}: no derivation", "η", "score")
    _look(dual, f"node {step.node}: {counted(len(step.value), 'point')}", "slope", "−intercept")
    primal.set_xlim(*view)
    _draw_hull((primal, dual), step.value, view, "black", 4.0, "⊕", marker="")
    for number, (formula, product) in enumerate(zip(step.formulas, step.products, strict=True)):
        colour = COLOURS[number % len(COLOURS)]
        label = _cut(formula, LONGEST_NAME + 10) if number < MOST_NAMES else None
        _draw_hull((primal, dual), product, view, colour, 1.6, label)
    dual.margins(0.15, 0.2)
    handles, labels = primal.get_legend_handles_labels()
    dual.legend(handles, labels, frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))


def _operation(a: Hull, b: Hull, result: Hull, sign: str, primal_words: str, dual_words: str) -> Picture:
    """Three steps from left to right (A, B, and the result over both), primal above dual."""
    if not (a.points and b.points):
        raise InputError("the empty hull has no picture: it is −∞ everywhere; give hulls with points")
    figure = new_picture(12.0, 6.6)
    panels = figure.subplots(2, 3, sharex="row", sharey="row")
    view = view_around(np.array(sorted({*a.breakpoints, *b.breakpoints, *result.breakpoints})))
    for column, (title, hulls) in enumerate([("A", [a]), ("B", [b]), (f"A {sign} B", [a, b])]):
        primal, dual = panels[:, column]
        words = (f": {primal_words}", f": {dual_words}") if column == 2 else ("", "")
        _look(primal, f"{title}{words[0]}", "η", "score" if column == 0 else "")
        _look(dual, f"{title}{words[1]}", "slope", "−intercept" if column == 0 else "")
        for hull in hulls:
            colour = COLOURS[0] if hull is a and column != 1 else COLOURS[1]
            _draw_hull(panels[:, column], hull, view, colour, 2.2, None)
        if column == 2:
            if sign == "⊗":
                sums = np.array([(p[0] + q[0], p[1] + q[1]) for p in a.points for q in b.points])
                dual.scatter(sums[:, 0], sums[:, 1], s=28, color=OBSCURED, zorder=2)
            _draw_hull(panels[:, column], result, view, "black", 4.0, None, marker="o" if sign == "⊗" else "")
        primal.set_xlim(*view)
        dual.margins(0.12)
    return figure


def _draw_hull(
    panels: Any, hull: Hull, view: tuple[float, float], colour: str, width: float, label: str | None, marker: str = "o"
) -> None:
    """An envelope and its hull, a broken line each in the two panels; wide lines are drawn below the others."""
    if not hull.points:
        return
    primal, dual = panels
    low, high = view
    etas = np.array([low, *(eta for eta in hull.breakpoints if low < eta < high), high], dtype=np.float64)
    order = 1 if width > 3 else 3
    primal.plot(etas, [hull.at(eta) for eta in etas.tolist()], color=colour, linewidth=width, label=label, zorder=order)
    points = np.array(hull.points, dtype=np.float64)
    dual.plot(points[:, 0], points[:, 1], color=colour, linewidth=width, marker=marker, markersize=6, zorder=order)


def _look(axes: Any, title: str, x: str, y: str) -> None:
    axes.set_title(title, fontsize=11)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.spines[["top", "right"]].set_visible(False)


def _draw_lines(axes: Any, lines: CandidateLines, low: float, high: float) -> None:
    """Every candidate's line; those with a label are named at the right end, moved apart where they would overlap."""
    ends: Floats = np.array([low, high])
    scores = lines.scores(ends)
    for index in range(len(lines.names)):
        style = "--" if index in lines.obscured else "-"
        axes.plot(ends, scores[index], style, color=_colour(lines, index), linewidth=1.4, zorder=2)
    best = lines.scores(_places(lines, low, high)).max(axis=0)
    # The envelope decides on the height: lines far below it would flatten the picture.
    top, bottom = float(best.max()), float(best.min())
    room = (top - bottom) or 1.0
    lowest = float(scores.min()) if len(lines.names) <= MOST_NAMES else max(float(scores.min()), bottom - 0.8 * room)
    axes.set_ylim(lowest - 0.05 * room, top + 0.08 * room)
    floor, ceiling = axes.get_ylim()
    labels = {index: text for index, text in labels_of(lines, low, high).items() if scores[index, 1] >= floor}
    places = spread_labels(scores[list(labels), 1], 0.062 * (ceiling - floor), (floor, ceiling))
    for (index, text), place in zip(labels.items(), places.tolist(), strict=True):
        axes.annotate(
            text, (high, place), textcoords="offset points", xytext=(6, 0),
            va="center", color=_colour(lines, index), fontsize=10, annotation_clip=False,
        )  # fmt: skip


def _places(lines: CandidateLines, low: float, high: float) -> Floats:
    """The ends of a view, and the breakpoints in between."""
    inside = lines.breakpoints[(low < lines.breakpoints) & (lines.breakpoints < high)]
    return np.concatenate([[low], inside, [high]])


def _draw_points(axes: Any, lines: CandidateLines, labels: Mapping[int, str]) -> None:
    """The dual points, with the names of labelled ones or their numbers, and the hull through the winners."""
    points = lines.dual_points
    hull = points[list(lines.winners)]
    axes.plot(hull[:, 0], hull[:, 1], color="black", linewidth=3.2, zorder=1)
    winning = [index for index in labels if index in lines.winners]
    near = points if len(labels) == len(points) else points[winning]  # the part of the hull that wins in view
    size = np.where(np.ptp(near, axis=0) > 0.0, np.ptp(near, axis=0), 1.0)
    taken: list[Floats] = []
    for index, (x, y) in enumerate(points):
        winner = index in lines.winners
        axes.scatter([x], [y], s=70 if index in labels else 24, color=_colour(lines, index), zorder=4 if winner else 3)
        place = points[index] / size
        if index in labels and all(np.abs(place - other).max() > TOO_NEAR for other in taken):
            taken.append(place)
            offset, align = _beside_hull(lines, index)
            axes.annotate(
                labels[index].split("  ")[0].removesuffix(" (obscured)"), (x, y), textcoords="offset points",
                xytext=offset, ha=align, va="center", color=_colour(lines, index), fontsize=11,
            )  # fmt: skip
    below = 0.08 * size[1]
    for (x0, y0), (x1, y1), point in zip(hull[:-1], hull[1:], lines.breakpoints, strict=True):
        inside = near[:, 0].min() <= x0 and x1 <= near[:, 0].max()
        if inside and np.hypot((x1 - x0) / size[0], (y1 - y0) / size[1]) > LONG_ENOUGH:
            axes.text(
                (x0 + x1) / 2, (y0 + y1) / 2 - below, f"breakpoint {point:.3g}".replace("-", "−"),
                ha="center", va="top", fontsize=9, color="0.3",
                rotation=np.degrees(np.arctan2(y1 - y0, x1 - x0)), rotation_mode="anchor", transform_rotates_text=True,
            )  # fmt: skip
    (left, bottom), (right, top) = near.min(axis=0), near.max(axis=0)
    axes.set_xlim(left - 0.2 * size[0], right + 0.2 * size[0])
    axes.set_ylim(bottom - 0.28 * size[1], top + 0.28 * size[1])


def labels_of(lines: CandidateLines, low: float, high: float) -> dict[int, str]:
    """The labels of the candidates that have one, by their number: those that win in view, few enough to be read.

    Names that are too long to stand beside a point begin with a number, by which the dual picture calls them.
    """
    widths = np.diff(np.clip(np.concatenate([[-np.inf], lines.breakpoints, [np.inf]]), low, high))
    widest = np.argsort(-widths, kind="stable")[:MOST_NAMES]
    winners = [lines.winners[place] for place in sorted(widest.tolist()) if widths[place] > 0.0]
    others = lines.obscured if len(lines.names) <= MOST_NAMES else ()
    named = [*winners, *others]
    numbered = any(len(lines.names[index]) > SHORT for index in named)
    labels = {}
    for number, index in enumerate(named, 1):
        text = _cut(lines.names[index] or "ε", LONGEST_NAME)
        suffix = " (obscured)" if index in lines.obscured else ""
        labels[index] = f"{number}  {text}{suffix}" if numbered else f"{text}{suffix}"
    return labels


def _beside_hull(lines: CandidateLines, index: int) -> tuple[tuple[float, float], str]:
    """The offset and the alignment of a dual point's name: away from the hull, which goes through the winners."""
    if index in lines.obscured:
        return (0.0, 15.0), "center"
    if index == lines.winners[0]:
        return (-10.0, 0.0), "right"
    if index == lines.winners[-1]:
        return (10.0, 0.0), "left"
    return (0.0, -15.0), "center"


def spread_labels(heights: Floats, gap: float, within: tuple[float, float]) -> Floats:
    """The heights, moved up and down until neighbours are ``gap`` apart; their order stays.

    All lie ``within`` these ends afterwards, if there is room for them.
    """
    order = np.argsort(heights, kind="stable")
    steps = gap * np.arange(len(heights))
    places = heights[order] - steps  # labels are far enough apart where these do not decrease
    up, down = np.maximum.accumulate(places), np.minimum.accumulate(places[::-1])[::-1]
    highest = max(within[0], within[1] - steps.max(initial=0.0))
    spread = np.empty(len(heights))
    spread[order] = ((up + down) / 2).clip(within[0], highest) + steps
    return spread


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _colour(lines: CandidateLines, index: int) -> str:
    return OBSCURED if index in lines.obscured else COLOURS[lines.winners.index(index) % len(COLOURS)]
