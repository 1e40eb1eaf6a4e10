"""The counts behind an error rate: errors by kind, and sentences with errors."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hulltune.arrays import Int64s
from hulltune.metrics.base import Metric, Statistics
from hulltune.wording import counted


@dataclass(frozen=True)
class ErrorCounts:
    """Errors of the outputs of a corpus, one output a sentence, each against its nearest reference."""

    unit: str
    """The unit that is compared: "word" or "character"."""
    percent: float
    """The error rate in percent, from the score of the metric itself."""
    errors: int
    """All errors: substitutions, deletions and insertions; for TER edits, in which a shift of several words is one."""
    reference_length: int | float
    """The units of the references; for TER, where a sentence has several, of their mean."""
    sentences: int
    sentence_errors: int
    """The number of sentences with an error."""
    substitutions: int | None = None
    """None for TER, which does not tell kinds of edits apart, like the next three."""
    deletions: int | None = None
    insertions: int | None = None
    hits: int | None = None

    @property
    def sentence_percent(self) -> float:
        """The share of sentences with an error, in percent; 0 where there are no sentences."""
        return 100.0 * self.sentence_errors / self.sentences if self.sentences else 0.0

    def __str__(self) -> str:
        length = f"{self.reference_length:,.6g}" if self.reference_length % 1 else f"{int(self.reference_length):,}"
        words = f"{length} reference {self.unit}{'' if self.reference_length == 1 else 's'}"
        kinds = ""
        if self.hits is not None:
            kinds = ": " + ", ".join(
                counted(number or 0, noun)
                for number, noun in (
                    (self.substitutions, "substitution"),
                    (self.deletions, "deletion"),
                    (self.insertions, "insertion"),
                    (self.hits, "hit"),
                )
            )
        wrong = (
            f"{self.sentence_errors:,} of {counted(self.sentences, 'sentence')} wrong ({self.sentence_percent:.2f} %)"
        )
        return f"{counted(self.errors, 'error')} for {words}{kinds}; {wrong}"


def errors_by_sentence(metric: Metric, statistics: Statistics) -> Int64s | None:
    """The errors of each output, from a row of statistics each; None if the metric is no error rate."""
    from hulltune.metrics.ter import Ter
    from hulltune.metrics.wer import EditRate

    rows = np.asarray(statistics)
    if isinstance(metric, EditRate):
        return np.asarray(rows[:, 1:].sum(axis=1), dtype=np.int64)
    return rows[:, 0].astype(np.int64) if isinstance(metric, Ter) else None


def error_counts(metric: Metric, statistics: Statistics) -> ErrorCounts | None:
    """The counts of outputs with these statistics, a row for each sentence; None if the metric is no error rate.

    WER, CER, MER and TER are error rates; sums of metrics are not.
    """
    from hulltune.metrics.wer import EditRate

    rows = np.asarray(statistics)
    errors = errors_by_sentence(metric, rows)
    if errors is None:
        return None
    whole = {"errors": int(errors.sum()), "sentences": len(rows), "sentence_errors": int(np.count_nonzero(errors))}
    if isinstance(metric, EditRate):
        total = rows.sum(axis=0, dtype=np.int64)
        hits, substitutions, deletions, insertions = total.tolist()
        return ErrorCounts(
            unit=metric.unit,
            percent=100.0 * float(metric.score(total)),
            reference_length=hits + substitutions + deletions,
            substitutions=substitutions,
            deletions=deletions,
            insertions=insertions,
            hits=hits,
            **whole,
        )
    length = math.fsum(rows[:, 1].tolist())
    percent = float(metric.score(np.array([float(whole["errors"]), length])))
    return ErrorCounts(unit="word", percent=percent, reference_length=length, **whole)


def percent_of(signature: str, score: float) -> float | None:
    """A score in percent, where the metric of this signature gives an error rate as a fraction; otherwise None."""
    return 100.0 * score if signature.partition("|")[0] in ("wer", "cer", "mer") else None
