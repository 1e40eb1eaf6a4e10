"""A metric from two functions: statistics of texts, and a loss of their sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hulltune import Corpus, Forest
from hulltune.metrics.base import Metric, PreparedMetric, References, Statistics
from hulltune.search.problem import Problem
from tests.problems import corpus_problem

StatisticsOf = Callable[[NDArray[np.int64], Sequence[str]], NDArray[Any]]


class FunctionMetric(Metric):
    """Two statistics of each text; the loss is 1 − first / second."""

    name: ClassVar[str] = "function"
    higher_is_better = False
    columns = ("hits", "size")
    signature = "function|version:1"

    def __init__(self, statistics: StatisticsOf) -> None:
        self.statistics = statistics

    def prepare(self, references: References, sources: Sequence[str] | None = None) -> PreparedMetric:
        return _Prepared(self.statistics)

    def score(self, statistics: Statistics) -> NDArray[np.float64]:
        misses: NDArray[np.float64] = 1.0 - statistics[..., 0] / np.maximum(statistics[..., 1], 1)
        return misses


class _Prepared(PreparedMetric):
    def __init__(self, statistics: StatisticsOf) -> None:
        self._statistics = statistics

    def statistics(self, sentences: NDArray[np.int64], outputs: Sequence[str]) -> Statistics:
        return self._statistics(sentences, outputs)


def hits(sentences: NDArray[np.int64], outputs: Sequence[str]) -> NDArray[np.int64]:
    """The number of "a" and "7" in a text, and its length."""
    rows = [[text.split().count("a") + ("7" in text), len(text.split()) + 1] for text in outputs]
    return np.array(rows, dtype=np.int64).reshape(-1, 2)


def right(answer: str) -> StatisticsOf:
    """Whether a text is the answer."""
    return lambda sentences, outputs: np.array([[output == answer, 1] for output in outputs], dtype=np.int64)


def problem_of(data: Corpus | Forest, statistics: StatisticsOf = hits) -> Problem:
    """The problem of a corpus or a single forest under these statistics."""
    corpus = Corpus.pack([data]) if isinstance(data, Forest) else data
    return corpus_problem(corpus, FunctionMetric(statistics), [("",)] * len(corpus))
