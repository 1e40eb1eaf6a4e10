"""Orders of the documents of queries: their value under weights, and along lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hulltune.arrays import Bools, Floats, Int64s
from hulltune.kernels.orders.bounds import Boxed, order_bounds
from hulltune.kernels.orders.changes import COARSE_BITS, FINE_BITS, order_changes, sums_along
from hulltune.lines.compute import Block, blocks_of
from hulltune.lines.scoring import EdgeScorer
from hulltune.metrics.base import Metric
from hulltune.metrics.orders import Judgements, order_metrics
from hulltune.surface import ErrorSurface
from hulltune.threads import ALONE, Workers

WHOLE_LINE = np.array([[-np.inf, np.inf]])
MOST_CHANGES = 1 << 24
"""The most changes on the lines that are searched at once: 400 MB."""


class Changes(NamedTuple):
    """Changes of the values of queries along a line, in any order."""

    places: Floats
    cells: Int64s
    """Numbers of entries of ``starts``, of all queries."""
    changes: Int64s
    starts: Int64s
    """The values at the lower end: a row for each measure, and the queries in columns."""

    @staticmethod
    def together(parts: Sequence[Changes]) -> Changes:
        """The changes of some blocks of queries, one behind the other."""
        places, cells, changes, starts = zip(*parts, strict=True)
        return Changes(
            np.concatenate(places), np.concatenate(cells), np.concatenate(changes), np.concatenate(starts, axis=1)
        )


class Orders:
    """The orders of all queries, which depend on weights alone, and their measures.

    A query's statistics are, for each measure, its value in units of 2^-42 and whether it counts. They are whole
    numbers, so sums do not depend on the order of queries, nor on threads.
    """

    def __init__(self, scorer: EdgeScorer, judgements: Judgements, metric: Metric) -> None:
        self.judgements = judgements
        self._scorer = scorer
        self._measures = [each.measure(judgements) for each in order_metrics(metric)]

    def statistics(self, weights: Floats, *, workers: Workers = ALONE) -> Int64s:
        """The statistics of each query under ``weights``: (queries, 2 · measures)."""
        no_direction = np.zeros((1, len(weights)))
        (line,) = self.changes(weights, no_direction, WHOLE_LINE, workers)
        return self._with_counts(line.starts)

    def best(self) -> tuple[Int64s, Int64s]:
        """The statistics of each query in its best order, by grade, and the first document of each; −1 for none."""
        judged, edges = self.judgements.judged, self.judgements.judged.document_offsets
        grades = np.zeros(edges[-1])
        grades[judged.documents] = self.judgements.grades
        order = self._ordered(grades)
        firsts = np.where(np.diff(edges) > 0, np.append(order, 0)[edges[:-1]], -1)
        return self.in_order(order), firsts

    def _ordered(self, scores: Floats) -> Int64s:
        """All documents, query by query, those of a query by scores, of equals the first."""
        edges = self.judgements.judged.document_offsets
        order: Int64s = np.lexsort((-scores, np.repeat(np.arange(len(edges) - 1), np.diff(edges))))
        return order

    def order(self, weights: Floats) -> Int64s:
        """All documents, query by query, those of a query from the first to the last under ``weights``."""
        return self._ordered(self._scorer.scores(0, len(self.judgements.counted), weights[None])[0][0])

    def by_reciprocal_ranks(self, constant: float) -> Int64s:
        """All documents, query by query, by reciprocal rank fusion of all features (Cormack et al. 2009).

        What has the least value of a query and a feature is taken for not returned.
        """
        edges, columns = self.judgements.judged.document_offsets, self._scorer.corpus.features
        filled = np.flatnonzero(np.diff(edges))
        sizes, sums = np.diff(edges)[filled], np.zeros(edges[-1])
        places = np.arange(edges[-1]) - np.repeat(edges[:-1][filled], sizes)
        for k in range(columns.shape[1]):
            (column,) = columns.some_columns(np.array([k]))
            order = self._ordered(column)
            returned = column > np.repeat(np.minimum.reduceat(column, edges[:-1][filled]), sizes)
            shares = np.empty(len(sums))
            shares[order] = 1.0 / (constant + 1.0 + places)
            sums += np.where(returned, shares, 0.0)
        return self._ordered(sums)

    def in_order(self, order: Int64s) -> Int64s:
        """The statistics of each query with its documents in this order."""
        judged, queries = self.judgements.judged, len(self.judgements.counted)
        scores = np.zeros((2, len(order)))
        scores[0, order] = -np.arange(float(len(order)))
        exponents = np.zeros((2, queries), dtype=np.int64)
        starts = [
            order_changes(judged, measure, 0, queries, scores, exponents, WHOLE_LINE)[-1][0]
            for measure in self._measures
        ]
        return self._with_counts(np.array(starts))

    def unjudged(self, order: Int64s, depth: int) -> float:
        """The share of the first ``depth`` documents of queries with judgements that have none themselves."""
        edges = self.judgements.judged.document_offsets
        known = np.ones(len(order), dtype=np.bool_)
        known[self.judgements.unknown] = False
        first = np.arange(len(order)) - np.repeat(edges[:-1], np.diff(edges)) < depth
        first &= np.repeat(self.judgements.counted, np.diff(edges))
        return float(np.mean(~known[order][first])) if first.any() else 0.0

    def _with_counts(self, starts: Int64s) -> Int64s:
        """The statistics of each query, from its values."""
        found = np.empty((starts.shape[1], 2 * len(self._measures)), dtype=np.int64)
        found[:, 0::2] = rounded(starts).T
        found[:, 1::2] = self.judgements.counted[:, None]
        return found

    def surfaces(
        self, origin: Floats, directions: Floats, intervals: Floats, *, workers: Workers = ALONE
    ) -> list[ErrorSurface]:
        """The error surfaces along several directions, each within its interval."""
        depth = sum(measure.discounts.size for measure in self._measures)
        places = 2 * len(self.judgements.grades) * min(depth, self.judgements.longest)
        at_once = max(MOST_CHANGES // max(places, 1), 1)
        found = []
        for first in range(0, len(directions), at_once):
            some = slice(first, first + at_once)
            found += workers.map(self.surface_of, self.changes(origin, directions[some], intervals[some], workers))
        return found

    def bound(self, boxed: Boxed, low: float, high: float) -> ErrorSurface:
        """The surface of bounds along the line of a box of weights (see kernels/orders/bounds.py)."""
        queries, found = len(self.judgements.counted), []
        for number, measure in enumerate(self._measures):
            places, owners, changes, starts = order_bounds(self.judgements.judged, measure, boxed, low, high)
            found.append(Changes(places, owners.astype(np.int64) + number * queries, changes, starts[None]))
        return self.surface_of(_beside(found))

    def largest_of_queries(self, of_documents: Floats) -> Floats:
        """The largest number of the documents of each query; 0 for a query without any."""
        offsets = self.judgements.judged.document_offsets
        largest = np.zeros(len(offsets) - 1)
        filled = np.diff(offsets) > 0
        largest[filled] = np.maximum.reduceat(of_documents, offsets[:-1][filled])
        return largest

    def surface_of(self, line: Changes) -> ErrorSurface:
        """The error surface of a line, from the changes along it."""
        breakpoints, sums = sums_along(line.places, np.argsort(line.places), line.cells, line.changes, line.starts)
        statistics = np.empty((len(sums), 2 * len(self._measures)), dtype=np.int64)
        statistics[:, 0::2] = sums
        statistics[:, 1::2] = int(self.judgements.counted.sum())
        return ErrorSurface(breakpoints, statistics)

    def loss_shares(self, line: Changes, slopes: Floats) -> tuple[Floats, Bools, Floats]:
        """The segments of a line, query by query: see Problem.loss_shares."""
        queries = line.starts.shape[1]
        lefts = np.concatenate([np.full(queries, -np.inf), line.places])
        owners = np.concatenate([np.arange(queries), line.cells % queries])
        measures = np.concatenate([np.full(queries, -1), line.cells // queries])
        order = np.lexsort((lefts, owners))
        starts = order < queries
        shares = slopes[1::2].sum() * self.judgements.counted[owners[order]].astype(np.float64)
        for measure, slope in enumerate(slopes[0::2].tolist()):
            changes = np.concatenate([line.starts[measure], line.changes * (measures[queries:] == measure)])[order]
            sums = np.cumsum(changes)  # of whole numbers, so that what other queries have can be taken off again
            before = (sums - changes)[starts]
            shares += slope * rounded(sums - before[np.cumsum(starts) - 1])
        return lefts[order], starts, shares

    def changes(self, origin: Floats, directions: Floats, intervals: Floats, workers: Workers) -> list[Changes]:
        """The changes along each direction, from those of blocks of queries that workers share."""
        weights = np.vstack([origin, directions])
        blocks = blocks_of(self._scorer.corpus, len(weights), workers.count)
        self._scorer.prepare(workers=workers)
        found = workers.map(lambda block: self._of_block(block, weights, intervals), blocks)
        return [Changes.together(parts) for parts in zip(*found, strict=True)]

    def _of_block(self, block: Block, weights: Floats, intervals: Floats) -> list[Changes]:
        """The changes of a block of queries along each direction."""
        first, last = block
        queries = len(self.judgements.counted)
        scores, exponents = self._scorer.scores(first, last, weights)
        of_measures = []
        for number, measure in enumerate(self._measures):
            counts, places, owners, changes, starts = order_changes(
                self.judgements.judged, measure, first, last, scores, exponents, intervals
            )
            of_measures.append(
                [
                    Changes(
                        places[line, :count], owners[line, :count] + np.int64(first + number * queries),
                        changes[line, :count], starts[line : line + 1],
                    )
                    for line, count in enumerate(counts.tolist())
                ]
            )  # fmt: skip
        return [_beside(of_line) for of_line in zip(*of_measures, strict=True)]


def _beside(measures: Sequence[Changes]) -> Changes:
    """The changes of several measures of the same queries."""
    return Changes.together(measures)._replace(starts=np.concatenate([each.starts for each in measures]))


def rounded(values: Int64s) -> Int64s:
    """Values of queries in units of 2^-42, as ``sums_along`` rounds them."""
    shift = FINE_BITS - COARSE_BITS
    return (values + (1 << (shift - 1))) >> shift
