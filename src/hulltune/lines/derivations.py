"""Derivations of forests: the k best, or a random sample."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from hulltune.arrays import Bools, Floats, Int32s, Int64s, as_whole
from hulltune.data.corpus import Corpus
from hulltune.data.features import DenseFeatures, Features, SparseFeatures, offsets_of
from hulltune.data.forest import feature_vector
from hulltune.errors import InputError, check_most
from hulltune.kernels.lists.features import sums_of_ranges
from hulltune.lines.compute import Block, Data, as_corpus, blocks_of
from hulltune.lines.output import edge_outputs, tokens_of
from hulltune.lines.scoring import EdgeScorer, forests_of
from hulltune.names import MOST_BEST
from hulltune.threads import Workers, check_threads
from hulltune.wording import counted

PATIENCE = 200_000
"""Duplicates in a sentence after which the search for distinct outputs gives up."""

Search = Callable[[int, int, Floats, Int64s], tuple[Any, ...]]
"""A function that finds derivations of a range of sentences, given the grid scores of their edges and the exponents."""


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
        starts = np.repeat(self.corpus.sentence_edges[self.sentences], np.diff(self.edge_offsets))
        rows = self.corpus.features.take(starts + self.edges)  # only the rows that are needed: the whole may be large
        values = rows.values.astype(np.float64, copy=False)
        if isinstance(rows, SparseFeatures):
            return SparseFeatures(rows.offsets[self.edge_offsets], rows.columns, values, rows.width).tidy()
        if len(self.edges) == len(self.scores):  # an edge each, as in lists: no sums
            return DenseFeatures(values)
        return DenseFeatures(sums_of_ranges(np.ascontiguousarray(values.T), self.edge_offsets).T)

    @cached_property
    def indices(self) -> Int64s:
        """The place of each hypothesis in its list as written, from 0; −1 for a derivation of a forest."""
        corpus, edges = self.corpus, self.edges[self.edge_offsets[:-1]]  # the one edge of a hypothesis
        numbers = corpus.edge_ids[corpus.sentence_edges[self.sentences] + edges]
        return np.where(corpus.is_list[self.sentences], numbers, -1)

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
        offsets=offsets_of(np.concatenate(counts)),
        scores=np.concatenate(scores),
        edge_offsets=np.concatenate(
            [*(part[:-1] + base for part, base in zip(starts, bases, strict=False)), bases[-1:]]
        ).astype(np.int64),
        edges=np.concatenate(edges),
        complete=np.concatenate(complete),
    )


def kbest(
    data: Data,
    weights: Any,
    k: int,
    *,
    distinct: bool = False,
    patience: int = PATIENCE,
    threads: int | None = None,
    scorer: EdgeScorer | None = None,
) -> DerivationLists:
    """The ``k`` best derivations of every sentence under ``weights``, best first (fewer where there are no more).

    Ties are broken as everywhere: from the root down, the first edge in the forest's order among equals. So the first
    derivation is the one that ``decode`` gives. With ``distinct``, each output comes once, with its best derivation. A
    sentence with more than ``patience`` duplicates has the derivations found until then, and its ``complete`` is false.
    O(edges), and for each derivation O(edges of it · log k).

    >>> from hulltune import Forest, kbest
    >>> arcs = [(0, 1, "wreck", [-1.0, -3.0]), (0, 1, "recognise", [-2.0, -1.0]), (1, 2, "speech", [-1.0, -1.0])]
    >>> lattice = Forest.from_lattice(arcs, start=0, finals=[2], feature_names=["am", "lm"])
    >>> found = kbest(lattice, {"am": 1.0, "lm": 1.0}, 2)
    >>> found.texts, found.scores.tolist()
    (['recognise speech', 'wreck speech'], [-5.0, -6.0])
    """
    corpus = as_corpus(data)
    check_positive("k", k)
    check_positive("patience", patience)

    def search(first: int, last: int, scores: Floats, exponents: Int64s) -> tuple[Any, ...]:
        from hulltune.kernels.forests.kbest import k_best

        counts, grid_scores, starts, edges, complete = k_best(
            forests_of(corpus), edge_outputs(corpus), first, last, scores, k, distinct, patience
        )
        return counts, np.ldexp(grid_scores, np.repeat(exponents, counts)), starts, edges, complete

    return search_derivations(corpus, weights, search, threads=threads, scorer=scorer)


def sample(
    data: Data,
    weights: Any,
    count: int,
    *,
    temperature: float = 1.0,
    seed: int = 1,
    threads: int | None = None,
    scorer: EdgeScorer | None = None,
) -> DerivationLists:
    """``count`` independent random derivations of every sentence, in the order drawn, each with a probability in
    proportion to exp(score / temperature) (Chatterjee & Cancedda 2010).

    A low temperature draws mostly the best derivations, a high one draws all about equally. The result depends on the
    seed, not on ``threads``. O(edges) for the inside weights, and O(log n) for each edge drawn at a node of n edges.

    >>> from hulltune import Forest, sample
    >>> arcs = [(0, 1, "wreck", [-1.0, -3.0]), (0, 1, "recognise", [-2.0, -1.0]), (1, 2, "speech", [-1.0, -1.0])]
    >>> lattice = Forest.from_lattice(arcs, start=0, finals=[2], feature_names=["am", "lm"])
    >>> drawn = sample(lattice, {"am": 1.0, "lm": 1.0}, 100, seed=1)
    >>> len(drawn.texts), sorted(set(drawn.texts))
    (100, ['recognise speech', 'wreck speech'])
    """
    corpus = as_corpus(data)
    check_positive("count", count)
    try:
        temperature = float(temperature)
    except (TypeError, ValueError):
        temperature = math.nan
    if not 0.0 < temperature < math.inf:
        raise InputError(f"temperature: expected a number above 0, got {temperature!r}")
    number = as_whole(seed)
    if number is None or not 0 <= number < 2**64:
        raise InputError(f"seed: expected a whole number from 0 to 2^64 − 1, got {seed!r}")
    bits = number - (number >> 63 << 64)  # as a signed number, which kernels take

    def search(first: int, last: int, scores: Floats, exponents: Int64s) -> tuple[Any, ...]:
        from hulltune.kernels.forests import sampling

        with np.errstate(over="ignore", under="ignore"):  # scale inf draws only the best, 0 all alike
            scales = np.ldexp(1.0 / temperature, exponents) if temperature > 1e-300 else np.full(len(exponents), np.inf)
        counts, grid_scores, starts, edges = sampling.sample(
            forests_of(corpus), first, last, scores, scales, count, bits
        )
        complete = np.ones(last - first, dtype=np.bool_)
        return counts, np.ldexp(grid_scores, np.repeat(exponents, counts)), starts, edges, complete

    return search_derivations(corpus, weights, search, threads=threads, scorer=scorer)


def search_derivations(
    corpus: Corpus, weights: Any, search: Search, *, threads: int | None, scorer: EdgeScorer | None
) -> DerivationLists:
    """Score the edges of ranges of sentences, search the ranges in parallel threads, and gather the results."""
    vector = feature_vector(weights, corpus.feature_names, "weights")
    threads = check_threads(threads)
    scorer = EdgeScorer.of(corpus, scorer)
    scorer.prepare()

    def work(block: Block) -> tuple[Any, ...]:
        scores, exponents = scorer.scores(*block, vector[None, :])
        try:
            return search(*block, scores[0], exponents[0])
        except MemoryError:
            raise InputError(
                f"sentences {block[0]} to {block[1] - 1}: out of memory; ask for fewer derivations"
            ) from None

    blocks = blocks_of(corpus, 1, threads)
    parts = Workers(threads).map(work, blocks)
    return gather(corpus, *zip(*parts, strict=True))


def check_positive(name: str, number: Any) -> None:
    """Raise an error unless ``number`` is a whole number of at least 1, and not above MOST_BEST."""
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < 1:
        raise InputError(f"{name}: expected a whole number of at least 1, got {number!r}")
    check_most(name, int(number), MOST_BEST)
