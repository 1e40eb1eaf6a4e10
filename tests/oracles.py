"""Slow, readable answers that the fast paths are compared with."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import TypeAlias

from hulltune import Corpus, EdgeScorer, Forest
from hulltune.data.forest import feature_vector
from hulltune.geometry.hulls import rounded

Line: TypeAlias = tuple[Fraction, Fraction]
Derivation: TypeAlias = tuple[int, ...]


def derivations(forest: Forest, node: int | None = None) -> Iterator[Derivation]:
    """All derivations of a node (the root by default) as edges in preorder, in lexicographic order."""
    node = forest.root if node is None else node
    for edge in range(forest.edge_offsets[node], forest.edge_offsets[node + 1]):
        parts = [list(derivations(forest, tail)) for tail in forest.edge_tails(edge)]
        for choice in itertools.product(*parts):
            yield (edge, *itertools.chain.from_iterable(choice))


def count_derivations(forest: Forest) -> int:
    counts: list[int] = []
    for node in range(forest.nodes):
        total = 0
        for edge in range(forest.edge_offsets[node], forest.edge_offsets[node + 1]):
            total += math.prod(counts[tail] for tail in forest.edge_tails(edge))
        counts.append(total)
    return counts[forest.root]


def output_of(forest: Forest, derivation: Derivation) -> tuple[str, ...]:
    """The output of a derivation, by recursion over its edges."""

    def expand(place: int) -> tuple[list[str], int]:
        edge = derivation[place]
        place += 1
        children = []
        for _ in forest.edge_tails(edge):
            words, place = expand(place)
            children.append(words)
        words = []
        for label in forest.labels[forest.label_offsets[edge] : forest.label_offsets[edge + 1]].tolist():
            words += children[-1 - label] if label < 0 else [forest.vocabulary[label]]
        return words, place

    return tuple(expand(0)[0])


def edge_lines(data: Forest | Corpus, origin: object, direction: object, sentence: int = 0) -> list[Line]:
    """The exact line of every edge of a sentence on the grid that the engine uses: (slope, intercept).

    The grid of sparse features depends on the corpus that a sentence is in.
    """
    corpus = Corpus.pack([data]) if isinstance(data, Forest) else data
    rows = [feature_vector(weights, corpus.feature_names, "weights") for weights in (origin, direction)]
    import numpy as np

    scores, exponents = EdgeScorer(corpus).scores(sentence, sentence + 1, np.stack(rows))
    intercepts = [Fraction(value) * Fraction(2) ** int(exponents[0, 0]) for value in scores[0].tolist()]
    slopes = [Fraction(value) * Fraction(2) ** int(exponents[1, 0]) for value in scores[1].tolist()]
    return list(zip(slopes, intercepts, strict=True))


def decimal_lines(forest: Forest, origin: object, direction: object) -> list[Line]:
    """The exact line of every edge, from the decimals that features and weights are written as: (slope, intercept)."""
    weights = [feature_vector(each, forest.feature_names, "weights").tolist() for each in (direction, origin)]
    rows = [[Fraction(str(value)) for value in row] for row in forest.features.toarray().tolist()]
    slopes, intercepts = (
        [sum((Fraction(str(w)) * f for w, f in zip(each, row, strict=True)), Fraction(0)) for row in rows]
        for each in weights
    )
    return list(zip(slopes, intercepts, strict=True))


def enumerated_envelope(
    forest: Forest, lines: list[Line], low: float = -math.inf, high: float = math.inf
) -> list[tuple[float, Derivation, Line]]:
    """The left end of each segment, correctly rounded, its winner and its line, from all derivations one by one.

    Segments that have no double between their ends are left out.
    """
    every = list(derivations(forest))
    sums = [
        (sum((lines[e][0] for e in edges), Fraction(0)), sum((lines[e][1] for e in edges), Fraction(0)))
        for edges in every
    ]
    found: list[tuple[float, Derivation, Line]] = []
    for left, winner in brute_force_envelope(sums, low, high):
        start = rounded(left)
        if found and start >= high:
            break
        if found and start <= found[-1][0]:
            start = found.pop()[0]
        found.append((start, every[winner], sums[winner]))
    return found


def brute_force_envelope(
    lines: list[Line], low: float = -math.inf, high: float = math.inf
) -> list[tuple[Fraction | float, int]]:
    """(left end, number of the winning line) of each segment, exactly, for lines in order of preference in ties.

    Walks from winner to winner: the winner just right of ``low``, then always the line met first, the steepest of them.
    """
    if not lines:
        return []

    def just_right_of(point: Fraction | float) -> int:
        def key(i: int) -> tuple[Fraction, Fraction, int]:
            slope, intercept = lines[i]
            if point == -math.inf:
                return (-slope, intercept, -i)
            assert isinstance(point, Fraction)
            return (slope * point + intercept, slope, -i)

        return max(range(len(lines)), key=key)

    left: Fraction | float = low if math.isinf(low) else Fraction(low)
    segments: list[tuple[Fraction | float, int]] = []
    while True:
        winner = just_right_of(left)
        segments.append((left, winner))
        slope, intercept = lines[winner]
        crossings = [(intercept - b) / (m - slope) for m, b in lines if m > slope]
        if not crossings or min(crossings) >= (high if math.isinf(high) else Fraction(high)):
            return segments
        left = min(crossings)
