"""Forests, their references and a metric: what ListProblem is for lists, over all outputs of each forest."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.data.corpus import Corpus
from hulltune.data.features import ranges
from hulltune.errors import InputError
from hulltune.lines.compute import search_shards
from hulltune.lines.kbest import kbest
from hulltune.lines.scoring import EdgeScorer
from hulltune.metrics.base import Metric, References
from hulltune.metrics.lazy import LazyStatistics
from hulltune.search.directions import axes
from hulltune.search.outputs import Outputs, in_order
from hulltune.search.problem import Picks
from hulltune.search.sentences import check_references, rows_of_empty, surface_beside_empty
from hulltune.surface import ErrorSurface

Floats = NDArray[np.float64]
Int64s = NDArray[np.int64]

WHOLE_LINE = np.array([[-np.inf, np.inf]])


@dataclass(frozen=True, eq=False)
class Winners:
    """Which outputs win where: those of sentence s along direction d are ``offsets[d, s]`` up to ``offsets[d, s + 1]``,
    each from ``lefts`` on.
    """

    offsets: Int64s
    lefts: Floats
    outputs: Int64s


class ForestProblem:
    """Forests (lists among them), their references and a metric.

    What is picked is an output, by its number among those met so far (see Outputs), which problems over the same
    corpus with other metrics may share. Statistics are asked for once per distinct output of a sentence, in one batch
    for a whole search. A forest without derivations counts as an empty output.
    """

    def __init__(
        self,
        corpus: Corpus,
        metric: Metric,
        references: References,
        *,
        first_choices: Int64s | None = None,
        statistics: LazyStatistics | None = None,
        outputs: Outputs | None = None,
    ) -> None:
        """``first_choices`` has the edge (within its sentence) that a list puts first itself, and −1 for a forest."""
        check_references(references, corpus)
        self.corpus = corpus
        self.metric = metric
        self.references = references
        self.scorer = EdgeScorer(corpus)
        self.outputs = Outputs(corpus.vocabulary) if outputs is None else outputs
        self._names = np.arange(len(corpus), dtype=np.int64)
        self._statistics = LazyStatistics(metric, references) if statistics is None else statistics
        self._known_rows = _KnownRows(self._statistics, self.outputs)
        self._first_choices = np.full(len(corpus), -1) if first_choices is None else first_choices
        self._empty_rows = rows_of_empty(corpus, self._statistics)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the weights."""
        return self.corpus.feature_names

    def text(self, candidate: int) -> str:
        """The text of an output, or nothing for −1."""
        return self.outputs.texts(np.array([candidate]))[0] if candidate >= 0 else ""

    @property
    def table(self) -> NDArray[Any]:
        """The statistics behind the rows."""
        return self._statistics.table

    def rows(self, candidates: Int64s) -> Int64s:
        """Rows of ``table`` for outputs; asks the metric for those not seen before."""
        return self._known_rows.of(candidates)

    def rows_of_texts(self, texts: Sequence[str]) -> Int64s:
        """Rows of ``table`` for a text of each sentence."""
        return self._statistics.rows(self._names, texts)

    def search(self, origin: Floats, directions: Floats, intervals: Floats, *, threads: int = 1) -> Winners:
        """What wins along several directions, each within its interval; the statistics of all that are asked for.

        Derivations become outputs as soon as a few sentences are searched, and are not kept.
        """
        weights = np.concatenate([origin[None, :], directions])
        parts = search_shards(self.scorer, weights, intervals, threads=threads, then=self._numbered)
        sizes = np.concatenate([cells for cells, _, _ in parts], axis=1)
        bases = np.cumsum([0, *(len(lefts) for _, lefts, _ in parts)])
        starts = np.concatenate(
            [
                base + np.concatenate([[0], np.cumsum(cells.ravel())])[:-1].reshape(cells.shape)
                for base, (cells, _, _) in zip(bases, parts, strict=False)
            ],
            axis=1,
        )
        ends, order = ranges(starts.ravel(), sizes.ravel())
        found = Winners(
            offsets=np.lib.stride_tricks.sliding_window_view(ends, len(self.corpus) + 1)[:: len(self.corpus)],
            lefts=np.concatenate([lefts for _, lefts, _ in parts])[order],
            outputs=np.concatenate([outputs for _, _, outputs in parts])[order],
        )
        self.rows(found.outputs)
        return found

    def _numbered(self, shard: tuple[int, int], part: tuple[Any, ...]) -> tuple[Int64s, Floats, Int64s]:
        """Of the envelopes of some sentences: how many segments by direction and sentence, their left ends, outputs."""
        cells, segments, derivation_offsets, derivation_edges, _ = part
        first, last = shard
        outputs = self.outputs.numbers(
            self.corpus, self._in_order, first, self._names[first:last], cells, derivation_offsets, derivation_edges
        )
        return np.diff(cells).reshape(-1, last - first), segments[:, 0].copy(), outputs

    def surfaces(
        self, origin: Floats, directions: Floats, intervals: Floats, *, threads: int = 1
    ) -> list[ErrorSurface]:
        """The error surfaces along several directions, each within its interval."""
        found = self.search(origin, directions, intervals, threads=threads)
        return [self.surface(found, direction) for direction in range(len(directions))]

    def surface(self, found: Winners, direction: int) -> ErrorSurface:
        """The error surface along one of the directions that were searched."""
        offsets = found.offsets[direction]
        begin, end = int(offsets[0]), int(offsets[-1])
        rows = self.rows(found.outputs[begin:end])
        return surface_beside_empty(offsets - begin, found.lefts[begin:end], rows, self._empty_rows, self.table)

    def picks(self, weights: Floats, *, threads: int = 1) -> Picks:
        """What decoding with ``weights`` puts out; ties are broken as everywhere, by the order of edges."""
        return self.picked(self._decoded(weights, threads))

    def _decoded(self, weights: Floats, threads: int = 1) -> Int64s:
        nowhere = np.zeros((1, len(weights)))
        rows = np.concatenate([weights[None, :], nowhere])
        parts = search_shards(self.scorer, rows, WHOLE_LINE, threads=threads, then=self._numbered)
        outputs = np.full(len(self.corpus), -1, dtype=np.int64)
        outputs[np.concatenate([cells for cells, _, _ in parts], axis=1)[0] > 0] = np.concatenate(
            [outputs for _, _, outputs in parts]
        )
        return outputs

    def picked(self, candidates: Int64s) -> Picks:
        """The statistics of given picks."""
        rows = self._empty_rows.copy()
        chosen = candidates >= 0
        rows[chosen] = self.rows(candidates[chosen])
        return Picks(candidates, self.table[rows])

    @property
    def has_own_choice(self) -> bool:
        """Whether every sentence is a list, with an order of its own."""
        return bool(np.all((self._first_choices >= 0) | (np.diff(self.corpus.sentence_edges) == 0)))

    @property
    def has_some_own_choice(self) -> bool:
        """Whether some sentence is a list."""
        return bool(np.any(self._first_choices >= 0))

    def baseline(self, weights: Floats | None = None) -> Picks:
        """The own first choice of lists; of forests, which have no order, the best under ``weights``."""
        if weights is None and not self.has_own_choice:
            raise InputError("a forest has no first choice of its own: give weights to compare with")
        outputs = np.full(len(self.corpus), -1, dtype=np.int64) if weights is None else self._decoded(weights)
        lists = np.flatnonzero(self._first_choices >= 0)
        outputs[lists] = self._outputs_of_edges(lists, np.ones(len(lists), np.int64), self._first_choices[lists])
        return self.picked(outputs)

    def score(self, weights: Floats, *, threads: int = 1) -> float:
        """The metric of what decoding with ``weights`` puts out."""
        return float(self.metric.score(self.picks(weights, threads=threads).total))

    def meet(self, weights: Floats, *, k: int, threads: int = 1) -> None:
        """Count the ``k`` best distinct outputs of every sentence under ``weights`` among those met."""
        found = kbest(self.corpus, weights, k, distinct=True, threads=threads, scorer=self.scorer)
        self.outputs.numbers(
            self.corpus, self._in_order, 0, self._names, found.offsets, found.edge_offsets, found.edges
        )

    @property
    def is_lattices(self) -> bool:
        """Whether no edge has more than one tail."""
        return int(np.diff(self.corpus.tail_offsets).max(initial=0)) <= 1

    def choices(self) -> tuple[Int64s, Int64s]:
        """By sentence: every hypothesis of a list, and of a forest the outputs met so far, by text."""
        offsets, outputs = self.outputs.of_sentences(int(self._names.max(initial=0)) + 1)
        sizes = np.diff(offsets)[self._names]
        starts = offsets[:-1][self._names]
        lists = np.flatnonzero(self._are_lists)
        counts = np.diff(self.corpus.sentence_edges)[lists]
        edges = ranges(np.zeros(len(lists), np.int64), counts)[1]
        starts[lists] = len(outputs) + np.cumsum(counts) - counts
        sizes[lists] = counts
        offsets, order = ranges(starts, sizes)
        return offsets, np.concatenate([outputs, self._outputs_of_edges(lists, counts, edges)])[order]

    @property
    def choices_are_all(self) -> bool:
        """Whether all sentences are lists."""
        return bool(np.all(self._are_lists))

    @cached_property
    def _are_lists(self) -> NDArray[np.bool_]:
        one_node: NDArray[np.bool_] = np.diff(self.corpus.node_offsets) == 1
        return one_node

    @cached_property
    def _in_order(self) -> NDArray[np.bool_]:
        return in_order(self.corpus)

    def _outputs_of_edges(self, sentences: Int64s, counts: Int64s, edges: Int64s) -> Int64s:
        """The outputs of derivations of one edge: ``counts[i]`` of ``edges`` in turn belong to ``sentences[i]``."""
        cells = np.zeros(len(self.corpus) + 1, dtype=np.int64)
        cells[sentences + 1] = counts
        steps = np.arange(len(edges) + 1, dtype=np.int64)
        return self.outputs.numbers(
            self.corpus, self._in_order, 0, self._names, np.cumsum(cells), steps, edges.astype(np.int32)
        )

    def rivals(self, weights: Floats, units: Floats) -> tuple[Int64s, Int64s, Floats]:
        """For each sentence the outputs that win somewhere on a line through ``weights`` along an axis, each with the
        features of its best derivation among those met; where all are lists, every hypothesis.
        """
        if self.choices_are_all:
            return *self.choices(), np.asarray(self.corpus.features.matrix(), dtype=np.float64)
        lines = axes(tuple(np.arange(len(units))[:, None]), units)
        rows = np.concatenate([weights[None, :], *(line[None, :] for line in lines)])
        intervals = np.repeat(WHOLE_LINE, len(lines), axis=0)
        parts = search_shards(self.scorer, rows, intervals, threads=1, then=self._with_features)
        outputs = np.concatenate([outputs for outputs, _, _ in parts])
        sentences = np.concatenate([sentences for _, sentences, _ in parts])
        sums = np.concatenate([sums for _, _, sums in parts])
        order = np.lexsort((-(sums @ weights), outputs, sentences))
        best = order[np.append(True, np.diff(outputs[order]) != 0)[: len(order)]]
        best = best[np.lexsort((best, sentences[best]))]  # the numbers of outputs depend on the threads, this does not
        sizes = np.bincount(sentences[best], minlength=len(self.corpus))
        return np.concatenate([[0], np.cumsum(sizes)]), outputs[best], sums[best]

    def _with_features(self, shard: tuple[int, int], part: tuple[Any, ...]) -> tuple[Int64s, Int64s, Floats]:
        """Of the envelopes of some sentences: outputs, their sentences, and the summed features of each derivation."""
        _, _, derivation_offsets, derivation_edges, _ = part
        sizes, _, outputs = self._numbered(shard, part)
        sentences = np.repeat(np.tile(np.arange(*shard), len(sizes)), sizes.ravel())
        lengths = np.diff(derivation_offsets)
        edges = derivation_edges + np.repeat(self.corpus.sentence_edges[sentences], lengths)
        values = np.asarray(self.corpus.features.take(edges).matrix(), dtype=np.float64)
        return outputs, sentences, np.add.reduceat(values, derivation_offsets[:-1], axis=0)

    def subset(self, sentences: Int64s) -> ForestProblem:
        """The same over some of the sentences, in the order given; outputs and statistics are shared."""
        return Subset(self, sentences)


