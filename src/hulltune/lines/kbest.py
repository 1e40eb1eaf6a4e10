"""The k best derivations of forests under given weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hulltune.arrays import Floats, Int64s
from hulltune.data.corpus import Corpus
from hulltune.data.forest import feature_vector
from hulltune.errors import InputError, check_most
from hulltune.lines.compute import Block, Data, as_corpus, blocks_of
from hulltune.lines.derivations import DerivationLists, gather
from hulltune.lines.scoring import EdgeScorer, forests_of
from hulltune.names import MOST_BEST
from hulltune.threads import Workers, check_threads

PATIENCE = 200_000
"""Duplicates in a sentence after which the search for distinct outputs gives up."""

Search = Callable[[int, int, Floats, Int64s], tuple[Any, ...]]
"""A function that finds derivations of a range of sentences, given the grid scores of their edges and the exponents."""


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
        from hulltune.kernels.forests.forest import Labels
        from hulltune.kernels.forests.kbest import k_best

        labels = Labels(corpus.label_offsets, corpus.labels)
        counts, grid_scores, starts, edges, complete = k_best(
            forests_of(corpus), labels, first, last, scores, k, distinct, patience
        )
        return counts, np.ldexp(grid_scores, np.repeat(exponents, counts)), starts, edges, complete

    return search_derivations(corpus, weights, search, threads=threads, scorer=scorer)


def search_derivations(
    corpus: Corpus, weights: Any, search: Search, *, threads: int | None, scorer: EdgeScorer | None
) -> DerivationLists:
    """Score the edges of ranges of sentences, search the ranges in parallel threads, and gather the results."""
    vector = feature_vector(weights, corpus.feature_names, "weights")
    threads = check_threads(threads)
    if scorer is not None and scorer.corpus is not corpus:
        raise InputError("scorer: made for another corpus; use EdgeScorer(corpus) of this corpus")
    scorer = EdgeScorer(corpus) if scorer is None else scorer
    scorer.prepare()

    def work(block: Block) -> tuple[Any, ...]:
        scores, exponents = scorer.scores(*block, vector[None, :])
        try:
            return search(*block, scores[0], exponents[0])
        except MemoryError:
            raise InputError(
                f"sentences {block[0]} to {block[1] - 1}: out of memory; ask for fewer derivations"
            ) from None

    blocks = blocks_of(corpus, 1, threads, by_kind=False)
    parts = Workers(threads).map(work, blocks)
    return gather(corpus, *zip(*parts, strict=True))


def check_positive(name: str, number: Any) -> None:
    """Raise an error unless ``number`` is a whole number of at least 1, and not above MOST_BEST."""
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < 1:
        raise InputError(f"{name}: expected a whole number of at least 1, got {number!r}")
    check_most(name, int(number), MOST_BEST)
