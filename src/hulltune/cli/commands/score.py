"""``hulltune score``: the score of lists or forests under given weights."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from hulltune.cli.answers import ANSWERS, DONE, QUESTIONS
from hulltune.cli.help import command
from hulltune.cli.options import (
    ANSWER,
    DataOptions,
    also_option,
    data_options,
    json_option,
    option,
    quiet_option,
    weights_option,
)
from hulltune.cli.reading import read_scored, weight_vector
from hulltune.cli.values import WRITTEN
from hulltune.wording import counted, score_text

if TYPE_CHECKING:
    from hulltune.metrics import Metric

EXAMPLES = """\
hulltune score test.nbest.gz --ref test.en --weights w.json
hulltune score test.nbest.gz -r test.en -w w.json -m wer --also cer"""


@command(group="use weights", examples=EXAMPLES)
@data_options(judged=True)
@weights_option()
@also_option("Other metrics to report.")
@option(
    ANSWER,
    "--store FILE",
    "Use the statistics of earlier runs in this SQLite file, and keep new ones there.",
    type=WRITTEN,
)
@json_option
@quiet_option("Do not say that kernels are being compiled.")
def score(
    data: DataOptions,
    ref: tuple[str, ...],
    metric: Metric,
    weights: str,
    also: list[Metric] | None,
    store: str | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Score what given weights pick from lists or forests."""
    from hulltune.metrics import Store
    from hulltune.search.problem import Problem

    if metric.waits and store is None:
        store = ANSWERS
    dataset = read_scored(data, ref, metric, *(also or []), quiet=quiet)
    vector = weight_vector(dataset, weights, missing=data.missing)
    with ExitStack() as stack:
        kept = stack.enter_context(Store(store)) if store else None
        problem = Problem.of(dataset, metric, store=kept, questions=QUESTIONS if metric.waits else None)
        tuned = problem.picks(vector)
        baseline = problem.baseline() if problem.has_own_choice else None
        report: dict[str, Any] = {
            "score": float(problem.metric.score(tuned.total)),
            "metric": problem.metric.signature,
            "baseline": None if baseline is None else float(problem.metric.score(baseline.total)),
            "sentences": len(problem.corpus),
            "others": {},
        }
        others = [Problem.of(dataset, other, outputs=problem.outputs, store=kept) for other in also or []]
        report["others"] = {
            other.metric.signature: float(other.metric.score(other.picked(tuned.outputs).total)) for other in others
        }
    if as_json:
        print(json.dumps(report, ensure_ascii=False))
        return DONE
    print(f"{score_text(report['score'])}  {report['metric']}  ({counted(report['sentences'], 'sentence')})")
    for signature, value in report["others"].items():
        print(f"{score_text(value)}  {signature}")
    if report["baseline"] is not None:
        print(f"{score_text(report['baseline'])}  the lists' own first choice, {report['metric']}")
    return DONE
