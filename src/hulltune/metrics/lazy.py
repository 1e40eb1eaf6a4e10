"""Statistics on demand: once per distinct output of a sentence, in batches, remembered."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hulltune.errors import InputError
from hulltune.metrics._common import checked_sentences
from hulltune.metrics.base import Metric, PreparedMetric, References, Statistics
from hulltune.metrics.pending import NotYet, Question, Unanswered, export_questions
from hulltune.metrics.remembered import bind
from hulltune.metrics.store import Store


class LazyStatistics(PreparedMetric):
    """A table of statistics that grows by what is asked for.

    ``rows`` gives each (sentence, output) the number of its row in ``table``; rows never move or change, so
    that callers may keep the numbers. A known output costs one dictionary lookup. Unknown ones are computed
    in batches of at most ``batch_size``, and each finished batch is in ``store`` (if one is given) before the
    next is begun.

    If the metric answers NotYet, all outputs of the call are still tried; then the questions are kept in the
    store, written to ``questions`` (if a path is given), and Unanswered is raised. Threads may share one
    object.
    """

    def __init__(
        self,
        metric: Metric,
        references: References,
        sources: Sequence[str] | None = None,
        *,
        store: Store | None = None,
        questions: str | Path | None = None,
        batch_size: int = 1024,
    ) -> None:
        if batch_size < 1:
            raise InputError(f"batch_size is {batch_size}; expected at least 1")
        self.metric = metric
        self._prepared = bind(metric, references, sources, store=store)
        self._store = store
        self._questions_path = questions
        self._batch_size = batch_size
        self._known: list[dict[str, int]] = [{} for _ in references]
        self._table: Statistics = np.empty((0, len(metric.columns)), dtype=np.int64)
        self._count = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """The number of distinct outputs that have statistics."""
        return self._count

    @property
    def table(self) -> Statistics:
        """The statistics of all rows so far: a view, (rows, columns), int64 as long as all are integers."""
        return self._table[: self._count]

    def rows(self, sentences: NDArray[np.int64], outputs: Sequence[str]) -> NDArray[np.int64]:
        """The row of each output, after computing what is not known yet; O(1) for each known output."""
        known = self._known
        numbers = checked_sentences(sentences, outputs, len(known))
        found = [known[number].get(output, -1) for number, output in zip(numbers, outputs, strict=True)]
        rows = np.array(found, dtype=np.int64)
        missing = np.flatnonzero(rows < 0).tolist()
        if missing:
            with self._lock:
                self._compute([(numbers[k], outputs[k]) for k in missing])
            rows[missing] = [known[numbers[k]][outputs[k]] for k in missing]
        return rows

    def statistics(self, sentences: NDArray[np.int64], outputs: Sequence[str]) -> Statistics:
        """The statistics of each output."""
        rows = self.rows(sentences, outputs)  # before the table, which may be another one afterwards
        chosen: Statistics = self.table[rows]
        return chosen

    def _compute(self, pairs: Sequence[tuple[int, str]]) -> None:
        """Fill in the pairs that are still unknown, batch by batch."""
        distinct = [pair for pair in dict.fromkeys(pairs) if pair[1] not in self._known[pair[0]]]
        questions: dict[str, Question] = {}  # by id: sentences with the same content ask only once
        for start in range(0, len(distinct), self._batch_size):
            asked = self._compute_batch(distinct[start : start + self._batch_size])
            for question in asked:
                questions.setdefault(question.id, question)
        if questions:
            if self._questions_path is not None:
                export_questions(questions.values(), self._questions_path, store=self._store)
            raise Unanswered(tuple(questions.values()), path=self._questions_path, stored=self._store is not None)

    def _compute_batch(self, batch: list[tuple[int, str]]) -> tuple[Question, ...]:
        sentences = np.array([number for number, _ in batch], dtype=np.int64)
        outputs = [output for _, output in batch]
        try:
            self._append(batch, self._prepared.statistics(sentences, outputs))
        except NotYet as answer:
            open_positions = set(range(len(batch)) if answer.unanswered is None else answer.unanswered)
            answered = [k for k in range(len(batch)) if k not in open_positions]
            if answered and answer.statistics is not None:
                self._append([batch[k] for k in answered], np.asarray(answer.statistics)[answered])
            return answer.questions
        return ()

    def _append(self, batch: list[tuple[int, str]], statistics: Statistics) -> None:
        """Add rows at the end, doubling a full table; readers learn of a row only when it is there."""
        end = self._count + len(batch)
        dtype = np.result_type(self._table.dtype, statistics.dtype)
        if end > len(self._table) or dtype != self._table.dtype:
            size = max(end, 2 * len(self._table)) if end > len(self._table) else len(self._table)
            grown = np.empty((size, self._table.shape[1]), dtype=dtype)
            grown[: self._count] = self._table[: self._count]
            self._table = grown
        self._table[self._count : end] = statistics
        first, self._count = self._count, end
        for row, (number, output) in enumerate(batch, first):
            self._known[number][output] = row
