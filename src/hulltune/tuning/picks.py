"""What weights pick: for each sentence a text, its place in the list, its model score and its features."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hulltune.arrays import Bools, Floats, Int32s, Int64s
from hulltune.data.corpus import Corpus
from hulltune.data.dataset import Dataset, SentenceId
from hulltune.data.features import DenseFeatures, Features, SparseFeatures
from hulltune.lines.compute import decode


@dataclass(frozen=True)
class Pick:
    """The output that weights pick for a sentence."""

    id: SentenceId
    """The sentence's id in the data."""
    text: str
    """The text; "" where there is nothing to choose from."""
    index: int | None
    """The place in the list as written, from 0; None for a forest, and where there is nothing to choose from."""
    score: float | None
    """The weighted sum of the features; None where there is nothing to choose from."""
    features: Mapping[str, float]
    """The features by name, those of a forest summed over the derivation; sparse ones that are 0 are left out."""


class Reranked(list[str]):
    """The texts that weights pick, one for each sentence, "" where there is nothing to choose from.

    ``picks`` tells more of each. It holds the features of the picks alone, not the data that they were picked from.
    """

    def __init__(
        self,
        texts: Sequence[str] = (),
        *,
        ids: Sequence[SentenceId] = (),
        chosen: Bools | None = None,
        indices: Int64s | None = None,
        scores: Floats | None = None,
        features: Features | None = None,
        feature_names: tuple[str, ...] = (),
    ) -> None:
        """Make a list of texts. ``chosen`` tells the sentences with a pick; index −1 and score NaN stand for none."""
        super().__init__(texts)
        self._texts = tuple(texts)  # the list itself may be changed by its owner
        self._ids, self._chosen, self._indices, self._scores = ids, chosen, indices, scores
        self._features, self._names = features, feature_names

    @property
    def indices(self) -> Int64s | None:
        """The place of each pick in its list as written, −1 for none; None if nothing is known of the picks."""
        return self._indices

    @cached_property
    def picks(self) -> tuple[Pick, ...]:
        """The pick of each sentence, with its index, score and features."""
        if self._chosen is None or self._indices is None or self._scores is None or self._features is None:
            return ()
        columns = (self._chosen.tolist(), self._indices.tolist(), self._scores.tolist())
        rows = self._features.by_name(self._names)
        return tuple(
            Pick(
                id=name,
                text=text,
                index=None if index < 0 else index,
                score=None if math.isnan(score) else score,
                features=row if chosen else {},
            )
            for name, text, row, chosen, index, score in zip(self._ids, self._texts, rows, *columns, strict=True)
        )

    @staticmethod
    def of(dataset: Dataset, weights: Any, *, threads: int | None = None) -> Reranked:
        """The best outputs of a dataset under ``weights``. O(edges × features)."""
        corpus = dataset.corpus
        found = decode(corpus, weights, threads=threads)
        chosen = np.flatnonzero(np.diff(found.offsets[0]) > 0)
        scores = np.full(len(corpus), np.nan)
        scores[chosen] = found.intercepts[found.offsets[0][chosen]]
        return Reranked(
            [texts[0] if texts else "" for texts in found.outputs()],
            ids=dataset.ids,
            chosen=np.diff(found.offsets[0]) > 0,
            indices=indices_of(corpus, chosen, found.derivation_offsets, found.derivation_edges),
            scores=scores,
            features=_sums(corpus, chosen, found.derivation_offsets, found.derivation_edges),
            feature_names=corpus.feature_names,
        )

    @staticmethod
    def first_choices(dataset: Dataset) -> Reranked:
        """The lists' own first choices, whose scores are those of the lists, or NaN where they have none."""
        corpus = dataset.corpus
        chosen = np.flatnonzero(dataset.first_choices >= 0)
        edges = corpus.sentence_edges[:-1][chosen] + dataset.first_choices[chosen]
        texts, indices = np.full(len(corpus), "", dtype=object), np.full(len(corpus), -1, dtype=np.int64)
        texts[chosen], indices[chosen] = dataset.texts(edges), corpus.edge_ids[edges]
        scores = np.full(len(corpus), np.nan)
        if dataset.scores is not None:
            scores[chosen] = dataset.scores[edges]
        return Reranked(
            texts.tolist(),
            ids=dataset.ids,
            chosen=dataset.first_choices >= 0,
            indices=indices,
            scores=scores,
            features=_spread(corpus.features.take(edges), chosen, len(corpus)),
            feature_names=corpus.feature_names,
        )


def indices_of(corpus: Corpus, sentences: Int64s, edge_offsets: Int64s, edges: Int32s) -> Int64s:
    """For each sentence of the corpus, the place as written of its derivation; −1 for one that has none.

    Derivation d belongs to ``sentences[d]``. A derivation of a list is one edge; those of forests have no place.
    """
    indices = np.full(len(corpus), -1, dtype=np.int64)
    is_list = np.diff(corpus.node_offsets)[sentences] == 1
    listed = sentences[is_list]
    places = corpus.sentence_edges[:-1][listed] + edges[edge_offsets[:-1][is_list]]
    indices[listed] = corpus.edge_ids[places]
    return indices


def _sums(corpus: Corpus, sentences: Int64s, edge_offsets: Int64s, edges: Int32s) -> Features:
    """The features of each sentence's derivation, summed over its edges in their order; 0 without a derivation."""
    from hulltune.kernels.forests import derivations

    starts = np.repeat(corpus.sentence_edges[:-1][sentences], np.diff(edge_offsets))
    rows = corpus.features.take(starts + edges)  # only the rows that are needed: the whole may be very large
    if isinstance(rows, DenseFeatures):
        if len(edges) == len(sentences):  # an edge each, as in lists: no sums
            return _spread(rows, sentences, len(corpus))
        columns = np.ascontiguousarray(rows.values.T)
        nothing = np.zeros(len(sentences), dtype=np.int64)
        sums = derivations.sum_dense(nothing, edge_offsets, np.arange(len(edges), dtype=np.int32), columns)
        return _spread(DenseFeatures(sums.T), sentences, len(corpus))
    offsets, numbers, values = derivations.sum_sparse(
        rows.offsets[edge_offsets], rows.columns, rows.values.astype(np.float64, copy=False)
    )
    return _spread(SparseFeatures(offsets, numbers, values, rows.width), sentences, len(corpus))


def _spread(rows: Features, sentences: Int64s, count: int) -> Features:
    """The rows at the places of their sentences; other sentences have zeros."""
    if isinstance(rows, DenseFeatures):
        values = np.zeros((count, rows.shape[1]))
        values[sentences] = rows.values
        return DenseFeatures(values)
    sizes = np.zeros(count, dtype=np.int64)
    sizes[sentences] = np.diff(rows.offsets)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return SparseFeatures(offsets, rows.columns, rows.values, rows.width)
