"""A metric with a store in front of it: stored statistics are not computed, computed ones are stored."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import cast

import numpy as np

from hulltune.arrays import Int64s, as_table
from hulltune.errors import InputError, Note
from hulltune.metrics.base import Known, Metric, PreparedMetric, References, Statistics
from hulltune.metrics.code_version import code_version
from hulltune.metrics.combination import Combination, PreparedCombination
from hulltune.metrics.judge import JudgeError
from hulltune.metrics.pending import NotYet, Question
from hulltune.metrics.store import Store, output_ids, sentence_key
from hulltune.wording import counted


def bind(
    metric: Metric,
    references: References,
    sources: Sequence[str] | None = None,
    *,
    store: Store | None = None,
    known: Known | None = None,
) -> PreparedMetric:
    """The prepared metric with a store in front of it.

    The parts of a combination get a store one by one, so all combinations share the statistics of a metric.
    """
    if isinstance(metric, Combination):
        parts = [bind(part, references, sources, store=store, known=known) for part in metric.metrics]
        return PreparedCombination(parts)
    known = Known(range(len(references))) if known is None else known
    return _Stored(metric, known, references, sources, store if metric.storable and not metric.reads else None)


class _Stored(PreparedMetric):
    """A prepared metric that looks into the store first; new answers are checked and stored."""

    def __init__(
        self,
        metric: Metric,
        known: Known,
        references: References,
        sources: Sequence[str] | None,
        store: Store | None,
    ) -> None:
        self._metric = metric
        self._known = known
        self._prepared = metric.prepare_with(known, references, sources)
        self._references = list(map(tuple, references))
        self._sources = sources
        self._store = store
        self._signature = metric.signature if store is None else _stored_signature(metric, self._prepared, store)
        self._keys: dict[int, bytes] = {}

    def statistics(self, sentences: Int64s, outputs: Sequence[str]) -> Statistics:
        return self.statistics_of(np.full(len(outputs), -1, dtype=np.int64), sentences, outputs)

    def statistics_of(self, candidates: Int64s, sentences: Int64s, outputs: Sequence[str]) -> Statistics:
        if self._store is None:
            return self._ask_metric(candidates, sentences, outputs, None)
        ids = self._ids(sentences, outputs)
        positions, stored = self._store.get(ids, len(self._metric.columns))
        if len(positions) == len(outputs):
            return stored
        missing = np.setdiff1d(np.arange(len(outputs)), positions)
        missing_ids = [ids[k] for k in missing]
        try:
            fresh = self._ask_metric(
                candidates[missing], sentences[missing], [outputs[k] for k in missing.tolist()], missing_ids
            )
        except NotYet as answer:
            computed, still_open = cast(Statistics, answer.statistics), cast(list[int], answer.unanswered)
            together = _interleave(len(outputs), positions, stored, missing, computed)
            unanswered = missing[still_open].tolist()
            raise NotYet(unanswered, together, questions=answer.questions) from None
        return _interleave(len(outputs), positions, stored, missing, fresh)

    def _ids(self, sentences: Int64s, outputs: Sequence[str]) -> list[bytes]:
        keys = []
        for number in sentences.tolist():
            if number not in self._keys:
                source = None if self._sources is None else self._sources[number]
                name = None if self._metric.needs_references else self._known.ids[number]
                self._keys[number] = sentence_key(self._references[number], source, name)
            keys.append(self._keys[number])
        return output_ids(self._signature, keys, outputs)

    def _ask_metric(
        self, candidates: Int64s, sentences: Int64s, outputs: Sequence[str], ids: list[bytes] | None
    ) -> Statistics:
        """The metric's answer to a batch, stored. A NotYet raised here always has statistics and questions."""
        try:
            answer = self._prepared.statistics_of(candidates, sentences, outputs)
            statistics = self._checked(answer, sentences, outputs, set())
        except JudgeError as failed:
            given = self._checked(failed.statistics, sentences, outputs, set(failed.unanswered))
            self._put(given, ids, set(failed.unanswered))
            if self._store is None:
                raise
            kept = counted(len(outputs) - len(failed.unanswered), "other answer")
            raise InputError(f"{failed}; {kept} of this batch and all before are in {self._store.path}") from None
        except NotYet as not_yet:
            unanswered = self._positions(not_yet, len(outputs))
            # An answer without statistics is one without answers: NotYet takes care of that.
            given = np.zeros((len(outputs), len(self._metric.columns)), dtype=np.int64)
            given = given if not_yet.statistics is None else not_yet.statistics
            statistics = self._checked(given, sentences, outputs, set(unanswered))
            self._put(statistics, ids, set(unanswered))
            questions = self._questions(sentences, outputs, unanswered)
            if self._store is not None:
                self._store.ask(self._metric.columns, questions)
            raise NotYet(unanswered, statistics, questions=questions) from None
        self._put(statistics, ids, set())
        return statistics

    def _positions(self, answer: NotYet, count: int) -> list[int]:
        """The unanswered positions in order, checked."""
        positions = sorted(range(count) if answer.unanswered is None else set(answer.unanswered))
        if positions and not 0 <= positions[0] <= positions[-1] < count:
            raise InputError(
                f"{self._metric.name}: NotYet names the positions {positions} of a batch of {count} outputs"
            )
        return positions

    def _put(self, statistics: Statistics, ids: list[bytes] | None, unanswered: set[int]) -> None:
        if self._store is not None and ids is not None:
            answered = [k for k in range(len(ids)) if k not in unanswered]
            self._store.put(self._signature, self._metric.columns, [ids[k] for k in answered], statistics[answered])

    def _questions(self, sentences: Int64s, outputs: Sequence[str], unanswered: list[int]) -> list[Question]:
        chosen = sentences[unanswered]
        texts = [outputs[k] for k in unanswered]
        return [
            Question(
                id=key.hex(),
                metric=self._signature,
                sentence=self._known.ids[number],
                source=None if self._sources is None else self._sources[number],
                references=self._references[number],
                output=output,
            )
            for key, number, output in zip(self._ids(chosen, texts), chosen.tolist(), texts, strict=True)
        ]

    def _checked(
        self,
        answer: Statistics,
        sentences: Int64s,
        outputs: Sequence[str],
        unanswered: set[int],
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
        statistics[sorted(unanswered)] = 0
        bad = np.flatnonzero(~np.isfinite(statistics).all(axis=1))
        if bad.size:
            k = int(bad[0])
            raise InputError(
                f"{name}: the statistics of {outputs[k][:80]!r} for sentence {sentences[k]} are "
                f"{statistics[k].tolist()}; expected finite numbers"
            )
        return statistics


def _stored_signature(metric: Metric, prepared: PreparedMetric, store: Store) -> str:
    """The name by which a store knows a metric: its signature and, for a user's metric, the version of its code.

    Answers of other code are not used, and the user is told of them once.
    """
    code = code_version(metric, prepared)
    if code is None:
        return metric.signature
    signature = f"{metric.signature}|code:{code}"
    others = store.count(metric.signature, but=signature)
    if others:
        warnings.warn(
            f"{store.path}: {counted(others, 'answer')} of {metric.name} came from other code than it has now, and "
            "will not be used: the metric is asked again",
            Note,
            stacklevel=2,
        )
    return signature


def _interleave(
    count: int,
    left: Int64s,
    left_rows: Statistics,
    right: Int64s,
    right_rows: Statistics,
) -> Statistics:
    """A table of ``count`` rows: ``left_rows`` at the positions ``left``, ``right_rows`` at ``right``."""
    both = [rows for rows in (left_rows, right_rows) if len(rows)]
    result = np.empty((count, left_rows.shape[1]), dtype=np.result_type(*both))
    result[left], result[right] = left_rows, right_rows
    return result
