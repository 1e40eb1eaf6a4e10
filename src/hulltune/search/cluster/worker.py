"""A worker: it holds the sentences of one shard and answers the driver's questions about them."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import ExitStack
from dataclasses import dataclass
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
    Ends,
    Everything,
    Fetched,
    Found,
    Further,
    Outermost,
    Question,
    Segments,
    Start,
    Started,
    Telling,
    Total,
    Unknown,
)
from hulltune.search.cluster.shard_files import ShardFile
from hulltune.search.cluster.told import ToldMetric, UntoldError
from hulltune.search.problem import Problem
from hulltune.search.shards import Changes

KEPT = 4
"""The number of rounds whose changes a worker keeps, for further questions about them: 16 bytes a change."""


@dataclass(frozen=True, eq=False)
class _Ordered:
    """The changes along lines in order of place, the sums at their beginnings (see kernels.bins.changes_in_order), and
    the table of their rows. The table of the problem may grow, and be another array then; rows stay what they are.
    """

    changes: tuple[Int64s, Floats, Int32s, Int32s]
    first: Int64s
    table: Int32s
    width: int

    def over_bins(self, kernel: str, bins: Bins) -> tuple[NDArray[Any], ...]:
        """What a kernel tells of the changes in bins."""
        from hulltune.kernels.surfaces import bins as kernels

        found: tuple[NDArray[Any], ...] = getattr(kernels, kernel)(
            *self.changes, self.table, self.width, bins.offsets, bins.lows, bins.highs
        )
        return found

    def sums(self, bins: Bins) -> Binned:
        """The sums over bins."""
        return Binned(*map(_short, self.over_bins("sums_over_bins", bins)))

    def within(self, bins: Bins) -> Fetched:
        """The changes in bins."""
        found, places, changes = self.over_bins("changes_within", bins)
        return Fetched(_short(found), places, _short(changes))

    def ends(self, line: int, places: int) -> Ends:
        """The changes at so many places of each end of a line, or all."""
        offsets, every, *_ = self.changes
        line_places = every[offsets[line] : offsets[line + 1]]
        some = places
        while some < len(line_places):
            # Changes at the same place, and those that cancel out, leave fewer places than changes.
            left, right = np.nextafter(line_places[some - 1], np.inf), line_places[-some]
            first, last = self._between(line, -np.inf, left), self._between(line, right, np.inf)
            enough = min(len(first.places), len(last.places)) >= places
            if enough and first.places[places - 1] < last.places[-places]:
                return Ends(_some(first, slice(places)), _some(last, slice(-places, None)), are_all=False)
            some *= 2
        return Ends(self._between(line, -np.inf, np.inf), self._between(line, np.inf, np.inf), are_all=True)

    def _between(self, line: int, low: float, high: float) -> Fetched:
        offsets = (np.arange(len(self.changes[0])) > line).astype(np.int64)
        return self.within(Bins(offsets, np.array([low]), np.array([high])))


class Worker:
    """The sentences of a shard with their metric. Answers depend on the question and the shard alone."""

    def __init__(self, shard: ShardFile, content: bytes | memoryview) -> None:
        """Take the bytes of a shard's file, which must be those that were written."""
        shard.check(content)
        self._shard = shard
        self._dataset: Dataset = shard.dataset(content)
        self._problem: Problem | None = None
        self._kept: OrderedDict[bytes, _Ordered] = OrderedDict()
        self._searched: OrderedDict[bytes, tuple[Changes, ExitStack]] = OrderedDict()

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
            case Start():
                return self._start(question)
            case Further() | Outermost():
                ordered = self._ordered(question.along)
                assert ordered is not None  # or there are no further questions
                if isinstance(question, Further):
                    return Found(ordered.sums(question.sums), ordered.within(question.within))
                return [ordered.ends(line, question.places) for line in question.lines]

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
        """The changes along lines, and the rows of all outputs, whose statistics are known then. The changes are kept
        until _done: the driver may have to tell statistics first, and ask again.
        """
        problem, key = self._the_problem, along.key
        if key not in self._searched:
            while len(self._searched) >= KEPT:
                self._done(next(iter(self._searched)))
            stack = ExitStack()
            lines = problem.changes(along.weights[0], along.weights[1:], along.intervals, judged=False)
            self._searched[key] = stack.enter_context(lines), stack
        changes, _ = self._searched[key]
        if problem.metric.waits:  # it is to be asked for one line after the other, and no more
            for self._line, outputs in enumerate(changes.outputs):
                problem.memory.row_of(outputs)
        return changes, problem.learn(changes)

    def _done(self, key: bytes) -> None:
        """Give the memory of changes back."""
        self._searched.pop(key)[1].close()

    def _ordered(self, along: Along) -> _Ordered | None:
        """The changes along lines in order of place; None if statistics are no whole numbers of 32 bits."""
        from hulltune.kernels.surfaces.bins import changes_in_order

        key = along.key
        if key not in self._kept:
            changes, row_of = self._changes(along)
            problem = self._the_problem
            table, width = problem.memory.compact(), problem.table.shape[1]
            if table is None:
                return None
            offsets, places, olds, news, first = changes_in_order(
                changes.all_lefts, changes.all_outputs, changes.begins, changes.ends, along.intervals[:, 0].copy(),
                row_of, table, width,
            )  # fmt: skip
            self._done(key)
            while len(self._kept) >= KEPT:
                self._kept.popitem(last=False)
            others = problem.table[problem.empty_rows].sum(axis=0)
            self._kept[key] = _Ordered((offsets, places, olds, news), first + others, table, width)
        self._kept.move_to_end(key)
        return self._kept[key]

    def _start(self, question: Start) -> Started:
        ordered = self._ordered(question.along)
        if ordered is None:
            return Started(np.empty((0, 0)), 0.0, None)
        return Started(ordered.first, float(self._the_problem.table.min(initial=0)), ordered.sums(question.bins))

    def _everything(self, along: Along) -> Segments:
        changes, row_of = self._changes(along)
        problem = self._the_problem
        rows = row_of[np.concatenate([*changes.outputs, np.empty(0, dtype=np.int32)])]
        others = problem.empty_rows
        used, places = np.unique(np.concatenate([rows, others]), return_inverse=True)
        numbers: Int32s = places.reshape(-1).astype(np.int32)
        found = Segments(
            lefts=np.concatenate([*changes.lefts, np.empty(0)]),
            rows=numbers[: len(rows)],
            sizes=changes.ends - changes.begins,
            table=problem.table[used],
            others=numbers[len(rows) :].astype(np.int64),
        )
        self._done(along.key)
        return found

    def _unknown(self, untold: UntoldError) -> Unknown:
        """What is unknown, with the numbers of hypotheses of lists alone: outputs of forests have another number for
        every worker.
        """
        corpus = self._dataset.corpus
        is_list = np.diff(corpus.node_offsets) == 1
        numbers = np.where((untold.numbers >= 0) & is_list[untold.sentences], untold.numbers, -1)
        return Unknown(self._line, numbers, np.asarray(untold.sentences), untold.texts)


def _some(fetched: Fetched, part: slice) -> Fetched:
    return Fetched(fetched.bins[part], fetched.places[part], fetched.changes[part])


def _short(numbers: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers in 16 or 32 bits, if they fit: they are to be sent."""
    largest = max(abs(int(numbers.min(initial=0))), abs(int(numbers.max(initial=0))))
    return numbers.astype(np.int16 if largest < 1 << 15 else np.int32 if largest <= LARGEST_SUM else np.int64)
