"""A metric that is asked: a store, if there is one, comes first; new answers are checked and stored."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import chain

import numpy as np

from hulltune.arrays import Bools, Int64s, as_table
from hulltune.errors import InputError, Note
from hulltune.metrics.base import Known, Metric, References, Statistics
from hulltune.metrics.combination import Combination
from hulltune.metrics.questions import NotYet, Question
from hulltune.metrics.store import Store, output_ids, sentence_key
from hulltune.wording import counted

Answers = tuple[Statistics, Bools, list[Question]]
"""A row of statistics for each output, whether it is an answer, and the questions about the others."""

LARGEST = 1e290
"""The largest number among statistics: the sums of any corpus are finite."""


class AskedMetric:
    """A metric bound to references. The parts of a combination are stored each for itself, so others may share them."""

    def __init__(
        self,
        metric: Metric,
        references: References,
        sources: Sequence[str] | None = None,
        *,
        store: Store | None = None,
        known: Known | None = None,
    ) -> None:
        known = Known(range(len(references))) if known is None else known
        parts = metric.metrics if isinstance(metric, Combination) else (metric,)
        self._parts = [_Part(part, references, sources, store, known) for part in parts]

    def answers(self, candidates: Int64s, sentences: Int64s, outputs: Sequence[str]) -> Answers:
        """The statistics of outputs, known by number or −1 (see PreparedMetric.statistics_of).

        The answers are in the store when this returns, and the questions, too. InputError for a metric that has failed.
        """
        found = [part.answers(candidates, sentences, outputs) for part in self._parts]
        if len(found) == 1:
            return found[0]
        statistics, answered, questions = zip(*found, strict=True)
        return np.concatenate(statistics, axis=1), np.all(answered, axis=0), list(chain.from_iterable(questions))


class _Part:
    """One metric of a combination, or the only one."""

    def __init__(
        self,
        metric: Metric,
        references: References,
        sources: Sequence[str] | None,
        store: Store | None,
        known: Known,
    ) -> None:
        self._metric, self._references, self._sources, self._known = metric, references, sources, known
        self._prepared = metric.prepare_with(known, references, sources)
        self._name = metric.stored_as or metric.signature
        self._store = None if metric.stored_as is None else store
        if self._store is not store and not metric.reads:
            warnings.warn(
                f"{metric.name}: its answers are not kept in the store, because the metric says no version",
                Note,
                stacklevel=2,
            )
        self._keys: dict[int, bytes] = {}

    def answers(self, candidates: Int64s, sentences: Int64s, outputs: Sequence[str]) -> Answers:
        """The answers to a batch: those that the store has, and new ones."""
        if self._store is None:
            statistics, answered, failure = self._asked(candidates, sentences, outputs)
            _end_if(failure)
            return statistics, answered, self._questions(sentences, outputs, answered)
        columns, ids = self._metric.columns, self._ids(sentences, outputs)
        known, stored = self._store.get(ids, len(columns))
        if len(known) == len(outputs):
            return stored, np.ones(len(outputs), dtype=np.bool_), []
        new = np.setdiff1d(np.arange(len(outputs)), known)
        fresh, is_answer, failure = self._asked(candidates[new], sentences[new], [outputs[k] for k in new.tolist()])
        self._store.put(self._name, columns, [ids[k] for k in new[is_answer].tolist()], fresh[is_answer])
        kept = counted(int(is_answer.sum()), "other answer")
        _end_if(failure, f"; {kept} of this batch and all before are in {self._store.path}")
        statistics = np.empty((len(outputs), len(columns)), dtype=np.result_type(stored, fresh))
        statistics[known], statistics[new] = stored, fresh
        answered = np.ones(len(outputs), dtype=np.bool_)
        answered[new] = is_answer
        questions = self._questions(sentences, outputs, answered)
        self._store.ask(columns, questions)
        return statistics, answered, questions

    def _asked(
        self, candidates: Int64s, sentences: Int64s, outputs: Sequence[str]
    ) -> tuple[Statistics, Bools, str | KeyboardInterrupt | None]:
        """The metric's rows, whether each is an answer, and what has failed."""
        answered = np.ones(len(outputs), dtype=np.bool_)
        rows: Statistics | None
        failure: str | KeyboardInterrupt | None = None
        try:
            rows = self._prepared.statistics_of(candidates, sentences, outputs)
        except NotYet as answer:
            places = range(len(outputs)) if answer.unanswered is None else sorted(set(answer.unanswered))
            if places and not 0 <= places[0] <= places[-1] < len(outputs):
                raise InputError(
                    f"{self._metric.name}: NotYet names the positions {list(places)} of a batch of "
                    f"{counted(len(outputs), 'output')}"
                ) from None
            answered[places] = False
            rows, failure = answer.statistics, answer.failure
            if rows is None:
                rows = np.zeros((len(outputs), len(self._metric.columns)), dtype=np.int64)
        return self._checked(rows, sentences, outputs, answered), answered, failure

    def _ids(self, sentences: Int64s, outputs: Sequence[str]) -> list[bytes]:
        for number in set(sentences.tolist()) - self._keys.keys():
            source = None if self._sources is None else self._sources[number]
            name = None if self._metric.needs_references else self._known.ids[number]
            self._keys[number] = sentence_key(self._references[number], source, name)
        return output_ids(self._name, [self._keys[number] for number in sentences.tolist()], outputs)

    def _questions(self, sentences: Int64s, outputs: Sequence[str], answered: Bools) -> list[Question]:
        """The questions about outputs that have no answer."""
        places = np.flatnonzero(~answered)
        if not len(places):
            return []
        texts = [outputs[k] for k in places.tolist()]
        return [
            Question(
                id=key.hex(),
                metric=self._name,
                sentence=self._known.ids[number],
                source=None if self._sources is None else self._sources[number],
                references=tuple(self._references[number]),
                output=output,
            )
            for key, number, output in zip(
                self._ids(sentences[places], texts), sentences[places].tolist(), texts, strict=True
            )
        ]

    def _checked(
        self, answer: Statistics | None, sentences: Int64s, outputs: Sequence[str], answered: Bools
    ) -> Statistics:
        """The statistics as int64 or float64 of the right shape; zeros where there is no answer yet."""
        name, shape = self._metric.name, (len(outputs), len(self._metric.columns))
        expected = f"expected shape {shape}: a row for each output, a column for each of {list(self._metric.columns)}"
        if answer is None:
            raise InputError(f"{name}: its statistics are None; {expected}, or NotYet raised if there is no answer yet")
        try:
            statistics = as_table(answer)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"{name}: its statistics are no table of numbers ({error}); {expected}") from None
        if statistics.shape != shape:
            raise InputError(f"{name}: its statistics are {statistics.dtype} of shape {statistics.shape}; {expected}")
        statistics = statistics.astype(np.float64 if statistics.dtype.kind == "f" else np.int64)
        statistics[~answered] = 0
        if statistics.dtype.kind == "f" and not np.all(np.abs(statistics) <= LARGEST):  # NaN is not
            k = int(np.argmin(np.all(np.abs(statistics) <= LARGEST, axis=1)))
            raise InputError(
                f"{name}: the statistics of {outputs[k][:80]!r} for sentence {sentences[k]} are "
                f"{statistics[k].tolist()}; expected finite numbers of at most {LARGEST:.0e}, whose sums are finite"
            )
        return statistics


def _end_if(failure: str | KeyboardInterrupt | None, kept: str = "") -> None:
    """Raise what a metric has failed of, if it has."""
    if isinstance(failure, KeyboardInterrupt):
        raise failure
    if failure is not None:
        raise InputError(failure + kept)
