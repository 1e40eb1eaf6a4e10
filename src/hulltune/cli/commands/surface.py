"""``hulltune surface``: the metric along a line, over a plane, or around all weights."""

from __future__ import annotations

import json
import sys
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hulltune.cli.answers import DONE
from hulltune.cli.help import command
from hulltune.cli.options import (
    ANSWER,
    DataOptions,
    data_options,
    json_option,
    not_together,
    option,
    out_option,
    quiet_option,
    weights_option,
)
from hulltune.cli.reading import read_scored, weight_vector
from hulltune.cli.values import NAMES, Number
from hulltune.errors import InputError
from hulltune.wording import counted, score_text

if TYPE_CHECKING:
    from hulltune.arrays import Floats
    from hulltune.metrics import Metric
    from hulltune.search.problem import Problem
    from hulltune.tuning.planes import MetricPlane
    from hulltune.tuning.surfaces import MetricSurface

EXAMPLES = """\
hulltune surface dev.gz --ref dev.en --weights w.json --feature lm
hulltune surface dev.gz -r dev.en -w w.json --plane lm words -o p.svg
hulltune surface dev.gz -r dev.en -w w.json --sensitivity --tolerance 0.1"""
SUFFIXES = (".png", ".svg", ".pdf", ".csv")
WHERE = "where to go"


