"""``hulltune surface``: the metric along a line, over a plane, or around all weights."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hulltune import options
from hulltune.cli.command import DONE, command
from hulltune.cli.files import read_scored, weight_vector, write_lines
from hulltune.cli.options import PICKING, Answer, Data, answer_options, data_options, not_together, options_of
from hulltune.errors import InputError
from hulltune.wording import counted, score_text

if TYPE_CHECKING:
    from hulltune.arrays import Floats
    from hulltune.report.picture import Picture
    from hulltune.search.problem import Problem
    from hulltune.tuning.surfaces import MetricPlane, MetricSurface

EXAMPLES = """\
hulltune surface dev.gz --ref dev.en --weights w.json --feature lm
hulltune surface dev.gz -r dev.en -w w.json --plane lm words -o p.svg
hulltune surface dev.gz -r dev.en -w w.json --sensitivity --tolerance 0.1"""
SUFFIXES = (".png", ".svg", ".pdf", ".csv")
WHERE = "where to go"


@dataclass(frozen=True, kw_only=True)
class Way:
    """The weights, where they go, and which part of it is drawn."""

    weights: str = options.option(options.REQUIRED, PICKING, "-w, --weights FILE", WHERE)
    feature: str | None = options.option(
        None,
        "Change the weight of this feature. Give one of --feature, --to, --plane, --sensitivity.",
        "--feature NAME",
        WHERE,
    )
    to: str | None = options.option(
        None, "Go on a line from --weights to the weights in this file.", "--to FILE", WHERE
    )
    plane: tuple[str, str] | None = options.option(
        None, "Change the weights of two features freely, and find the best ones.", "--plane NAME NAME", WHERE
    )
    sensitivity: bool = options.option(
        False,
        "For each weight, the range in which the metric is not worse than now by more than chance.",
        "--sensitivity",
        WHERE,
    )
    tolerance: float | None = options.option(
        None, "How much worse --sensitivity allows.", "--tolerance X", WHERE, unless="chance", least=0
    )
    ends: list[str] | None = options.option(
        None, "The part to draw; for a plane LEFT,RIGHT,BOTTOM,TOP.", "--range LOW,HIGH", unless="around the best"
    )
    grid: str | None = options.option(None, "Compare with a grid of points on the plane, such as 6x6.", "--grid NxM")


@command(group="use weights", examples=EXAMPLES)
@data_options(judged=True)
@options_of("way", Way)
@answer_options(
    "The file to write: .png, .svg, .pdf or .csv. [default: CSV on standard output]",
    *SUFFIXES,
    quiet="Do not say what is best, nor that kernels are being compiled.",
)
def surface(data: Data, way: Way, answer: Answer) -> int:
    """Draw the metric along a line or over a plane of weights.

    --sensitivity tells how far each weight may move before the metric is worse.

    As .csv, a line has its intervals, a plane the intervals of each of its rows: exact scores, with the ends between
    which they hold.
    """
    not_together(
        ("--feature", way.feature is not None),
        ("--to", way.to is not None),
        ("--plane", way.plane is not None),
        ("--sensitivity", way.sensitivity),
        needed=True,
    )
    if way.plane is None and way.grid is not None:
        raise InputError("--grid: only for a plane; give --plane NAME NAME, too")
    if way.tolerance is not None and not way.sensitivity:
        raise InputError("--tolerance: only for --sensitivity; give it, too")
    if way.sensitivity and way.ends is not None:
        raise InputError("--range: only for a line or a plane; the view of --sensitivity follows from its ranges")
    view, points = _view(way.ends, 2 if way.plane is None else 4), _grid(way.grid)
    from hulltune.search.problem import Problem
    from hulltune.tuning.surfaces import metric_plane, metric_surface

    missing, threads = data.reading.missing, data.reading.threads
    dataset = read_scored(data, quiet=answer.quiet)
    problem, here = Problem.of(dataset, data.metric), weight_vector(dataset, way.weights, missing=missing)
    if way.sensitivity:
        return _give_ranges(problem, here, way.tolerance, answer)
    if way.plane is not None:
        return _give_plane(metric_plane(problem, here, way.plane, view=view, grid=points, threads=threads), answer)
    to = None if way.to is None else weight_vector(dataset, way.to, missing=missing)
    return _give_line(metric_surface(problem, here, way.feature, to=to), view, answer)


def _give_line(surface: MetricSurface, view: Any, answer: Answer) -> int:
    """Write the surface along a line, and print its best interval."""
    score, left, right = surface.best
    if answer.out is None:
        if not answer.as_json:
            sys.stdout.write(surface.to_csv())
    else:
        _write(answer.out, surface.to_csv, lambda: surface.plot(view=view))
    if answer.as_json:
        ends = {"from": left if isfinite(left) else None, "to": right if isfinite(right) else None}
        print(json.dumps({"score": score, **ends, "intervals": len(surface.scores), "metric": surface.metric}))
    elif answer.out is not None and not answer.quiet:
        print(f"best {score_text(score)} for the {surface.axis} between {left:.6g} and {right:.6g}  {surface.metric}")
    return DONE


def _give_plane(plane: MetricPlane, answer: Answer) -> int:
    """Draw the surface over two weights, and print its optimum."""
    _write(answer.out, plane.to_csv, plane.plot)
    proof = plane.certificate
    if answer.as_json:
        best = dict(zip(plane.axes, plane.best, strict=True))
        trial = plane.best_of_grid
        found = {"score": proof.value, "bound": proof.bound, "weights": best, "metric": proof.metric}
        print(json.dumps({**found, "grid": None if trial is None else trial[2]}))
    elif not answer.quiet:
        place = ", ".join(f"{name} {weight:.6g}" for name, weight in zip(plane.axes, plane.best, strict=True))
        proven = "proven optimal" if proof.is_optimal else f"no weights are better than {score_text(proof.bound)}"
        print(f"best {score_text(proof.value)} at {place}; {proven}  {proof.metric}")
        if plane.best_of_grid is not None:
            print(f"best {score_text(plane.best_of_grid[2])} of {counted(len(plane.grid), 'grid point')}")
    return DONE


def _give_ranges(problem: Problem, weights: Floats, tolerance: float | None, answer: Answer) -> int:
    """Print the range of each weight as a table or JSON; draw them, or write them as CSV."""
    from hulltune.report.figures import plot_sensitivity
    from hulltune.tuning.result import MOST_PANELS
    from hulltune.tuning.sensitivity import range_csv, range_table, sensitivity
    from hulltune.tuning.surfaces import metric_surface

    found = sensitivity(problem, weights, tolerance)
    now = dict(zip(problem.feature_names, weights.tolist(), strict=True))
    names = found.narrowest(MOST_PANELS)
    _write(
        answer.out,
        lambda: range_csv(found, now),
        lambda: plot_sensitivity([metric_surface(problem, weights, name) for name in names], found, names),
    )
    score, metric = problem.score(weights), problem.metric.signature
    if answer.as_json:
        print(json.dumps({"score": score, **asdict(found), "metric": metric}))
        return DONE
    print("\n".join([f"{score_text(score)}  {metric}", *range_table(found, now, len(found.ranges), metric).lines()]))
    return DONE


def _write(out: str | None, table: Callable[[], str], picture: Callable[[], Picture]) -> None:
    """Write the table or the picture, as the name of the file says; nothing without one."""
    if out is not None and Path(out).suffix.lower() == ".csv":
        write_lines([table().removesuffix("\n")], out)
    elif out is not None:
        picture().save(out)


def _grid(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    columns, _, rows = text.lower().partition("x")
    if not (columns.isdigit() and rows.isdigit()):
        raise InputError(f"--grid: got {text!r}; expected columns x rows, such as 6x6")
    return int(columns), int(rows)


def _view(texts: list[str] | None, count: int) -> Any:
    """The ends of the part to draw, of one axis or of two."""
    if texts is None:
        return None
    wanted = "LOW,HIGH (write --range=-1,1)" if count == 2 else "LEFT,RIGHT,BOTTOM,TOP (write --range=-1,1,-2,2)"
    try:
        ends = tuple(float(text) for text in texts)
    except ValueError:
        ends = ()
    if (
        len(ends) != count
        or not all(isfinite(end) for end in ends)
        or any(low >= high for low, high in zip(ends[::2], ends[1::2], strict=True))
    ):
        raise InputError(f"--range: got {','.join(texts)!r}; expected {wanted}")
    return ends
