"""Tune a simulated task, whose best weights are known, and draw its surface."""

from __future__ import annotations

import argparse
from pathlib import Path

from hulltune.cli.compiling import say_if_compiling
from hulltune.cli.parser import Parser, add_help, whole_number
from hulltune.cli.progress import number, shown_progress
from hulltune.errors import InputError

USAGE = "[--out FOLDER] [--seed N] [options]"
EXAMPLE = "  hulltune demo --out demo"


def configure(parser: Parser) -> None:
    """The options of ``demo``."""
    group = parser.add_argument_group("options")
    group.add_argument("--out", metavar="FOLDER", default="out", help="where lists, weights and figure go [out]")
    group.add_argument("--sentences", metavar="N", type=whole_number, default=200, help="to tune on [200]")
    group.add_argument("--candidates", metavar="N", type=whole_number, default=40, help="of each sentence [40]")
    group.add_argument("--seed", metavar="N", type=whole_number, default=1, help="of the task and the search [1]")
    group.add_argument("--quiet", action="store_true", help="no progress")
    add_help(group)


def run(args: argparse.Namespace) -> int:
    """Simulate, tune, tell, and draw."""
    folder = Path(args.out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out: {folder}: cannot be made a folder ({error.strerror})") from None
    say_if_compiling(args.quiet)
    from hulltune.io import write_jsonl
    from hulltune.report.summary import summary
    from hulltune.simulate import simulated_task
    from hulltune.tuning import score, tune

    task = simulated_task(sentences=args.sentences, candidates=args.candidates, seed=args.seed)
    unseen = simulated_task(sentences=args.sentences, candidates=args.candidates, seed=args.seed + 1)
    write_jsonl(task.lists, folder / "demo.jsonl")
    with shown_progress(quiet=args.quiet) as progress:
        result = tune(task.lists, metric="wer", seed=args.seed, heldout=unseen.lists, others=(), progress=progress)
    weights = result.save(folder / "demo.weights.json")
    print(summary(result))
    known = score(task.lists, task.optimum, metric="wer")
    share = (result.baseline - result.score) / (result.baseline - known) if result.baseline != known else 1.0
    print(f"\nknown optimum {number(known)}: tuning found {share:.1%} of the possible gain")
    print(f"the lists are in {folder / 'demo.jsonl'}, the weights in {weights}")
    figure = _draw(task.lists, result.weights, folder / "demo.surface.png")
    print(f"the error surface is in {figure}" if figure else "pip install 'hulltune[figures]' for the error surface")
    return 0


def _draw(lists: object, weights: object, path: Path) -> Path | None:
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        return None
    from hulltune.forest.forest import feature_vector
    from hulltune.report.figures import metric_surface_figure, save
    from hulltune.tuning.inputs import list_data
    from hulltune.tuning.surfaces import along_feature

    problem = list_data(lists).problem("wer")
    vector = feature_vector(weights, problem.feature_names, "weights")
    return save(metric_surface_figure(along_feature(problem, vector, "backward")), path)
