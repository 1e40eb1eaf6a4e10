"""What weights pick: for each sentence a text, its place in the list, its model score and its features."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from hulltune.arrays import Floats, Int64s
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
    """The name of the sentence: the id of a list, or the utterance or file of a forest."""
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
        self, texts: Sequence[str] = (), *, ids: Sequence[SentenceId] = (), picked: _Picked | None = None
    ) -> None:
        """Make a list of texts. ``picked`` tells more of the sentences that have something to choose from."""
        super().__init__(texts)
        self._texts = tuple(texts)  # the list itself may be changed by its owner
        self._ids, self._picked = ids, picked

    @property
    def indices(self) -> Int64s | None:
        """The place of each sentence's pick in its list as written, −1 for none; None if nothing is known of picks."""
        if self._picked is None:
            return None
        indices = np.full(len(self._texts), -1, dtype=np.int64)
        indices[self._picked.sentences] = self._picked.indices
        return indices

    @cached_property
    def picks(self) -> tuple[Pick, ...]:
        """The pick of each sentence, with its index, score and features."""
        if self._picked is None:
            return ()
        found = [Pick(name, text, None, None, {}) for name, text in zip(self._ids, self._texts, strict=True)]
        columns = (column.tolist() for column in self._picked[:3])
        features = self._picked.features.by_name(self._picked.feature_names)
        for place, index, score, values in zip(*columns, features, strict=True):
            pick, no_score = found[place], math.isnan(score)
            found[place] = Pick(pick.id, pick.text, None if index < 0 else index, None if no_score else score, values)
        return tuple(found)

    @staticmethod
    def of(dataset: Dataset, weights: Any, *, threads: int | None = None) -> Reranked:
        """The best outputs of a dataset under ``weights``. O(edges × features)."""
        return Reranked._of(dataset, best_derivations(dataset.corpus, weights, threads=threads))

    @staticmethod
    def first_choices(dataset: Dataset) -> Reranked:
        """The lists' own first choices, whose scores are those of the lists, or NaN where they have none."""
        corpus, chosen = dataset.corpus, dataset.first_choices >= 0
        own = dataset.first_choices[chosen]
        scores = np.full(len(own), np.nan)
        if dataset.scores is not None:
            scores = dataset.scores[corpus.sentence_edges[:-1][chosen] + own]
        offsets = np.append(0, np.cumsum(chosen))
        found = DerivationLists(corpus, offsets, scores, np.arange(len(own) + 1), own.astype(np.int32), chosen)
        return Reranked._of(dataset, found)

    @staticmethod
    def _of(dataset: Dataset, found: DerivationLists) -> Reranked:
        """At most one derivation of each sentence."""
        texts = np.full(len(found), "", dtype=object)
        texts[found.sentences] = found.texts
        names = found.corpus.feature_names
        picked = _Picked(found.sentences, found.indices, found.scores, found.features, names)
        return Reranked(texts.tolist(), ids=dataset.names, picked=picked)


class _Picked(NamedTuple):
    """The picks of the sentences that have something to choose from."""

    sentences: Int64s
    indices: Int64s
    """The place of each pick in its list; −1 for a forest."""
    scores: Floats
    """NaN where there is none."""
    features: Features
    feature_names: tuple[str, ...]


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
