"""Run the whole loop with the built-in decoder, and draw the error surface."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hulltune.cli.answers import write_lines
from hulltune.cli.compiling import TUNING_FORESTS, TUNING_LISTS, compiling_ahead, say_if_compiling
from hulltune.cli.exits import DONE, INTERRUPTED
from hulltune.cli.parser import Parser, add_help, whole_number
from hulltune.cli.progress import number, shown_progress
from hulltune.errors import InputError

if TYPE_CHECKING:
    from hulltune.data.dataset import Dataset
    from hulltune.loop import LoopResult

USAGE = "[--out FOLDER] [--lists] [--seed N] [options]"
EXAMPLE = "  hulltune demo --out demo"


def configure(parser: Parser) -> None:
    """The options of ``demo``."""
    group = parser.add_argument_group("options")
    group.add_argument("--out", metavar="FOLDER", default="out", help="where everything goes [out]")
    group.add_argument("--sentences", metavar="N", type=whole_number, default=120, help="to tune on [120]")
    group.add_argument("--iterations", metavar="N", type=whole_number, default=4, help="of the loop, at most [4]")
    group.add_argument("--forest", action="store_true", help="tune on the decoder's forests, not on lists")
    group.add_argument("--lists", action="store_true", help="no decoder: rerank lists whose best weights are known")
    group.add_argument("--candidates", metavar="N", type=whole_number, default=40, help="with --lists: of each [40]")
    group.add_argument("--seed", metavar="N", type=whole_number, default=1, help="of the task and the search [1]")
    group.add_argument("--quiet", action="store_true", help="no progress")
    add_help(group)


def run(args: argparse.Namespace) -> int:
    """Make up a task, tune, tell, and draw."""
    folder = Path(args.out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out: {folder}: cannot be made a folder ({error.strerror})") from None
    say_if_compiling(args.quiet, TUNING_FORESTS if args.forest and not args.lists else TUNING_LISTS)
    with compiling_ahead():
        return _lists_demo(args, folder) if args.lists else _loop_demo(args, folder)


def _loop_demo(args: argparse.Namespace, folder: Path) -> int:
    """Decode → tune → decode … on one set of sentences; another shows what it was worth."""
    from hulltune.cli.loop import loop_summary
    from hulltune.cli.loop_progress import shown_loop
    from hulltune.demo import START_WEIGHTS, BuiltInDecoder, built_in_task
    from hulltune.loop import tune_loop
    from hulltune.tuning.inputs import as_dataset

    task, unseen = (built_in_task(args.sentences, seed=2 * args.seed + part) for part in (0, 1))
    for name, made in (("dev", task), ("heldout", unseen)):
        write_lines(made.sources, folder / f"{name}.de")
        write_lines(made.references, folder / f"{name}.en")
    decoder = BuiltInDecoder(task.sources, forests=args.forest)
    heldout = BuiltInDecoder(unseen.sources, size=1, forests=args.forest)
    run_folder = folder / "loop"
    if (run_folder / "state.json").exists():  # a demo starts anew
        shutil.rmtree(run_folder)
    with shown_loop(quiet=args.quiet) as progress:
        result = tune_loop(
            decoder,
            list(task.references),
            start=START_WEIGHTS,
            metric="bleu",
            iterations=args.iterations,
            least_gain=0.05,
            folder=run_folder,
            heldout=heldout,
            heldout_references=list(unseen.references),
            restarts=7,
            seed=args.seed,
            progress=progress,
        )
    result.save(folder / "demo.weights.json")
    print(loop_summary(result))
    if result.heldout is not None:
        print(_translations(unseen.sources, unseen.references, run_folder, result))
    print(f"\nthe sentences are in {folder}, what the decoder found in {run_folder},")
    print(f"the weights in {folder / 'demo.weights.json'}")
    if not result.interrupted:
        data = as_dataset(_everything_found(result, run_folder), list(task.references))
        _draw(data, "bleu", result.weights, "words", folder / "demo.surface.png")
    return INTERRUPTED if result.interrupted else DONE


def _translations(sources: Sequence[str], references: Sequence[str], run_folder: Path, result: LoopResult) -> str:
    """The first held-out sentence that tuning made right."""
    from hulltune.formats import read
    from hulltune.loop.folder import outputs
    from hulltune.tuning import rerank

    before, after = (
        rerank(read(outputs(run_folder / f"heldout-iter-{k:03d}")), weights)
        for k, weights in ((1, result.start), (result.best, result.weights))
    )
    for source, reference, first, second in zip(sources, references, before, after, strict=True):
        if first != reference and second == reference:
            return f"\nheld out  {source}\n  start   {first}\n  tuned   {second}"
    return ""


def _everything_found(result: LoopResult, run_folder: Path) -> Dataset:
    """All that the decoder found in all iterations."""
    from hulltune.formats import read
    from hulltune.loop.folder import outputs
    from hulltune.loop.hypotheses import Hypotheses

    found = Hypotheses()
    for record in result.iterations:
        files = outputs(run_folder / f"iter-{record.number:03d}")
        found = found.added(read(files), files)
    return found.union


def _lists_demo(args: argparse.Namespace, folder: Path) -> int:
    """Tune a simulated reranking task, whose best weights are known."""
    from hulltune.formats import write_jsonl
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
    _draw(task.lists, "wer", result.weights, "backward", folder / "demo.surface.png")
    return INTERRUPTED if result.interrupted else DONE


def _draw(data: Dataset, metric: str, weights: Mapping[str, float], feature: str, path: Path) -> None:
    """The metric along the weight of a feature, where there is something to draw with."""
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        print("pip install 'hulltune[figures]' for the error surface")
        return
    from hulltune.data.forest import feature_vector
    from hulltune.report.figures import metric_surface_figure, save
    from hulltune.tuning.inputs import problem_of
    from hulltune.tuning.surfaces import along_feature

    problem = problem_of(data, metric)
    vector = feature_vector(dict(weights), problem.feature_names, "weights")
    save(metric_surface_figure(along_feature(problem, vector, feature)), path)
    print(f"the error surface is in {path}")
