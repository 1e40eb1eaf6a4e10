"""The tuning problem: sentences with outputs to choose from, references, and a metric."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Bools, Floats, Int32s, Int64s
from hulltune.data.corpus import Corpus
from hulltune.data.dataset import Dataset
from hulltune.data.features import gather_rows
from hulltune.data.forest import feature_vector
from hulltune.errors import InputError
from hulltune.kernels.surfaces.constants import UNKNOWN
from hulltune.kernels.surfaces.steps import Intervals
from hulltune.kernels.surfaces.sweep import OutputRows, Segments, Wanted
from hulltune.lines.scoring import EdgeScorer
from hulltune.metrics.base import Known, Metric, References, Rough
from hulltune.metrics.memory import Memory
from hulltune.metrics.orders import Judgements
from hulltune.metrics.registry import get_metric
from hulltune.metrics.store import Store
from hulltune.search.orders import Changes, Orders
from hulltune.search.outputs import Outputs, Sentences
from hulltune.search.shards import Derivations, Shard, cut, joined, lines_in_parts
from hulltune.surface import ErrorSurface
from hulltune.threads import ALONE, Workers

LEAST_SUMMED = 512
"""The fewest sentences whose statistics are added up as one part of the work."""
MOST_ROWS = 1 << 18
"""The most rows of statistics whose losses are asked for at once, where a rough loss does not choose among them."""
NO_TABLE = np.empty(0, dtype=np.int32)
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
    surface: ErrorSurface | None = None
    """The error surface, where answers are orders: ``lefts`` are then its breakpoints, and there are no outputs."""
    order_changes: Changes | None = None
    """The changes of the values of queries, where answers are orders and the line is a learned one."""

    @property
    def changes(self) -> Floats:
        """The places, in order, where the output of some sentence changes."""
        places: Floats = np.unique(self.lefts[self.lefts != self.low])
        return places


class Swept(NamedTuple):
    """Intervals of many lines, the loss on each of them, and the losses at the points asked for, a row of each line."""

    intervals: Intervals
    losses: Floats
    sampled: Floats


@dataclass(frozen=True, eq=False)
class Problem:
    """Sentences in shards, a metric, the outputs met, and sums of their statistics along lines.

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

    dataset: Dataset
    metric: Metric
    memory: Memory
    """The statistics of outputs; shared with the problems of some of the sentences (see ``subset``)."""
    sentences: Sentences
    empty: Int64s
    """For each sentence with nothing to choose from the row of its empty output, and −1 for the others."""
    _shards: dict[int, list[Shard]] = field(default_factory=dict, init=False, repr=False)

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
        corpus, sources = dataset.corpus, dataset.sources
        outputs = Outputs(corpus) if outputs is None else outputs
        sentences = Sentences(corpus, outputs, np.arange(len(corpus)))
        memory = Memory(
            metric,
            dataset.references or ((),) * len(dataset),
            None if sources is None or not any(sources) else [source or "" for source in sources],
            outputs=outputs,
            store=store,
            questions=questions,
            known=Known(dataset.ids, dataset.qualities),
        )
        rows = np.full(len(corpus), -1, dtype=np.int64)
        empty = np.flatnonzero(np.diff(corpus.sentence_edges) == 0)
        if len(empty) and metric.answers != "order":
            rows[empty] = memory.ask(empty, [""] * len(empty))
        return Problem(dataset, metric, memory, sentences, rows)

    def subset(self, sentences: Int64s) -> Problem:
        """The problem of some sentences, in the order given; outputs and statistics are shared with this one."""
        part = self.dataset.take(sentences)
        own = Sentences(part.corpus, self.outputs, self.sentences.names[sentences])
        return Problem(part, self.metric, self.memory, own, self.empty[sentences])

    @property
    def references(self) -> References:
        """The references of each sentence; none where the metric needs none and the data have none."""
        return self.dataset.references or ((),) * len(self.dataset)

    @cached_property
    def orders(self) -> Orders | None:
        """What tells of the orders of candidates, if these are the answers (see Metric.answers)."""
        if self.metric.answers != "order":
            return None
        return Orders(self.scorer, Judgements.of(self.dataset, self.metric), self.metric)

    @property
    def outputs(self) -> Outputs:
        """The numbers of all outputs met."""
        return self.sentences.outputs

    @property
    def corpus(self) -> Corpus:
        """The sentences as packed forests."""
        return self.sentences.corpus

    @property
    def scorer(self) -> EdgeScorer:
        """The scorer of the corpus's edges."""
        return self.sentences.scorer

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

    def text(self, output: int) -> str:
        """The text of an output; empty for −1."""
        return self.outputs.text(output)

    def picks(self, weights: Weights, *, workers: Workers = ALONE) -> Picks:
        """The winners under ``weights``: the output with the highest score, of equals the first.

        Where answers are orders, the winner is the first of an order, and statistics are those of the whole.
        """
        winners = self._winners(weights, workers)
        if self.orders is not None:
            return Picks(winners, self.orders.statistics(self._vector(weights), workers=workers))
        return self.picked(winners, workers=workers)

    def picked(self, outputs: Int64s, *, workers: Workers = ALONE) -> Picks:
        """Outputs with their statistics, as Picks."""
        rows = self.empty.copy()
        chosen = outputs >= 0
        rows[chosen] = self.rows(outputs[chosen], workers=workers)
        return Picks(outputs, self.table[rows])

    def judged(self, picks: Picks, weights: Weights, *, workers: Workers = ALONE) -> Picks:
        """What another metric has picked under ``weights`` from the same data, with the statistics of this one."""
        if self.orders is not None:
            return self.picks(weights, workers=workers)
        return self.picked(picks.outputs, workers=workers)

    def total(self, weights: Weights, *, workers: Workers = ALONE) -> NDArray[Any]:
        """The summed statistics of the winners under ``weights``."""
        from hulltune.kernels.surfaces.rows import total_of_rows

        if self.orders is not None:
            return exact_sum(self.orders.statistics(self._vector(weights), workers=workers))
        outputs = self._winners(weights, workers)
        row_of = self.memory.row_of(outputs[outputs >= 0], workers=workers)
        table = self.table  # after the rows were asked for: it may have grown
        if table.dtype != np.int64:
            return self.picked(outputs).total
        size = max(-(-len(outputs) // workers.count), LEAST_SUMMED)
        some = [slice(first, first + size) for first in range(0, max(len(outputs), 1), size)]
        sums = workers.map(lambda part: total_of_rows(outputs[part], row_of, self.empty[part], table), some)
        total: NDArray[Any] = np.sum(sums, axis=0)
        return total

    def _winners(self, weights: Weights, workers: Workers) -> Int64s:
        vector = self._vector(weights)
        return np.concatenate(workers.map(lambda shard: shard.winners(vector), self._cut(workers)))

    def _vector(self, weights: Weights) -> Floats:
        return feature_vector(weights, self.feature_names, "weights")

    def score(self, weights: Weights, *, workers: Workers = ALONE) -> float:
        """The metric of the winners under ``weights``."""
        return float(self.metric.score(self.total(weights, workers=workers)))

    def loss(self, weights: Weights, *, workers: Workers = ALONE) -> float:
        """The loss of the winners under ``weights``."""
        return float(self.metric.loss(self.total(weights, workers=workers)))

    # Lines.

    def search(self, origin: Floats, directions: Floats, intervals: Floats, *, workers: Workers = ALONE) -> list[Line]:
        """The winning outputs along several directions, each within its interval."""
        if self.orders is not None:
            surfaces = self.orders.surfaces(origin, directions, intervals, workers=workers)
            lows = intervals[:, 0].tolist()
            return [Line(low, each.breakpoints, NO_TABLE, each) for low, each in zip(lows, surfaces, strict=True)]
        segments = self.segments(origin, directions, intervals, workers=workers)
        return [_line(segments, intervals, number) for number in range(len(intervals))]

    def surface(self, line: Line) -> ErrorSurface:
        """The error surface along a line: the statistics of the corpus on every interval of it."""
        if line.surface is not None:
            return line.surface
        self.memory.row_of(line.outputs)
        return ErrorSurface.along(line.low, line.lefts, line.outputs, self._output_rows(), self.table)

    def surfaces(
        self, origin: Floats, directions: Floats, intervals: Floats, *, workers: Workers = ALONE
    ) -> list[ErrorSurface]:
        """The error surfaces along several directions, each within its interval."""
        if self.orders is not None:
            return self.orders.surfaces(origin, directions, intervals, workers=workers)
        return workers.map(self.surface, self.learned_lines(origin, directions, intervals, workers=workers))

    def learned_lines(
        self, origin: Floats, directions: Floats, intervals: Floats, *, workers: Workers = ALONE
    ) -> list[Line]:
        """The winning outputs along several directions, whose statistics are then known."""
        if self.orders is not None:
            found = self.orders.changes(origin, directions, intervals, workers)
            return [
                Line(low, each.places, NO_TABLE, self.orders.surface_of(each), each)
                for low, each in zip(intervals[:, 0].tolist(), found, strict=True)
            ]
        segments = self.segments(origin, directions, intervals, workers=workers)
        self.memory.learn_lines(segments, workers=workers)
        self.memory.compact(workers=workers)  # before the lines, each of which needs it
        return [_line(segments, intervals, number) for number in range(len(intervals))]

    def loss_shares(self, line: Line, slopes: Floats) -> tuple[Floats, Bools, Floats]:
        """The segments of a learned line, sentence by sentence: their left ends, which of them are the first, and their
        shares in a loss that is linear in the statistics and has these slopes.
        """
        if self.orders is not None and line.order_changes is not None:
            return self.orders.loss_shares(line.order_changes, slopes)
        return line.lefts, line.lefts == line.low, row_sums(self.table[self.rows(line.outputs)], slopes)

    def segments(self, origin: Floats, directions: Floats, intervals: Floats, *, workers: Workers = ALONE) -> Segments:
        """The winning outputs along several directions, each within its interval, as packed arrays."""
        weights = np.vstack([origin, directions])
        found = workers.map(lambda shard: shard.segments(weights, intervals), self._cut(workers))
        return joined(found, workers)

    def sweep(
        self,
        origin: Floats,
        directions: Floats,
        bounds: Floats,
        scales: Floats,
        below: Floats,
        points: Floats,
        *,
        keep: Literal["best", "below", "all"] = "best",
        workers: Workers = ALONE,
    ) -> Swept:
        """Intervals of all lines with their losses, and the losses at the ``points`` of each line, which increase.

        "best" are those that may have the smallest loss of their line, if it is not above that of ``below`` for the
        line; "below" are all whose losses are not above it; others may be among them. The metric is asked for the
        losses of few intervals. Statistics that are no small whole numbers are swept line by line, and all are kept.
        """
        if self.orders is not None:
            surfaces = self.orders.surfaces(origin, directions, bounds, workers=workers)
            return self._swept_one_by_one(surfaces.__getitem__, bounds, scales, points, workers)
        segments = self.segments(origin, directions, bounds, workers=workers)
        from hulltune.kernels.surfaces.sweep import sweep

        self.memory.learn_lines(segments, workers=workers)
        rows = self._output_rows(workers)
        if not rows.table.size:
            return self._swept_one_by_one(
                lambda line: self.surface(_line(segments, bounds, line)), bounds, scales, points, workers
            )
        rough = Rough() if keep == "all" else self.metric.rough
        wanted = Wanted(rough.kind, rough.numbers, rough.value(below, rows.width), keep == "best")
        # The metric is asked once for all lines, unless there are so many intervals that threads should share them.
        many = rough.kind == UNKNOWN or keep == "below"

        def sweep_some(part: slice) -> tuple[Any, ...]:
            *intervals, statistics, at_points = sweep(
                segments._replace(begins=segments.begins[part], ends=segments.ends[part]), rows,
                bounds[part], scales[part], wanted._replace(least=wanted.least[part]), points[part],
            )  # fmt: skip
            return *intervals, self.metric.losses(statistics) if many else statistics, at_points

        sizes = segments.ends - segments.begins
        parts = lines_in_parts(sizes, workers.count, MOST_ROWS if rough.kind == UNKNOWN else None)
        *intervals, of_parts, at_points_of_parts = zip(*workers.map(sweep_some, parts), strict=True)
        values, at_points = np.concatenate(of_parts), np.concatenate(at_points_of_parts)
        losses = self.metric.losses(at_points if many else np.concatenate([values, at_points]))
        inside = len(losses) - len(at_points)
        return Swept(
            _joined_intervals(*intervals),
            values if many else losses[:inside],
            losses[inside:].reshape(points.shape),
        )

    def _swept_one_by_one(
        self,
        surface_of: Callable[[int], ErrorSurface],
        bounds: Floats,
        scales: Floats,
        points: Floats,
        workers: Workers,
    ) -> Swept:
        """All intervals of lines whose statistics are of any type."""
        from hulltune.kernels.surfaces.steps import intervals_between

        def sweep_line(line: int) -> tuple[Any, ...]:
            surface = surface_of(line)
            losses = surface.losses(self.metric.loss)
            intervals = intervals_between(surface.breakpoints, bounds[line, 0], bounds[line, 1], scales[line])
            return *intervals, losses, losses[np.searchsorted(surface.breakpoints, points[line], side="right")]

        *intervals, losses, sampled = zip(*workers.map(sweep_line, range(len(bounds))), strict=True)
        return Swept(_joined_intervals(*intervals), np.concatenate(losses), np.array(sampled))

    def _output_rows(self, workers: Workers = ALONE) -> OutputRows:
        """The statistics of the outputs met so far; without a table unless sums fit into 32 bits."""
        compact = self.memory.compact(workers=workers)
        table = NO_TABLE if compact is None else compact
        return OutputRows(self.memory.known_rows(), self.empty[self.empty >= 0], table, self.table.shape[1])

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
        return self.sentences.are_lists

    def choices(self) -> tuple[Int64s, Int64s]:
        """Offsets by sentence, and outputs: all hypotheses of a list, and the outputs of a forest met so far."""
        offsets, outputs = self.outputs.by_sentence()
        names = self.sentences.names
        if self.corpus is self.outputs.corpus:
            return offsets, outputs
        offsets, places = gather_rows(offsets, names)
        return offsets, outputs[places]

    # The first choice of the decoder.

    @property
    def has_own_choice(self) -> bool:
        """Whether there is a baseline without weights: every sentence is a list, whose order is the decoder's."""
        chosen = (self.dataset.first_choices >= 0) | (np.diff(self.corpus.sentence_edges) == 0)
        return self.orders is None and bool(np.all(chosen))

    @property
    def has_some_own_choice(self) -> bool:
        """Whether some sentence is a list."""
        return bool(np.any(self.dataset.first_choices >= 0))

    def baseline(self, weights: Floats | None = None, *, workers: Workers = ALONE) -> Picks:
        """The picks before tuning: the first choice of a list, and the best output of a forest under ``weights``."""
        if weights is None and not self.has_own_choice:
            raise InputError("a forest has no first choice of its own: give weights to compare with")
        if self.orders is not None and weights is not None:
            return self.picks(weights, workers=workers)
        lists = np.flatnonzero(self.dataset.first_choices >= 0)
        outputs = np.full(len(self.corpus), -1, dtype=np.int64)
        if weights is not None and not self.has_own_choice:
            outputs = self._winners(weights, workers)
        edges = self.corpus.sentence_edges[:-1][lists] + self.dataset.first_choices[lists]
        outputs[lists] = self.sentences.outputs_of_edges(edges)
        return self.picked(outputs, workers=workers)

    def _cut(self, workers: Workers) -> list[Shard]:
        parts = workers.count if workers.count == 1 or self.is_lists else CUTS * workers.count
        if parts not in self._shards:
            self.scorer.prepare(workers=workers)
            self._shards[parts] = cut(self.sentences, parts)
        return self._shards[parts]


def _line(segments: Segments, intervals: Floats, number: int) -> Line:
    """One of many lines, each with its interval."""
    some = slice(segments.begins[number], segments.ends[number])
    return Line(float(intervals[number, 0]), segments.lefts[some], segments.outputs[some])


def _joined_intervals(offsets: Sequence[Int64s], *others: Sequence[NDArray[Any]]) -> Intervals:
    """The intervals of all lines, from those of some lines each."""
    sizes = np.concatenate([np.diff(some) for some in offsets])
    return Intervals(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), *map(np.concatenate, others))


def row_sums(matrix: NDArray[Any], weights: Floats) -> Floats:
    """The product of a matrix and a vector, each row added up from left to right.

    ``@`` would add in an order that depends on the processor and the release of NumPy, and so decide ties.
    """
    sums = np.zeros(len(matrix))
    for column, weight in zip(matrix.T, weights.tolist(), strict=True):
        sums += column * weight
    return sums


def exact_sum(statistics: NDArray[Any]) -> NDArray[Any]:
    """The sum over sentences: integers stay integers; reals are rounded once, so that their order changes nothing."""
    if statistics.dtype.kind in "biu":
        total: NDArray[Any] = statistics.sum(axis=0, dtype=np.int64)
        return total
    return np.array([math.fsum(column) for column in statistics.T.tolist()])
