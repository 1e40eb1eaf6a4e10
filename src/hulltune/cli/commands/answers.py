"""``hulltune answers``: import the answers to the questions of a metric that waits for them."""

from __future__ import annotations

import json
import shlex

from hulltune.cli.command import DONE, command, note
from hulltune.cli.options import Answer, answer_options, argument, option
from hulltune.cli.values import FILE, Written
from hulltune.options import ANSWER, DATA
from hulltune.wording import counted

EXAMPLES = """\
hulltune tune dev.jsonl --metric ask --store ratings.sqlite
hulltune answers questions.jsonl --store ratings.sqlite"""


@command(group="tune weights", examples=EXAMPLES)
@argument(
    DATA,
    "files",
    "FILE…",
    'Questions of a run, with a number at each "answer"; null leaves one open.',
    nargs=-1,
    required=True,
    type=FILE,
)
@option(ANSWER, "--store FILE", "The store of the run that asked.", required=True, type=Written())
@answer_options(quiet="Do not say what was imported.")
def answers(files: tuple[str, ...], store: str, answer: Answer) -> int:
    """Import the answers to the questions of a metric that waits for them."""
    import os

    from hulltune.errors import InputError
    from hulltune.metrics import Store, import_answers

    if not os.path.exists(store):
        raise InputError(f"--store: there is no {store}; expected the store of the run that asked the questions")
    with Store(store) as kept:
        found = [import_answers(kept, file) for file in files]
        still_asked = len(kept.questions())
    answered, open_ones = sum(each.answered for each in found), sum(each.still_open for each in found)
    if answer.as_json:
        print(json.dumps({"answered": answered, "open": open_ones, "open_in_store": still_asked}))
    elif not answer.quiet:
        names = " ".join(map(shlex.quote, files))
        left = f"; {counted(open_ones, 'question')} of {names} without one" if open_ones else ""
        note(f"{counted(answered, 'answer')} imported into {store}{left}; now run the command that asked again")
    return DONE
