"""The hypothesis space of one input: a packed acyclic hypergraph.

An n-best list is the forest with one node, whose edges are the hypotheses; a lattice is a forest whose edges have at
most one tail. One structure, three names.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hulltune.arrays import Floats, Int32s, Int64s
from hulltune.data.features import Features
from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError, unknown_name
from hulltune.wording import counted


@dataclass(frozen=True)
class Pruned:
    """The numbers of nodes and edges left out because they take no part in a derivation of the root."""

    nodes: int = 0
    edges: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class Forest:
    """Nodes in topological order with the root last, edges grouped by head, tails in compressed rows.

    Invariants: every node and edge takes part in a derivation of the root (except a root without derivations, which
    stands alone with no edges); among the edges of a node the order is that in which they were given, which is also
    the order that breaks ties. Build one with ForestBuilder, Forest.from_nbest or Forest.from_lattice.
    """

    edge_offsets: Int64s
    """The edges into node v are ``edge_offsets[v]`` up to ``edge_offsets[v + 1]``."""
    tail_offsets: Int64s
    tails: Int32s
    """The tails of edge e are ``tails[tail_offsets[e]:tail_offsets[e + 1]]``."""
    features: Features
    feature_names: tuple[str, ...]
    label_offsets: Int64s
    labels: Int32s
    """The output of edge e: token ids, and −1 − i for the output of its tail i; rows as in ``tails``."""
    vocabulary: Vocabulary
    edge_ids: Int64s
    """The number under which each edge was given."""
    node_names: tuple[Hashable, ...] | None = None
    pruned: Pruned = Pruned()

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return len(self.edge_offsets) - 1

    @property
    def edges(self) -> int:
        """The number of edges."""
        return len(self.tail_offsets) - 1

    @property
    def root(self) -> int:
        """The number of the root, which is the last node."""
        return self.nodes - 1

    @property
    def arity(self) -> int:
        """The largest number of tails of an edge: 0 for a list, 1 for a lattice."""
        return int(np.diff(self.tail_offsets).max(initial=0))

    @property
    def is_list(self) -> bool:
        """Whether this is an n-best list: a root whose edges have no tails."""
        return self.nodes == 1 and not len(self.tails)

    def edge_tails(self, edge: int) -> Int32s:
        """The tails of one edge, in order."""
        return self.tails[self.tail_offsets[edge] : self.tail_offsets[edge + 1]]

    def __repr__(self) -> str:
        kind = "list" if self.is_list else "lattice" if self.arity <= 1 else "hypergraph"
        graph = f"{counted(self.nodes, 'node')}, {counted(self.edges, 'edge')}"
        return f"Forest({kind}: {graph}, {counted(len(self.feature_names), 'feature')})"

    @staticmethod
    def from_nbest(
        outputs: Sequence[str | Sequence[str]],
        features: Any,
        *,
        feature_names: Sequence[str] | None = None,
        vocabulary: Vocabulary | None = None,
    ) -> Forest:
        """The forest of a candidate list: one edge a hypothesis; ``edge_ids`` are the places in the list.

        ``outputs`` are texts (split at white space) or token sequences. ``features`` has a row for each: a matrix,
        SparseFeatures, or a CSR matrix of scipy.

        >>> from hulltune import Forest
        >>> Forest.from_nbest(["a house", "house"], [[-2.0, 2], [-1.0, 1]], feature_names=["lm", "words"])
        Forest(list: 1 node, 2 edges, 2 features)
        """
        from hulltune.data.builder import nbest

        return nbest(outputs, features, feature_names=feature_names, vocabulary=vocabulary)

    @staticmethod
    def from_lattice(
        arcs: Iterable[tuple[Hashable, Hashable, str | Sequence[str] | None, Any]],
        *,
        start: Hashable,
        finals: Sequence[Hashable] | Mapping[Hashable, Any],
        feature_names: Sequence[str] | None = None,
        vocabulary: Vocabulary | None = None,
    ) -> Forest:
        """The forest of a word lattice: arcs ``(from, to, word or None, features)`` in any order.

        An arc with None or "" as its word has no output (epsilon); it may also have a sequence of words.
        ``finals`` are the accepting states, or a mapping from them to final features.

        >>> from hulltune import Forest
        >>> arcs = [(0, 1, "wreck", [-1.0, -3.0]), (0, 1, "recognise", [-2.0, -1.0]), (1, 2, "speech", [-1.0, -1.0])]
        >>> lattice = Forest.from_lattice(arcs, start=0, finals=[2], feature_names=["am", "lm"])
        >>> lattice
        Forest(lattice: 4 nodes, 5 edges, 2 features)
        """
        from hulltune.data.builder import lattice

        return lattice(arcs, start=start, finals=finals, feature_names=feature_names, vocabulary=vocabulary)


def feature_vector(weights: Any, names: Sequence[str], what: str) -> Floats:
    """``weights`` in the order of ``names``: from a sequence, or from a mapping in which a name left out is 0."""
    if isinstance(weights, Mapping):
        known = set(names)
        unknown = [name for name in weights if name not in known]
        if unknown:
            raise unknown_name(f"feature in {what}:", str(unknown[0]), names)
        weights = [weights.get(name, 0.0) for name in names]
    try:
        vector = np.array(weights, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{what}: expected {len(names)} numbers, got {str(weights)[:80]}") from None
    if vector.shape != (len(names),):
        raise InputError(
            f"{what}: expected {len(names)} numbers ({', '.join(names[:8])}{', …' if len(names) > 8 else ''}), "
            f"got an array of shape {vector.shape}"
        )
    if not np.all(np.isfinite(vector)):
        bad = int(np.flatnonzero(~np.isfinite(vector))[0])
        raise InputError(f"{what}: the weight of {names[bad]!r} is {vector[bad]}; expected a finite number")
    return vector
