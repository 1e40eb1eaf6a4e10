"""``hulltune score``: the score of lists or forests under given weights."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from textwrap import wrap
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
    from hulltune.metrics.counts import ErrorCounts

EXAMPLES = """\
hulltune score test.nbest.gz --ref test.en --weights w.json
hulltune score test.nbest.gz -r test.en -w w.json -m WER --also cer"""


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
    """Score what given weights pick from lists or forests.

    For an error rate (WER, CER, MER, TER) the answer has the errors by kind, too, and the sentences with errors.
    """
    from hulltune.metrics import Store
    from hulltune.search.problem import Problem
    from hulltune.search.shards import runner_of

    if metric.waits and store is None:
        store = ANSWERS
    dataset = read_scored(data, ref, metric, *(also or []), quiet=quiet)
    vector = weight_vector(dataset, weights, missing=data.missing)
    with ExitStack() as stack:
        kept = stack.enter_context(Store(store)) if store else None
        problem = Problem.of(dataset, metric, store=kept, questions=QUESTIONS if metric.waits else None)
        tuned = problem.picks(vector, runner=runner_of(data.threads))
        baseline = problem.baseline() if problem.has_own_choice else None
        others = [Problem.of(dataset, other, outputs=problem.outputs, store=kept) for other in also or []]
        found = _Scored.of(problem.metric, tuned.statistics)
        first = None if baseline is None else _Scored.of(problem.metric, baseline.statistics)
        further = [_Scored.of(other.metric, other.picked(tuned.outputs).statistics) for other in others]
    if as_json:
        report = {
            "score": found.score,
            "metric": found.metric,
            "baseline": None if first is None else first.score,
            "sentences": len(problem.corpus),
            "others": {other.metric: other.score for other in further},
            "counts": {each.metric: asdict(each.counts) for each in (found, *further) if each.counts is not None},
            "baseline_counts": None if first is None or first.counts is None else asdict(first.counts),
        }
        print(json.dumps(report, ensure_ascii=False))
        return DONE
    found.show(f"  ({counted(len(problem.corpus), 'sentence')})")
    for other in further:
        other.show()
    if first is not None:
        first.show(before="the lists' own first choice, ")
    return DONE


@dataclass(frozen=True)
class _Scored:
    """The score of some picks under a metric, by its signature, and the error counts of an error rate."""

    metric: str
    score: float
    counts: ErrorCounts | None

    @staticmethod
    def of(metric: Metric, statistics: Any) -> _Scored:
        from hulltune.metrics.counts import error_counts
        from hulltune.search.problem import exact_sum

        return _Scored(metric.signature, float(metric.score(exact_sum(statistics))), error_counts(metric, statistics))

    def show(self, after: str = "", *, before: str = "") -> None:
        """Print the score, in percent, too, where it is a fraction, and the counts below."""
        from hulltune.metrics.counts import percent_of
        from hulltune.tuning.blocks import WIDTH

        percent = percent_of(self.metric, self.score)
        in_percent = "" if percent is None else f" = {percent:.2f} %"
        print(f"{score_text(self.score)}{in_percent}  {before}{self.metric}{after}")
        if self.counts is not None:
            print("\n".join(wrap(str(self.counts), WIDTH, initial_indent="  ", subsequent_indent="  ")))
