"""A memory of statistics: the metric is asked once per distinct output, in batches, when they are first needed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from hulltune.arrays import Int32s, Int64s
from hulltune.data.copies import AT_ONCE, copy_rows, filled, parts_of, places_of, taken
from hulltune.errors import InputError
from hulltune.kernels.surfaces.sweep import Segments
from hulltune.metrics.asked import AskedMetric
from hulltune.metrics.base import Known, Metric, References, Statistics
from hulltune.metrics.checks import checked_sentences
from hulltune.metrics.questions import Question, Unanswered, export_questions
from hulltune.metrics.store import Store
from hulltune.threads import ALONE, Workers

MANY = 1000
"""After a request with more new outputs than this, the memory checks whether all outputs are known."""
MANY_BATCHES, LEAST_BATCH = 64, 128
"""The number of batches for threads to share, and the fewest outputs of one: calls for 64 take 1.5 times as long."""
LINES = 4
"""Parts of the lines of a round for each thread: lines differ in work."""
NOTHING = np.zeros(0, dtype=np.int64)
LARGEST_SUM = 2**31 - 1
"""The largest sum over sentences that fits into 32 bits."""


class Numbered(Protocol):
    """Outputs of sentences, each with a number."""

    def __len__(self) -> int:
        """The number of outputs; it may grow."""

    @property
    def closed(self) -> bool:
        """Whether no further outputs will get a number."""

    def first_equals(self, numbers: Int64s, workers: Workers) -> Int64s:
        """The number of the first output with the same sentence and the same words, for each output.

        ``workers`` look for those of parts of the sentences.
        """

    def described(self, numbers: Int64s) -> tuple[Int64s, list[str]]:
        """The sentence and the text of each output."""

    def lazily_described(self, numbers: Int64s) -> tuple[Int64s, Sequence[str]]:
        """The sentence and the text of each output, which need not be a string yet; see Texts."""


class Memory:
    """A table of statistics that grows on demand, and the row of every output in it.

    Rows never move or change, so callers may keep their numbers. A known output costs one look into an array. For
    unknown outputs the metric is asked in batches of at most ``batch_size`` (by default the metric's own); each
    finished batch is in ``store`` (if given) before the next one begins. Threads may share one memory.

    If the metric answers NotYet, all outputs of the call are still tried; then the questions are kept in the store,
    written to ``questions`` (if a path is given), and Unanswered is raised.
    """

    def __init__(
        self,
        metric: Metric,
        references: References,
        sources: Sequence[str] | None = None,
        *,
        outputs: Numbered,
        store: Store | None = None,
        questions: str | Path | None = None,
        batch_size: int | None = None,
        known: Known | None = None,
    ) -> None:
        if batch_size is not None and batch_size < 1:
            raise InputError(f"batch_size is {batch_size}; expected at least 1")
        self.metric = metric
        self._outputs = outputs
        self._asked = AskedMetric(metric, references, sources, store=store, known=known)
        self._store = store
        self._questions_path = questions
        self._batch_size = batch_size or metric.batch_size
        self._rows = np.full(1, -1, dtype=np.int64)
        self._complete = False
        self._threaded = metric.threaded and store is None
        self._table: Statistics = np.empty((0, len(metric.columns)), dtype=np.int64)
        self._count = 0
        self._lock = threading.Lock()
        self._compact = CompactTable(len(references))

    def __len__(self) -> int:
        """The number of rows: distinct outputs that have statistics."""
        return self._count

    @property
    def table(self) -> Statistics:
        """The statistics of all rows so far: a view, (rows, columns), int64 as long as all are integers."""
        count = self._count  # first: a table that another thread puts in place meanwhile has these rows, too
        return self._table[:count]

    def compact(self, *, workers: Workers = ALONE) -> Int32s | None:
        """The table as 32-bit rows that fill whole cache lines, end to end.

        None if a sum over all sentences may not fit into 32 bits. ``workers`` copy new rows. O(rows since the
        last call).
        """
        return self._compact.of(self.table, workers)

    def rows(self, numbers: Int64s | Int32s, *, workers: Workers = ALONE) -> Int64s:
        """The row of each output; the metric is asked for the new ones."""
        return taken(self.row_of(numbers, workers=workers), numbers, workers)

    def row_of(self, numbers: Int64s | Int32s, *, workers: Workers = ALONE) -> Int64s:
        """The rows of all outputs by number, −1 where unknown; the metric is asked for those of ``numbers`` first.

        Where the metric may be asked by many threads, ``workers`` compute the batches. The table gets the same
        rows in the same order.
        """
        from hulltune.kernels.surfaces.rows import have_rows

        if self._complete:
            return self._rows
        if numbers.max(initial=-1) >= len(self._rows):
            with self._lock:
                self._grow(workers)
        asked = np.require(numbers, np.int64, ["C", "W"])
        if not have_rows(asked, self._rows):
            self.learn(asked, workers=workers)
        return self._rows

    @property
    def complete(self) -> bool:
        """Whether all outputs there will ever be have a row."""
        return self._complete

    def known_rows(self) -> Int64s:
        """The rows of all outputs numbered so far, −1 where the metric was not asked yet."""
        if not self._complete and len(self._outputs) > len(self._rows):
            with self._lock:
                self._grow()
        return self._rows

    def ask(self, sentences: Int64s, texts: Sequence[str]) -> Int64s:
        """The rows of texts that have no number. The metric is asked for all of them, even if it was asked before."""
        rows = np.full(len(texts), -1, dtype=np.int64)
        with self._lock:
            nameless = np.full(len(texts), -1, dtype=np.int64)
            questions = self._ask(nameless, lambda batch: (sentences[batch], texts[batch]), rows)
        self._refuse_unanswered(questions)
        return rows

    def learn(self, numbers: Int64s, *, workers: Workers = ALONE) -> None:
        """Ask the metric for those of some outputs that have no row; ``known_rows`` has a place for all of them."""
        with self._lock:
            missing = self._without_row(numbers, workers)
            # Candidates with equal texts differ where the metric reads a number of each.
            firsts = missing if self.metric.reads else self._outputs.first_equals(missing, workers)
            new = missing if firsts is missing else self._without_row(firsts, workers)
            rows = filled(len(new), -1, workers)
            try:
                describe = self._outputs.lazily_described if self._threaded else self._outputs.described
                questions = self._ask(new, lambda batch: describe(new[batch]), rows, workers)
            finally:  # keep the answers that came before an error
                self._give(new, rows, missing, firsts, workers)
            # Only after large requests: the check takes longer than a small request.
            if len(missing) > MANY and self._outputs.closed:
                self._complete = bool(self._rows.min() >= 0)
        self._refuse_unanswered(questions)

    def learn_lines(self, segments: Segments, *, workers: Workers = ALONE) -> None:
        """Ask the metric for the outputs that win somewhere on lines and have no row."""
        from hulltune.kernels.surfaces.rows import mark_without_row

        if self.metric.waits:  # its questions are those of one line after the other, and no more
            for begin, end in zip(segments.begins.tolist(), segments.ends.tolist(), strict=True):
                self.row_of(segments.outputs[begin:end])
        elif not self._complete:
            rows = self.known_rows()
            marked = np.zeros(len(rows), dtype=np.bool_)

            def mark(lines: slice) -> None:
                mark_without_row(segments.outputs, segments.begins[lines], segments.ends[lines], rows, marked)

            count = len(segments.begins)
            size = count if workers.count == 1 else -(-count // (LINES * workers.count))
            workers.map(mark, [slice(first, first + size) for first in range(0, count, size)])
            unknown = np.flatnonzero(marked)
            if len(unknown):
                self.learn(unknown, workers=workers)

    def _grow(self, workers: Workers = ALONE) -> None:
        """Make room for all outputs. Other threads see the old array or the new one, never a part of it."""
        known, count = self._rows, len(self._outputs)
        if len(known) < count:
            grown = filled(count if self._outputs.closed else 2 * count, -1, workers)
            grown[: len(known)] = known
            self._rows = grown

    def _without_row(self, numbers: Int64s, workers: Workers) -> Int64s:
        """The numbers that have no row, in increasing order, once each. Threads share many of them."""
        from hulltune.kernels.surfaces.rows import mark_numbers, without_row

        if len(numbers) <= AT_ONCE:
            return without_row(numbers, self._rows)
        marked = np.zeros(len(self._rows), dtype=np.bool_)
        workers.map(lambda part: mark_numbers(numbers[part], self._rows, marked), parts_of(len(numbers)))
        return places_of(marked, workers)

    def _give(self, new: Int64s, rows: Int64s, missing: Int64s, firsts: Int64s, workers: Workers) -> None:
        """Write the rows of the ``new`` outputs; then each that was missing gets the row of the first of its equals."""
        from hulltune.kernels.surfaces.rows import give_rows

        workers.map(lambda part: give_rows(new[part], rows[part], NOTHING, NOTHING, self._rows), parts_of(len(new)))
        if firsts is not missing:
            workers.map(
                lambda part: give_rows(NOTHING, NOTHING, missing[part], firsts[part], self._rows),
                parts_of(len(missing)),
            )

    def _ask(
        self,
        numbers: Int64s,
        described: Callable[[slice], tuple[Int64s, Sequence[str]]],
        rows: Int64s,
        workers: Workers = ALONE,
    ) -> dict[str, Question]:
        """Write the new row of each text with an answer into ``rows``; return the questions about the others by id.

        ``numbers`` are those of the outputs, −1 where a text has none; ``described`` tells the sentences and texts of
        some of them. Equal questions come once.
        """
        size, at_once = self._batch_size, 1  # each batch is in the store before the next one begins
        if self._threaded:  # of few outputs small batches, so that there are some for all threads
            size, at_once = min(size, max(len(numbers) // MANY_BATCHES, LEAST_BATCH)), 8 * workers.count
        batches = [slice(start, min(start + size, len(numbers))) for start in range(0, len(numbers), size)]
        self._make_room(self._count + len(numbers), self._table.dtype, workers)
        questions: dict[str, Question] = {}
        for first in range(0, len(batches), at_once):
            some = batches[first : first + at_once]
            answers = workers.map(lambda batch: self._asked.answers(numbers[batch], *described(batch)), some)
            for batch, (statistics, answered, asked) in zip(some, answers, strict=True):
                end = self._count + int(np.count_nonzero(answered))
                self._make_room(end, np.result_type(self._table, statistics))
                self._table[self._count : end] = statistics[answered]
                rows[batch][answered] = np.arange(self._count, end)
                self._count = end  # last: other threads read the table up to here
                questions.update((question.id, question) for question in asked if question.id not in questions)
        return questions

    def _make_room(self, rows: int, dtype: Any, workers: Workers = ALONE) -> None:
        """Make the table large enough for so many rows of this type; a larger one is twice as large."""
        if rows > len(self._table) or dtype != self._table.dtype:
            size = max(rows, 2 * len(self._table)) if rows > len(self._table) else len(self._table)
            grown = np.empty((size, self._table.shape[1]), dtype=dtype)
            copy_rows(self._table[: self._count], grown, workers)
            self._table = grown

    def _refuse_unanswered(self, questions: dict[str, Question]) -> None:
        if questions:
            if self._questions_path is not None:
                export_questions(questions.values(), self._questions_path, store=self._store)
            store = None if self._store is None else self._store.path
            raise Unanswered(tuple(questions.values()), path=self._questions_path, store=store)


class TextMemory(Memory):
    """A memory of statistics for texts that have no numbers yet: the one to use in a search of your own.

    The metric is asked once for equal texts of a sentence. A known text costs a look into a dictionary.
    """

    def __init__(
        self,
        metric: Metric,
        references: References,
        sources: Sequence[str] | None = None,
        *,
        store: Store | None = None,
        questions: str | Path | None = None,
        batch_size: int | None = None,
    ) -> None:
        self._texts = _Texts()
        self._sentences = len(references)
        super().__init__(
            metric, references, sources,
            outputs=self._texts, store=store, questions=questions, batch_size=batch_size,
        )  # fmt: skip

    def rows_of(self, sentences: Int64s, texts: Sequence[str]) -> Int64s:
        """The row of each text as an output of its sentence; the metric is asked for the new ones."""
        numbers = checked_sentences(sentences, texts, self._sentences)
        return self.rows(self._texts.numbers(numbers, texts))

    def statistics(self, sentences: Int64s, texts: Sequence[str]) -> Statistics:
        """The statistics of each text."""
        rows = self.rows_of(sentences, texts)  # first, as it may replace the table
        chosen: Statistics = self.table[rows]
        return chosen


class _Texts:
    """Numbers for the texts of sentences, by order of arrival; equal texts of a sentence share a number."""

    closed = False

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, str], int] = {}
        self._pairs: list[tuple[int, str]] = []
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._pairs)

    def numbers(self, sentences: Sequence[int], texts: Sequence[str]) -> Int64s:
        """The number of each text; new texts get the next numbers."""
        numbers = []
        with self._lock:
            for pair in zip(sentences, texts, strict=True):
                number = self._numbers.setdefault(pair, len(self._pairs))
                if number == len(self._pairs):
                    self._pairs.append(pair)
                numbers.append(number)
        return np.array(numbers, dtype=np.int64)

    def first_equals(self, numbers: Int64s, workers: Workers) -> Int64s:
        """The numbers themselves: equal texts share one already."""
        return numbers

    def lazily_described(self, numbers: Int64s) -> tuple[Int64s, list[str]]:
        """The sentence and the text of each number."""
        return self.described(numbers)

    def described(self, numbers: Int64s) -> tuple[Int64s, list[str]]:
        """The sentence and the text of each number."""
        pairs = [self._pairs[number] for number in numbers.tolist()]
        return np.array([sentence for sentence, _ in pairs], dtype=np.int64), [text for _, text in pairs]


class CompactTable:
    """A growing table of integer statistics as 32-bit rows that fill whole cache lines, for sums over a corpus."""

    def __init__(self, sentences: int) -> None:
        self._sentences = sentences
        self._rows = np.zeros((0, 0), dtype=np.int32)
        self._done = 0
        self._fits = True
        self._lock = threading.Lock()

    def of(self, table: Statistics, workers: Workers = ALONE) -> Int32s | None:
        """The rows of ``table``, which may only have grown since the last call; None if a sum may not fit."""
        from hulltune.kernels.simd.simd import LANES

        if table.dtype.kind not in "iu":
            return None
        with self._lock:
            if self._done < len(table) and self._fits:
                if len(table) > len(self._rows):
                    width = -(-table.shape[1] // LANES) * LANES
                    rows = np.zeros((2 * len(table), width), dtype=np.int32)
                    copy_rows(self._rows[: self._done], rows, workers)
                    self._rows = rows
                new = table[self._done :]
                largest = max(workers.map(partial(self._copy, new, self._rows[self._done :]), parts_of(*new.shape)))
                self._fits = largest * (self._sentences + 1) <= LARGEST_SUM
                self._done = len(table)
            return self._rows.reshape(-1) if self._fits else None

    @staticmethod
    def _copy(table: Statistics, rows: Int32s, part: slice) -> int:
        """Copy some rows, which mean nothing if one of their numbers is too large; returns the largest of these."""
        new = table[part]
        rows[part, : table.shape[1]] = new
        return max(abs(int(new.max(initial=0))), abs(int(new.min(initial=0))))
