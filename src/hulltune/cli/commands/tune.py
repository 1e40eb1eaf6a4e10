"""``hulltune tune``: tune the weights of lists or forests."""

from __future__ import annotations

import math
import time
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from hulltune.cli.answers import (
    ANSWERS,
    DONE,
    INTERRUPTED,
    QUESTIONS,
    checked_outputs,
    checked_report,
    command_line,
    give_result,
    note,
)
from hulltune.cli.help import command
from hulltune.cli.options import (
    ANSWER,
    SEARCH,
    WEIGHTS,
    ConstraintOptions,
    DataOptions,
    SearchOptions,
    also_option,
    constraint_options,
    constraints_of,
    data_options,
    json_option,
    option,
    quiet_option,
    regularise_option,
    results_option,
    search_options,
    strategy_of,
)
from hulltune.cli.progress import shown_progress
from hulltune.cli.reading import read, read_references, read_scored, start_for, with_references
from hulltune.cli.values import COUNT, RUNS, WRITTEN, Number
from hulltune.defaults import DEFAULT_SEARCH, GAP
from hulltune.errors import InputError
from hulltune.interrupts import is_interrupt, uninterrupted

if TYPE_CHECKING:
    from hulltune.metrics import Metric
    from hulltune.tuning import TuneResult

EXAMPLES = """\
hulltune tune dev.nbest.gz --ref dev.en --metric bleu --out w.json
hulltune tune lattices/ --ref dev.txt -m wer --fix am=1 --folds 5"""


