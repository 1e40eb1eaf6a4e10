"""Write the best candidate of every list or forest, or the best few, by weights."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from hulltune.cli.answers import write_lines
from hulltune.cli.compiling import say_if_compiling_for
from hulltune.cli.exits import DONE
from hulltune.cli.parser import Parser, add_help, add_lists, counting_number
from hulltune.cli.reading import note, read, weights_for
from hulltune.errors import InputError, unknown_name
from hulltune.wording import counted

USAGE = "LISTS… --weights FILE [--best K] [--out FILE] [options]"
EXAMPLE = "  hulltune rerank test.nbest.gz --weights w.json --out test.best.txt"
OUTPUTS = ("text", "moses", "jsonl")


def configure(parser: Parser) -> None:
    """The options of ``rerank``."""
    add_lists(parser, references=False)
    answer = parser.add_argument_group("answer")
    answer.add_argument("--weights", metavar="FILE", required=True, help="JSON, Moses ini, or lines 'name value'")
    answer.add_argument(
        "--best", metavar="K", type=counting_number, default=1, help="candidates or derivations of each [1]"
    )
    answer.add_argument("--as", dest="output", metavar="FORMAT", help="text (1-best, a line each), moses, jsonl")
    answer.add_argument("--out", metavar="FILE", help="where to write [standard output]")
    answer.add_argument("--quiet", action="store_true", help="no notes on compiling")
    add_help(answer)
    parser.offer("--as", OUTPUTS)


def run(args: argparse.Namespace) -> int:
    """Rank and write."""
    output = args.output or ("text" if args.best == 1 else "moses")
    if output not in OUTPUTS:
        raise unknown_name("output", output, OUTPUTS)
    if output == "text" and args.best > 1:
        raise InputError("--as text: is for the one best of each list; give --as moses or jsonl for more")
    from hulltune.formats.ranked import ListRows, Rankable, ranked_lines
    from hulltune.tuning.reranking import rank, rank_forests

    given = read(args)
    say_if_compiling_for(args, given, lists=("scores.score_dense",), forests=("kbest.k_best",))
    weights = weights_for(given, args.weights, missing=args.missing)
    lists: Rankable
    if given.is_lists:
        lists, ranked = ListRows(given), rank(given, weights, best=args.best)
    else:
        lists, ranked = rank_forests(given, weights, best=args.best)
    broken = 0

    def lines() -> Iterator[str]:
        nonlocal broken
        for line, clean in ranked_lines(lists, ranked.offsets, ranked.rows, ranked.scores, output):
            broken += not clean
            yield line

    write_lines(lines(), args.out)
    if broken:
        note(f"{counted(broken, 'text')} had line breaks, which are written as spaces: a line is a sentence")
    return DONE
