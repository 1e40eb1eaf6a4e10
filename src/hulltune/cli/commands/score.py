"""``hulltune score``: the score of lists or forests under given weights, or the best score that they can reach."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from hulltune.cli.command import DONE, command
from hulltune.cli.files import read_scored, weight_vector, weights_for, while_waiting, write_lines
from hulltune.cli.options import Answer, Data, answer_options, data_options, field_option, option, weights_option
from hulltune.cli.values import DERIVATIONS
from hulltune.errors import InputError
from hulltune.options import SEARCH, Tuning
from hulltune.wording import counted, nouns_of, score_text

if TYPE_CHECKING:
    from hulltune.data.dataset import Dataset
    from hulltune.metrics import Metric
    from hulltune.metrics.counts import ErrorCounts

EXAMPLES = """\
hulltune score test.nbest.gz --ref test.en --weights w.json
hulltune score test.nbest.gz -r test.en -w w.json -m WER --also cer
hulltune score lattices/ -r dev.txt -m wer --oracle --out best.txt"""
BEST = 100


@command(group="use weights", examples=EXAMPLES)
@data_options(judged=True)
@weights_option(
    help_text="The weights: a result of tune, JSON, a Moses ini file, or lines 'name value'. For --oracle, those of "
    "the best outputs of forests. [default for --oracle: those of a short search]",
    required=False,
)
@option(SEARCH, "--oracle", "Find the best score that any choice of candidates can reach.")
@option(
    SEARCH,
    "-k, --k K",
    f"For --oracle: the number of distinct outputs of each forest to choose from. [default: {BEST}]",
    type=DERIVATIONS,
)
@field_option(Tuning, "also", help_text="Other metrics to report.", default=None)
@field_option(Tuning, "store")
@answer_options("For --oracle: write the outputs that reach the score, one per line.")
def score(
    data: Data,
    weights: str | None,
    oracle: bool,
    k: int | None,
    also: list[Metric] | None,
    store: str | None,
    answer: Answer,
) -> int:
    """Score what given weights pick from lists or forests, or find the best score that they can reach.

    For an error rate (WER, CER, MER, TER) the answer has the errors by kind, too, and the sentences with errors.
    """
    for name, given in (("also", also), ("store", store)) if oracle else (("k", k), ("out", answer.out)):
        if given is not None:
            raise InputError(f"--{name}: {'not for' if oracle else 'only for'} --oracle")
    if weights is None and not oracle:
        raise InputError("--weights: expected a file of weights; only --oracle does without")
    metric, reading = data.metric, data.reading
    dataset = read_scored(data, *(also or []), quiet=answer.quiet)
    if weights is None or oracle:
        found_weights = None if weights is None else weights_for(dataset, weights, missing=reading.missing)
        return _give_oracle(dataset, data, found_weights, k or BEST, answer)
    from hulltune.metrics import Store
    from hulltune.search.problem import Problem
    from hulltune.threads import Workers

    store, questions = while_waiting(metric, store)
    vector = weight_vector(dataset, weights, missing=reading.missing)
    with ExitStack() as stack:
        kept = stack.enter_context(Store(store)) if store else None
        problem = Problem.of(dataset, metric, store=kept, questions=questions)
        tuned = problem.picks(vector, workers=Workers(data.reading.threads))
        baseline = problem.baseline() if problem.has_own_choice else None
        others = [Problem.of(dataset, other, outputs=problem.outputs, store=kept) for other in also or []]
        found = _Scored.of(problem.metric, tuned.statistics)
        first = None if baseline is None else _Scored.of(problem.metric, baseline.statistics)
        further = [_Scored.of(other.metric, other.judged(tuned, vector).statistics) for other in others]
    if answer.as_json:
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
    found.show(f"  ({counted(len(problem.corpus), nouns_of(found.metric)[0])})")
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
        from hulltune.tuning.text_tables import WIDTH

        percent = percent_of(self.metric, self.score)
        in_percent = "" if percent is None else f" = {percent:.2f} %"
        print(f"{score_text(self.score)}{in_percent}  {before}{self.metric}{after}")
        if self.counts is not None:
            print("\n".join(wrap(str(self.counts), WIDTH, initial_indent="  ", subsequent_indent="  ")))


def _give_oracle(dataset: Dataset, data: Data, weights: dict[str, float] | None, k: int, answer: Answer) -> int:
    """Print the best score that any choice can reach, and write the outputs that reach it."""
    from hulltune.tuning.oracle import best_reachable

    found = best_reachable(dataset, metric=data.metric, weights=weights, k=k, threads=data.reading.threads)
    if answer.out is not None:
        write_lines((" ".join(text.splitlines()) for text in found.texts), answer.out)
    if answer.as_json:
        report = {
            "score": found.score,
            "metric": found.metric,
            "kind": found.kind,
            "exact": found.exact,
            "bound": found.bound,
            "sentences": len(found.texts),
        }
        print(json.dumps(report, ensure_ascii=False))
        return DONE
    size = counted(len(found.texts), nouns_of(found.metric)[0])
    print(f"{score_text(found.score)}  {found.metric}  ({size}; {found.kind})")
    if not found.exact and found.bound is not None:
        print(f"no choice of outputs can be better than {score_text(found.bound)}")
    return DONE
