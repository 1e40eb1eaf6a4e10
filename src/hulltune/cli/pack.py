"""Write candidate lists as a packed file, which opens at once by memory map."""

from __future__ import annotations

import argparse
import os

from hulltune.cli.parser import Parser, add_help, add_lists
from hulltune.cli.reading import note, read_candidate_lists

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
    from hulltune.io import pack

    lists = read_candidate_lists(args)
    pack(lists, args.out)
    if not args.quiet:
        note(f"{args.out}: {len(lists)} sentences, {lists.rows} candidates, {os.path.getsize(args.out):,} bytes")
    return 0
