"""What weights pick: for each sentence a text, its place in the list, its model score and its features."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from hulltune.arrays import Bools, Floats, Int64s
from hulltune.data.corpus import Corpus
from hulltune.data.dataset import Dataset, SentenceId
from hulltune.data.features import Features
from hulltune.lines.compute import decode
from hulltune.lines.derivations import DerivationLists
from hulltune.lines.scoring import EdgeScorer


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
        """Make a list of texts. ``chosen`` tells the sentences with a pick; ``indices`` (−1 for none), ``scores`` (NaN
        for none) and ``features`` are those of the picks.
        """
        super().__init__(texts)
        self._texts = tuple(texts)  # the list itself may be changed by its owner
        self._ids, self._chosen, self._indices, self._scores = ids, chosen, indices, scores
        self._features, self._names = features, feature_names

    @property
    def indices(self) -> Int64s | None:
        """The place of each sentence's pick in its list as written, −1 for none; None if nothing is known of picks."""
        if self._chosen is None or self._indices is None:
            return None
        indices = np.full(len(self._chosen), -1, dtype=np.int64)
        indices[self._chosen] = self._indices
        return indices

    @cached_property
    def picks(self) -> tuple[Pick, ...]:
        """The pick of each sentence, with its index, score and features."""
        if self._chosen is None or self._indices is None or self._scores is None or self._features is None:
            return ()
        found = [
            Pick(id=name, text=text, index=None, score=None, features={})
            for name, text in zip(self._ids, self._texts, strict=True)
        ]
        columns = zip(self._indices.tolist(), self._scores.tolist(), self._features.by_name(self._names), strict=True)
        for place, (index, score, features) in zip(np.flatnonzero(self._chosen).tolist(), columns, strict=True):
            found[place] = replace(
                found[place],
                index=None if index < 0 else index,
                score=None if math.isnan(score) else score,
                features=features,
            )
        return tuple(found)

    @staticmethod
    def of(dataset: Dataset, weights: Any, *, threads: int | None = None) -> Reranked:
        """The best outputs of a dataset under ``weights``. O(edges × features)."""
        found = best_derivations(dataset.corpus, weights, threads=threads)
        texts = np.full(len(found), "", dtype=object)
        texts[found.sentences] = found.texts
        return Reranked(
            texts.tolist(),
            ids=dataset.ids,
            chosen=np.diff(found.offsets) > 0,
            indices=found.indices,
            scores=found.scores,
            features=found.features,
            feature_names=found.corpus.feature_names,
        )

    @staticmethod
    def first_choices(dataset: Dataset) -> Reranked:
        """The lists' own first choices, whose scores are those of the lists, or NaN where they have none."""
        corpus, chosen = dataset.corpus, dataset.first_choices >= 0
        edges = corpus.sentence_edges[:-1][chosen] + dataset.first_choices[chosen]
        texts = np.full(len(corpus), "", dtype=object)
        texts[chosen] = dataset.texts(edges)
        return Reranked(
            texts.tolist(),
            ids=dataset.ids,
            chosen=chosen,
            indices=corpus.edge_ids[edges].astype(np.int64),
            scores=np.full(len(edges), np.nan) if dataset.scores is None else dataset.scores[edges],
            features=corpus.features.take(edges),
            feature_names=corpus.feature_names,
        )


def best_derivations(
    corpus: Corpus, weights: Any, *, threads: int | None = None, scorer: EdgeScorer | None = None
) -> DerivationLists:
    """The best derivation of each sentence that has any; of equally good ones, that of ``decode``."""
    found = decode(corpus, weights, threads=threads, scorer=scorer)
    return DerivationLists(
        corpus=corpus,
        offsets=found.offsets[0],
        scores=found.intercepts,
        edge_offsets=found.derivation_offsets,
        edges=found.derivation_edges,
        complete=np.ones(len(corpus), dtype=np.bool_),
    )
