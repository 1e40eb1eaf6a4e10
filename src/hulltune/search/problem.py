"""What is tuned: candidates with features, and a metric that knows the statistics of each."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.data.corpus import Corpus
from hulltune.lines.compute import decode, envelopes
from hulltune.lines.result import CorpusEnvelopes
from hulltune.lines.scoring import EdgeScorer
from hulltune.metrics.base import Metric, References
from hulltune.metrics.lazy import LazyStatistics
from hulltune.search.list_surfaces import CompactTable, list_surfaces, list_winners
from hulltune.search.sentences import check_references, rows_of_empty, surface_beside_empty
from hulltune.surface import ErrorSurface

Floats = NDArray[np.float64]
Int64s = NDArray[np.int64]
Int32s = NDArray[np.int32]

MANY = 1000
"""Candidates that are new in one request, from which on it is worth a look whether all are known."""


@dataclass(frozen=True, eq=False)
class Picks:
    """One candidate for each sentence (−1 where there is none), and the statistics of each sentence's output."""

    candidates: Int64s
    statistics: NDArray[Any]

    @property
    def total(self) -> NDArray[Any]:
        """The statistics of the corpus."""
        return exact_sum(self.statistics)


class ListProblem:
    """n-best lists, their references and a metric.

    Statistics are asked for once per distinct text of a sentence, when a candidate first wins somewhere. A sentence
    without candidates counts as an empty output, as it would in the file that reranking writes. ``some_texts`` gives
    many texts at once, where that is faster than one by one.
    """

    def __init__(
        self,
        corpus: Corpus,
        text: Callable[[int], str],
        metric: Metric,
        references: References,
        *,
        sources: Sequence[str] | None = None,
        totals: Floats | None = None,
        statistics: LazyStatistics | None = None,
        some_texts: Callable[[Int64s], list[str]] | None = None,
    ) -> None:
        check_references(references, corpus)
        self.corpus = corpus
        self.metric = metric
        self.references = references
        self.totals = totals
        self.scorer = EdgeScorer(corpus)
        self._text = text
        self._some_texts = some_texts or (lambda candidates: [text(candidate) for candidate in candidates.tolist()])
        self._statistics = LazyStatistics(metric, references, sources) if statistics is None else statistics
        self._rows = np.full(corpus.edges, -1, dtype=np.int64)
        self._complete = False
        self.empty_rows = rows_of_empty(corpus, self._statistics)
        """The row of the empty output, for sentences without candidates."""
        self._compact = CompactTable(len(corpus))
        self.rooms: list[tuple[Floats, Int32s]] = []
        """Memory of past searches (list_surfaces.py): as many pieces as there were searches at one time."""

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the weights."""
        return self.corpus.feature_names

    def text(self, candidate: int) -> str:
        """The text of a candidate of the corpus, or nothing for −1."""
        return self._text(candidate) if candidate >= 0 else ""

    def rows(self, candidates: Int64s | Int32s) -> Int64s:
        """Rows of ``table`` for candidates of the corpus; asks the metric for those not seen before."""
        rows: Int64s = self.rows_with(candidates)[candidates]
        return rows

    def rows_with(self, candidates: Int64s | Int32s) -> Int64s:
        """The row of every candidate of the corpus, −1 for those not seen yet; ``candidates`` are among those seen."""
        if not self._complete:
            missing = np.unique(candidates[self._rows[candidates] < 0]).astype(np.int64)
            if len(missing):
                self._rows[missing] = self._new_rows(missing)
                # Looked up after large requests alone: beside a small one it would take the longest.
                self._complete = len(missing) > MANY and bool(self._rows.min() >= 0)
        return self._rows

    def _new_rows(self, candidates: Int64s) -> Int64s:
        sentences = np.searchsorted(self.corpus.sentence_edges, candidates, side="right") - 1
        return self._statistics.rows(sentences, self._some_texts(candidates))

    @property
    def table(self) -> NDArray[Any]:
        """The statistics behind the rows."""
        return self._statistics.table

    def surfaces(
        self, origin: Floats, directions: Floats, intervals: Floats, *, threads: int = 1
    ) -> list[ErrorSurface]:
        """The error surfaces along several directions, each within its interval."""
        surfaces = list_surfaces(self, self._compact, origin, directions, intervals, threads)
        if surfaces is None:
            found = self.search(origin, directions, intervals, threads=threads)
            surfaces = [self.surface(found, direction) for direction in range(len(directions))]
        return surfaces

    def surface(self, found: CorpusEnvelopes, direction: int) -> ErrorSurface:
        """The error surface along one of the directions that were searched."""
        offsets = found.offsets[direction]
        begin, end = int(offsets[0]), int(offsets[-1])
        winners = found.derivation_edges[found.derivation_offsets[begin] : found.derivation_offsets[end]]
        starts = np.repeat(self.corpus.sentence_edges[:-1], np.diff(offsets))
        rows = self.rows(winners + starts)
        return surface_beside_empty(offsets - begin, found.lefts[begin:end], rows, self.empty_rows, self.table)

    def search(self, origin: Floats, directions: Floats, intervals: Floats, *, threads: int = 1) -> CorpusEnvelopes:
        """The envelopes of all sentences along several directions, each within its interval."""
        return envelopes(self.corpus, origin, directions, interval=intervals, threads=threads, scorer=self.scorer)

    def picks(self, weights: Floats, *, threads: int = 1) -> Picks:
        """What reranking with ``weights`` picks: the highest score, of equals the first in the list."""
        winners = list_winners(self, weights)
        if winners is not None:
            return self.picked(winners)
        found = decode(self.corpus, weights, threads=threads, scorer=self.scorer)
        candidates = np.full(len(self.corpus), -1, dtype=np.int64)
        filled = np.diff(found.offsets[0]) > 0
        candidates[filled] = found.derivation_edges + self.corpus.sentence_edges[:-1][filled]
        return self.picked(candidates)

    def picked(self, candidates: Int64s) -> Picks:
        """The statistics of given picks."""
        rows = self.empty_rows.copy()
        chosen = candidates >= 0
        rows[chosen] = self.rows(candidates[chosen])
        return Picks(candidates, self.table[rows])

    @property
    def has_own_choice(self) -> bool:
        """Whether there is a baseline without weights: lists have an order of their own."""
        return True

    @property
    def has_some_own_choice(self) -> bool:
        """The same of some sentences."""
        return True

    def baseline(self, weights: Floats | None = None) -> Picks:
        """The list's own first choice: the highest total score where there is one, otherwise the first hypothesis.

        ``weights`` do not matter here; forests, which have no order, take their best under them.
        """
        edges = self.corpus.sentence_edges
        candidates = np.where(np.diff(edges) > 0, edges[:-1], -1)
        if self.totals is not None:
            for sentence in np.flatnonzero(candidates >= 0):
                first, last = edges[sentence], edges[sentence + 1]
                candidates[sentence] = first + int(np.argmax(self.totals[first:last]))
        return self.picked(candidates)

    def score(self, weights: Floats, *, threads: int = 1) -> float:
        """The metric of what reranking with ``weights`` picks."""
        return float(self.metric.score(self.picks(weights, threads=threads).total))

    def choices(self) -> tuple[Int64s, Int64s]:
        """All candidates, by sentence: those of sentence i are ``candidates[offsets[i]:offsets[i + 1]]``."""
        return self.corpus.sentence_edges, np.arange(self.corpus.edges, dtype=np.int64)

    @property
    def choices_are_all(self) -> bool:
        """Whether ``choices`` leaves out nothing that could be picked."""
        return True

    def rivals(self, weights: Floats, units: Floats) -> tuple[Int64s, Int64s, Floats]:
        """Candidates to compare around ``weights``: offsets by sentence, their numbers, and their features: all."""
        return *self.choices(), np.asarray(self.corpus.features.matrix(), dtype=np.float64)

    def subset(self, sentences: Int64s) -> ListProblem:
        """The same over some of the sentences, in the order given."""
        return Subset(self, sentences)


class Subset(ListProblem):
    """Some sentences of a problem, in the order given; statistics are shared with the whole."""

    def __init__(self, whole: ListProblem, sentences: Int64s) -> None:
        edges = whole.corpus.sentence_edges
        self._whole = whole
        self._candidates = np.concatenate([np.arange(edges[i], edges[i + 1]) for i in sentences] or [edges[:0]])
        self.corpus = Corpus.pack([whole.corpus[int(i)] for i in sentences])
        self.metric = whole.metric
        self.references = [whole.references[int(i)] for i in sentences]
        self.totals = None if whole.totals is None else whole.totals[self._candidates]
        self.scorer = EdgeScorer(self.corpus)
        self.empty_rows = whole.empty_rows[sentences]
        self._rows = np.full(self.corpus.edges, -1, dtype=np.int64)
        self._complete = False
        self._compact = CompactTable(len(sentences))
        self.rooms = []

    def text(self, candidate: int) -> str:
        """The text of a candidate of the subset."""
        return self._whole.text(int(self._candidates[candidate]) if candidate >= 0 else -1)

    def _new_rows(self, candidates: Int64s) -> Int64s:
        return self._whole.rows(self._candidates[candidates])

    @property
    def table(self) -> NDArray[Any]:
        """The whole's table."""
        return self._whole.table


def exact_sum(statistics: NDArray[Any]) -> NDArray[Any]:
    """The sum over sentences: integers stay integers, reals are rounded once, whatever their order."""
    if statistics.dtype.kind in "biu":
        total: NDArray[Any] = statistics.sum(axis=0, dtype=np.int64)
        return total
    return np.array([math.fsum(column) for column in statistics.T.tolist()])
