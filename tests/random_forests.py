"""Hypothesis strategies for small forests, and the enumeration of all their derivations."""

from __future__ import annotations

from itertools import product

from hypothesis import strategies as st

from hulltune.forest import Forest, ForestBuilder

Derivations = list[tuple[int, ...]]
"""Each as the numbers of its edges, top-down and left to right; an edge used twice appears twice."""


@st.composite
def forests(draw: st.DrawFn, *, max_nodes: int = 4, max_edges: int = 3, max_arity: int = 3) -> Forest:
    """Hypergraphs with dead ends, shared nodes, repeated tails and, now and then, no derivation at all."""
    builder = ForestBuilder(feature_names=["x", "y"])
    nodes = draw(st.integers(1, max_nodes))
    for node in range(nodes):
        builder.add_node(node)
        tail = st.integers(0, node - 1)
        tails = st.lists(tail, max_size=max_arity) if node else st.just([])
        for _ in range(draw(st.integers(0, max_edges))):
            features = draw(st.tuples(st.integers(-3, 3), st.integers(-3, 3)))
            builder.add_edge(node, draw(tails), features=features)
    return builder.build(root=nodes - 1)


def derivations(forest: Forest, *, limit: int = 2000) -> Derivations | None:
    """All derivations of the root by brute force, or None where they are more than ``limit``."""
    per_node: list[Derivations] = []
    for node in range(forest.nodes):
        found: Derivations = []
        for edge in range(forest.edge_offsets[node], forest.edge_offsets[node + 1]):
            for parts in product(*(per_node[tail] for tail in forest.edge_tails(edge))):
                found.append((edge, *(step for part in parts for step in part)))
                if len(found) > limit:
                    return None
        per_node.append(found)
    return per_node[-1]
