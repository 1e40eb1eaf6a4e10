"""``hulltune tune``: tune the weights of lists or forests."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hulltune import options
from hulltune.cli.command import DONE, INTERRUPTED, command, command_line, note
from hulltune.cli.files import (
    ANSWERS,
    give_result,
    read,
    read_references,
    read_scored,
    start_for,
    while_waiting,
    with_references,
)
from hulltune.cli.options import (
    Answer,
    Data,
    constraint_options,
    data_options,
    field_options,
    gathered,
    option,
    options_of,
    result_options,
    search_options,
)
from hulltune.cli.progress import shown_progress
from hulltune.cli.values import OneOf, Written
from hulltune.errors import InputError
from hulltune.interrupts import uninterrupted
from hulltune.names import ENGINES
from hulltune.options import ANSWER, Tuning, options_in
from hulltune.wording import counted, score_text

if TYPE_CHECKING:
    from hulltune.data.dataset import Dataset
    from hulltune.search.constraints import Constraints
    from hulltune.search.strategy import Strategy
    from hulltune.tuning import TuneResult

EXAMPLES = """\
hulltune tune dev.nbest.gz --ref dev.en --metric bleu --out w.json
hulltune tune lattices/ --ref dev.txt -m wer --fix am=1 --folds 5
hulltune tune bm25.run dense.run --qrels qrels.txt -m ndcg@10 --out w.json --for opensearch"""
PASSED_ON = ("start", "seed", "regularise", "folds", "replicates", "also", "oracle", "tolerance", "store", "questions")
"""The fields of Tuning that go from the command line to ``tune`` as they are."""


@dataclass(frozen=True, kw_only=True)
class HeldOut:
    """Data that are scored but not tuned on, with their references and further scores."""

    heldout: tuple[str, ...] = options.option((), options_in(Tuning)["heldout"].help, "--heldout LISTS")
    heldout_ref: tuple[str, ...] = options.option((), "The references of --heldout.", "--heldout-ref FILE")
    heldout_add: tuple[str, ...] = options.option(
        (), "Further scores for --heldout, one file for each --add.", "--heldout-add FILE"
    )


@command(group="tune weights", examples=EXAMPLES)
@data_options(judged=True)
@constraint_options
@search_options(certified=True)
@gathered("tuning", dict, field_options(Tuning, *PASSED_ON))
@options_of("unseen", HeldOut)
@option(
    ANSWER,
    "--report FILE",
    "Write a page (HTML) on which weights can be moved; see hulltune report.",
    type=Written(".html", ".htm"),
)
@option(
    ANSWER,
    "--for ENGINE",
    f"Also print the weights as a search engine takes them: {', '.join(ENGINES)}; see hulltune export.",
    name="engine",
    type=OneOf("engine", ENGINES),
)
@result_options()
def tune(
    data: Data,
    constraints: Constraints,
    search: Strategy,
    tuning: dict[str, Any],
    unseen: HeldOut,
    report: str | None,
    engine: str | None,
    answer: Answer,
) -> int:
    """Tune the weights of lists or forests for a metric.

    The answer has the scores before and after, the best score that is possible, and what each feature is worth.
    """
    metric, quiet = data.metric, answer.quiet
    if report is not None and metric.waits:
        raise InputError(
            f"--report: {metric.name} waits for answers, and a report needs those for every output that wins somewhere"
        )
    if unseen.heldout_ref and not unseen.heldout:
        raise InputError("--heldout-ref: got references, but no held-out data; give --heldout, too")
    if metric.waits and tuning["store"] is None and not quiet:
        note(f"answers are kept in {ANSWERS} (--store names another file)")
    tuning["store"], tuning["questions"] = while_waiting(metric, tuning["store"], tuning["questions"])
    began = time.perf_counter()
    from hulltune.tuning import tune as tune_weights

    dataset = read_scored(data, *(tuning["also"] or []), quiet=quiet)
    tuning["start"] = start_for(dataset, tuning["start"])
    heldout = _held_out(data, unseen, dataset, quiet) if unseen.heldout else None
    reading = time.perf_counter() - began
    with shown_progress(quiet=quiet) as progress:
        tuned = tune_weights(
            dataset,
            metric=metric,
            search=search,
            constraints=constraints,
            threads=data.reading.threads,
            heldout=heldout,
            progress=progress,
            **tuning,
        )
    with uninterrupted():
        timings = {**tuned.timings, "reading": reading + tuned.timings["reading"]}
        result = replace(tuned, seconds=time.perf_counter() - began, timings=timings)
        give_result(result, answer)
        if engine is not None:
            _show_for_engine(result.with_problem(tuned.problem), engine, data.reading.normalise)
    if result.interrupted:
        written = f"the best so far is in {', '.join(answer.out)}" if answer.out else "this is the best so far"
        note(f"interrupted; {written}" + ("; no report is written" if report is not None else ""))
        return INTERRUPTED
    if report is not None:
        try:
            _write_report(result.with_problem(tuned.problem), report, data, tuning)
        except KeyboardInterrupt:
            note("interrupted; the result is complete, but no report is written")
            return INTERRUPTED
    return DONE


def _show_for_engine(result: TuneResult, engine: str, normalise: str | None) -> None:
    """Print the weights for an engine, and tell what the digits that are written lose."""
    from hulltune.data.normalising import Normalisation
    from hulltune.formats.engines import as_written, engine_text

    print(
        f"\n{engine_text(result.weights, Normalisation.read(result.normalisation or normalise or 'none'), engine)}",
        end="",
    )
    written = result.problem.score([as_written(weight) for weight in result.weights.values()])
    lost = (result.score - written) * (1.0 if result.higher_is_better else -1.0)
    note(
        f"the digits that are written score {score_text(written)}, {abs(lost):.2g} {'less' if lost > 0 else 'more'}"
        if lost
        else f"the digits that are written score the same, {score_text(written)}"
    )


def _held_out(data: Data, unseen: HeldOut, dataset: Dataset, quiet: bool) -> Dataset:
    """The held-out data with their references, and with the features of the data that are tuned on."""
    given = tuple(data.reading.add)
    if len(unseen.heldout_add) != len(given):
        raise InputError(
            f"--heldout-add: got {counted(len(unseen.heldout_add), 'file')} for {len(given)} of --add; "
            "expected one for each"
        )
    references = read_references(unseen.heldout_ref)
    add = tuple((path, name) for path, (_, name) in zip(unseen.heldout_add, given, strict=True))
    found = read(Data(unseen.heldout, replace(data.reading, add=add)), quiet=quiet)
    found = found.with_qualities(data.metric.reads)
    if found.is_lists and data.reading.missing is not None:
        found = found.with_features(dataset.feature_names, may_lack=dataset.feature_names)
    return with_references(found, references, data.metric, any_order=data.any_order)


def _write_report(result: TuneResult, path: str, data: Data, tuning: dict[str, Any]) -> None:
    """Write the page of a result. The store of the tuning is closed by now, so it is opened again."""
    from hulltune.metrics.store import Store
    from hulltune.report.html import write_report
    from hulltune.search.problem import Problem

    problem = result.problem
    with ExitStack() as stack:
        if tuning["store"] is not None:
            store = stack.enter_context(Store(tuning["store"]))
            problem = Problem.of(problem.dataset, problem.metric, store=store)
        write_report(
            result, path, data=problem, also=tuning["also"], command=command_line(), threads=data.reading.threads
        )