@command(group="tune weights", examples=EXAMPLES)
@data_options(judged=True)
@option(WEIGHTS, "--start FILE", "Weights to start from, or the result of an earlier run to continue.")
@constraint_options
@search_options
@option(SEARCH, "--certify", "Find the best weights that exist, with a proof. Short for --search certified.")
@option(
    SEARCH,
    "--gap X",
    "Certified search: end when the score is proven to be within X of the best.",
    type=Number(0),
    default=GAP,
)
@option(
    SEARCH, "--time S", "Certified search: end after S seconds. [default: no limit]", name="seconds", type=Number(0)
)
@regularise_option("Stay near the start")
@option(ANSWER, "--heldout LISTS", "Lists or forests that are scored but not tuned on. Can be repeated.", multiple=True)
@option(ANSWER, "--heldout-ref FILE", "The references of --heldout. Can be repeated.", multiple=True)
@option(ANSWER, "--heldout-add FILE", "Further scores for --heldout, one file for each --add.", multiple=True)
@option(
    ANSWER,
    "--folds K",
    "Cross-validate: score each of K parts with weights that are tuned on the other parts.",
    type=COUNT,
    default=0,
    show_default=False,
)
@option(
    ANSWER,
    "--replicates N",
    "Tune with N seeds, and report the mean and the standard deviation.",
    type=RUNS,
    default=1,
)
@also_option("Other metrics to report. [default: the common text metrics]")
@option(ANSWER, "--no-oracle", "Do not compute the oracle, which is the best score that any choice can reach.")
@option(
    ANSWER,
    "--tolerance X",
    "Show for each weight the range in which the score is at most X worse. [default: 0.1 %]",
    type=Number(0),
)
@option(
    ANSWER,
    "--store FILE",
    "Keep the statistics of the metric in this SQLite file, for later runs. [default: answers.sqlite for ask]",
    type=WRITTEN,
)
@option(
    ANSWER,
    "--questions FILE",
    "Where to write the questions of a metric that waits for answers; - is standard output. [default: questions.jsonl]",
    type=WRITTEN,
)
@results_option
@option(
    ANSWER,
    "--report FILE",
    "Write a page (HTML) on which weights can be moved; see hulltune report.",
    type=WRITTEN,
)
@json_option
@quiet_option()
def tune(
    data: DataOptions,
    ref: tuple[str, ...],
    metric: Metric,
    start: str | None,
    constraints: ConstraintOptions,
    search: SearchOptions,
    certify: bool,
    gap: float,
    seconds: float | None,
    heldout: tuple[str, ...],
    heldout_ref: tuple[str, ...],
    heldout_add: tuple[str, ...],
    folds: int,
    replicates: int,
    also: list[Metric] | None,
    no_oracle: bool,
    tolerance: float | None,
    regularise: float | str | None,
    store: str | None,
    questions: str | None,
    out: tuple[str, ...],
    report: str | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Tune the weights of lists or forests for a metric.

    The answer has the scores before and after, the best score that is possible, and what each feature is worth.
    """
    outputs = checked_outputs(out)
    if report is not None:
        checked_report(report, metric)
    if certify and search.search not in (DEFAULT_SEARCH, "certified"):
        raise InputError(f"--certify: means --search certified, but got --search {search.search}; give one of them")
    if seconds is not None and not (certify or search.search == "certified"):
        raise InputError("--time: limits a certified search, and this is another one; give --certify, too")
    if heldout_ref and not heldout:
        raise InputError("--heldout-ref: got references, but no held-out data; give --heldout, too")
    if metric.waits and store is None:
        store = ANSWERS
        if not quiet:
            note(f"answers are kept in {store} (--store names another file)")
    began = time.perf_counter()
    from hulltune.tuning import tune as tune_weights

    dataset = read_scored(data, ref, metric, *(also or []), quiet=quiet)
    unseen = None
    if heldout:
        unseen_references = read_references(heldout_ref)
        unseen = read(replace(data, lists=heldout, add=heldout_add), quiet=quiet).with_qualities(metric.reads)
        if unseen.is_lists and data.missing is not None:
            unseen = unseen.with_features(dataset.feature_names, may_lack=dataset.feature_names)
        unseen = with_references(unseen, unseen_references, metric)
    reading = time.perf_counter() - began
    with shown_progress(quiet=quiet) as progress:
        tuned = tune_weights(
            dataset,
            metric=metric,
            start=start_for(dataset, start),
            search=strategy_of(
                replace(search, search="certified") if certify else search,
                gap=gap,
                time=math.inf if seconds is None else seconds,
            ),
            constraints=constraints_of(constraints),
            seed=search.seed,
            threads=data.threads,
            heldout=unseen,
            folds=folds,
            replicates=replicates,
            also=also,
            oracle=not no_oracle,
            tolerance=tolerance,
            regularise=regularise,
            store=store,
            questions=questions or (QUESTIONS if metric.waits else None),
            progress=progress,
        )
    with uninterrupted():
        timings = {**tuned.timings, "reading": reading + tuned.timings["reading"]}
        result = replace(tuned, seconds=time.perf_counter() - began, timings=timings)
        give_result(result, outputs, as_json=as_json)
    if result.interrupted:
        written = f"the best so far is in {', '.join(map(str, outputs))}" if outputs else "this is the best so far"
        note(f"interrupted; {written}" + ("; no report is written" if report is not None else ""))
        return INTERRUPTED
    if report is not None:
        try:
            _write_report(result.with_problem(tuned.problem_of(None, None, None)), report, also, store, data.threads)
        except (KeyboardInterrupt, SystemError) as error:
            if not is_interrupt(error):
                raise
            note("interrupted; the result is complete, but no report is written")
            return INTERRUPTED
    return DONE


def _write_report(
    result: TuneResult, path: str, also: list[Metric] | None, store: str | None, threads: int | None
) -> None:
    """Write the page of a result. The store of the tuning is closed by now, so it is opened again."""
    from hulltune.metrics.store import Store
    from hulltune.report.html import write_report
    from hulltune.search.problem import Problem

    problem = result.problem_of(None, None, None)
    with ExitStack() as stack:
        if store is not None and problem.dataset is not None:
            problem = Problem.of(problem.dataset, problem.metric, store=stack.enter_context(Store(store)))
        write_report(result, path, data=problem, also=also, command=command_line(), threads=threads)
