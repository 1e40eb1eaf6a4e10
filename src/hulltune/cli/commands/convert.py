"""``hulltune convert``: lists or forests in another format, packed, or smaller."""

from __future__ import annotations

import os

from hulltune.cli.command import DONE, command, note
from hulltune.cli.files import read, weights_for
from hulltune.cli.options import Answer, Data, answer_options, argument, data_options, option, weights_option
from hulltune.cli.values import Number, OneOf, Written
from hulltune.errors import InputError
from hulltune.names import WRITERS
from hulltune.options import ANSWER, DATA
from hulltune.wording import counted

EXAMPLES = """\
hulltune convert dev.nbest.gz dev.hull --features words
hulltune convert lattices/ dev.forest.gz --to forest
hulltune convert lattices/ small.hull --beam 20 --weights w.json"""


@command(group="work with lists and forests", examples=EXAMPLES)
@data_options("LISTS…")
@argument(
    DATA, "out", "OUT", "The file to write, or a folder for files of slf or openfst-text.", type=Written(folder=True)
)
@option(
    ANSWER,
    "--to FORMAT",
    f"The format to write: {', '.join(WRITERS)}. [default: the one that OUT's name tells]",
    type=OneOf("format to write", WRITERS),
)
@option(ANSWER, "--beam B", "Keep only edges that are part of a derivation within B of the best.", type=Number())
@option(ANSWER, "--density D", "Keep at most D edges for each word of the best output.", type=Number())
@weights_option(ANSWER, "The weights by which --beam and --density find the best.", required=False)
@answer_options(quiet="Do not say what was written.", json=False)
def convert(
    data: Data,
    out: str,
    to: str | None,
    beam: float | None,
    density: float | None,
    weights: str | None,
    answer: Answer,
) -> int:
    """Write lists or forests in another format, or make forests smaller.

    A packed file (OUT.hull) holds all that was read, and opens at once.
    """
    from hulltune.formats.write import write, writer_for

    name = writer_for(out, to)
    prunes = beam is not None or density is not None
    if prunes != (weights is not None):
        raise InputError("--beam, --density, --weights: pruning needs weights, and weights are only for pruning")
    given = read(data, quiet=answer.quiet)
    if weights is not None:
        from hulltune.tuning.pruning import prune

        found = weights_for(given, weights, missing=data.reading.missing)
        pruning = prune(given, found, beam=beam, density=density, threads=data.reading.threads)
        given = pruning.dataset
        if not answer.quiet:
            note(str(pruning))
    write(given, out, name)
    if not answer.quiet:
        size = f", {os.path.getsize(out):,} bytes" if os.path.isfile(out) else ""
        note(f"{out}: {counted(len(given), 'sentence')}, as {name}{size}")
    return DONE
