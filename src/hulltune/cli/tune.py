"""Tune the weights of lists or forests for a metric, and say how good they are."""

from __future__ import annotations

import argparse
import json
import math
import re
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hulltune.cli.compiling import say_if_compiling
from hulltune.cli.parser import (
    POLICIES,
    SCALES,
    SEARCHES,
    SMOOTHINGS,
    Parser,
    add_help,
    add_lists,
    comma_separated,
    named_number,
    named_sign,
    positive_number,
    show_together,
    whole_number,
)
from hulltune.cli.progress import shown_progress
from hulltune.cli.reading import metric_list, note, read, reference_files, say_what_is_left_out, start_for
from hulltune.errors import InputError

if TYPE_CHECKING:
    from hulltune.tuning import TuneResult

USAGE = "LISTS… [--ref FILE]… [--metric NAME] [--out FILE] [options]"
EXAMPLE = "  hulltune tune dev.nbest.gz --ref dev.en --sign lm=+ --folds 5 --out w.json"
OUT_SUFFIXES = {".json": "result", ".ini": "moses", ".txt": "lines"}
INTERRUPTED = 130


def configure(parser: Parser) -> None:
    """The options of ``tune``."""
    add_lists(parser)
    weights = parser.add_argument_group("weights")
    weights.add_argument("--start", metavar="FILE", help="first weights, or a result to continue")
    held = weights.add_argument("--fix", action="append", type=named_number, help="hold or bound a weight")
    weights.add_argument("--min", metavar="NAME=V", action="append", type=named_number, help=argparse.SUPPRESS)
    weights.add_argument("--max", metavar="NAME=V", action="append", type=named_number, help=argparse.SUPPRESS)
    show_together(held, "--fix, --min, --max NAME=V")
    weights.add_argument("--sign", metavar="NAME=+", action="append", type=named_sign, help="+ or -: only that, or 0")
    some = weights.add_argument("--free", type=comma_separated, help="tune only these; one weight for all of these")
    weights.add_argument("--tie", metavar="NAME,NAME", action="append", type=comma_separated, help=argparse.SUPPRESS)
    show_together(some, "--free, --tie NAME,NAME")
    weights.add_argument("--scale", metavar="NORM", default="l1", help="norm of the weights: l1, l2 or none [l1]")
    search = parser.add_argument_group("search")
    search.add_argument(
        "--search", metavar="NAME", default="random", help="random, coordinate, powell, gradient, subspace, …"
    )
    proof = search.add_argument("--certify", action="store_true", help="certified: the best there is, with a proof")
    search.add_argument("--gap", metavar="X", type=positive_number, default=0.001, help=argparse.SUPPRESS)
    search.add_argument("--time", metavar="S", type=positive_number, help=argparse.SUPPRESS)
    show_together(proof, "--certify --gap X --time S")
    effort = search.add_argument(
        "--restarts", type=whole_number, default=39, help="climbs beside the first [39], lines a round [16]"
    )
    search.add_argument("--directions", metavar="N", type=whole_number, default=16, help=argparse.SUPPRESS)
    show_together(effort, "--restarts, --directions N")
    step = search.add_argument("--policy", default="middle", help="middle, closest or widest; none, min or mean")
    search.add_argument("--smoothing", metavar="NAME", default="none", help=argparse.SUPPRESS)
    show_together(step, "--policy, --smoothing NAME")
    chance = search.add_argument(
        "--seed", type=whole_number, default=1, help="decides the result [1]; changes only the time"
    )
    search.add_argument("--threads", metavar="N", type=whole_number, help=argparse.SUPPRESS)
    show_together(chance, "--seed, --threads N")
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
    answer.add_argument("--out", metavar="FILE", action="append", help=".json (result), .ini (Moses), .txt; repeatable")
    loudness = answer.add_argument("--json", action="store_true", help="print one JSON object; no progress")
    answer.add_argument("--quiet", action="store_true", help=argparse.SUPPRESS)
    show_together(loudness, "--json, --quiet")
    add_help(answer)
    for option, choices in (
        ("--scale", SCALES), ("--search", SEARCHES), ("--policy", POLICIES), ("--smoothing", SMOOTHINGS),
    ):  # fmt: skip
        parser.offer(option, choices)


