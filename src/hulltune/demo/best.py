"""The best different translations of one sentence, in plain Python: a few hundred edges are done in less time than
the kernel of hulltune.kbest takes to compile, which a program that is called once for each iteration would wait for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from operator import add, mul
from typing import NamedTuple

from hulltune.data.forest import Forest


class Translation(NamedTuple):
    """Words, the sums of the features of their best derivation, and its score."""

    score: float
    words: tuple[str, ...]
    features: tuple[float, ...]


@dataclass
class _Node:
    """The best outputs of a node so far, and those that may come next: (−score, edge, ranks of its tails)."""

    found: list[Translation]
    heap: list[tuple[float, int, tuple[int, ...]]]
    words: set[tuple[str, ...]]
    tried: set[tuple[int, tuple[int, ...]]]


class _Search:
    """Lazy search for the k best (Huang & Chiang 2005, algorithm 3), with each output of each node once.

    Of derivations with the same output at the same node only the best can be part of the best of a larger output, so
    dropping the others at once is safe.
    """

    def __init__(self, forest: Forest, weights: Sequence[float]) -> None:
        self._edge_offsets, tails = forest.edge_offsets.tolist(), forest.tails.tolist()
        bounds, places = forest.tail_offsets.tolist(), forest.label_offsets.tolist()
        labels = forest.labels.tolist()
        self._tails = [tails[bounds[e] : bounds[e + 1]] for e in range(forest.edges)]
        self._outputs = [
            [forest.vocabulary[label] if label >= 0 else -1 - label for label in labels[places[e] : places[e + 1]]]
            for e in range(forest.edges)
        ]
        self._features = list(map(tuple, forest.features.toarray().tolist()))
        self._scores = [sum(map(mul, weights, row), 0.0) for row in self._features]
        self._nodes: list[_Node | None] = [None] * forest.nodes

    def get(self, number: int, rank: int) -> Translation | None:
        """The output of a node with this rank, from 0; None if there are not so many."""
        node = self._nodes[number]
        if node is None:
            edges = range(self._edge_offsets[number], self._edge_offsets[number + 1])
            node = self._nodes[number] = _Node([], [], set(), set())
            node.heap = [(-self._score(edge, ranks), edge, ranks) for edge in edges for ranks in [self._first(edge)]]
            heapify(node.heap)
        while len(node.found) <= rank and node.heap:
            score, edge, ranks = heappop(node.heap)
            self._push_successors(node, edge, ranks)
            words, features = self._join(edge, ranks)
            if words not in node.words:
                node.words.add(words)
                node.found.append(Translation(-score, words, features))
        return node.found[rank] if rank < len(node.found) else None

    def _first(self, edge: int) -> tuple[int, ...]:
        for tail in self._tails[edge]:
            self.get(tail, 0)  # every node of a forest has a derivation
        return (0,) * len(self._tails[edge])

    def _push_successors(self, node: _Node, edge: int, ranks: tuple[int, ...]) -> None:
        for place, tail in enumerate(self._tails[edge]):
            later = (*ranks[:place], ranks[place] + 1, *ranks[place + 1 :])
            if (edge, later) not in node.tried and self.get(tail, later[place]) is not None:
                node.tried.add((edge, later))
                heappush(node.heap, (-self._score(edge, later), edge, later))

    def _parts(self, edge: int, ranks: tuple[int, ...]) -> list[Translation]:
        parts = []
        for tail, rank in zip(self._tails[edge], ranks, strict=True):
            node = self._nodes[tail]
            assert node is not None
            parts.append(node.found[rank])
        return parts

    def _score(self, edge: int, ranks: tuple[int, ...]) -> float:
        return sum([part.score for part in self._parts(edge, ranks)], self._scores[edge])

    def _join(self, edge: int, ranks: tuple[int, ...]) -> tuple[tuple[str, ...], tuple[float, ...]]:
        parts = self._parts(edge, ranks)
        words: list[str] = []
        for item in self._outputs[edge]:
            if isinstance(item, str):
                words.append(item)
            else:
                words += parts[item].words
        features = self._features[edge]
        for part in parts:
            features = tuple(map(add, features, part.features))
        return tuple(words), features


def best_translations(forest: Forest, weights: Sequence[float], size: int) -> list[Translation]:
    """The ``size`` best different outputs of a forest, best first, each with its best derivation."""
    search = _Search(forest, weights)
    found: list[Translation] = []
    while forest.edges and len(found) < size:
        translation = search.get(forest.root, len(found))
        if translation is None:
            break
        found.append(translation)
    return found
