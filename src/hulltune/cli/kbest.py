"""Write the k best derivations of forests, or random ones, as n-best lists."""

from __future__ import annotations

import argparse

from hulltune.cli.answers import write_lines
from hulltune.cli.compiling import say_if_compiling
from hulltune.cli.exits import DONE
from hulltune.cli.parser import Parser, add_help, add_lists, counting_number, show_together, whole_number
from hulltune.cli.reading import note, read, weights_for
from hulltune.errors import InputError, unknown_name
from hulltune.wording import counted

USAGE = "FORESTS… --weights FILE [--k K | --sample N] [options]"
EXAMPLE = """  hulltune kbest lattices/ --weights w.json --k 100 --distinct --out dev.nbest
  hulltune kbest dev.hull --weights w.json --sample 100 --temperature 2 --seed 7"""
OUTPUTS = ("moses", "jsonl", "text")


def configure(parser: Parser) -> None:
    """The options of ``kbest``."""
    add_lists(parser, references=False)
    which = parser.add_argument_group("which derivations")
    which.add_argument("--weights", metavar="FILE", required=True, help="JSON, Moses ini, or lines 'name value'")
    which.add_argument("--k", metavar="K", type=counting_number, help="the best K of each sentence [100]")
    which.add_argument("--distinct", action="store_true", help="each output once, by its best derivation")
    sample = which.add_argument(
        "--sample", metavar="N", type=counting_number, help="N at random by exp(score / T) [T 1]"
    )
    which.add_argument("--temperature", metavar="T", type=float, help=argparse.SUPPRESS)
    which.add_argument("--seed", metavar="S", type=whole_number, help=argparse.SUPPRESS)
    show_together(sample, "--sample N --temperature T --seed S")
    answer = parser.add_argument_group("answer")
    answer.add_argument("--as", dest="output", metavar="FORMAT", default="moses", help="moses, jsonl, text [moses]")
    answer.add_argument("--out", metavar="FILE", help="where to write [standard output]")
    answer.add_argument("--threads", metavar="N", type=counting_number, help="changes only the time [all CPUs]")
    answer.add_argument("--quiet", action="store_true", help="no notes")
    add_help(answer)
    parser.offer("--as", OUTPUTS)


def run(args: argparse.Namespace) -> int:
    """Extract and write."""
    _check(args)
    say_if_compiling(args.quiet, ("sampling.sample" if args.sample is not None else "kbest.k_best",))
    from hulltune.lines import kbest, sample
    from hulltune.tuning.extraction import derivation_lines

    forests = read(args)
    weights = weights_for(forests, args.weights, missing=args.missing)
    if args.sample is not None:
        found = sample(
            forests.corpus,
            weights,
            args.sample,
            temperature=1.0 if args.temperature is None else args.temperature,
            seed=1 if args.seed is None else args.seed,
            threads=args.threads,
        )
    else:
        k = 100 if args.k is None else args.k
        found = kbest(forests.corpus, weights, k, distinct=args.distinct, threads=args.threads)
    lines = derivation_lines(forests.ids, found, args.output, unique=args.distinct and args.sample is not None)
    write_lines((line for line, _ in lines), args.out)
    incomplete = [str(name) for name, whole in zip(forests.ids, found.complete.tolist(), strict=True) if not whole]
    if incomplete:
        names = ", ".join(incomplete[:10])
        note(f"fewer were found of {counted(len(incomplete), 'sentence')}, for all the duplicates: {names}")
    return DONE


def _check(args: argparse.Namespace) -> None:
    if args.output not in OUTPUTS:
        raise unknown_name("output", args.output, OUTPUTS)
    if args.sample is not None and args.k is not None:
        raise InputError("--k, --sample: give one of them; the best, or random ones")
    for option in ("temperature", "seed"):
        if getattr(args, option) is not None and args.sample is None:
            raise InputError(f"--{option}: is for --sample")
    if args.output == "text" and (args.k or args.sample or 100) > 1:
        raise InputError("--as text: is for one derivation of each sentence (--k 1); give --as moses or jsonl for more")
