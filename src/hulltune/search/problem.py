"""The tuning problem: sentences with outputs to choose from, references, and a metric."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Floats, Int32s, Int64s
from hulltune.data.corpus import Corpus
from hulltune.data.dataset import Dataset
from hulltune.data.features import DenseFeatures, Features, gather_rows
from hulltune.data.forest import feature_vector
from hulltune.errors import InputError
from hulltune.kernels.surfaces.rough_kinds import UNKNOWN
from hulltune.lines.kbest import kbest
from hulltune.lines.scoring import EdgeScorer
from hulltune.metrics.base import Known, Metric, References
from hulltune.metrics.memory import Memory
from hulltune.metrics.registry import get_metric
from hulltune.metrics.store import Store
from hulltune.search.directions import some_axes
from hulltune.search.outputs import Outputs
from hulltune.search.penalty import Penalty
from hulltune.search.shards import WHOLE_LINE, Changes, Derivations, Room, Sentences, Shard, cut, joined, lines_in_parts
from hulltune.surface import ErrorSurface
from hulltune.threads import ALONE, Workers
from hulltune.wording import counted

AT_ONCE = 1 << 14
"""Rows that are copied as one part of the work."""
LEAST_SUMMED = 512
"""The fewest sentences whose statistics are added up as one part of the work."""
MOST_ROWS = 1 << 18
"""The most rows of statistics whose losses are asked for at once, where a rough loss does not choose among them."""
NOTHING = np.zeros(1, dtype=np.int64)
CUTS = 4
"""Shards of forests for each thread: sentences differ in work, and a thread that is done takes the next shard."""

Weights: TypeAlias = Mapping[str, float] | Sequence[float] | Floats


@dataclass(frozen=True, eq=False)
class Picks:
    """One output for each sentence (−1 where there is none), and the statistics of each sentence's output."""

    outputs: Int64s
    statistics: NDArray[Any]

    @property
    def total(self) -> NDArray[Any]:
        """The statistics of the corpus."""
        return exact_sum(self.statistics)


@dataclass(frozen=True, eq=False)
class Line:
    """The winning outputs of all sentences along one line, as segments, sentence by sentence.

    The first segment of a sentence begins at ``low``, the lower end of the interval; its left ends increase strictly.
    """

    low: float
    lefts: Floats
    outputs: Int32s

    @property
    def changes(self) -> Floats:
        """The places, in order, where the output of some sentence changes."""
        places: Floats = np.unique(self.lefts[self.lefts != self.low])
        return places


@dataclass(frozen=True, eq=False)
class Minima:
    """The intervals of many lines that may have the smallest loss: those of line d are ``offsets[d]`` to
    ``offsets[d + 1]``. The others have a larger loss, or none that is small enough.
    """

    breakpoints: Floats
    """A row for each line; it has the first ``counts[d]`` numbers of its row."""
    counts: Int64s
    offsets: Int64s
    numbers: Int64s
    """The number of each interval on its line, in order; interval i lies to the left of breakpoint i."""
    losses: Floats
    sampled: Floats
    """The losses at the points asked for, a row for each line."""