def run(args: argparse.Namespace) -> int:
    """Tune, write, and tell."""
    outputs = [checked_output(name) for name in args.out or []]
    began = time.perf_counter()
    say_if_compiling(args.quiet)
    from hulltune.io import CandidateLists
    from hulltune.tuning import tune
    from hulltune.tuning.inputs import as_references, with_features

    _check_names(args)
    references = as_references(reference_files(args.ref))
    lists = read(args)
    say_what_is_left_out(lists, references)
    heldout = read(args, files=args.heldout, add=args.heldout_add or []) if args.heldout else None
    if isinstance(heldout, CandidateLists) and args.missing is not None:
        heldout = with_features(heldout, lists.feature_names, may_lack=lists.feature_names)
    if args.heldout_ref and heldout is None:
        raise InputError("--heldout-ref: there are no --heldout lists that it could be for")
    reading = time.perf_counter() - began
    with shown_progress(quiet=args.quiet) as progress:
        result = tune(
            lists,
            references,
            metric=args.metric,
            start=start_for(lists, args.start),
            free=args.free,
            fixed=_by_name("--fix", args.fix),
            minimum=_by_name("--min", args.min),
            maximum=_by_name("--max", args.max),
            signs=_by_name("--sign", args.sign),
            tied=args.tie or (),
            scale=args.scale,
            search=_search_name(args),
            gap=args.gap,
            seconds=math.inf if args.time is None else args.time,
            directions=args.directions,
            restarts=args.restarts,
            policy=args.policy,
            smoothing=args.smoothing,
            seed=args.seed,
            threads=args.threads,
            heldout=heldout,
            heldout_references=reference_files(args.heldout_ref),
            folds=args.folds,
            replicates=args.replicates,
            others=metric_list(args.also),
            oracle=not args.no_oracle,
            store=args.store,
            questions=args.questions or ("questions.jsonl" if re.search(r"\bask\b", args.metric) else None),
            progress=progress,
        )
    with _uninterrupted():
        timings = {**result.timings, "reading": reading + result.timings["reading"]}
        result = replace(result, seconds=time.perf_counter() - began, timings=timings)
        for path in outputs:
            write_result(result, path)
        tell(result, as_json=args.json)
    if result.interrupted:
        written = f"the best so far is in {', '.join(map(str, outputs))}" if outputs else "this is the best so far"
        note(f"interrupted; {written}")
        return INTERRUPTED
    return 0


def _check_names(args: argparse.Namespace) -> None:
    """Find typing errors before a large file is read."""
    from hulltune.metrics import get_metric
    from hulltune.search.constraints import Constraints
    from hulltune.search.optimise import SearchOptions
    from hulltune.search.policies import Policy

    for metric in (args.metric, *(metric_list(args.also) or [])):
        get_metric(metric)
    SearchOptions(search=_search_name(args), policy=Policy(args.policy, smoothing=args.smoothing))
    Constraints(scale=args.scale).compile(())


def _search_name(args: argparse.Namespace) -> str:
    if args.certify and args.search not in ("random", "certified"):
        raise InputError(f"--certify is --search certified; got --search {args.search}, too")
    return "certified" if args.certify else str(args.search)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ignore Ctrl-C while a result is written: it is there, and it will not take long."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def tell(result: TuneResult, *, as_json: bool) -> None:
    """The result on standard output."""
    from hulltune.report.summary import summary

    print(json.dumps(result.to_dict(), ensure_ascii=False) if as_json else summary(result))


def checked_output(name: str) -> Path:
    """A file that can be written later: better to learn of a typo before a long run than after it."""
    path = Path(name)
    if path.suffix not in OUT_SUFFIXES:
        raise InputError(f"--out: {name!r} has no known suffix; expected .json (result), .ini (Moses) or .txt (lines)")
    if not path.absolute().parent.is_dir():
        raise InputError(f"--out: {name}: there is no folder {path.parent}")
    if path.is_dir():
        raise InputError(f"--out: {name}: is a folder; expected the name of a file")
    return path


def write_result(result: TuneResult, path: Path) -> None:
    """The whole result as JSON, or its weights alone; atomically."""
    from hulltune.io import write_weights

    if path.suffix == ".json":
        result.save(path)
    else:
        write_weights(result.weights, path, format=OUT_SUFFIXES[path.suffix])


def _by_name(option: str, pairs: list[tuple[str, Any]] | None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs or []:
        if name in found:
            raise InputError(f"{option}: {name!r} is given twice")
        found[name] = value
    return found
