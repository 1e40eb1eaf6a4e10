"""Scores of edges on the exact grid, for dense and sparse features."""

from __future__ import annotations

import threading
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Floats, Int64s
from hulltune.data.corpus import Corpus
from hulltune.data.features import DenseFeatures, Features, SparseFeatures
from hulltune.errors import InputError
from hulltune.kernels.forests.forest import Forests
from hulltune.kernels.lists.features import EdgeFeatures, FeatureRows, used_features
from hulltune.kernels.scores.magnitudes import magnitudes
from hulltune.kernels.scores.scores import GridScores, score_edges, score_sparse_forests
from hulltune.threads import ALONE, Workers

LARGEST_EXPONENT = 970  # a score has up to 52 bits above the grid's exponent, and 2^1023 is the largest double

NO_OFFSETS, NO_COLUMNS = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32)
EDGES_AT_ONCE = 1 << 15
"""Edges whose tables are computed as one part of the work."""


class EdgeScorer:
    """Scores the edges of a corpus under weight vectors, as integers on a grid per sentence (kernels/scores/scores.py).

    Tables that depend only on the features are computed once, at the first use: O(edges × features).
    """

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self._lock = threading.Lock()
        self._workers: Workers = ALONE

    @staticmethod
    def of(corpus: Corpus, scorer: EdgeScorer | None) -> EdgeScorer:
        """A scorer that a caller may have given, or a new one."""
        if scorer is not None and scorer.corpus is not corpus:
            raise InputError("scorer: made for another corpus; use EdgeScorer(corpus) of this corpus")
        return EdgeScorer(corpus) if scorer is None else scorer

    def scores(self, first: int, last: int, weights: Floats, room: Floats | None = None) -> GridScores:
        """The scores of the edges of sentences ``first`` to ``last`` under each row of weights.

        ``room``, if given, is a flat array that is reused for the scores: fresh memory costs as much as scoring.
        """
        corpus = self.corpus
        shape = len(weights), int(corpus.sentence_edges[last] - corpus.sentence_edges[first])
        size = shape[0] * shape[1]
        numbers = (np.empty(size) if room is None or len(room) < size else room[:size]).reshape(shape)
        found = GridScores(numbers, np.zeros((len(weights), last - first), dtype=np.int64))
        is_sparse = isinstance(corpus.features, SparseFeatures)
        if is_sparse:
            score_sparse_forests(self.forests, _rows_of(corpus.features), first, last, weights, found)
        if not is_sparse or np.any(corpus.is_list[first:last]):
            score_edges(self.forests, self.features, first, last, weights, found)
        return _checked(found)

    def lines(self, block: tuple[int, int], hypotheses: Int64s, directions: Int64s, weights: Floats) -> Floats:
        """The slope and the intercept of hypotheses of the lists of a block, each along the line from the first row of
        ``weights`` in the direction of that number, which are the other rows.
        """
        first, last = block
        edges = self.corpus.sentence_edges[first : last + 1]
        winners, places = hypotheses, np.arange(len(hypotheses))
        if len(weights) > 2:  # along one line none wins twice; of several each is scored once, and sorting takes longer
            wins = np.zeros(edges[-1] - edges[0], dtype=np.bool_)
            wins[hypotheses - edges[0]] = True
            places = (np.cumsum(wins) - 1)[hypotheses - edges[0]]
            winners = np.flatnonzero(wins) + edges[0]
        offsets = np.searchsorted(winners, edges)
        sentences = np.repeat(np.arange(last - first), np.diff(offsets))
        features = self.features._replace(
            rows=_rows_of(self._tidy.take(winners)), used_offsets=self.features.used_offsets[first : last + 1]
        )
        found = GridScores(np.empty((len(weights), len(winners))), np.zeros((len(weights), last - first), np.int64))
        graph = Forests(np.arange(last - first + 1), offsets, NO_OFFSETS, NO_COLUMNS)
        score_edges(graph, features, 0, last - first, weights, found)
        numbers, exponents = _checked(found)
        rows = directions + 1
        slopes = np.ldexp(numbers[rows, places], exponents[rows, sentences[places]])
        return np.stack([slopes, np.ldexp(numbers[0], exponents[0, sentences])[places]], axis=1)

    @cached_property
    def forests(self) -> Forests:
        """The graphs of the corpus as kernels take them."""
        return forests_of(self.corpus)

    @cached_property
    def features(self) -> EdgeFeatures:
        """The features as kernels take them."""
        corpus, tidy = self.corpus, self._tidy
        if isinstance(tidy, SparseFeatures):
            arrays = tidy.offsets, tidy.columns, tidy.values
            return EdgeFeatures(
                _rows_of(tidy), *used_features(corpus.node_offsets, corpus.sentence_edges, *arrays, tidy.width)
            )
        sizes = self._magnitudes
        sentences, used = np.nonzero(sizes)
        return EdgeFeatures(
            _rows_of(tidy),
            used_offsets=np.searchsorted(sentences, np.arange(len(sizes) + 1)),
            used=used.astype(np.int32),
            magnitudes=sizes[sentences, used],
            ranges=self._ranges()[sentences, used],
        )

    @cached_property
    def _tidy(self) -> Features:
        features = self.corpus.features
        return features.tidy() if isinstance(features, SparseFeatures) else features

    def prepare(self, *, workers: Workers = ALONE) -> None:
        """Compute the tables now, in parts that workers share: threads would all compute them at once."""
        with self._lock:
            self._workers = workers
            if isinstance(self.corpus.features, DenseFeatures) or np.any(self.corpus.is_list):
                _ = self.features

    @property
    def _columns(self) -> NDArray[Any]:
        # Columns must be contiguous, also in a corpus that is a view of rows of a larger one.
        return np.ascontiguousarray(self.corpus.features.values.T)

    @cached_property
    def _magnitudes(self) -> Floats:
        """The largest sum of absolute values over a derivation (sentences, features); features are dense."""
        corpus = self.corpus
        columns = self._columns

        def of_some(some: slice) -> Floats:
            nodes = corpus.node_offsets[some.start : some.stop + 1]
            return magnitudes(self.forests._replace(node_offsets=nodes), columns)

        bounds: Floats = np.concatenate(self._workers.map(of_some, corpus.parts(EDGES_AT_ONCE)))
        if not np.all(np.isfinite(bounds)):
            sentence, column = (int(number) for number in np.argwhere(~np.isfinite(bounds))[0])
            raise InputError(
                f"sentence {sentence}: sums of feature {corpus.feature_names[column]!r} overflow; rescale the feature"
            )
        return bounds

    def _ranges(self) -> Floats:
        """The largest difference between hypotheses of each list in each feature of a matrix, at most the largest
        double; anything of a forest.
        """
        corpus = self.corpus
        starts, filled = corpus.sentence_edges[:-1], np.diff(corpus.sentence_edges) > 0
        ranges = np.zeros((len(starts), corpus.features.shape[1]))

        def fill(feature: int) -> None:
            column = np.asarray(corpus.features.values[:, feature], dtype=np.float64)
            with np.errstate(over="ignore"):
                low, high = (end.reduceat(column, starts[filled]) for end in (np.minimum, np.maximum))
                ranges[filled, feature] = high - low

        self._workers.map(fill, range(ranges.shape[1] if np.any(filled & corpus.is_list) else 0))
        return np.minimum(ranges, np.finfo(np.float64).max)


def _rows_of(features: Features) -> FeatureRows:
    """The values of features as kernels take them."""
    if isinstance(features, SparseFeatures):
        return FeatureRows(features.values, 0, features.offsets, features.columns)
    # Columns must be contiguous, also in a corpus that is a view of rows of a larger one.
    columns = np.ascontiguousarray(features.values.T)
    return FeatureRows(columns.reshape(-1), columns.shape[1], NO_OFFSETS, NO_COLUMNS)


def _checked(found: GridScores) -> GridScores:
    if found.exponents.max(initial=0) > LARGEST_EXPONENT:
        raise InputError("weights: the scores of derivations overflow; use smaller weights or rescale the features")
    return found


def forests_of(corpus: Corpus) -> Forests:
    """The graphs of a corpus as kernels take them."""
    return Forests(corpus.node_offsets, corpus.edge_offsets, corpus.tail_offsets, corpus.tails)
