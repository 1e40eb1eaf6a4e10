"""Make up sentences, and translate them: ``python examples/decoder COMMAND --help``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).parents[1]))  # a folder that is run as a program is not a package of its own

import hulltune
from decoder import START_WEIGHTS, Decoder, made_task
from decoder.decoding import BEAM
from hulltune.errors import InputError

FORMATS = {"lists": "moses", "lattices": "slf", "forests": "forest"}


@click.group()
def decoder() -> None:
    """A small decoder from German to English."""


@decoder.command()
@click.argument("count", type=click.IntRange(1))
@click.option("-i", "--input", "source", required=True, help="The file for the German sentences.")
@click.option("-r", "--ref", required=True, help="The file for their translations.")
@click.option("-w", "--weights", help="A file for the first weights of the decoder, as JSON.")
@click.option("-s", "--seed", default=1, show_default=True, help="Other seeds give other sentences.")
def make(count: int, source: str, ref: str, weights: str | None, seed: int) -> None:
    """Make up COUNT sentences, with their translations."""
    files = [os.path.realpath(name) for name in (source, ref, weights) if name is not None]
    if len(set(files)) < len(files):
        raise InputError("--input, --ref, --weights: expected different files")
    task = made_task(count, seed=seed)
    task.write(source, ref)
    if weights is not None:
        hulltune.write_weights(START_WEIGHTS, weights)


@decoder.command()
@click.option("-i", "--input", "source", required=True, help="The German sentences, one per line.")
@click.option("-o", "--output", required=True, help="The file to write; for lattices, a folder.")
@click.option("-w", "--weights", help="The weights of the decoder.  [default: 1 for probabilities, 0 for the others]")
@click.option(
    "-n", "--nbest", type=click.IntRange(1), default=100, show_default=True, help="How many for each sentence."
)
@click.option("--lattice", "form", flag_value="lattices", help="Write lattices (SLF) of all that the beam kept.")
@click.option("--forest", "form", flag_value="forests", help="Write forests (as text) of all that the beam kept.")
@click.option(
    "--beam", type=click.IntRange(1), default=BEAM, show_default=True, help="Items kept per category and span."
)
def translate(source: str, output: str, weights: str | None, nbest: int, form: str | None, beam: int) -> None:
    """Translate sentences: by default, into lists in the format of Moses."""
    form = form or "lists"
    translations = Decoder(source, size=nbest, form=form, beam=beam)(
        START_WEIGHTS if weights is None else hulltune.read_weights(weights)
    )
    hulltune.write(translations, output, FORMATS[form])


if __name__ == "__main__":
    try:
        decoder(prog_name="decoder")
    except InputError as error:
        sys.exit(f"decoder: {error}")
