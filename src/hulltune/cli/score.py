"""Score what given weights pick from lists or forests."""

from __future__ import annotations

import argparse
import json
from typing import Any

from hulltune.cli.compiling import say_if_compiling_for
from hulltune.cli.exits import DONE
from hulltune.cli.parser import Parser, add_help, add_lists
from hulltune.cli.progress import number
from hulltune.cli.reading import metric_list, read_scored, weight_vector
from hulltune.wording import counted

USAGE = "LISTS… [--ref FILE]… --weights FILE [--metric NAME]"
EXAMPLE = "  hulltune score test.nbest.gz --ref test.en --weights w.json --also chrf"


def configure(parser: Parser) -> None:
    """The options of ``score``."""
    add_lists(parser)
    answer = parser.add_argument_group("answer")
    answer.add_argument("--weights", metavar="FILE", required=True, help="JSON, Moses ini, or lines 'name value'")
    answer.add_argument("--also", metavar="NAME,…", action="append", help="further metrics")
    answer.add_argument("--store", metavar="FILE.sqlite", help="statistics kept by earlier runs")
    answer.add_argument("--json", action="store_true", help="print one JSON object")
    answer.add_argument("--quiet", action="store_true", help="no notes on compiling")
    add_help(answer)


def run(args: argparse.Namespace) -> int:
    """Print the scores."""
    from contextlib import ExitStack

    from hulltune.metrics import Store
    from hulltune.tuning.inputs import problem_of

    lists, data = read_scored(args)
    say_if_compiling_for(args, data, lists=("list_scores.list_winners",), forests=("envelopes.envelopes",))
    weights = weight_vector(lists, args.weights, missing=args.missing)
    with ExitStack() as stack:
        store = stack.enter_context(Store(args.store)) if args.store else None
        problem = problem_of(data, args.metric, store=store)
        tuned = problem.picks(weights)
        baseline = problem.baseline() if problem.has_own_choice else None
        report: dict[str, Any] = {
            "score": float(problem.metric.score(tuned.total)),
            "metric": problem.metric.signature,
            "baseline": None if baseline is None else float(problem.metric.score(baseline.total)),
            "sentences": len(problem.corpus),
            "others": {},
        }
        others = [problem_of(data, name, store=store, beside=problem) for name in metric_list(args.also) or []]
        report["others"] = {
            other.metric.signature: float(other.metric.score(other.picked(tuned.candidates).total)) for other in others
        }
    if args.json:
        print(json.dumps(report, ensure_ascii=False))
        return DONE
    print(f"{number(report['score'])}  {report['metric']}  ({counted(report['sentences'], 'sentence')})")
    for signature, score in report["others"].items():
        print(f"{number(score)}  {signature}")
    if report["baseline"] is not None:
        print(f"{number(report['baseline'])}  the lists' own first choice, {report['metric']}")
    return DONE
