"""Ordering and pruning of hypergraphs, in linear time."""

from __future__ import annotations

import numpy as np

from hulltune.arrays import Int64s
from hulltune.kernels.load.kernel import kernel, part


@part
def group(keys: Int64s, size: int) -> tuple[Int64s, Int64s]:
    """A stable counting sort: offsets per key, and the positions of the keys in order of key."""
    offsets = np.zeros(size + 1, np.int64)
    for key in keys:
        offsets[key + 1] += 1
    for key in range(size):
        offsets[key + 1] += offsets[key]
    free = offsets[:-1].copy()
    positions = np.empty(keys.size, np.int64)
    for position in range(keys.size):
        key = keys[position]
        positions[free[key]] = position
        free[key] += 1
    return offsets, positions


@kernel
def topological_order(nodes: int, heads: Int64s, tail_offsets: Int64s, tails: Int64s) -> Int64s:
    """The nodes in topological order, tails before heads.

    It is shorter than ``nodes`` if there is a cycle: the missing nodes lie on one or above one. An order that is
    topological already is kept, because readers write neighbours next to each other.
    """
    in_order = True
    for edge in range(heads.size):
        for slot in range(tail_offsets[edge], tail_offsets[edge + 1]):
            if tails[slot] >= heads[edge]:
                in_order = False
    if in_order:
        return np.arange(nodes)

    edge_of_slot = np.empty(tails.size, np.int64)
    waiting = np.zeros(nodes, np.int64)
    for edge in range(heads.size):
        for slot in range(tail_offsets[edge], tail_offsets[edge + 1]):
            edge_of_slot[slot] = edge
            waiting[heads[edge]] += 1
    use_offsets, uses = group(tails, nodes)
    order = np.empty(nodes, np.int64)
    end = 0
    for node in range(nodes):
        if waiting[node] == 0:
            order[end] = node
            end += 1
    begin = 0
    while begin < end:
        node = order[begin]
        begin += 1
        for use in range(use_offsets[node], use_offsets[node + 1]):
            head = heads[edge_of_slot[uses[use]]]
            waiting[head] -= 1
            if waiting[head] == 0:
                order[end] = head
                end += 1
    return order[:end]


@kernel
def useful_parts(
    order: Int64s, root: int, heads: Int64s, tail_offsets: Int64s, tails: Int64s
) -> tuple[Int64s, Int64s, Int64s]:
    """The nodes and edges that take part in some derivation of the root, in packed order, and the edge offsets.

    Nodes keep the topological order, with the root last; the edges of a node keep the order they were given in. The
    root itself is always kept.
    """
    nodes = order.size
    in_offsets, in_edges = group(heads, nodes)
    derivable = np.zeros(nodes, np.bool_)
    complete = np.zeros(heads.size, np.bool_)  # all tails derivable
    for node in order:
        for i in range(in_offsets[node], in_offsets[node + 1]):
            edge = in_edges[i]
            complete[edge] = True
            for slot in range(tail_offsets[edge], tail_offsets[edge + 1]):
                complete[edge] &= derivable[tails[slot]]
            derivable[node] |= complete[edge]
    wanted = np.zeros(nodes, np.bool_)
    wanted[root] = True
    kept_nodes = 0
    kept_edges = 0
    for node in order[::-1]:
        if not wanted[node]:
            continue
        kept_nodes += 1
        for i in range(in_offsets[node], in_offsets[node + 1]):
            edge = in_edges[i]
            if complete[edge]:
                kept_edges += 1
                for slot in range(tail_offsets[edge], tail_offsets[edge + 1]):
                    wanted[tails[slot]] = True
    node_list = np.empty(kept_nodes, np.int64)
    edge_list = np.empty(kept_edges, np.int64)
    edge_offsets = np.zeros(kept_nodes + 1, np.int64)
    node_count = 0
    edge_count = 0
    for node in order:
        if not wanted[node]:
            continue
        for i in range(in_offsets[node], in_offsets[node + 1]):
            if complete[in_edges[i]]:
                edge_list[edge_count] = in_edges[i]
                edge_count += 1
        node_list[node_count] = node
        node_count += 1
        edge_offsets[node_count] = edge_count
    return node_list, edge_list, edge_offsets
