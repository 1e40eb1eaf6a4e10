"""``hulltune demo``: tune lists whose best weights are known."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from hulltune.cli.command import DONE, INTERRUPTED, command
from hulltune.cli.options import Answer, answer_options, option
from hulltune.cli.progress import shown_progress
from hulltune.cli.values import COUNT
from hulltune.errors import InputError
from hulltune.wording import score_text

EXAMPLES = """\
hulltune demo --out demo
hulltune demo --sentences 500"""
TASK = "task"


@command(group="get started", examples=EXAMPLES)
@option(TASK, "-o, --out FOLDER", "The folder for everything that the demo writes.", default="out")
@option(TASK, "--sentences N", "The number of sentences to tune on. As many are held out.", type=COUNT, default=120)
@option(TASK, "--candidates N", "The number of candidates of each sentence.", type=COUNT, default=40)
@option(TASK, "-s, --seed N", "The seed of the lists and of the search.", type=COUNT, default=1)
@answer_options(quiet="Do not show progress.", json=False)
def demo(out: str, sentences: int, candidates: int, seed: int, answer: Answer) -> int:
    """Tune made-up lists whose best weights are known, and draw the surface."""
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out: {folder}: cannot be made a folder ({error.strerror})") from None
    from hulltune.formats import write_jsonl
    from hulltune.simulate import simulated_task
    from hulltune.tuning import score, tune
    from hulltune.tuning.surfaces import metric_surface

    task = simulated_task(sentences=sentences, candidates=candidates, seed=seed)
    unseen = simulated_task(sentences=sentences, candidates=candidates, seed=seed + 1)
    lists, weights, picture = (folder / f"demo.{end}" for end in ("jsonl", "weights.json", "surface.png"))
    write_jsonl(task.lists, lists)
    with shown_progress(quiet=answer.quiet) as progress:
        result = tune(task.lists, metric="wer", seed=seed, heldout=unseen.lists, also=(), progress=progress)
    result.save(weights)
    print(result.summary())
    known = score(task.lists, task.optimum, metric="wer")
    share = (result.baseline - result.score) / (result.baseline - known) if result.baseline != known else 1.0
    print(f"\nknown optimum {score_text(known)}: tuning found {share:.1%} of the possible gain")
    print(f"the lists are in {lists}, the weights in {weights}")
    if find_spec("matplotlib") is None:
        print("pip install matplotlib for a picture of the error surface")
    else:
        metric_surface(task.lists, result.weights, "backward", metric="wer").plot().save(picture)
        print(f"the error surface is in {picture}")
    return INTERRUPTED if result.interrupted else DONE