@command(group="use weights", examples=EXAMPLES)
@data_options(judged=True)
@weights_option(WHERE)
@option(
    WHERE, "--feature NAME", "Change the weight of this feature. Give one of --feature, --to, --plane, --sensitivity."
)
@option(WHERE, "--to FILE", "Go on a line from --weights to the weights in this file.")
@option(WHERE, "--plane NAME NAME", "Change the weights of two features freely, and find the best ones.", nargs=2)
@option(WHERE, "--sensitivity", "For each weight, the range in which the metric is at most --tolerance worse than now.")
@option(WHERE, "--tolerance X", "The tolerance of --sensitivity. [default: 0.1 %]", type=Number(0))
@option(
    ANSWER,
    "--range LOW,HIGH",
    "The part to draw; for a plane LEFT,RIGHT,BOTTOM,TOP. [default: around the best]",
    name="ends",
    type=NAMES,
)
@option(ANSWER, "--grid NxM", "Compare with a grid of points on the plane, such as 6x6.")
@out_option("The file to write: .png, .svg, .pdf or .csv. [default: CSV on standard output]")
@json_option
@quiet_option("Do not say what is best, nor that kernels are being compiled.")
def surface(
    data: DataOptions,
    ref: tuple[str, ...],
    metric: Metric,
    weights: str,
    feature: str | None,
    to: str | None,
    plane: tuple[str, str] | None,
    sensitivity: bool,
    tolerance: float | None,
    ends: list[str] | None,
    grid: str | None,
    out: str | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Draw the metric along a line or over a plane of weights.

    --sensitivity tells how far each weight may move before the metric is worse.

    As .csv, a line has its intervals, a plane the intervals of each of its rows: exact scores, with the ends between
    which they hold.
    """
    not_together(
        ("--feature", feature is not None), ("--to", to is not None), ("--plane", plane is not None),
        ("--sensitivity", sensitivity), needed=True,
    )  # fmt: skip
    picture = None if out is None else Path(out)
    if picture is not None and picture.suffix not in SUFFIXES:
        raise InputError(f"--out: {out!r} has no known suffix; expected one of {', '.join(SUFFIXES)}")
    if plane is None and grid is not None:
        raise InputError("--grid: only for a plane; give --plane NAME NAME, too")
    if tolerance is not None and not sensitivity:
        raise InputError("--tolerance: only for --sensitivity; give it, too")
    if sensitivity and ends is not None:
        raise InputError("--range: only for a line or a plane; the view of --sensitivity follows from its ranges")
    view, points = _view(ends, 2 if plane is None else 4), _grid(grid)
    from hulltune.search.problem import Problem
    from hulltune.tuning.planes import metric_plane
    from hulltune.tuning.surfaces import along_feature, between

    dataset = read_scored(data, ref, metric, quiet=quiet)
    problem, here = Problem.of(dataset, metric), weight_vector(dataset, weights, missing=data.missing)
    if sensitivity:
        return _give_ranges(problem, here, tolerance, picture, as_json)
    if plane is not None:
        return _give_plane(
            metric_plane(problem, here, plane, view=view, grid=points, threads=data.threads), picture, as_json, quiet
        )
    if feature is not None:
        line = along_feature(problem, here, feature)
    else:
        assert to is not None
        line = between(problem, here, weight_vector(dataset, to, missing=data.missing))
    return _give_line(line, view, picture, as_json, quiet)


def _give_line(surface: MetricSurface, view: Any, out: Path | None, as_json: bool, quiet: bool) -> int:
    """Write the surface along a line, and print its best interval."""
    score, left, right = surface.best
    if out is None:
        if not as_json:
            sys.stdout.write(surface.to_csv())
    elif out.suffix == ".csv":
        _write(surface.to_csv(), out)
    else:
        surface.plot(view=view).save(out)
    if as_json:
        ends = {"from": left if isfinite(left) else None, "to": right if isfinite(right) else None}
        print(json.dumps({"score": score, **ends, "intervals": len(surface.scores), "metric": surface.metric}))
    elif out is not None and not quiet:
        print(f"best {score_text(score)} for the {surface.axis} between {left:.6g} and {right:.6g}  {surface.metric}")
    return DONE


def _give_plane(plane: MetricPlane, out: Path | None, as_json: bool, quiet: bool) -> int:
    """Draw the surface over two weights, and print its optimum."""
    if out is not None and out.suffix == ".csv":
        _write(plane.to_csv(), out)
    elif out is not None:
        plane.plot().save(out)
    proof = plane.certificate
    if as_json:
        best = dict(zip(plane.axes, plane.best, strict=True))
        trial = plane.best_of_grid
        answer = {"score": proof.value, "bound": proof.bound, "weights": best, "metric": proof.metric}
        print(json.dumps({**answer, "grid": None if trial is None else trial[2]}))
    elif not quiet:
        place = ", ".join(f"{name} {weight:.6g}" for name, weight in zip(plane.axes, plane.best, strict=True))
        proven = "proven optimal" if proof.is_optimal else f"no weights are better than {score_text(proof.bound)}"
        print(f"best {score_text(proof.value)} at {place}; {proven}  {proof.metric}")
        if plane.best_of_grid is not None:
            print(f"best {score_text(plane.best_of_grid[2])} of {counted(len(plane.grid), 'grid point')}")
    return DONE


def _give_ranges(problem: Problem, weights: Floats, tolerance: float | None, out: Path | None, as_json: bool) -> int:
    """Print the range of each weight as a table or JSON; draw them, or write them as CSV."""
    from hulltune.report.figures import plot_sensitivity
    from hulltune.tuning.plotting import MOST_PANELS
    from hulltune.tuning.sensitivity import range_csv, range_table, sensitivity
    from hulltune.tuning.surfaces import along_feature

    found = sensitivity(problem, weights, tolerance)
    now = dict(zip(problem.feature_names, weights.tolist(), strict=True))
    if out is not None and out.suffix == ".csv":
        _write(range_csv(found, now), out)
    elif out is not None:
        names = found.narrowest(MOST_PANELS)
        plot_sensitivity([along_feature(problem, weights, name) for name in names], found, names).save(out)
    score, metric = problem.score(weights), problem.metric.signature
    if as_json:
        ranges = {name: list(ends) for name, ends in found.ranges.items()}
        print(json.dumps({"score": score, "tolerance": found.tolerance, "ranges": ranges, "metric": metric}))
        return DONE
    print("\n".join([f"{score_text(score)}  {metric}", *range_table(found, now, len(found.ranges)).lines()]))
    return DONE


def _write(text: str, path: Path) -> None:
    from hulltune.formats.writing import written_atomically

    with written_atomically(path) as file:
        file.write(text.encode())


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
