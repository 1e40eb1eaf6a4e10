"""What tuning answers, as plain data that can be saved and loaded."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hulltune.formats.result_files import as_record, load_record, save_record
from hulltune.search.certified.certificate import Certificate
from hulltune.tuning.evaluation import Interval

FORMAT = "hulltune result 1"


@dataclass(frozen=True)
class HeldOut:
    """Scores on sentences that were not tuned on."""

    how: str
    """"file", or "folds" for cross-validation."""
    sentences: int
    baseline: float
    score: float
    gain: Interval


@dataclass(frozen=True)
class Replicates:
    """Scores of runs with other seeds (Clark et al. 2011)."""

    seeds: tuple[int, ...]
    scores: tuple[float, ...]
    mean: float
    deviation: float
    heldout_scores: tuple[float, ...] = ()


@dataclass(frozen=True)
class TuneResult:
    """Tuned weights and what is known about them. Scores are in the metric's own unit and direction."""

    weights: Mapping[str, float]
    start: Mapping[str, float]
    score: float
    """What reranking the tuning set with the weights scores: checked, not predicted."""
    baseline: float
    """The score of the lists' own first choice; a forest has none, and counts with its best under the weights given, or
    those of the decoder, or those of the start (see ``baseline_kind``).
    """
    start_score: float
    oracle: float | None
    """The score of the best picks found, sentence by sentence (None if the metric was not asked for all of them);
    ``oracle_kind`` says among what.
    """
    metric: str
    """The metric's signature."""
    higher_is_better: bool
    seed: int
    sentences: int
    candidates: int
    """Hypotheses of lists, edges of forests."""
    line_searches: int
    seconds: float
    """From the lists, read or not, to this result; ``timings`` has its parts."""
    version: str
    gain: Interval | None = None
    without: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """Per feature, the change in score when it is removed."""
    others: Mapping[str, tuple[float, float]] = dataclasses.field(default_factory=dict)
    """Other metrics, by signature: before (the baseline) and after."""
    heldout: HeldOut | None = None
    replicates: Replicates | None = None
    history: tuple[Mapping[str, float], ...] = ()
    """Every improvement of the best score: start, line searches spent, score."""
    interrupted: bool = False
    certificate: Certificate | None = None
    """What is proven of the score, if the search was a certified one."""
    baseline_kind: str = "the lists' own first choice"
    """What the baseline is; of forests "the start weights' choice" or "the choice of the files' own scales", and
    of lists among them their own.
    """
    oracle_kind: str | None = None
    """Among what the best picks were looked for: "all candidates" of lists; of forests the outputs met in the search
    and the best under the tuned weights (a bound from below), or all derivations where "exact".
    """
    timings: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """Seconds spent reading, searching and describing."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON would have it."""
        return as_record(self, FORMAT)

    def save(self, path: str | Path) -> Path:
        """Write it as JSON, atomically. It has the weights where ``read_weights`` looks for them."""
        return save_record(self.to_dict(), path)

    @staticmethod
    def load(path: str | Path) -> TuneResult:
        """Read what ``save`` wrote."""
        return load_record(path, FORMAT, "a result", TuneResult, _from_dict)


def _from_dict(data: dict[str, Any]) -> TuneResult:
    gain, heldout, replicates = data.pop("gain"), data.pop("heldout"), data.pop("replicates")
    certificate = data.pop("certificate")
    if heldout is not None:
        heldout = HeldOut(**{**heldout, "gain": Interval(**heldout["gain"])})
    if replicates is not None:
        lists = {key: tuple(value) for key, value in replicates.items() if isinstance(value, list)}
        replicates = Replicates(**{**replicates, **lists})
    return TuneResult(
        **{
            **data,
            "gain": None if gain is None else Interval(**gain),
            "heldout": heldout,
            "replicates": replicates,
            "certificate": None if certificate is None else Certificate.from_dict(certificate),
            "history": tuple(data["history"]),
            "others": {name: tuple(pair) for name, pair in data["others"].items()},
        }
    )
