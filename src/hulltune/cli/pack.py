"""Write lists or forests as a packed file, which opens at once by memory map."""

from __future__ import annotations

import argparse
import os

from hulltune.cli.exits import DONE
from hulltune.cli.parser import Parser, add_help, add_lists
from hulltune.cli.reading import note, read
from hulltune.wording import counted

USAGE = "LISTS… --out FILE.hull [options]"
EXAMPLE = "  hulltune pack dev.nbest.gz --features words --out dev.hull"


def configure(parser: Parser) -> None:
    """The options of ``pack``."""
    add_lists(parser, references=False)
    answer = parser.add_argument_group("answer")
    answer.add_argument("--out", metavar="FILE", required=True, help="the packed file; by custom it ends in .hull")
    answer.add_argument("--quiet", action="store_true", help="say nothing")
    add_help(answer)


def run(args: argparse.Namespace) -> int:
    """Read and pack."""
    from hulltune.formats import pack

    given = read(args)
    pack(given, args.out)
    if given.is_lists:
        size = counted(given.corpus.edges, "candidate")
    else:
        size = f"{counted(given.corpus.nodes, 'node')}, {counted(given.corpus.edges, 'edge')}"
    if not args.quiet:
        note(f"{args.out}: {counted(len(given), 'sentence')}, {size}, {os.path.getsize(args.out):,} bytes")
    return DONE
