"""``hulltune decode``: translate with the built-in decoder."""

from __future__ import annotations

from hulltune.cli.answers import DONE, note, note_left_out, write_lines
from hulltune.cli.help import command
from hulltune.cli.options import ANSWER, DATA, not_together, option, weights_option
from hulltune.cli.overwriting import refuse_overwriting
from hulltune.cli.values import COUNT, DERIVATIONS, WRITTEN
from hulltune.defaults import BEAM
from hulltune.errors import InputError
from hulltune.wording import counted

EXAMPLES = """\
hulltune decode --make 100 --input dev.de --ref dev.en
hulltune decode --input dev.de --weights w.json --output dev.nbest"""
BEST = 100


@command(group="get started", examples=EXAMPLES)
@option(DATA, "-i, --input FILE", "The German sentences to translate, one per line.", name="source", required=True)
@weights_option(DATA, "The weights of the decoder. [default: 1 for probabilities, 0 for all others]", required=False)
@option(DATA, "-o, --output FILE", "The file to write.", type=WRITTEN)
@option(
    DATA,
    "--make N",
    "Do not translate: make up N sentences, and write them to --input and their references to --ref.",
    type=COUNT,
)
@option(DATA, "-r, --ref FILE", "The file for the references of --make.")
@option(DATA, "-s, --seed N", "The seed of --make.", type=COUNT, default=1)
@option(
    ANSWER,
    "-n, --nbest K",
    f"Write the K best translations of each sentence as a Moses list. [default: {BEST}]",
    type=DERIVATIONS,
)
@option(ANSWER, "--lattice", "Write lattices (SLF) of all that the beam kept, into a folder.")
@option(ANSWER, "--forest", "Write forests of all that the beam kept, into one text file.")
@option(
    ANSWER,
    "--beam N",
    "The number of items that the decoder keeps for each category and span.",
    type=COUNT,
    default=BEAM,
)
def decode(
    source: str,
    weights: str | None,
    output: str | None,
    make: int | None,
    ref: str | None,
    seed: int,
    nbest: int | None,
    lattice: bool,
    forest: bool,
    beam: int,
) -> int:
    """Translate with the small built-in decoder."""
    not_together(("--nbest", nbest is not None), ("--lattice", lattice), ("--forest", forest))
    if make is not None:
        return _write_task(source, ref, make, seed)
    if output is None:
        raise InputError("--output: expected a file for the translations, got none")
    from hulltune.demo import (
        START_WEIGHTS,
        built_in_translator,
        translate_to_forests,
        translate_to_lattices,
        translate_to_lists,
    )
    from hulltune.formats import read_weights
    from hulltune.formats.forest_files import NamedForest
    from hulltune.formats.forest_text import write_forest_text
    from hulltune.formats.moses import write_moses
    from hulltune.formats.slf import write_slf
    from hulltune.formats.streams import Problems, numbered_lines

    sentences = [line for _, line in numbered_lines(source, Problems())]
    chosen = START_WEIGHTS if weights is None else read_weights(weights)
    translator = built_in_translator(beam=beam)
    if forest:
        forests = translate_to_forests(translator, sentences, chosen)
        write_forest_text(output, (NamedForest(each, str(number)) for number, each in enumerate(forests)))
    elif lattice:
        lattices = list(translate_to_lattices(translator, sentences, chosen))
        write_slf(output, (NamedForest(each.forest, str(number)) for number, each in enumerate(lattices)))
        note_left_out({number: each.left_out for number, each in enumerate(lattices) if each.left_out})
    else:
        write_moses(translate_to_lists(translator, sentences, chosen, size=nbest or BEST), output)
    return DONE


def _write_task(source: str, ref: str | None, sentences: int, seed: int) -> int:
    from hulltune.demo import built_in_task

    if ref is None:
        raise InputError("--make: writes sentences and references; give --ref FILE for the references, too")
    refuse_overwriting([], [("--input", source), ("--ref", ref)])
    task = built_in_task(sentences, seed=seed)
    write_lines(task.sources, source)
    write_lines(task.references, ref)
    note(f"wrote {counted(len(task.sources), 'sentence')} to {source}, and the references to {ref}")
    return DONE
