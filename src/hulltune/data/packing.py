"""Pack edges in any order into a Forest: order them, prune and check them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np

from hulltune.arrays import Int32s, Int64s
from hulltune.data.features import Features, check_finite, gather_rows
from hulltune.data.forest import Forest, Pruned
from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError

Names = Sequence[Hashable] | Int64s


class CycleError(InputError):
    """A cycle of nodes: there is no order to compute them in."""

    def __init__(self, cycle: Sequence[int], names: Names) -> None:
        self.cycle = cycle
        called = [str(names[node]) for node in cycle]
        shown = called if len(called) <= 12 else [*called[:6], f"… ({len(called) - 12} more)", *called[-6:]]
        super().__init__(f"the forest has a cycle: {' → '.join(shown)}; expected an acyclic graph")

    def called(self, names: Names) -> CycleError:
        """The error with other names of the nodes: readers make those of a file only once there is a cycle."""
        return CycleError(self.cycle, names)


def pack(
    *,
    nodes: int,
    root: int,
    heads: Int64s,
    tail_offsets: Int64s,
    tails: Int64s,
    features: Features,
    feature_names: tuple[str, ...],
    label_offsets: Int64s,
    labels: Int32s,
    vocabulary: Vocabulary,
    node_names: Sequence[Hashable] | None = None,
    describe_edge: Callable[[int], str] = "edge {}".format,
) -> Forest:
    """The Forest of edges whose heads and tails number nodes from 0 in any order; linear in the input."""
    from hulltune.kernels.forests import graph

    if features.shape != (len(heads), len(feature_names)):
        raise InputError(
            f"features: expected {len(heads)} rows (edges) of {len(feature_names)} values, got {features.shape}"
        )
    check_finite(features, feature_names, describe_edge)
    order = graph.topological_order(nodes, heads, tail_offsets, tails)
    if len(order) < nodes:
        cycle = _find_cycle(set(range(nodes)) - set(order.tolist()), heads, tail_offsets, tails)
        raise CycleError(cycle, range(nodes) if node_names is None else node_names)
    kept_nodes, kept_edges, edge_offsets = graph.useful_parts(order, root, heads, tail_offsets, tails)
    number = np.full(nodes, -1, dtype=np.int32)
    number[kept_nodes] = np.arange(len(kept_nodes), dtype=np.int32)
    if not np.array_equal(kept_edges, np.arange(len(heads))):  # in most files all edges stay in place
        tail_offsets, tail_index = gather_rows(tail_offsets, kept_edges)
        label_offsets, label_index = gather_rows(label_offsets, kept_edges)
        tails, labels = tails[tail_index], labels[label_index]
        features = features.take(kept_edges)
    else:
        features = features.copy()
    return Forest(
        edge_offsets=edge_offsets,
        tail_offsets=tail_offsets,
        tails=number[tails],
        features=features,
        feature_names=feature_names,
        label_offsets=label_offsets,
        labels=labels,
        vocabulary=vocabulary,
        edge_ids=kept_edges,
        node_names=None if node_names is None else tuple(node_names[node] for node in kept_nodes),
        pruned=Pruned(nodes=nodes - len(kept_nodes), edges=len(heads) - len(kept_edges)),
    )


def _find_cycle(stuck: set[int], heads: Int64s, tail_offsets: Int64s, tails: Int64s) -> list[int]:
    """One cycle among the nodes that no topological order could place, from tail to head."""
    a_stuck_tail: dict[int, int] = {}
    for edge, head in enumerate(heads.tolist()):
        if head in stuck and head not in a_stuck_tail:
            for tail in tails[tail_offsets[edge] : tail_offsets[edge + 1]].tolist():
                if tail in stuck:
                    a_stuck_tail[head] = tail
                    break
    node = min(stuck)
    place: dict[int, int] = {}
    while node not in place:
        place[node] = len(place)
        node = a_stuck_tail[node]
    cycle = list(place)[place[node] :]
    return [node, *reversed(cycle)]
