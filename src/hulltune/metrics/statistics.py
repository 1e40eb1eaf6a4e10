"""Metrics over statistics that files give instead of texts: those of Moses' SCORESTAT files, scored as Moses does.

The text of a hypothesis is the name of the metric and its statistics, ``BLEU 5 7 3 6 2 5 1 4 8`` (see
hulltune.formats.mert). References are not needed: the statistics were made with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from hulltune.arrays import Floats, Int64s
from hulltune.errors import InputError
from hulltune.metrics._common import checked_numbers, checked_statistics, ratio, signature
from hulltune.metrics.base import Metric, PreparedMetric, References, Statistics
from hulltune.metrics.bleu import Bleu
from hulltune.metrics.bounds import Ratio
from hulltune.metrics.registry import get_metric

if TYPE_CHECKING:
    from hulltune.data.dataset import Dataset

GIVEN = "mert"
"""The format of files that give statistics."""


def for_data(metric: str | Metric, dataset: Dataset) -> Metric:
    """The metric, or the one of that name over given statistics if the dataset has such in the place of texts.

    There the metric must be the one of the statistics, without options.
    """
    chosen = get_metric(metric)
    if isinstance(chosen, (GivenBleu, GivenRate)) or not any(each.format == GIVEN for each in dataset.provenance):
        return chosen
    kind = dataset.text(0).partition(" ")[0] if dataset.corpus.edges else ""
    given: dict[str, Metric] = {
        "BLEU": GivenBleu(),
        "TER": GivenRate(of="ter", scale=100.0),
        "WER": GivenRate(of="wer"),
    }
    if kind not in given:
        raise InputError(f"the files have statistics of {kind}; expected those of {', '.join(given)}")
    if chosen.name != kind.lower():
        raise InputError(
            f"metric {chosen.name}: the files have no texts, only statistics of {kind}; give the metric {kind.lower()}"
        )
    if chosen.signature != get_metric(chosen.name).signature:
        raise InputError(f"metric {chosen.name}: its options do not apply to statistics that are given; leave them out")
    return given[kind]


@dataclass(frozen=True, kw_only=True)
class GivenBleu(Bleu):
    """BLEU as Moses computes it from its statistics: the corpus's, of order 4, without smoothing; 0 to 100."""

    name: ClassVar[str] = "given_bleu"
    needs_references = False

    smooth_method: str = "none"
    tokenize: str = "none"

    @property
    def signature(self) -> str:
        """Name, the origin of the statistics, order and smoothing."""
        return signature("bleu", {"statistics": "moses", "order": self.max_ngram_order, "smooth": self.smooth_method})

    def prepare(self, references: References, sources: Sequence[str] | None = None) -> _PreparedGiven:  # type: ignore[override]  # no texts to tokenise
        """Statistics by the texts alone."""
        order = self.max_ngram_order
        pairs = np.arange(order) * 2
        return _PreparedGiven(
            "BLEU", 2 * order + 1, np.concatenate([[1, 2 * order], pairs, pairs + 1]), len(references)
        )


@dataclass(frozen=True, kw_only=True)
class GivenRate(Metric):
    """An error rate, TER or WER, from its errors and the length of references; 0 where that is 0."""

    name: ClassVar[str] = "given_rate"
    needs_references = False
    higher_is_better = False
    columns = ("errors", "reference_length")

    of: str
    scale: float = 1.0

    @property
    def signature(self) -> str:
        """Name and the origin of the statistics."""
        return signature(self.of, {"statistics": "moses"})

    def prepare(self, references: References, sources: Sequence[str] | None = None) -> _PreparedGiven:
        """Statistics by the texts alone; a third one, the rate of the sentence, is of no use."""
        return _PreparedGiven(self.of.upper(), 2, np.arange(2), len(references))

    def score(self, statistics: Statistics) -> Floats:
        """Errors divided by reference length."""
        sums = checked_statistics(statistics, self)
        return ratio(self.scale * sums[..., 0], sums[..., 1], empty=0.0)

    @property
    def as_ratio(self) -> Ratio:
        """Errors divided by reference length."""
        return Ratio(np.array([1.0, 0.0]), np.array([0.0, 1.0]), scale=self.scale)


class _PreparedGiven(PreparedMetric):
    """Statistics that outputs spell after the name of the metric; those at ``places`` are taken."""

    def __init__(self, kind: str, least: int, places: Int64s, sentences: int) -> None:
        self._kind, self._least, self._places, self._sentences = kind, least, places, sentences

    def statistics(self, sentences: Int64s, outputs: Sequence[str]) -> Statistics:
        """The numbers in the outputs, as integers if all are whole; 0 for an empty output."""
        checked_numbers(sentences, outputs, self._sentences)
        rows = np.zeros((len(outputs), len(self._places)))
        for row, output in enumerate(outputs):
            if output:
                rows[row] = self._numbers(output)[self._places]
        whole = bool(np.all(rows == np.rint(rows))) and bool(np.all(np.abs(rows) < 2.0**53))
        return rows.astype(np.int64) if whole else rows

    def _numbers(self, output: str) -> Floats:
        kind, *fields = output.split(" ")
        try:
            numbers = np.array(fields, dtype=np.float64)
        except ValueError:
            numbers = np.full(1, np.nan)
        if kind != self._kind or len(numbers) < self._least or not np.all(np.isfinite(numbers)) or numbers.min() < 0:
            raise InputError(
                f"{self._kind.lower()}: got {output[:60]!r}; expected {self._kind} and {self._least} statistics from 0"
            )
        return numbers
