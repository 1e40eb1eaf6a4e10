"""The options of a tuning run, which several commands have: constraints on the weights, and how to search."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from hulltune.cli.parser import (
    Parser,
    comma_separated,
    named_number,
    named_sign,
    show_together,
    whole_number,
)
from hulltune.defaults import DIRECTIONS, RESTARTS
from hulltune.errors import InputError
from hulltune.names import POLICIES, SCALES, SEARCHES, SMOOTHINGS


def add_constraints(group: Any, parser: Parser) -> None:
    """What the weights may be."""
    held = group.add_argument("--fix", action="append", type=named_number, help="hold or bound a weight")
    group.add_argument("--min", metavar="NAME=V", action="append", type=named_number, help=argparse.SUPPRESS)
    group.add_argument("--max", metavar="NAME=V", action="append", type=named_number, help=argparse.SUPPRESS)
    show_together(held, "--fix, --min, --max NAME=V")
    group.add_argument("--sign", metavar="NAME=+", action="append", type=named_sign, help="+ or -: only that, or 0")
    some = group.add_argument("--free", type=comma_separated, help="tune only these; one weight for all of these")
    group.add_argument("--tie", metavar="NAME,NAME", action="append", type=comma_separated, help=argparse.SUPPRESS)
    show_together(some, "--free, --tie NAME,NAME")
    group.add_argument("--scale", metavar="NORM", default="l1", help="norm of the weights: l1, l2 or none [l1]")
    parser.offer("--scale", SCALES)


def add_search(group: Any, parser: Parser) -> None:
    """How the weights are searched."""
    group.add_argument(
        "--search", metavar="NAME", default="random", help="random, coordinate, powell, gradient, certified"
    )
    parser.offer("--search", SEARCHES)
    effort = group.add_argument(
        "--restarts",
        type=whole_number,
        default=RESTARTS,
        help=f"climbs beside the first [{RESTARTS}], lines a round [{DIRECTIONS}]",
    )
    group.add_argument("--directions", metavar="N", type=whole_number, default=DIRECTIONS, help=argparse.SUPPRESS)
    show_together(effort, "--restarts, --directions N")
    step = group.add_argument("--policy", default="middle", help="middle, closest or widest; none, min or mean")
    parser.offer("--policy", POLICIES)
    group.add_argument("--smoothing", metavar="NAME", default="none", help=argparse.SUPPRESS)
    parser.offer("--smoothing", SMOOTHINGS)
    show_together(step, "--policy, --smoothing NAME")
    chance = group.add_argument(
        "--seed", type=whole_number, default=1, help="decides the result [1]; changes only the time"
    )
    group.add_argument("--threads", metavar="N", type=whole_number, help=argparse.SUPPRESS)
    show_together(chance, "--seed, --threads N")


def constraint_options(args: argparse.Namespace) -> dict[str, Any]:
    """The constraints as ``tune`` and ``tune_loop`` take them."""
    return {
        "free": args.free,
        "fixed": _by_name("--fix", args.fix),
        "minimum": _by_name("--min", args.min),
        "maximum": _by_name("--max", args.max),
        "signs": _by_name("--sign", args.sign),
        "tied": args.tie or (),
        "scale": args.scale,
    }


def search_options(args: argparse.Namespace) -> dict[str, Any]:
    """The search as ``tune`` and ``tune_loop`` take it."""
    names = ("search", "restarts", "directions", "policy", "smoothing", "seed", "threads")
    return {name: getattr(args, name) for name in names}


def check_tuning(args: argparse.Namespace, *, metrics: Sequence[str]) -> None:
    """Find typing errors before a large file is read, or a decoder is run."""
    from hulltune.metrics import get_metric
    from hulltune.search.constraints import Constraints
    from hulltune.search.optimise import SearchOptions
    from hulltune.search.policies import Policy

    for metric in metrics:
        get_metric(metric)
    SearchOptions(search=args.search, policy=Policy(args.policy, smoothing=args.smoothing))
    Constraints(scale=args.scale).compile(())


def _by_name(option: str, pairs: list[tuple[str, Any]] | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs or []:
        if name in found:
            raise InputError(f"{option}: {name!r} is given twice")
        found[name] = value
    return found
