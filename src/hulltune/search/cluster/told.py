"""A metric whose statistics the driver tells: it has the store, the columns of the data, or the judge to ask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from hulltune.arrays import Floats, Int64s
from hulltune.metrics.base import Metric, PreparedMetric, References, Statistics
from hulltune.search.cluster.protocol import Telling

ANY = 1 << 40
"""A number of outputs that no batch reaches: all unknown ones are named at once."""


class UntoldError(Exception):
    """Outputs are unknown that a question is about."""

    def __init__(self, numbers: Int64s, sentences: Int64s, texts: tuple[str, ...]) -> None:
        super().__init__("statistics that the driver has not told yet")
        self.numbers, self.sentences, self.texts = numbers, sentences, texts


class ToldMetric(Metric):
    """Statistics as they are told, for a worker; scores are the driver's business."""

    name: ClassVar[str] = "told"
    storable: ClassVar[bool] = False
    higher_is_better = True
    needs_references = False
    batch_size = ANY

    def __init__(self, metric: Metric) -> None:
        """Stand in for a metric. Outputs with equal texts differ where that one reads a number of each."""
        self.columns = metric.columns
        self.waits = metric.waits
        self.by_candidate = bool(metric.reads)
        self.known: dict[tuple[int, int, str], Statistics] = {}

    @property
    def signature(self) -> str:
        """The name alone: nothing is stored or shown under it."""
        return self.name

    def tell(self, telling: Telling) -> None:
        """Remember statistics."""
        asked = telling.asked
        keys = self._keys(asked.numbers, asked.sentences, asked.texts)
        self.known.update(zip(keys, telling.statistics, strict=True))

    def statistics(self, numbers: Int64s, sentences: Int64s, texts: Sequence[str]) -> Statistics:
        """The statistics of outputs; UntoldError names those that are not known."""
        keys = self._keys(numbers, sentences, texts)
        unknown = [place for place, key in enumerate(keys) if key not in self.known]
        if unknown:
            raise UntoldError(numbers[unknown], sentences[unknown], tuple(texts[place] for place in unknown))
        return np.array([self.known[key] for key in keys])

    def prepare(self, references: References, sources: Sequence[str] | None = None) -> PreparedMetric:
        """The metric itself knows all that is known."""
        return _Prepared(self)

    def score(self, statistics: Statistics) -> Floats:
        """Nothing: workers do not score."""
        raise NotImplementedError("a worker does not score")

    def _keys(self, numbers: Int64s, sentences: Int64s, texts: Sequence[str]) -> list[tuple[int, int, str]]:
        candidates = numbers.tolist() if self.by_candidate else [-1] * len(texts)
        return list(zip(np.asarray(sentences).tolist(), candidates, texts, strict=True))


class _Prepared(PreparedMetric):
    def __init__(self, metric: ToldMetric) -> None:
        self._metric = metric

    def statistics(self, sentences: Int64s, outputs: Sequence[str]) -> Statistics:
        """Statistics of texts that are no candidates."""
        return self.statistics_of(np.full(len(outputs), -1, dtype=np.int64), sentences, outputs)

    def statistics_of(self, candidates: Int64s, sentences: Int64s, outputs: Sequence[str]) -> Statistics:
        """The statistics of candidates."""
        return self._metric.statistics(candidates, sentences, outputs)
