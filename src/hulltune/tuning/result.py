"""What tuning answers, as plain data that can be saved and loaded."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hulltune.errors import InputError
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
    """The score of the lists' own first choice; a forest has none, and counts with its best under the start weights."""
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
    """The hypotheses of all lists; of forests, their edges."""
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
    """What the baseline is; of forests "the start weights' choice", or both where some are lists."""
    oracle_kind: str | None = None
    """Among what the best picks were looked for: "all candidates" of lists; of forests the outputs met in the search
    and the best under the tuned weights (a bound from below), or all derivations where "exact".
    """
    timings: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """Seconds spent reading, searching and describing."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON would have it."""
        return {"format": FORMAT, **dataclasses.asdict(self)}

    def save(self, path: str | Path) -> Path:
        """Write it as JSON: to a neighbour first, which then takes the name."""
        target = Path(path)
        unfinished = target.with_name(f".{target.name}.{os.getpid()}.unfinished")
        try:
            unfinished.write_text(json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            unfinished.replace(target)
        except OSError as error:
            raise InputError(f"{target}: cannot write the result ({error.strerror})") from None
        finally:
            unfinished.unlink(missing_ok=True)
        return target

    @staticmethod
    def load(path: str | Path) -> TuneResult:
        """Read what ``save`` wrote."""
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(f"{path}: cannot read the result ({error.strerror})") from None
        except ValueError as error:
            raise InputError(f"{path}: not a result file ({error})") from None
        if not isinstance(data, dict) or data.pop("format", None) != FORMAT:
            raise InputError(f'{path}: not a result of this version; expected "format": "{FORMAT}"')
        try:
            return _from_dict(data)
        except (KeyError, TypeError) as error:
            raise InputError(f"{path}: not a whole result file ({error})") from None


def _from_dict(data: dict[str, Any]) -> TuneResult:
    gain, heldout, replicates = data.pop("gain"), data.pop("heldout"), data.pop("replicates")
    certificate = data.pop("certificate", None)
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
