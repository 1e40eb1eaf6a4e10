"""Metrics that the tests can watch: they count what they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hulltune.metrics.base import Metric, PreparedMetric, References, Statistics
from hulltune.metrics.questions import NotYet


class Length(Metric):
    """The mean number of characters, times ``scale``; ``asked`` has every batch that reached the metric."""

    name: ClassVar[str] = "length"
    version = "1"
    higher_is_better = True
    columns = ("characters", "count")

    def __init__(self, *, scale: int = 1, floats: bool = False, unanswered: str = "") -> None:
        self.scale = scale
        self.floats = floats
        self.unanswered = unanswered
        self.asked: list[list[tuple[int, str]]] = []

    @property
    def signature(self) -> str:
        return f"length|scale:{self.scale}|version:1"

    def prepare(self, references: References, sources: Sequence[str] | None = None) -> PreparedMetric:
        return _PreparedLength(self)

    def score(self, statistics: Statistics) -> NDArray[np.float64]:
        result: NDArray[np.float64] = statistics[..., 0] / np.maximum(statistics[..., 1], 1)
        return result


class _PreparedLength(PreparedMetric):
    def __init__(self, metric: Length) -> None:
        self.metric = metric

    def statistics(self, sentences: NDArray[np.int64], outputs: Sequence[str]) -> Statistics:
        metric = self.metric
        metric.asked.append(list(zip(sentences.tolist(), outputs, strict=True)))
        rows = np.array([[metric.scale * len(output), 1] for output in outputs])
        rows = rows.reshape(-1, 2).astype(float) + 0.5 if metric.floats else rows.reshape(-1, 2)
        unanswered = [k for k, output in enumerate(outputs) if metric.unanswered and metric.unanswered in output]
        if unanswered:
            raise NotYet(unanswered, rows)
        return rows


class LowerLength(Length):
    """The metric Length, but shorter is better."""

    name: ClassVar[str] = "lower_length"
    version = "1"
    higher_is_better = False

    @property
    def signature(self) -> str:
        return f"lower_{super().signature}"
