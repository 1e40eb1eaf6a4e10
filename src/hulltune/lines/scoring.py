"""Scores of edges on the exact grid, for dense and sparse features."""

from __future__ import annotations

import threading
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Bools, Floats, Int64s
from hulltune.data.corpus import Corpus
from hulltune.data.features import DenseFeatures
from hulltune.errors import InputError
from hulltune.threads import ALONE, Workers

LARGEST_EXPONENT = 970  # a score has up to 52 bits above the grid's exponent, and 2^1023 is the largest double

NO_OFFSETS, NO_COLUMNS = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32)
AT_ONCE = 1 << 15
"""Edges whose tables are computed as one part of the work."""


class EdgeScorer:
    """Scores the edges of a corpus under weight vectors, as integers on a grid per sentence (kernels/scores/scores.py).

    Tables that depend only on the features are computed once, at the first use: O(edges × features).
    """

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self._lock = threading.Lock()
        self._workers: Workers = ALONE

    def scores(self, first: int, last: int, weights: Floats, room: Floats | None = None) -> tuple[Floats, Int64s]:
        """Grid scores (rows of weights, edges of sentences ``first`` to ``last``) and exponents (rows, sentences).

        ``room``, if given, is a flat array that is reused for the scores: fresh memory costs as much as scoring.
        """
        from hulltune.kernels.scores import scores

        corpus = self.corpus
        shape = len(weights), int(corpus.sentence_edges[last] - corpus.sentence_edges[first])
        size = shape[0] * shape[1]
        out = (np.empty(size) if room is None or len(room) < size else room[:size]).reshape(shape)
        if isinstance(corpus.features, DenseFeatures):
            exponents = scores.score_dense(
                self._columns, corpus.sentence_edges, first, last, weights, self._magnitudes, out
            )
        else:
            rows = scores.SparseRows(corpus.features.offsets, corpus.features.columns, corpus.features.values)
            exponents = scores.score_sparse(self.forests, rows, first, last, weights, out)
            if np.any(self._is_list[first:last]):
                scores.score_sparse_lists(
                    corpus.node_offsets, corpus.sentence_edges, self.list_features, first, last, weights, out, exponents
                )
        if exponents.max(initial=0) > LARGEST_EXPONENT:
            raise InputError("weights: the scores of derivations overflow; use smaller weights or rescale the features")
        return out, exponents

    @cached_property
    def forests(self) -> Any:
        """The graphs of the corpus as kernels take them: a kernels.forests.forest.Forests."""
        return forests_of(self.corpus)

    @cached_property
    def list_features(self) -> Any:
        """The features of lists as their kernels take them: a kernels.list_features.ListFeatures."""
        from hulltune.kernels.lists.features import ListFeatures, used_features

        corpus = self.corpus
        if isinstance(corpus.features, DenseFeatures):
            magnitudes, columns = self._magnitudes, self._columns
            nonzero = np.flatnonzero(magnitudes)
            used_offsets = np.searchsorted(nonzero, np.arange(len(magnitudes) + 1) * magnitudes.shape[1])
            return ListFeatures(
                columns.reshape(-1), columns.shape[1], NO_OFFSETS, NO_COLUMNS,
                used_offsets.astype(np.int64), (nonzero % max(magnitudes.shape[1], 1)).astype(np.int32),
                magnitudes.reshape(-1)[nonzero], self._ranges().reshape(-1)[nonzero],
            )  # fmt: skip
        rows = corpus.features.tidy()
        arrays = rows.offsets, rows.columns, rows.values
        offsets, used, sizes, ranges = used_features(corpus.node_offsets, corpus.sentence_edges, *arrays, rows.width)
        return ListFeatures(rows.values, 0, rows.offsets, rows.columns, offsets, used, sizes, ranges)

    @cached_property
    def _is_list(self) -> Bools:
        one_node: Bools = np.diff(self.corpus.node_offsets) == 1
        return one_node

    def prepare(self, *, workers: Workers = ALONE) -> None:
        """Compute the tables now, in parts that workers share: threads would all compute them at once."""
        with self._lock:
            self._workers = workers
            if isinstance(self.corpus.features, DenseFeatures):
                _ = self._magnitudes
            if np.any(self._is_list):
                _ = self.list_features

    @property
    def _columns(self) -> NDArray[Any]:
        # Columns must be contiguous, also in a corpus that is a view of rows of a larger one.
        return np.ascontiguousarray(self.corpus.features.values.T)

    @cached_property
    def _magnitudes(self) -> Floats:
        """The largest sum of absolute values over a derivation (sentences, features); features are dense."""
        from hulltune.kernels.scores import magnitudes

        corpus = self.corpus
        columns = self._columns

        def of_some(some: slice) -> Floats:
            nodes = corpus.node_offsets[some.start : some.stop + 1]
            return magnitudes.magnitudes(self.forests._replace(node_offsets=nodes), columns)

        bounds: Floats = np.concatenate(self._workers.map(of_some, corpus.parts(AT_ONCE)))
        if not np.all(np.isfinite(bounds)):
            sentence, column = (int(number) for number in np.argwhere(~np.isfinite(bounds))[0])
            raise InputError(
                f"sentence {sentence}: sums of feature {corpus.feature_names[column]!r} overflow; rescale the feature"
            )
        return bounds

    def _ranges(self) -> Floats:
        """The largest difference between edges of each sentence in each feature of a matrix, at most the largest
        double.
        """
        corpus = self.corpus
        starts, filled = corpus.sentence_edges[:-1], np.diff(corpus.sentence_edges) > 0
        ranges = np.zeros((len(starts), corpus.features.shape[1]))

        def fill(feature: int) -> None:
            column = np.asarray(corpus.features.values[:, feature], dtype=np.float64)
            with np.errstate(over="ignore"):
                low, high = (end.reduceat(column, starts[filled]) for end in (np.minimum, np.maximum))
                ranges[filled, feature] = high - low

        self._workers.map(fill, range(ranges.shape[1] if filled.any() else 0))
        return np.minimum(ranges, np.finfo(np.float64).max)


def forests_of(corpus: Corpus) -> Any:
    """The graphs of a corpus as kernels take them: a kernels.forests.forest.Forests."""
    from hulltune.kernels.forests.forest import Forests

    return Forests(corpus.node_offsets, corpus.edge_offsets, corpus.tail_offsets, corpus.tails)
