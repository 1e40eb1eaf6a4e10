"""The order of candidates under given weights: on the exact grid, so that search and reranking never differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hulltune.data.dataset import Dataset, SentenceId
from hulltune.data.forest import feature_vector
from hulltune.errors import InputError
from hulltune.lines.compute import decode
from hulltune.lines.kbest import kbest
from hulltune.lines.scoring import EdgeScorer

Int64s = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Ranked:
    """Hypotheses or derivations from best to worst, sentence by sentence, and their model scores."""

    offsets: Int64s
    """The rows of sentence i are ``rows[offsets[i]:offsets[i + 1]]``."""
    rows: Int64s
    scores: NDArray[np.float64]


def best_rows(lists: Dataset, weights: Mapping[str, float] | Sequence[float]) -> Int64s:
    """The best hypothesis of each list (its edge in the whole corpus), of equals the first; −1 where it is empty."""
    found = decode(lists.corpus, feature_vector(weights, lists.feature_names, "weights"))
    rows = np.full(len(lists), -1, dtype=np.int64)
    filled = np.diff(found.offsets[0]) > 0
    rows[filled] = found.derivation_edges + lists.corpus.sentence_edges[:-1][filled]
    return rows


def best_outputs(dataset: Dataset, weights: Mapping[str, float] | Sequence[float]) -> list[str]:
    """The output of the best derivation of each sentence, of equals the first by the order of edges; "" where there is
    none. O(edges × features).
    """
    found = decode(dataset.corpus, feature_vector(weights, dataset.feature_names, "weights"))
    return [texts[0] if texts else "" for texts in found.outputs()]


@dataclass(frozen=True, eq=False)
class RankedDerivations:
    """The best derivations of forests as rows with texts and features, like the hypotheses of lists."""

    ids: Sequence[SentenceId]
    feature_names: tuple[str, ...]
    features: NDArray[np.float64]
    texts: Sequence[str]

    def values(self, row: int) -> list[float]:
        """The features of a derivation."""
        values: list[float] = self.features[row].tolist()
        return values

    def text(self, row: int) -> str:
        """The output of a derivation."""
        return self.texts[row]


def rank_forests(
    forests: Dataset, weights: Mapping[str, float] | Sequence[float], *, best: int
) -> tuple[RankedDerivations, Ranked]:
    """The ``best`` derivations of each sentence, as rows and their order."""
    found = kbest(forests.corpus, weights, best)
    rows = RankedDerivations(forests.ids, forests.feature_names, found.features.toarray(), found.texts)
    return rows, Ranked(found.offsets, np.arange(len(found.scores), dtype=np.int64), found.scores)


def rank(lists: Dataset, weights: Mapping[str, float] | Sequence[float], *, best: int | None = None) -> Ranked:
    """The ``best`` hypotheses of each list (all by default); equals stay in the order of their list.

    O(n log n) for the n hypotheses of a list.
    """
    if best is not None and best < 1:
        raise InputError(f"best: expected at least 1, got {best}")
    vector = feature_vector(weights, lists.feature_names, "weights")
    scorer, edges = EdgeScorer(lists.corpus), lists.corpus.sentence_edges.tolist()
    rows, scores, sizes = [], [], []
    grid, exponents = scorer.scores(0, len(lists), vector[None, :])
    for sentence in range(len(lists)):
        first, last = edges[sentence], edges[sentence + 1]
        order = np.argsort(-grid[0, first:last], kind="stable")[:best]
        rows.append(first + order)
        scores.append(np.ldexp(grid[0, first:last][order], exponents[0, sentence]))
        sizes.append(len(order))
    return Ranked(
        offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        rows=np.concatenate([*rows, []]).astype(np.int64),
        scores=np.concatenate([*scores, []]),
    )
