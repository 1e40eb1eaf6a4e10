"""Tune the weights of lists or forests for a metric, and say how good they are."""

from __future__ import annotations

import argparse
import math
import re
import time
from dataclasses import replace

from hulltune.cli.answers import add_result_files, checked_outputs, give_result, uninterrupted
from hulltune.cli.compiling import TUNING_FORESTS, TUNING_LISTS, say_if_compiling_for
from hulltune.cli.exits import DONE, INTERRUPTED
from hulltune.cli.parser import Parser, add_help, add_lists, positive_number, show_together, whole_number
from hulltune.cli.progress import shown_progress
from hulltune.cli.reading import metric_list, note, read, reference_files, say_what_is_left_out, start_for
from hulltune.cli.tuning_options import add_constraints, add_search, check_tuning, constraint_options, search_options
from hulltune.defaults import GAP
from hulltune.errors import InputError

USAGE = "LISTS… [--ref FILE]… [--metric NAME] [--out FILE] [options]"
EXAMPLE = "  hulltune tune dev.nbest.gz --ref dev.en --sign lm=+ --folds 5 --out w.json"


def configure(parser: Parser) -> None:
    """The options of ``tune``."""
    add_lists(parser)
    weights = parser.add_argument_group("weights")
    weights.add_argument("--start", metavar="FILE", help="first weights, or a result to continue")
    add_constraints(weights, parser)
    search = parser.add_argument_group("search")
    add_search(search, parser)
    proof = search.add_argument("--certify", action="store_true", help="certified: the best there is, with a proof")
    search.add_argument("--gap", metavar="X", type=positive_number, default=GAP, help=argparse.SUPPRESS)
    search.add_argument("--time", metavar="S", type=positive_number, help=argparse.SUPPRESS)
    show_together(proof, "--certify --gap X --time S")
    answer = parser.add_argument_group("answer")
    unseen = answer.add_argument("--heldout", action="append", help="score these lists, too")
    show_together(unseen, "--heldout, --heldout-ref F")
    answer.add_argument("--heldout-ref", metavar="FILE", action="append", help=argparse.SUPPRESS)
    answer.add_argument("--heldout-add", metavar="FILE", action="append", help=argparse.SUPPRESS)
    again = answer.add_argument(
        "--folds", metavar="K", type=whole_number, default=0, help="or cross-validate; mean ± sd of N seeds"
    )
    answer.add_argument("--replicates", metavar="N", type=whole_number, default=1, help=argparse.SUPPRESS)
    show_together(again, "--folds, --replicates N")
    answer.add_argument("--also", metavar="NAME,…", action="append", help="show other metrics [common ones]")
    answer.add_argument("--no-oracle", action="store_true", help="do not look for the best picks")
    kept = answer.add_argument("--store", help="statistics for later runs; what a metric asks")
    answer.add_argument("--questions", metavar="FILE", help=argparse.SUPPRESS)
    show_together(kept, "--store, --questions FILE")
    add_result_files(answer)
    add_help(answer)


def run(args: argparse.Namespace) -> int:
    """Tune, write, and tell."""
    outputs = checked_outputs(args.out)
    args.search = _search_name(args)
    began = time.perf_counter()
    from hulltune.formats import as_references
    from hulltune.report.summary import summary
    from hulltune.tuning import tune

    check_tuning(args, metrics=[args.metric, *(metric_list(args.also) or [])])
    references = as_references(reference_files(args.ref))
    lists = read(args)
    say_if_compiling_for(args, lists, lists=TUNING_LISTS, forests=TUNING_FORESTS)
    say_what_is_left_out(lists, references)
    heldout = read(args, files=args.heldout, add=args.heldout_add or []) if args.heldout else None
    if heldout is not None and heldout.is_lists and args.missing is not None:
        heldout = heldout.with_features(lists.feature_names, may_lack=lists.feature_names)
    if args.heldout_ref and heldout is None:
        raise InputError("--heldout-ref: there are no --heldout lists that it could be for")
    unseen = as_references(reference_files(args.heldout_ref))
    if heldout is not None:
        say_what_is_left_out(heldout, unseen)
    reading = time.perf_counter() - began
    with shown_progress(quiet=args.quiet) as progress:
        result = tune(
            lists,
            references,
            metric=args.metric,
            start=start_for(lists, args.start),
            gap=args.gap,
            seconds=math.inf if args.time is None else args.time,
            heldout=heldout,
            heldout_references=unseen,
            folds=args.folds,
            replicates=args.replicates,
            others=metric_list(args.also),
            oracle=not args.no_oracle,
            store=args.store,
            questions=args.questions or ("questions.jsonl" if re.search(r"\bask\b", args.metric) else None),
            progress=progress,
            **constraint_options(args),
            **search_options(args),
        )
    with uninterrupted():
        timings = {**result.timings, "reading": reading + result.timings["reading"]}
        result = replace(result, seconds=time.perf_counter() - began, timings=timings)
        give_result(result, outputs, summary=summary, as_json=args.json)
    if result.interrupted:
        written = f"the best so far is in {', '.join(map(str, outputs))}" if outputs else "this is the best so far"
        note(f"interrupted; {written}")
        return INTERRUPTED
    return DONE


def _search_name(args: argparse.Namespace) -> str:
    if args.certify and args.search not in ("random", "certified"):
        raise InputError(f"--certify is --search certified; got --search {args.search}, too")
    return "certified" if args.certify else str(args.search)
