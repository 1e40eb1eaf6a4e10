"""A hypergraph unfolded into a word lattice: the same derivations, from left to right.

The sub-derivations of a node stand in many places of a sentence, and a lattice has no stack to remember where to go on.
So a node is copied for each place it can stand in (Iglesias et al. 2011 do so to replace a pushdown automaton by a
finite one). A place is known by the state in which the node begins or, from the right, by the state in which it ends.
Rules that branch to the left share most first states, rules that branch to the right most last ones. Both lattices are
built, and the smaller is taken.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hulltune.data.builder import UnpackedForest, pack
from hulltune.data.features import DenseFeatures, concatenate_features
from hulltune.data.forest import Forest
from hulltune.errors import InputError

MOST_EDGES = 100_000
"""The default limit on the edges of a lattice. Unfolding may multiply the edges at every level of nesting."""

_START, _END = 0, 1


class _Place(NamedTuple):
    """A node that begins (from the right: ends) in a state. A silent one puts out no words; its features count."""

    node: int
    state: int
    silent: bool


class _Arc(NamedTuple):
    """An arc from state to state with the features of ``edge``, or with none where that is −1."""

    source: int
    target: int
    words: tuple[int, ...]
    edge: int


def unfolded(forest: Forest, *, most_edges: int = MOST_EDGES) -> Forest:
    """The lattice with the same derivations: for each of them a path with its output and the sum of its features.

    Arcs may have several words or none. Every arc has the features of one edge, to the bit, or none. Linear in the
    lattice, which may be exponentially larger than the forest; one with more than ``most_edges`` is refused.
    """
    if not forest.edges:
        return forest
    grammar = _Grammar(forest)
    from_right = grammar.arcs(from_right=True, most=most_edges)
    from_left = grammar.arcs(from_right=False, most=most_edges if from_right is None else len(from_right) - 1)
    arcs = from_right if from_left is None else from_left
    if arcs is None:
        raise InputError(
            f"a lattice of this forest of {forest.edges:,} edges would have more than {most_edges:,}; "
            "prune it first, or use the forest as it is"
        )
    return _lattice(forest, arcs)


class _Grammar:
    """The edges of a forest as rules: the words and tails that each puts out, in order."""

    def __init__(self, forest: Forest) -> None:
        self._edges, self._root = forest.edge_offsets.tolist(), forest.root
        tails, tail_offsets = forest.tails.tolist(), forest.tail_offsets.tolist()
        labels, label_offsets = forest.labels.tolist(), forest.label_offsets.tolist()
        self._outputs: list[list[int]] = []
        self._tails: list[list[int]] = []
        self._unsaid: list[list[int]] = []
        """The tails of each edge that its output leaves out."""
        for edge in range(forest.edges):
            output = labels[label_offsets[edge] : label_offsets[edge + 1]]
            own = tails[tail_offsets[edge] : tail_offsets[edge + 1]]
            said = [-1 - label for label in output if label < 0]
            if len(set(said)) < len(said):
                raise InputError(f"edge {edge} repeats the output of a tail, which no path of a lattice can do")
            self._outputs.append(output)
            self._tails.append(own)
            self._unsaid.append([tail for place, tail in enumerate(own) if place not in said])

    def arcs(self, *, from_right: bool, most: int) -> list[_Arc] | None:
        """The arcs of the lattice from _START to _END; None for more than ``most``.

        From the left: the copy of a node that begins in a state ends in one state, whatever its derivation. From the
        right is the mirror image: starts and ends swap, and the arcs are turned round in the end.
        """
        root = _Place(self._root, _END if from_right else _START, False)
        ends: dict[_Place, int] = {root: _START if from_right else _END}
        waiting = [root]
        states = 2
        arcs: list[_Arc] = []

        def end_of(place: _Place) -> int:
            nonlocal states
            end = ends.get(place)
            if end is None:
                end = ends[place] = states
                states += 1
                waiting.append(place)
            return end

        while waiting:
            place = waiting.pop()
            for edge in range(self._edges[place.node], self._edges[place.node + 1]):
                state, words = place.state, []
                for label in reversed(self._outputs[edge]) if from_right else self._outputs[edge]:
                    if label >= 0:
                        words.append(label)
                        continue
                    if words and not place.silent:
                        arcs.append(_Arc(state, states, tuple(words), -1))
                        state = states
                        states += 1
                    words = []
                    state = end_of(_Place(self._tails[edge][-1 - label], state, place.silent))
                for tail in self._unsaid[edge]:
                    state = end_of(_Place(tail, state, True))
                # The last words may move behind silent tails: those put out nothing.
                arcs.append(_Arc(state, ends[place], () if place.silent else tuple(words), edge))
            if len(arcs) > most:
                return None
        if not from_right:
            return arcs
        return [_Arc(target, source, words[::-1], edge) for source, target, words, edge in arcs]


def _lattice(forest: Forest, arcs: list[_Arc]) -> Forest:
    """The arcs as a forest: an edge without tails for the start, and one for each arc."""
    width = len(forest.feature_names)
    none = DenseFeatures(np.zeros((1, width), dtype=forest.features.values.dtype, order="F"))
    edges = np.array([forest.edges, *(arc.edge if arc.edge >= 0 else forest.edges for arc in arcs)], dtype=np.int64)
    lengths = np.array([0, 0, *(1 + len(arc.words) for arc in arcs)], dtype=np.int64)
    unpacked = UnpackedForest(
        nodes=1 + max(max(arc.source, arc.target) for arc in arcs),
        root=_END,
        heads=np.array([_START, *(arc.target for arc in arcs)], dtype=np.int64),
        tail_offsets=np.array([0, *range(len(arcs) + 1)], dtype=np.int64),
        tails=np.array([arc.source for arc in arcs], dtype=np.int64),
        features=concatenate_features([forest.features, none], width).take(edges),
        feature_names=forest.feature_names,
        label_offsets=np.cumsum(lengths),
        labels=np.array([label for arc in arcs for label in (-1, *arc.words)], dtype=np.int32),
        vocabulary=forest.vocabulary,
    )
    return pack(unpacked)
