"""Draw the metric along a weight, between two sets of weights, or over a plane."""

from __future__ import annotations

import argparse
import json
import sys
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hulltune.cli.compiling import say_if_compiling_for
from hulltune.cli.exits import DONE
from hulltune.cli.parser import Parser, add_help, add_lists, comma_separated
from hulltune.cli.progress import number
from hulltune.cli.reading import read_scored, weight_vector
from hulltune.errors import InputError
from hulltune.wording import counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hulltune.search.problem import Problem

USAGE = "LISTS… --weights FILE --feature A|--to FILE|--plane A B"
EXAMPLE = "  hulltune surface dev.gz --ref dev.en --weights w.json --feature lm"
SUFFIXES = (".png", ".svg", ".pdf", ".csv")


def configure(parser: Parser) -> None:
    """The options of ``surface``."""
    add_lists(parser)
    answer = parser.add_argument_group("answer")
    answer.add_argument("--weights", metavar="FILE", required=True, help="JSON, Moses ini, or lines 'name value'")
    along = answer.add_mutually_exclusive_group(required=True)
    along.add_argument("--feature", metavar="NAME", help="vary the weight of this feature")
    along.add_argument("--to", metavar="FILE", help="go from --weights to these weights")
    along.add_argument("--plane", metavar="NAME", nargs=2, help="vary two weights without bounds, find the optimum")
    answer.add_argument("--range", metavar="LOW,HIGH", type=comma_separated, help="what to draw [what matters]")
    answer.add_argument("--grid", metavar="NxM", help="points of a grid over a plane, such as 6x6")
    answer.add_argument("--out", metavar="FILE", help=".png, .svg, .pdf or .csv [CSV on standard output]")
    answer.add_argument("--json", action="store_true", help="print the best interval as JSON")
    answer.add_argument("--quiet", action="store_true", help="no notes")
    add_help(answer)


def run(args: argparse.Namespace) -> int:
    """Compute the surface and write it."""
    out = None if args.out is None else Path(args.out)
    if out is not None and out.suffix not in SUFFIXES:
        raise InputError(f"--out: {args.out!r} has no known suffix; expected one of {', '.join(SUFFIXES)}")
    if args.plane is not None:
        return _plane(args, out)
    return _line(args, out)


def _line(args: argparse.Namespace, out: Path | None) -> int:
    """The surface along one weight or between two sets of them, and its best interval."""
    if args.grid is not None:
        raise InputError("--grid: a grid is drawn over a plane; give --plane NAME NAME")
    view = _view(args.range, 2)
    from hulltune.tuning.surfaces import along_feature, between

    problem, weights = _problem(args)
    if args.feature is not None:
        surface = along_feature(problem, weights[0], args.feature)
    else:
        surface = between(problem, *weights)
    score, left, right = surface.best
    if out is None:
        if not args.json:
            sys.stdout.write(surface.to_csv())
    elif out.suffix == ".csv":
        from hulltune.formats.streams import written_atomically

        with written_atomically(out) as file:
            file.write(surface.to_csv().encode())
    else:
        from hulltune.report.figures import metric_surface_figure, save

        save(metric_surface_figure(surface, view=view), out)
    if args.json:
        ends = {"from": left if isfinite(left) else None, "to": right if isfinite(right) else None}
        print(json.dumps({"score": score, **ends, "intervals": len(surface.scores), "metric": surface.metric}))
    elif out is not None and not args.quiet:
        print(f"best {number(score)} for the {surface.axis} between {left:.6g} and {right:.6g}  {surface.metric}")
    return DONE


def _plane(args: argparse.Namespace, out: Path | None) -> int:
    """The surface over two weights, and its optimum."""
    if out is not None and out.suffix == ".csv":
        raise InputError("--out: a plane is a picture: .png, .svg or .pdf")
    view, grid = _view(args.range, 4), _grid(args.grid)
    from hulltune.tuning.planes import metric_plane

    problem, (weights,) = _problem(args)
    plane = metric_plane(problem, weights, tuple(args.plane), view=view, grid=grid)
    if out is not None:
        from hulltune.report.figures import plane_figure, save

        save(plane_figure(plane), out)
    proof = plane.certificate
    if args.json:
        best = dict(zip(plane.axes, plane.best, strict=True))
        trial = plane.best_of_grid
        answer = {"score": proof.value, "bound": proof.bound, "weights": best, "metric": proof.metric}
        print(json.dumps({**answer, "grid": None if trial is None else trial[2]}))
    elif not args.quiet:
        place = ", ".join(f"{name} {weight:.6g}" for name, weight in zip(plane.axes, plane.best, strict=True))
        proven = "proven optimal" if proof.is_optimal else f"no weights pass {number(proof.bound)}"
        print(f"best {number(proof.value)} at {place}; {proven}  {proof.metric}")
        if plane.best_of_grid is not None:
            print(f"best {number(plane.best_of_grid[2])} of {counted(len(plane.grid), 'grid point')}")
    return DONE


def _problem(args: argparse.Namespace) -> tuple[Problem, list[NDArray[np.float64]]]:
    """What the surface is of, and the weights that it goes through: one set of them, or two."""
    from hulltune.tuning.inputs import problem_of

    lists, data = read_scored(args)
    say_if_compiling_for(args, data, lists=("list_envelopes.list_envelopes",), forests=("envelopes.envelopes",))
    files = [file for file in (args.weights, args.to) if file is not None]
    return problem_of(data, args.metric), [weight_vector(lists, file, missing=args.missing) for file in files]


def _grid(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    columns, _, rows = text.lower().partition("x")
    if not (columns.isdigit() and rows.isdigit()):
        raise InputError(f"--grid: got {text!r}; expected columns x rows, such as 6x6")
    return int(columns), int(rows)


def _view(texts: list[str] | None, count: int) -> Any:
    """The ends of what to draw: of one axis, or of two."""
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
