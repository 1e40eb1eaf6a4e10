"""The drawing of a small lattice or forest: places for its nodes, and what stands on its edges."""

from __future__ import annotations

from dataclasses import dataclass

from hulltune.data.forest import Forest
from hulltune.report.figure_data import edge_words

MOST_EDGES = 48
"""A forest with more edges is not drawn: nobody could read it."""
MOST_NODES = 32


@dataclass(frozen=True)
class Graph:
    """A forest with places: column 0 is left of all nodes, where edges without tails begin.

    ``edges[i]`` has the head, the tails and the words of edge i.
    """

    kind: str
    """"lattice" or "hypergraph"."""
    columns: tuple[int, ...]
    """The column of each node: the length of the longest way to it."""
    rows: tuple[float, ...]
    """The place of each node in its column, around 0."""
    edges: tuple[tuple[int, tuple[int, ...], str], ...]


def drawn_graph(forest: Forest) -> Graph | None:
    """The drawing of a forest; None for a list, and for a forest that is too large."""
    if forest.is_list or forest.edges > MOST_EDGES or forest.nodes > MOST_NODES:
        return None
    edges = [
        (node, tuple(forest.edge_tails(edge).tolist()), edge_words(forest, edge))
        for node in range(forest.nodes)
        for edge in range(int(forest.edge_offsets[node]), int(forest.edge_offsets[node + 1]))
    ]
    columns = [0] * forest.nodes
    for head, tails, _ in edges:  # tails come before their heads
        columns[head] = max(columns[head], 1 + max((columns[tail] for tail in tails), default=0))
    kind = "lattice" if forest.arity <= 1 else "hypergraph"
    return Graph(kind, tuple(columns), _rows(columns, edges), tuple(edges))


def _rows(columns: list[int], edges: list[tuple[int, tuple[int, ...], str]]) -> tuple[float, ...]:
    """The nodes of each column in the order of the mean place of their tails, centred."""
    rows = [0.0] * len(columns)
    for column in range(1, max(columns) + 1):
        members = [node for node, place in enumerate(columns) if place == column]
        means = {}
        for node in members:
            tails = [rows[tail] for head, tails, _ in edges if head == node for tail in tails]
            means[node] = sum(tails) / len(tails) if tails else 0.0
        for place, node in enumerate(sorted(members, key=lambda node: (means[node], node))):
            rows[node] = place - (len(members) - 1) / 2
    return tuple(rows)