class Problem:
    """Sentences, their references and a metric, searched in shards.

    Outputs are named by numbers (see Outputs). The metric is asked for statistics once per distinct output of a
    sentence, when it first wins somewhere (see Memory). A sentence with nothing to choose from counts as an empty
    output. Results do not depend on the workers of the shards, nor on their number.

    >>> from hulltune import Problem, line_search
    >>> from hulltune.simulate import simulated_task
    >>> task = simulated_task(sentences=20, candidates=10)
    >>> problem = Problem.of(task.lists, "wer")
    >>> found = [line_search(problem, {"forward": 1.0}, {name: 1.0}) for name in problem.feature_names]
    >>> min(step.loss for step in found) < found[0].current_loss
    True
    """

    def __init__(
        self,
        corpus: Corpus,
        metric: Metric,
        references: References,
        *,
        sources: Sequence[str] | None = None,
        first_choices: Int64s | None = None,
        outputs: Outputs | None = None,
        store: Store | None = None,
        questions: str | Path | None = None,
        known: Known | None = None,
    ) -> None:
        """Make a problem. ``first_choices`` has, for a list, the edge (within its sentence) that its decoder puts
        first, and −1 for a forest; by default the first edge of every list. ``outputs`` may be shared with a problem
        over the same corpus.
        """
        if len(references) != len(corpus):
            raise InputError(
                f"references: got {counted(len(references), 'line')}, expected one for each of "
                f"{counted(len(corpus), 'sentence')}"
            )
        self.metric = metric
        self.references = references
        self.dataset: Dataset | None = None
        """The dataset that the problem was made of, if it was: its ids, sources and files."""
        self.outputs = Outputs(corpus) if outputs is None else outputs
        self.memory = Memory(
            metric, references, sources, outputs=self.outputs, store=store, questions=questions, known=known
        )
        self._sentences = Sentences(corpus, self.outputs, np.arange(len(corpus), dtype=np.int64))
        self._first_choices = _first_edges(corpus) if first_choices is None else first_choices
        self._empty_rows = self._rows_of_empty()
        self._shards: dict[int, list[Shard]] = {}
        self._rooms: list[Floats] = []
        self._line_rooms: list[Room] = []
        self.penalty: Penalty | None = None

    @staticmethod
    def of(
        dataset: Dataset,
        metric: str | Metric,
        *,
        outputs: Outputs | None = None,
        store: Store | None = None,
        questions: str | Path | None = None,
    ) -> Problem:
        """The problem of a dataset with references, where the metric needs them. Columns of the data that the metric
        reads are no features of the problem. ``outputs`` may come from a problem over the same
        dataset with another metric, so that numbers of outputs mean the same in both.
        """
        metric = get_metric(metric)
        if dataset.references is None and metric.needs_references:
            raise InputError("no references: the dataset carries none; give some, or see Dataset.matched")
        dataset = dataset.with_qualities(metric.reads)
        sources = dataset.sources
        problem = Problem(
            dataset.corpus,
            metric,
            dataset.references or ((),) * len(dataset),
            sources=None if sources is None or not any(sources) else [source or "" for source in sources],
            first_choices=dataset.first_choices,
            outputs=outputs,
            store=store,
            questions=questions,
            known=Known(dataset.ids, dataset.qualities),
        )
        problem.dataset = dataset
        return problem

    @property
    def corpus(self) -> Corpus:
        """The sentences as packed forests."""
        return self._sentences.corpus

    @property
    def scorer(self) -> EdgeScorer:
        """The scorer of the corpus's edges."""
        return self._sentences.scorer

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the weights."""
        return self.corpus.feature_names

    # Winning outputs and their statistics.

    @property
    def table(self) -> NDArray[Any]:
        """The statistics of all outputs met, one row each; see ``rows``."""
        return self.memory.table

    def rows(self, outputs: Int64s | Int32s, *, workers: Workers = ALONE) -> Int64s:
        """The row of ``table`` for each output; asks the metric for statistics that are not known yet."""
        return self.memory.rows(outputs, workers=workers)

    @property
    def empty_rows(self) -> Int64s:
        """The rows of the sentences with nothing to choose from."""
        rows: Int64s = self._empty_rows[self._empty_rows >= 0]
        return rows

    def text(self, output: int) -> str:
        """The text of an output; empty for −1."""
        return self.outputs.text(output)

    def picks(self, weights: Weights, *, workers: Workers = ALONE) -> Picks:
        """The winners under ``weights``: the output with the highest score, of equals the first."""
        return self.picked(self._winners(weights, workers), workers=workers)

    def picked(self, outputs: Int64s, *, workers: Workers = ALONE) -> Picks:
        """Outputs with their statistics, as Picks."""
        rows = self._empty_rows.copy()
        chosen = outputs >= 0
        rows[chosen] = self.rows(outputs[chosen], workers=workers)
        return Picks(outputs, self.table[rows])

    def total(self, weights: Weights, *, workers: Workers = ALONE) -> NDArray[Any]:
        """The summed statistics of the winners under ``weights``."""
        from hulltune.kernels.surfaces.surface import total_of_rows

        outputs = self._winners(weights, workers)
        row_of = self.memory.row_of(outputs[outputs >= 0], workers=workers)
        table = self.table  # after the rows were asked for: it may have grown
        if table.dtype != np.int64:
            return self.picked(outputs).total
        size = max(-(-len(outputs) // workers.count), LEAST_SUMMED)
        some = [slice(first, first + size) for first in range(0, max(len(outputs), 1), size)]
        sums = workers.map(lambda part: total_of_rows(outputs[part], row_of, self._empty_rows[part], table), some)
        total: NDArray[Any] = np.sum(sums, axis=0)
        return total

    def _winners(self, weights: Weights, workers: Workers) -> Int64s:
        vector = feature_vector(weights, self.feature_names, "weights")
        return np.concatenate(workers.map(lambda shard: shard.winners(vector), self._cut(workers)))

    def score(self, weights: Weights, *, workers: Workers = ALONE) -> float:
        """The metric of the winners under ``weights``."""
        return float(self.metric.score(self.total(weights, workers=workers)))

    def loss(self, weights: Weights, *, workers: Workers = ALONE) -> float:
        """The loss of the winners under ``weights``, with the penalty of these weights if there is one."""
        vector = feature_vector(weights, self.feature_names, "weights")
        loss = float(self.metric.loss(self.total(vector, workers=workers)))
        return loss if self.penalty is None else loss + self.penalty(vector)

    def penalised(self, penalty: Penalty) -> Problem:
        """The problem with a penalty on weights; all else is shared with this one."""
        part = copy(self)
        part.penalty = penalty
        return part

    # Lines.

    def search(self, origin: Floats, directions: Floats, intervals: Floats, *, workers: Workers = ALONE) -> list[Line]:
        """The winning outputs along several directions, each within its interval."""
        found = workers.map(lambda shard: shard.changes(np.vstack([origin, directions]), intervals), self._cut(workers))
        return _lines(joined(found, workers, []), intervals)

    def surface(self, line: Line) -> ErrorSurface:
        """The error surface along a line: the statistics of the corpus on every interval of it."""
        row_of = self.memory.row_of(line.outputs)
        others = self.empty_rows
        compact = self.memory.compact()  # after the rows were asked for: the table may have grown
        return ErrorSurface.along(line.low, line.lefts, line.outputs, row_of, others, self.table, compact)

    def surfaces(
        self, origin: Floats, directions: Floats, intervals: Floats, *, workers: Workers = ALONE
    ) -> list[ErrorSurface]:
        """The error surfaces along several directions, each within its interval; see ``changes``."""
        with self.changes(origin, directions, intervals, workers=workers) as changes:
            self.learn(changes, workers)
            self.memory.compact(workers=workers)  # before the lines, each of which needs it
            return workers.map(self.surface, _lines(changes, intervals))

    @contextmanager
    def changes(
        self, origin: Floats, directions: Floats, intervals: Floats, *, workers: Workers = ALONE
    ) -> Iterator[Changes]:
        """The winning outputs along several directions, as packed arrays, whose memory is used again afterwards."""
        shards = self._cut(workers)
        found = workers.map(lambda shard: shard.changes(np.vstack([origin, directions]), intervals), shards)
        whole = joined(found, workers, self._line_rooms)
        yield whole
        for shard, changes in zip(shards, found, strict=True):
            shard.release(changes)
        if whole.room is not None and whole is not found[0]:
            self._line_rooms.append(whole.room)

    def minima(
        self,
        changes: Changes,
        intervals: Floats,
        below: Floats,
        *,
        only_best: bool = True,
        points: Floats | None = None,
        workers: Workers = ALONE,
    ) -> Minima | None:
        """The intervals of all lines that may have the smallest loss, if it is not above that of ``below`` for the
        line, with their losses (unless ``only_best``, all intervals whose losses are not above it);
        and the losses at the ``points`` of each line, which increase. None if statistics are no small whole numbers.

        The metric is asked for the losses of few intervals.
        """
        from hulltune.kernels.surfaces.line_minima import line_minima

        row_of = self.learn(changes, workers)
        compact = self.memory.compact(workers=workers)  # after the rows were asked for: the table may have grown
        if compact is None:
            return None
        lines, width, rough = len(intervals), self.table.shape[1], self.metric.rough
        points = np.empty((lines, 0)) if points is None else points
        sizes = changes.ends - changes.begins
        breakpoints, counts = self._room_for(lines, int(sizes.max(initial=0))), np.empty(lines, dtype=np.int64)
        sampled = np.empty((lines, points.shape[1] * width), dtype=np.int64)
        others = self.empty_rows
        least = rough.value(below, width)

        # The metric is asked once for all lines, unless there are so many intervals that threads should share them.
        many = rough.kind == UNKNOWN or not only_best

        def minima_of(part: slice) -> tuple[Int64s, Int64s, NDArray[Any]]:
            _, offsets, numbers, statistics = line_minima(
                changes.all_lefts, changes.all_outputs, changes.begins[part], changes.ends[part],
                intervals[part, 0].copy(), row_of, others, compact, width, rough.kind, rough.numbers, least[part],
                only_best, points[part], breakpoints[part], counts[part], sampled[part].reshape(-1),
            )  # fmt: skip
            return np.diff(offsets), numbers, self.metric.losses(statistics) if many else statistics

        parts = lines_in_parts(sizes, workers.count, MOST_ROWS if rough.kind == UNKNOWN else None)
        found = zip(*workers.map(minima_of, parts), strict=True)
        sizes, numbers, values = map(np.concatenate, found)
        at_points = sampled.reshape(-1, width)
        losses = self.metric.losses(at_points if many else np.concatenate([values, at_points]))
        inside = len(losses) - len(at_points)
        return Minima(
            breakpoints=breakpoints,
            counts=counts,
            offsets=np.concatenate([NOTHING, np.cumsum(sizes)]),
            numbers=numbers,
            losses=values if many else losses[:inside],
            sampled=losses[inside:].reshape(points.shape),
        )

    def release(self, minima: Minima) -> None:
        """Keep the memory of minima that are no longer needed for the next ones."""
        self._rooms.append(minima.breakpoints)

    def _room_for(self, lines: int, most: int) -> Floats:
        try:
            room = self._rooms.pop()
        except IndexError:
            room = np.empty((0, 0))
        fits = room.shape[0] >= lines and room.shape[1] >= most
        return room if fits else np.empty((max(lines, room.shape[0]), max(most + most // 8, room.shape[1])))

    def learn(self, changes: Changes, workers: Workers = ALONE) -> Int64s:
        """The rows of all outputs, after the metric was asked for those that win somewhere on the lines."""
        from hulltune.kernels.surfaces.rows import mark_without_row

        if self.metric.waits:  # its questions are those of one line after the other, and no more
            for outputs in changes.outputs:
                self.memory.row_of(outputs)
        elif not self.memory.complete:
            rows = self.memory.known_rows()
            marked = np.zeros(len(rows), dtype=np.bool_)

            def mark(lines: slice) -> None:
                mark_without_row(changes.all_outputs, changes.begins[lines], changes.ends[lines], rows, marked)

            workers.map(mark, lines_in_parts(changes.ends - changes.begins, workers.count))
            unknown = np.flatnonzero(marked)
            if len(unknown):
                self.memory.learn(unknown, workers=workers)
        return self.memory.known_rows()

    def derivations(
        self, origin: Floats, directions: Floats, intervals: Floats, *, workers: Workers = ALONE
    ) -> Derivations:
        """The derivations that win somewhere along the directions, with the sums of their features."""
        found = workers.map(
            lambda shard: shard.derivations(np.vstack([origin, directions]), intervals), self._cut(workers)
        )
        return Derivations(
            outputs=np.concatenate([each.outputs for each in found]),
            sentences=np.concatenate([each.sentences for each in found]),
            sums=np.concatenate([each.sums for each in found]),
        )

    # Outputs to choose from.

    @property
    def is_lists(self) -> bool:
        """Whether all sentences are n-best lists."""
        return self._sentences.are_lists

    def choices(self) -> tuple[Int64s, Int64s]:
        """Offsets by sentence, and outputs: all hypotheses of a list, and the outputs of a forest met so far."""
        offsets, outputs = self.outputs.by_sentence()
        names = self._sentences.names
        if self.corpus is self.outputs.corpus:
            return offsets, outputs
        offsets, places = gather_rows(offsets, names)
        return offsets, outputs[places]

    def pool(self, weights: Any, *, k: int, threads: int | None = None) -> tuple[Int64s, Int64s]:
        """Offsets by sentence, and outputs: all hypotheses of a list, the ``k`` best distinct outputs of a forest."""
        if self.is_lists:
            return self.choices()
        own = self._sentences
        found = kbest(self.corpus, weights, k, distinct=True, threads=threads, scorer=self.scorer)
        best = self.outputs.of_derivations(
            self.corpus, own.in_order, 0, own.names, found.offsets, found.edge_offsets, found.edges
        )
        edges = np.flatnonzero(np.repeat(own.is_list, np.diff(self.corpus.sentence_edges)))
        of_forest = np.repeat(~own.is_list, np.diff(found.offsets))
        outputs = np.concatenate([own.outputs_of_edges(edges), best[of_forest]])
        places = np.arange(len(self.corpus))
        sentences = np.concatenate(
            [
                np.repeat(places, np.diff(self.corpus.sentence_edges))[edges],
                np.repeat(places, np.diff(found.offsets))[of_forest],
            ]
        )
        offsets = np.concatenate([[0], np.cumsum(np.bincount(sentences, minlength=len(places)))]).astype(np.int64)
        return offsets, outputs[np.argsort(sentences, kind="stable")].astype(np.int64)

    def rivals(self, weights: Floats, units: Floats, *, workers: Workers = ALONE) -> tuple[Int64s, Int64s, Features]:
        """Outputs to compare around ``weights``: offsets by sentence, the outputs, and their features.

        For lists these are all hypotheses. For forests they are the outputs that win on a line through the weights
        along an axis, each with the features of its best derivation there.
        """
        if self.is_lists:
            return *self.choices(), self.corpus.features
        lines = np.array(some_axes(units))
        found = self.derivations(weights, lines, np.repeat(WHOLE_LINE, len(lines), axis=0), workers=workers)
        order = np.lexsort((-row_sums(found.sums, weights), found.outputs, found.sentences))
        best = order[np.append(True, np.diff(found.outputs[order]) != 0)[: len(order)]]
        # The numbers of outputs depend on the threads; the order of sentences and derivations does not.
        best = best[np.lexsort((best, found.sentences[best]))]
        sizes = np.bincount(found.sentences[best], minlength=len(self.corpus))
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return offsets, found.outputs[best].astype(np.int64), DenseFeatures(found.sums[best])

    # The first choice of the decoder.

    @property
    def has_own_choice(self) -> bool:
        """Whether there is a baseline without weights: every sentence is a list, whose order is the decoder's."""
        return bool(np.all((self._first_choices >= 0) | (np.diff(self.corpus.sentence_edges) == 0)))

    @property
    def has_some_own_choice(self) -> bool:
        """Whether some sentence is a list."""
        return bool(np.any(self._first_choices >= 0))

    def baseline(self, weights: Floats | None = None, *, workers: Workers = ALONE) -> Picks:
        """The picks before tuning: the first choice of a list, and the best output of a forest under ``weights``."""
        if weights is None and not self.has_own_choice:
            raise InputError("a forest has no first choice of its own: give weights to compare with")
        lists = np.flatnonzero(self._first_choices >= 0)
        outputs = np.full(len(self.corpus), -1, dtype=np.int64)
        if weights is not None and not self.has_own_choice:
            outputs = self._winners(weights, workers)
        edges = self.corpus.sentence_edges[:-1][lists] + self._first_choices[lists]
        outputs[lists] = self._sentences.outputs_of_edges(edges)
        return self.picked(outputs, workers=workers)

    def subset(self, sentences: Int64s) -> Problem:
        """The problem of some sentences, in the order given; outputs and statistics are shared with this one."""
        part = object.__new__(Problem)
        part.metric = self.metric
        part.references = [self.references[int(sentence)] for sentence in sentences]
        part.dataset = None
        part.outputs, part.memory = self.outputs, self.memory
        part._sentences = Sentences(self.corpus.take(sentences), self.outputs, self._sentences.names[sentences])
        part._first_choices = self._first_choices[sentences]
        part._empty_rows = self._empty_rows[sentences]
        part._shards, part._rooms, part._line_rooms = {}, [], []
        part.penalty = None  # it depends on the units of the features, which are those of the sentences
        return part

    def _cut(self, workers: Workers) -> list[Shard]:
        parts = workers.count if workers.count == 1 or self.is_lists else CUTS * workers.count
        if parts not in self._shards:
            self.scorer.prepare(workers=workers)
            self._shards[parts] = cut(self._sentences, parts)
        return self._shards[parts]

    def _rows_of_empty(self) -> Int64s:
        """The row of the empty output for each sentence with nothing to choose from, and −1 for the others."""
        rows = np.full(len(self.corpus), -1, dtype=np.int64)
        empty = np.flatnonzero(np.diff(self.corpus.sentence_edges) == 0)
        if len(empty):
            rows[empty] = self.memory.ask(empty, [""] * len(empty))
        return rows


