"""Write lists or forests in another format, and make forests smaller."""

from __future__ import annotations

import argparse

from hulltune.cli.compiling import say_if_compiling
from hulltune.cli.exits import DONE
from hulltune.cli.parser import Parser, add_help, add_lists
from hulltune.cli.reading import note, read, weights_for
from hulltune.errors import InputError
from hulltune.names import WRITERS
from hulltune.wording import counted

USAGE = "IN… OUT [--to FORMAT] [--beam B] [options]"
EXAMPLE = """  hulltune convert lattices/ dev.forest.gz --to forest
  hulltune convert lattices/ small.hull --beam 20 --weights w.json"""


def configure(parser: Parser) -> None:
    """The options of ``convert``."""
    add_lists(parser, references=False)
    answer = parser.add_argument_group("answer")
    answer.add_argument("out", metavar="OUT", help="a file; a folder for several of slf, openfst-text")
    answer.add_argument("--to", metavar="FORMAT", help=f"{', '.join(WRITERS)}")
    answer.add_argument("--beam", metavar="B", type=float, help="keep edges at most B below the best derivation")
    answer.add_argument("--density", metavar="D", type=float, help="keep at most D edges a word of the best output")
    answer.add_argument("--weights", metavar="FILE", help="what is best, for --beam and --density")
    answer.add_argument("--quiet", action="store_true", help="say nothing")
    add_help(answer)
    parser.offer("--to", WRITERS)


def run(args: argparse.Namespace) -> int:
    """Read, prune, write."""
    from hulltune.formats.convert import write_as, writer_for

    name = writer_for(args.out, args.to)
    prunes = args.beam is not None or args.density is not None
    if prunes != (args.weights is not None):
        raise InputError("--beam, --density, --weights: pruning needs weights, and weights are for pruning alone")
    if prunes:
        say_if_compiling(args.quiet, ("marginals.max_marginals",))
    given = read(args)
    if prunes:
        from hulltune.tuning.extraction import prune_forests
        from hulltune.tuning.inputs import as_forests

        weights = weights_for(given, args.weights, missing=args.missing)
        given, pruning = prune_forests(as_forests(given), weights, beam=args.beam, density=args.density)
        if not args.quiet:
            note(str(pruning))
    write_as(given, args.out, name)
    if not args.quiet:
        note(f"{args.out}: {counted(len(given), 'sentence')}, as {name}")
    return DONE
