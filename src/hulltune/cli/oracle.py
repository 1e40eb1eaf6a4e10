"""Say the best score that lists or forests can reach, whatever the weights."""

from __future__ import annotations

import argparse
import json

from hulltune.cli.answers import write_lines
from hulltune.cli.compiling import say_if_compiling_for
from hulltune.cli.exits import DONE
from hulltune.cli.parser import Parser, add_help, add_lists, counting_number
from hulltune.cli.progress import number
from hulltune.cli.reading import read_scored, weights_for
from hulltune.wording import counted

USAGE = "FORESTS… --ref FILE [--metric NAME] [options]"
EXAMPLE = """  hulltune oracle lattices/ --ref dev.txt --metric wer
  hulltune oracle forests/ --ref dev.en --metric bleu --weights w.json --k 500"""


def configure(parser: Parser) -> None:
    """The options of ``oracle``."""
    add_lists(parser)
    search = parser.add_argument_group("search")
    search.add_argument("--weights", metavar="FILE", help="what the best outputs are (not for wer, cer)")
    search.add_argument("--k", metavar="K", type=counting_number, default=100, help="the best K distinct outputs [100]")
    answer = parser.add_argument_group("answer")
    answer.add_argument("--out", metavar="FILE", help="write the outputs that reach it, a line a sentence")
    answer.add_argument("--json", action="store_true", help="print one JSON object")
    answer.add_argument("--threads", metavar="N", type=counting_number, help="changes only the time [all CPUs]")
    answer.add_argument("--quiet", action="store_true", help="no notes on compiling")
    add_help(answer)


def run(args: argparse.Namespace) -> int:
    """Search and tell."""
    is_rate = args.metric.partition(":")[0] in ("wer", "cer")
    kernel = "nearest_output.nearest_derivation" if is_rate else "kbest.k_best"
    from hulltune.tuning.oracle import best_reachable

    given, data = read_scored(args)
    say_if_compiling_for(args, data, lists=(), forests=(kernel,))
    found = best_reachable(
        data.corpus,
        data.references or (),
        args.metric,
        weights=None if args.weights is None else weights_for(given, args.weights, missing=args.missing),
        k=args.k,
        threads=args.threads,
    )
    if args.out is not None:
        write_lines((" ".join(text.splitlines()) for text in found.texts), args.out)
    if args.json:
        report = {
            "score": found.score, "metric": found.metric, "kind": found.kind, "exact": found.exact,
            "bound": found.bound, "sentences": len(found.texts),
        }  # fmt: skip
        print(json.dumps(report, ensure_ascii=False))
        return DONE
    print(f"{number(found.score)}  {found.metric}  ({counted(len(found.texts), 'sentence')}; {found.kind})")
    if not found.exact and found.bound is not None:
        print(f"no choice of outputs can be better than {number(found.bound)}")
    return DONE