def _first_edges(corpus: Corpus) -> Int64s:
    has_edges = np.diff(corpus.sentence_edges) > 0
    return np.where((np.diff(corpus.node_offsets) == 1) & has_edges, 0, -1).astype(np.int64)


def _lines(changes: Changes, intervals: Floats) -> list[Line]:
    """One line for each direction."""
    parts = zip(intervals[:, 0].tolist(), changes.lefts, changes.outputs, strict=True)
    return [Line(low, lefts, outputs) for low, lefts, outputs in parts]


def row_sums(matrix: NDArray[Any], weights: Floats) -> Floats:
    """The product of a matrix and a vector, each row added up from left to right.

    ``@`` would add in an order that depends on the processor and the release of NumPy, and so decide ties.
    """
    sums = np.zeros(len(matrix))
    for column, weight in zip(matrix.T, weights.tolist(), strict=True):
        sums += column * weight
    return sums


def some_rows(table: NDArray[Any], rows: Int64s, workers: Workers) -> NDArray[Any]:
    """``table[rows]``, copied in parts: fresh memory takes longer than the copy."""
    found = np.empty((len(rows), table.shape[1]), dtype=table.dtype)

    def fill(first: int) -> None:
        part = slice(first, first + AT_ONCE)
        np.take(table, rows[part], axis=0, out=found[part], mode="clip")  # without a buffer: all rows exist

    workers.map(fill, range(0, len(rows), AT_ONCE))
    return found


def exact_sum(statistics: NDArray[Any]) -> NDArray[Any]:
    """The sum over sentences: integers stay integers; reals are rounded once, so that their order changes nothing."""
    if statistics.dtype.kind in "biu":
        total: NDArray[Any] = statistics.sum(axis=0, dtype=np.int64)
        return total
    return np.array([math.fsum(column) for column in statistics.T.tolist()])