class Subset(ForestProblem):
    """Some sentences of a problem. Outputs keep the names of their sentences in the whole."""

    def __init__(self, whole: ForestProblem, sentences: Int64s) -> None:
        self.corpus = Corpus.pack([whole.corpus[int(i)] for i in sentences])
        self.metric = whole.metric
        self.references = [whole.references[int(i)] for i in sentences]
        self.scorer = EdgeScorer(self.corpus)
        self.outputs = whole.outputs
        self._names = whole._names[sentences]
        self._statistics = whole._statistics
        self._known_rows = whole._known_rows
        self._first_choices = whole._first_choices[sentences]
        self._empty_rows = whole._empty_rows[sentences]


class _KnownRows:
    """The row of statistics of every output that was asked for. Threads may share one."""

    def __init__(self, statistics: LazyStatistics, outputs: Outputs) -> None:
        self._statistics, self._outputs = statistics, outputs
        self._rows = np.full(1024, -1, dtype=np.int64)
        self._lock = threading.Lock()

    def of(self, numbers: Int64s) -> Int64s:
        """The rows of outputs; those not known are asked for in one batch."""
        known = self._rows
        if numbers.max(initial=-1) >= len(known):
            with self._lock:
                if len(self._rows) < len(self._outputs):
                    more = np.full(2 * len(self._outputs) - len(self._rows), -1, dtype=np.int64)
                    self._rows = np.concatenate([self._rows, more])
                known = self._rows
        rows: Int64s = known[numbers]
        if rows.min(initial=0) < 0:
            missing, place = np.unique(numbers[rows < 0], return_inverse=True)
            found = self._statistics.rows(self._outputs.sentences(missing), self._outputs.texts(missing))
            with self._lock:  # another thread may have put a longer array in its place
                self._rows[missing] = found
            rows[rows < 0] = found[place]
        return rows
