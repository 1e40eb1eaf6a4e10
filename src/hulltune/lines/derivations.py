"""Lists of derivations of forests: the k best, or a random sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from hulltune.arrays import Bools, Floats, Int32s, Int64s
from hulltune.data.corpus import Corpus
from hulltune.data.features import DenseFeatures, Features, SparseFeatures
from hulltune.lines.output import tokens_of
from hulltune.wording import counted


@dataclass(frozen=True)
class Derivation:
    """One derivation: its score, its edges (the root's first, each followed by those of its tails), its output."""

    score: float
    edges: tuple[int, ...]
    tokens: tuple[str, ...]
    features: dict[str, float]
    """Sums over the edges; a feature that is 0 may be left out where the corpus is sparse."""


@dataclass(frozen=True, eq=False, repr=False)
class DerivationLists:
    """Derivations of the sentences of a corpus, packed: sentence i has ``offsets[i]`` up to ``offsets[i + 1]``.

    The edges of derivation d are ``edges[edge_offsets[d]:edge_offsets[d + 1]]``, numbered within their sentence.
    """

    corpus: Corpus
    offsets: Int64s
    scores: Floats
    edge_offsets: Int64s
    edges: Int32s
    complete: Bools
    """Whether the search of each sentence was completed; false where too many duplicates made it give up."""

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        return f"DerivationLists({counted(len(self), 'sentence')}, {counted(len(self.scores), 'derivation')})"

    def __getitem__(self, sentence: int) -> tuple[Derivation, ...]:
        sentence = range(len(self))[sentence]
        first, last = int(self.offsets[sentence]), int(self.offsets[sentence + 1])
        offsets, tokens = self._tokens
        return tuple(
            Derivation(
                score=float(self.scores[d]),
                edges=tuple(self.edges[self.edge_offsets[d] : self.edge_offsets[d + 1]].tolist()),
                tokens=self.corpus.vocabulary.words(tokens[offsets[d] : offsets[d + 1]].tolist()),
                features=features,
            )
            for d, features in enumerate(self.features.rows(first, last).by_name(self.corpus.feature_names), first)
        )

    @cached_property
    def sentences(self) -> Int64s:
        """The sentence of each derivation."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    @property
    def token_counts(self) -> Int64s:
        """The length of each derivation's output."""
        return np.diff(self._tokens[0])

    @cached_property
    def texts(self) -> Sequence[str]:
        """The output of each derivation: tokens joined by spaces."""
        offsets, tokens = self._tokens
        words = self.corpus.vocabulary.words(tokens.tolist())
        return [" ".join(words[begin:end]) for begin, end in pairwise(offsets.tolist())]

    @cached_property
    def features(self) -> Features:
        """The sums of the features over the edges of each derivation, dense or sparse as the corpus is.

        Sums are taken in preorder. O(edges of the derivations × features).
        """
        from hulltune.kernels.forests import derivations

        starts = np.repeat(self.corpus.sentence_edges[self.sentences], np.diff(self.edge_offsets))
        rows = self.corpus.features.take(starts + self.edges)  # only the rows that are needed: the whole may be large
        if isinstance(rows, DenseFeatures):
            if len(self.edges) == len(self.scores):  # an edge each, as in lists: no sums
                return DenseFeatures(rows.values.astype(np.float64, copy=False))
            nothing, places = np.zeros(len(self.scores), dtype=np.int64), np.arange(len(self.edges), dtype=np.int32)
            columns = np.ascontiguousarray(rows.values.T)
            return DenseFeatures(derivations.sum_dense(nothing, self.edge_offsets, places, columns).T)
        offsets, numbers, values = derivations.sum_sparse(
            rows.offsets[self.edge_offsets], rows.columns, rows.values.astype(np.float64, copy=False)
        )
        return SparseFeatures(offsets, numbers, values, rows.width)

    @cached_property
    def indices(self) -> Int64s:
        """The place of each hypothesis in its list as written, from 0; −1 for a derivation of a forest."""
        corpus, edges = self.corpus, self.edges[self.edge_offsets[:-1]]  # the one edge of a hypothesis
        is_list = np.diff(corpus.node_offsets)[self.sentences] == 1
        return np.where(is_list, corpus.edge_ids[corpus.sentence_edges[self.sentences] + edges], -1)

    @cached_property
    def _tokens(self) -> tuple[Int64s, Int32s]:
        return tokens_of(self.corpus, self.sentences, self.edge_offsets, self.edges)


def gather(
    corpus: Corpus,
    counts: Sequence[Int64s],
    scores: Sequence[Floats],
    starts: Sequence[Int64s],
    edges: Sequence[Int32s],
    complete: Sequence[Bools],
) -> DerivationLists:
    """The results of consecutive ranges of sentences as one."""
    bases = np.cumsum([0, *(len(part) for part in edges)])
    return DerivationLists(
        corpus=corpus,
        offsets=np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(np.int64),
        scores=np.concatenate(scores),
        edge_offsets=np.concatenate(
            [*(part[:-1] + base for part, base in zip(starts, bases, strict=False)), bases[-1:]]
        ).astype(np.int64),
        edges=np.concatenate(edges),
        complete=np.concatenate(complete),
    )
