"""A worker: it holds the sentences of one shard and answers the driver's questions about them."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import ExitStack
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Floats, Int32s, Int64s
from hulltune.data.dataset import Dataset
from hulltune.metrics.memory import LARGEST_SUM
from hulltune.search.cluster.protocol import (
    Along,
    Binned,
    Bins,
    Everything,
    Fetched,
    Outline,
    Outlined,
    Places,
    Question,
    Segments,
    Sums,
    Telling,
    Total,
    Unknown,
    Within,
)
from hulltune.search.cluster.shard_files import ShardFile
from hulltune.search.cluster.told import ToldMetric, UntoldError
from hulltune.search.problem import Problem
from hulltune.search.shards import Changes

KEPT = 4
"""The number of rounds whose changes a worker keeps, for further questions about them."""


class Worker:
    """The sentences of a shard with their metric. Answers depend on the question and the shard alone."""

    def __init__(self, shard: ShardFile, content: bytes | memoryview) -> None:
        """Take the bytes of a shard's file, which must be those that were written."""
        shard.check(content)
        self._shard = shard
        self._dataset: Dataset = shard.dataset(content)
        self._problem: Problem | None = None
        self._kept: OrderedDict[bytes, tuple[Changes, ExitStack]] = OrderedDict()

    def answer(self, question: Question, telling: Telling | None = None) -> Any:
        """The answer to a question, or Unknown: then the question is to be put again with what was asked for."""
        metric = self._shard.metric
        if telling is not None and isinstance(metric, ToldMetric):
            metric.tell(telling)
        self._line = 0
        try:
            return self._answer(question)
        except UntoldError as untold:
            return self._unknown(untold)

    def _answer(self, question: Question) -> Any:
        match question:
            case Total():
                return self._total(question.weights)
            case Everything():
                return self._everything(question.along)
            case Outline():
                return self._outline(question)
            case Sums():
                return Binned(*map(_short, self._over_bins("binned_changes", question.along, question.bins)))
            case Within():
                return self._within(question.along, question.bins)
            case Places():
                return [self._places(question.along, line) for line in question.lines]

    @property
    def _the_problem(self) -> Problem:
        """The problem of the shard; made when it is first needed, since that may ask for statistics."""
        if self._problem is None:
            self._problem = Problem.of(self._dataset, self._shard.metric)
        return self._problem

    def _total(self, weights: Floats) -> NDArray[Any]:
        picks = self._the_problem.picks(weights)
        return picks.total[None, :] if picks.statistics.dtype.kind in "biu" else picks.statistics

    def _changes(self, along: Along) -> tuple[Changes, Int64s]:
        """The changes along lines, and the rows of all outputs, whose statistics are known then."""
        problem, key = self._the_problem, along.key
        if key not in self._kept:
            while len(self._kept) >= KEPT:
                self._kept.popitem(last=False)[1][1].close()
            stack = ExitStack()
            changes = stack.enter_context(
                problem.changes(along.weights[0], along.weights[1:], along.intervals, judged=False)
            )
            self._kept[key] = changes, stack
        self._kept.move_to_end(key)
        changes, _ = self._kept[key]
        if problem.metric.waits:  # it is to be asked for one line after the other, and no more
            for self._line, outputs in enumerate(changes.outputs):
                problem.memory.row_of(outputs)
        return changes, problem.learn(changes)

    def _everything(self, along: Along) -> Segments:
        changes, row_of = self._changes(along)
        problem = self._the_problem
        rows = row_of[np.concatenate([*changes.outputs, np.empty(0, dtype=np.int32)])]
        others = problem.empty_rows
        used, places = np.unique(np.concatenate([rows, others]), return_inverse=True)
        numbers: Int32s = places.reshape(-1).astype(np.int32)
        return Segments(
            lefts=np.concatenate([*changes.lefts, np.empty(0)]),
            rows=numbers[: len(rows)],
            sizes=changes.ends - changes.begins,
            table=problem.table[used],
            others=numbers[len(rows) :].astype(np.int64),
        )

    def _outline(self, question: Outline) -> Outlined:
        from hulltune.kernels.bins import sums_at

        changes, row_of = self._changes(question.along)
        problem, lows = self._the_problem, question.along.intervals[:, 0].copy()
        table, compact = problem.table, problem.memory.compact()
        if compact is None:
            nothing = np.zeros((len(lows), 0))
            return Outlined(np.zeros(len(lows), dtype=np.int64), [], nothing, nothing, whole=False, least=0.0)
        counts, first, at_points = sums_at(
            changes.all_lefts, changes.all_outputs, changes.begins, changes.ends, lows, row_of, compact, table.shape[1],
            question.points,
        )  # fmt: skip
        others = table[problem.empty_rows].sum(axis=0)
        places = []
        for low, lefts in zip(lows.tolist(), changes.lefts, strict=True):
            some = lefts[:: max(1, len(lefts) // (2 * question.samples))]
            places.append(np.sort(some[some != low]))
        return Outlined(
            counts, places, first + others, at_points + others, whole=True, least=float(table.min(initial=0))
        )

    def _over_bins(self, kernel: str, along: Along, bins: Bins) -> tuple[NDArray[Any], ...]:
        from hulltune.kernels import bins as kernels

        changes, row_of = self._changes(along)
        compact, width = self._the_problem.memory.compact(), self._the_problem.table.shape[1]
        found: tuple[NDArray[Any], ...] = getattr(kernels, kernel)(
            changes.all_lefts, changes.all_outputs, changes.begins, changes.ends, along.intervals[:, 0].copy(),
            row_of, compact, width, bins.offsets, bins.lows, bins.highs,
        )  # fmt: skip
        return found

    def _places(self, along: Along, line: int) -> Floats:
        """The places of changes on one line."""
        offsets = (np.arange(len(along.intervals) + 1) > line).astype(np.int64)
        found = self._within(along, Bins(offsets, np.array([-np.inf]), np.array([np.inf])))
        return found.places[np.any(found.changes != 0, axis=1)]

    def _within(self, along: Along, bins_asked: Bins) -> Fetched:
        bins, places, changes = self._over_bins("changes_within", along, bins_asked)
        order = np.lexsort((places, bins))
        bins, places, changes = bins[order], places[order], changes[order]
        is_first = np.append(True, (np.diff(bins) != 0) | (np.diff(places) != 0.0))[: len(bins)]
        starts = np.flatnonzero(is_first)
        sums = np.add.reduceat(changes, starts, axis=0) if len(starts) else changes
        return Fetched(_short(bins[starts]), places[starts], _short(sums))

    def _unknown(self, untold: UntoldError) -> Unknown:
        """What is unknown, with the numbers of hypotheses of lists alone: outputs of forests have another number for
        every worker.
        """
        corpus = self._dataset.corpus
        is_list = np.diff(corpus.node_offsets) == 1
        numbers = np.where((untold.numbers >= 0) & is_list[untold.sentences], untold.numbers, -1)
        return Unknown(self._line, numbers, np.asarray(untold.sentences), untold.texts)


def _short(numbers: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers in 32 bits, if they fit: they are to be sent."""
    fits = not numbers.size or max(abs(int(numbers.min())), abs(int(numbers.max()))) <= LARGEST_SUM
    return numbers.astype(np.int32) if fits else numbers
