"""Decode, tune and decode again: scores before and after, and the error surface as a picture.

Run: python examples/decoder/demo.py [FOLDER]
"""

from __future__ import annotations

import argparse
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import hulltune
from decoder import START_WEIGHTS, Decoder, Task, made_task
from hulltune import LoopResult
from hulltune.cli.progress import shown_loop
from hulltune.loop.folder import outputs

SEED = 1


def run(folder: Path, sentences: int = 120, iterations: int = 4) -> None:
    """Tune on one set of sentences; another set shows the gain on unseen ones."""
    folder.mkdir(parents=True, exist_ok=True)
    task, unseen = made_task(sentences, seed=2 * SEED), made_task(sentences, seed=2 * SEED + 1)
    task.write(folder / "dev.de", folder / "dev.en")
    unseen.write(folder / "heldout.de", folder / "heldout.en")
    run_folder = folder / "loop"
    if (run_folder / "state.json").exists():  # a demo never resumes an earlier run
        shutil.rmtree(run_folder)
    with shown_loop(quiet=False) as progress:
        result = hulltune.tune_loop(
            Decoder(task.sources),
            list(task.references),
            start=START_WEIGHTS,
            metric="bleu",
            iterations=iterations,
            least_gain=0.05,
            folder=run_folder,
            heldout=Decoder(unseen.sources, size=1),
            heldout_references=list(unseen.references),
            search=hulltune.Climb(restarts=7),
            seed=SEED,
            progress=progress,
        )
    weights = result.save(folder / "demo.weights.json")
    print(result.summary())
    if result.heldout is not None:
        show_a_sentence_made_right(unseen, run_folder, result)
    print(f"\nthe sentences are in {folder}, what the decoder found in {run_folder},\nthe weights in {weights}")
    if find_spec("matplotlib") is None:
        print("pip install matplotlib for a picture of the error surface")
    elif not result.interrupted:
        picture = folder / "demo.surface.png"
        found = hulltune.read(outputs(run_folder / f"iter-{result.best:03d}"), list(task.references))
        hulltune.metric_surface(found, result.weights, metric="bleu", feature="words").plot().save(picture)
        print(f"the error surface is in {picture}")


def show_a_sentence_made_right(unseen: Task, run_folder: Path, result: LoopResult) -> None:
    """Print the first held-out sentence that tuning made right, if there is one."""
    before, after = (
        hulltune.rerank(outputs(run_folder / f"heldout-iter-{number:03d}"), weights)
        for number, weights in ((1, result.start), (result.best, result.weights))
    )
    for source, reference, first, second in zip(unseen.sources, unseen.references, before, after, strict=True):
        if first != reference and second == reference:
            print(f"\nheld out  {source}\n  start   {first}\n  tuned   {second}")
            return


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Decode, tune and decode again, on made-up sentences.")
    parser.add_argument("folder", nargs="?", type=Path, default=Path("out"), help="where everything is written [out]")
    parser.add_argument("--sentences", type=int, default=120, help="to tune on; as many are held out [120]")
    parser.add_argument("--iterations", type=int, default=4, help="decode and tune at most so many times [4]")
    options = parser.parse_args()
    run(options.folder, options.sentences, options.iterations)
