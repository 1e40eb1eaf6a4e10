"""Statistics on demand: once per distinct output of a sentence, in batches, remembered."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from hulltune.errors import InputError
from hulltune.metrics.base import Metric, PreparedMetric, References, Statistics
from hulltune.metrics.combination import Combination, PreparedCombination
from hulltune.metrics.pending import NotYet, Question, Unanswered, export_questions
from hulltune.metrics.store import Store, output_ids, sentence_key


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
        numbers: list[int] = np.asarray(sentences, dtype=np.int64).tolist()
        known = self._known
        if len(numbers) != len(outputs):
            raise InputError(
                f"{len(numbers)} sentence numbers for {len(outputs)} outputs; expected one for each"
            )
        if numbers and (min(numbers) < 0 or max(numbers) >= len(known)):
            wrong = next(number for number in numbers if not 0 <= number < len(known))
            raise InputError(f"sentence number {wrong} is out of range: there are {len(known)} sentences")
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
        chosen: Statistics = self.table[self.rows(sentences, outputs)]
        return chosen

    def _compute(self, pairs: Sequence[tuple[int, str]]) -> None:
        """Fill in the pairs that are still unknown, batch by batch."""
        for number, output in pairs:
            if not isinstance(output, str):
                raise InputError(f"an output for sentence {number} is {output!r}; expected a string")
        distinct = [pair for pair in dict.fromkeys(pairs) if pair[1] not in self._known[pair[0]]]
        questions: list[Question] = []
        for start in range(0, len(distinct), self._batch_size):
            questions.extend(self._compute_batch(distinct[start : start + self._batch_size]))
        if questions:
            if self._questions_path is not None:
                export_questions(questions, self._questions_path, store=self._store)
            raise Unanswered(questions, path=self._questions_path, stored=self._store is not None)

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


def bind(
    metric: Metric,
    references: References,
    sources: Sequence[str] | None = None,
    *,
    store: Store | None = None,
) -> PreparedMetric:
    """``metric.prepare`` with a store in front and questions behind it; the parts of a combination each on
    its own.

    So the answers and statistics of one metric are shared by all the combinations that it is a part of.
    """
    if isinstance(metric, Combination):
        return PreparedCombination([bind(part, references, sources, store=store) for part in metric.metrics])
    return _Remembered(metric, references, sources, store if metric.storable else None)


class _Remembered(PreparedMetric):
    """One metric's answers: from the store, or else from the metric, checked, and then stored."""

    def __init__(
        self, metric: Metric, references: References, sources: Sequence[str] | None, store: Store | None
    ) -> None:
        self._metric = metric
        self._prepared = metric.prepare(references, sources)
        self._references = [tuple(group) for group in references]
        self._sources = sources
        self._store = store
        self._signature = metric.signature
        self._keys: dict[int, bytes] = {}

    def statistics(self, sentences: NDArray[np.int64], outputs: Sequence[str]) -> Statistics:
        if self._store is None:
            return self._ask_metric(sentences, outputs, None)
        ids = self._ids(sentences, outputs)
        positions, stored = self._store.get(ids, len(self._metric.columns))
        if len(positions) == len(outputs):
            return stored
        missing = np.setdiff1d(np.arange(len(outputs)), positions)
        missing_ids = [ids[k] for k in missing]
        try:
            fresh = self._ask_metric(sentences[missing], [outputs[k] for k in missing], missing_ids)
        except NotYet as answer:
            computed, still_open = cast(Statistics, answer.statistics), cast(list[int], answer.unanswered)
            together = _interleave(len(outputs), positions, stored, missing, computed)
            unanswered = missing[still_open].tolist()
            raise NotYet(unanswered, together, questions=answer.questions) from None
        return _interleave(len(outputs), positions, stored, missing, fresh)

    def _ids(self, sentences: NDArray[np.int64], outputs: Sequence[str]) -> list[bytes]:
        keys = []
        for number in sentences.tolist():
            if number not in self._keys:
                source = None if self._sources is None else self._sources[number]
                self._keys[number] = sentence_key(self._references[number], source)
            keys.append(self._keys[number])
        return output_ids(self._signature, keys, outputs)

    def _ask_metric(
        self, sentences: NDArray[np.int64], outputs: Sequence[str], ids: list[bytes] | None
    ) -> Statistics:
        """The metric's answer to a batch, stored; a NotYet that leaves here has statistics and questions."""
        try:
            statistics = self._checked(
                self._prepared.statistics(sentences, outputs), sentences, outputs, set()
            )
        except NotYet as answer:
            unanswered = sorted(range(len(outputs)) if answer.unanswered is None else set(answer.unanswered))
            statistics = self._checked(answer.statistics, sentences, outputs, set(unanswered))
            self._put(statistics, ids, set(unanswered))
            questions = self._questions(sentences, outputs, unanswered)
            if self._store is not None:
                self._store.ask(self._metric.columns, questions)
            raise NotYet(unanswered, statistics, questions=questions) from None
        self._put(statistics, ids, set())
        return statistics

    def _put(self, statistics: Statistics, ids: list[bytes] | None, unanswered: set[int]) -> None:
        if self._store is not None and ids is not None:
            answered = [k for k in range(len(ids)) if k not in unanswered]
            self._store.put(
                self._signature, self._metric.columns, [ids[k] for k in answered], statistics[answered]
            )

    def _questions(
        self, sentences: NDArray[np.int64], outputs: Sequence[str], unanswered: list[int]
    ) -> list[Question]:
        chosen = sentences[unanswered]
        texts = [outputs[k] for k in unanswered]
        return [
            Question(
                id=key.hex(),
                metric=self._signature,
                sentence=number,
                source=None if self._sources is None else self._sources[number],
                references=self._references[number],
                output=output,
            )
            for key, number, output in zip(self._ids(chosen, texts), chosen.tolist(), texts, strict=True)
        ]

    def _checked(
        self,
        answer: Statistics | None,
        sentences: NDArray[np.int64],
        outputs: Sequence[str],
        unanswered: set[int],
    ) -> Statistics:
        """The statistics as int64 or float64 of the right shape; zeros where there is no answer yet."""
        name, shape = self._metric.name, (len(outputs), len(self._metric.columns))
        if answer is None:
            return np.zeros(shape, dtype=np.int64)
        statistics = np.asarray(answer)
        if statistics.shape != shape or statistics.dtype.kind not in "iufb":
            raise InputError(
                f"{name}: its statistics are {statistics.dtype} of shape {statistics.shape}; expected numbers "
                f"of shape {shape}: one row for each output, one column for each of {list(self._metric.columns)}"
            )
        statistics = statistics.astype(np.float64 if statistics.dtype.kind == "f" else np.int64)
        statistics[sorted(unanswered)] = 0
        bad = np.flatnonzero(~np.isfinite(statistics).all(axis=1))
        if bad.size:
            k = int(bad[0])
            raise InputError(
                f"{name}: the statistics of {outputs[k][:80]!r} for sentence {sentences[k]} are "
                f"{statistics[k].tolist()}; expected finite numbers"
            )
        return statistics


def _interleave(
    count: int,
    left: NDArray[np.int64],
    left_rows: Statistics,
    right: NDArray[np.int64],
    right_rows: Statistics,
) -> Statistics:
    """Rows from two places in their common order."""
    both = [rows for rows in (left_rows, right_rows) if len(rows)]
    result = np.empty((count, left_rows.shape[1]), dtype=np.result_type(*both))
    result[left], result[right] = left_rows, right_rows
    return result
