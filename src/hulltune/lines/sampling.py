"""Random derivations of forests under given weights."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hulltune.arrays import Floats, Int64s, as_whole
from hulltune.errors import InputError
from hulltune.lines.compute import Data, as_corpus
from hulltune.lines.derivations import DerivationLists
from hulltune.lines.kbest import check_positive, search_derivations
from hulltune.lines.scoring import EdgeScorer, forests_of


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

    def search(first: int, last: int, scores: Floats, exponents: Int64s) -> tuple[Any, ...]:
        from hulltune.kernels.forests import sampling

        with np.errstate(over="ignore", under="ignore"):  # scale inf draws only the best, 0 all alike
            scales = np.ldexp(1.0 / temperature, exponents) if temperature > 1e-300 else np.full(len(exponents), np.inf)
        counts, grid_scores, starts, edges = sampling.sample(
            forests_of(corpus), first, last, scores, scales, count, np.uint64(number)
        )
        complete = np.ones(last - first, dtype=np.bool_)
        return counts, np.ldexp(grid_scores, np.repeat(exponents, counts)), starts, edges, complete

    return search_derivations(corpus, weights, search, threads=threads, scorer=scorer)
