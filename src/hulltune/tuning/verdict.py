"""The verdict on a tuning: whether its gain is more than chance on sentences that were not tuned on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hulltune.tuning.summary import BEST_SINGLE, digits_of, gain_of, interval_text

if TYPE_CHECKING:
    from hulltune.tuning.result import TuneResult

NOT_KNOWN = (
    "These are scores on the data that were tuned on; --folds 5 or --heldout LISTS tells whether the gain holds on "
    "others."
)


@dataclass(frozen=True)
class Verdict:
    """Whether a gain is established: more than chance, with a 95% interval above 0, over all that it is held against.

    >>> from hulltune import tune
    >>> from hulltune.simulate import simulated_task
    >>> verdict = tune(simulated_task(sentences=60, candidates=10).lists, metric="wer", folds=3).verdict
    >>> verdict.established == all(verdict.against.values()), list(verdict.against)
    (True, ['baseline', 'start', 'single'])
    """

    established: bool | None
    """None where it is not known: nothing but the data that were tuned on was scored, or a metric that waits for
    answers was not asked about the start.
    """
    against: Mapping[str, bool] = field(default_factory=dict)
    """Whether the weights are better by more than chance than the "baseline", the "start" weights, and the best
    "single" feature with the better sign, and of rankings, "rrf" (reciprocal rank fusion, k = 60), as far as these are
    known.
    """
    sentence: str = NOT_KNOWN


def verdict_of(result: TuneResult) -> Verdict:
    """The verdict on held-out data, which are scored with these very weights; without any, that on folds."""
    unseen = result.heldout or result.folds
    if unseen is None:
        return Verdict(None)
    names = {
        "baseline": "the baseline",
        "start": "equal weights" if result.start_kind == type(result).start_kind else "the start weights",
        "single": "the best single ranker" if result.is_ranking else BEST_SINGLE,
        "rrf": "reciprocal rank fusion",
    }
    compared = unseen.compared()
    if result.is_ranking and compared.get("start") == compared["baseline"]:
        del compared["baseline"]
    where = "On held-out data" if unseen is result.heldout else "On folds not tuned on"
    digits, against, missed = digits_of(result), dict[str, bool](), list[str]()
    for name, (score, interval) in compared.items():
        against[name] = interval.low > 0
        if not against[name]:
            how = (
                f"over {names[name]} it is no more than chance"
                if interval.high >= 0
                else f"it is a loss to {names[name]}"
            )
            gain = gain_of(result, score, unseen.score)
            missed.append(f"{how} ({gain:+.{digits}f}, {interval_text(interval, digits)})")
    if missed:
        return Verdict(False, against, f"{where}, the gain is not established: {'; '.join(missed)}.")
    *most, last = (names[name] for name in against)
    told = f"the tuned weights beat {', '.join(most)}{' and ' if most else ''}{last} by more than chance"
    if "start" not in against:
        return Verdict(None, against, f"{where}, {told}; the start weights were not judged.")
    return Verdict(True, against, f"{where}, the gain is established: {told}.")
