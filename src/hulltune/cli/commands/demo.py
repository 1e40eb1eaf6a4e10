"""``hulltune demo``: the whole loop with the built-in decoder."""

from __future__ import annotations

from pathlib import Path

from hulltune.cli.answers import DONE, INTERRUPTED
from hulltune.cli.help import command
from hulltune.cli.options import option, quiet_option
from hulltune.cli.progress import shown_loop, shown_progress
from hulltune.cli.values import COUNT
from hulltune.errors import InputError

EXAMPLES = """\
hulltune demo --out demo
hulltune demo --lists --sentences 500"""
TASK = "task"


@command(group="get started", examples=EXAMPLES)
@option(TASK, "-o, --out FOLDER", "The folder for everything that the demo writes.", default="out")
@option(TASK, "--sentences N", "The number of sentences to tune on. As many are held out.", type=COUNT, default=120)
@option(TASK, "--iterations N", "Decode and tune at most N times.", type=COUNT, default=4)
@option(TASK, "--forest", "Tune on forests, not on lists.")
@option(TASK, "--lists", "Tune lists whose best weights are known, without the decoder.")
@option(TASK, "--candidates N", "The number of candidates in each list of --lists.", type=COUNT, default=40)
@option(TASK, "-s, --seed N", "The seed of the sentences and of the search.", type=COUNT, default=1)
@quiet_option()
def demo(
    out: str, sentences: int, iterations: int, forest: bool, lists: bool, candidates: int, seed: int, quiet: bool
) -> int:
    """Run the loop with the built-in decoder, and draw the surface."""
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out: {folder}: cannot be made a folder ({error.strerror})") from None
    from hulltune.demo.showing import tune_decoder, tune_lists

    if lists:
        with shown_progress(quiet=quiet) as progress:
            shown = tune_lists(folder, sentences=sentences, candidates=candidates, seed=seed, progress=progress)
    else:
        with shown_loop(quiet=quiet) as loop_progress:
            shown = tune_decoder(
                folder,
                sentences=sentences,
                iterations=iterations,
                forests=forest,
                seed=seed,
                progress=loop_progress,
            )
    print(shown.text)
    if lists or not shown.interrupted:
        print(shown.draw(folder / "demo.surface.png"))
    return INTERRUPTED if shown.interrupted else DONE
