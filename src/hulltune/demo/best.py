"""The best different translations of one sentence, in plain Python.

The decoder may be a program that starts anew for each iteration. It is done with a few hundred edges before the
kernel of hulltune.kbest would be compiled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from operator import add, mul
from typing import NamedTuple

from hulltune.arrays import plain_sum
from hulltune.data.forest import Forest


class Translation(NamedTuple):
    """An output, with the score and the summed features of its best derivation."""

    score: float
    words: tuple[str, ...]
    features: tuple[float, ...]


@dataclass
class _Node:
    """The best outputs of a node so far, and a heap of the next candidates: (−score, edge, ranks of its tails)."""

    best: list[Translation]
    heap: list[tuple[float, int, tuple[int, ...]]]
    words: set[tuple[str, ...]]
    tried: set[tuple[int, tuple[int, ...]]]


class _Search:
    """Lazy search for the k best (Huang & Chiang 2005, algorithm 3), with each output of each node once.

    Among derivations of a node with the same output, only the best can be a part of the best derivation of a larger
    output. So the others are dropped at once.
    """

    def __init__(self, forest: Forest, weights: Sequence[float]) -> None:
        self._edge_offsets, tails = forest.edge_offsets.tolist(), forest.tails.tolist()
        tail_offsets, label_offsets = forest.tail_offsets.tolist(), forest.label_offsets.tolist()
        labels = forest.labels.tolist()
        self._tails = [tails[tail_offsets[e] : tail_offsets[e + 1]] for e in range(forest.edges)]
        self._outputs = [
            [
                forest.vocabulary[label] if label >= 0 else -1 - label
                for label in labels[label_offsets[e] : label_offsets[e + 1]]
            ]
            for e in range(forest.edges)
        ]
        self._features = list(map(tuple, forest.features.toarray().tolist()))
        self._scores = [plain_sum(map(mul, weights, row)) for row in self._features]
        self._nodes: list[_Node | None] = [None] * forest.nodes

    def get(self, number: int, rank: int) -> Translation | None:
        """The output of a node with this rank, from 0; None if the node has fewer outputs."""
        node = self._nodes[number]
        if node is None:
            edges = range(self._edge_offsets[number], self._edge_offsets[number + 1])
            node = self._nodes[number] = _Node([], [], set(), set())
            node.heap = [(-self._score(edge, ranks), edge, ranks) for edge in edges for ranks in [self._first(edge)]]
            heapify(node.heap)
        while len(node.best) <= rank and node.heap:
            score, edge, ranks = heappop(node.heap)
            self._push_successors(node, edge, ranks)
            words, features = self._join(edge, ranks)
            if words not in node.words:
                node.words.add(words)
                node.best.append(Translation(-score, words, features))
        return node.best[rank] if rank < len(node.best) else None

    def _first(self, edge: int) -> tuple[int, ...]:
        for tail in self._tails[edge]:
            self.get(tail, 0)  # every node of a forest has a derivation
        return (0,) * len(self._tails[edge])

    def _push_successors(self, node: _Node, edge: int, ranks: tuple[int, ...]) -> None:
        for place, tail in enumerate(self._tails[edge]):
            successor = (*ranks[:place], ranks[place] + 1, *ranks[place + 1 :])
            if (edge, successor) not in node.tried and self.get(tail, successor[place]) is not None:
                node.tried.add((edge, successor))
                heappush(node.heap, (-self._score(edge, successor), edge, successor))

    def _parts(self, edge: int, ranks: tuple[int, ...]) -> list[Translation]:
        parts = []
        for tail, rank in zip(self._tails[edge], ranks, strict=True):
            node = self._nodes[tail]
            assert node is not None
            parts.append(node.best[rank])
        return parts

    def _score(self, edge: int, ranks: tuple[int, ...]) -> float:
        return plain_sum([self._scores[edge], *(part.score for part in self._parts(edge, ranks))])

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
    best: list[Translation] = []
    while forest.edges and len(best) < size:
        translation = search.get(forest.root, len(best))
        if translation is None:
            break
        best.append(translation)
    return best
