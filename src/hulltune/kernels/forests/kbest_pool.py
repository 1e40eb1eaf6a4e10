"""The derivations of a sentence that the search for the k best (kbest.py) has found, and a table of their outputs.

Outputs are compared by a hash that is composed from the hashes of their parts; where it agrees, token by token.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Floats, Int32s, Int64s
from hulltune.kernels.load.kernel import part
from hulltune.kernels.outputs.output import EdgeOutputs, derivation_output

EDGE, NODE, TAILS, MOVED, NEXT, CHILD, SIBLING = range(7)
"""Fields of a derivation: its edge; its node; the place of its tails' derivations; the last tail that was moved (only
this one and those after it move further, so that each combination is reached once); the next derivation of the node;
and its first child and next sibling in the heap of its node.
"""
UNKNOWN, NONE = -1, -2
"""Values of NEXT: a next derivation that was not asked for yet, and one that does not exist."""
DERIVATIONS, TAIL_SLOTS, SEEN, SKIPPED = range(4)
"""Counters: derivations, places for their tails, outputs in the table, duplicates that were skipped."""
BASE = np.uint64(0x9E3779B97F4A7C15)
MIX = np.uint64(0xBF58476D1CE4E5B9)


class Pool(NamedTuple):
    """All derivations and candidates of one sentence. The best derivation of node v is number v.

    ``hashes`` has, for each derivation, the hash of its output and BASE to the power of the output's length.
    """

    counts: Int64s
    scores: Floats
    fields: Int64s
    tails: Int64s
    hashes: NDArray[np.uint64]
    seen: Int64s


class Graph(NamedTuple):
    """The forest of one sentence in the arrays of its corpus: nodes are numbered from 0, edges as in the corpus."""

    first_node: int
    edge_offsets: Int64s
    tail_offsets: Int64s
    tails: Int32s
    label_offsets: Int64s
    labels: Int32s
    scores: Floats
    """Scores of the edges from number ``base`` on."""
    base: int


@part
def with_room(pool: Pool, tails: int) -> Pool:
    """The pool, with room for one more derivation with this many tails."""
    scores, fields, hashes, slots = pool.scores, pool.fields, pool.hashes, pool.tails
    if pool.counts[DERIVATIONS] == scores.size:
        scores = np.concatenate((scores, np.empty_like(scores)))
        fields = np.concatenate((fields, np.empty_like(fields)))
        hashes = np.concatenate((hashes, np.empty_like(hashes)))
    if pool.counts[TAIL_SLOTS] + tails > slots.size:
        slots = np.concatenate((slots, np.empty(slots.size + tails, np.int64)))
    return Pool(pool.counts, scores, fields, slots, hashes, pool.seen)


@part
def hash_output(graph: Graph, pool: Pool, derivation: int) -> None:
    """Compute the hash of a derivation's output from those of its tails."""
    edge, slots = pool.fields[derivation, EDGE], pool.fields[derivation, TAILS]
    value, power = np.uint64(0), np.uint64(1)
    for position in range(graph.label_offsets[edge], graph.label_offsets[edge + 1]):
        label = np.int64(graph.labels[position])
        if label >= 0:
            value = value * BASE + (np.uint64(label) + np.uint64(1)) * MIX
            power *= BASE
        else:
            tail = pool.tails[slots - 1 - label]
            value = value * pool.hashes[tail, 1] + pool.hashes[tail, 0]
            power *= pool.hashes[tail, 1]
    pool.hashes[derivation, 0], pool.hashes[derivation, 1] = value, power


@part
def write_edges(graph: Graph, pool: Pool, derivation: int, edges: Int32s, count: int) -> tuple[Int32s, int]:
    """Append the edges of a derivation in preorder, numbered within the sentence, to ``edges[:count]``."""
    stack = np.empty(64, np.int64)
    stack[0] = derivation
    height = 1
    while height:
        height -= 1
        current = stack[height]
        edge = pool.fields[current, EDGE]
        if count == edges.size:
            edges = np.concatenate((edges, np.empty_like(edges)))
        edges[count] = edge - graph.edge_offsets[graph.first_node]
        count += 1
        arity = graph.tail_offsets[edge + 1] - graph.tail_offsets[edge]
        if height + arity > stack.size:
            stack = np.concatenate((stack, np.empty(stack.size + arity, np.int64)))
        for i in range(arity - 1, -1, -1):
            stack[height] = pool.tails[pool.fields[current, TAILS] + i]
            height += 1
    return edges, count


@part
def _tokens(graph: Graph, pool: Pool, derivation: int) -> Int32s:
    """The output of a derivation."""
    edges, count = write_edges(graph, pool, derivation, np.empty(64, np.int32), 0)
    outputs = EdgeOutputs(graph.tail_offsets, graph.label_offsets, graph.labels)
    base = graph.edge_offsets[graph.first_node]
    tokens, size = derivation_output(edges[:count], outputs, base, np.empty(64, np.int32), 0)
    return tokens[:size]


@part
def _same_output(graph: Graph, pool: Pool, a: int, b: int) -> bool:
    left, right = _tokens(graph, pool, a), _tokens(graph, pool, b)
    return left.size == right.size and bool(np.all(left == right))


@part
def _find_output(graph: Graph, pool: Pool, derivation: int) -> tuple[np.int64, bool]:
    """The slot of the table of outputs for a derivation, and whether its node has the output there already."""
    mask = pool.seen.size - 1
    node = pool.fields[derivation, NODE]
    key = (pool.hashes[derivation, 0] ^ (np.uint64(node) * MIX)) * BASE
    slot = np.int64(key >> np.uint64(20)) & mask
    while pool.seen[slot] >= 0:
        other = pool.seen[slot]
        if (
            pool.fields[other, NODE] == node
            and pool.hashes[other, 0] == pool.hashes[derivation, 0]
            and pool.hashes[other, 1] == pool.hashes[derivation, 1]
            and _same_output(graph, pool, other, derivation)
        ):
            return slot, True
        slot = (slot + 1) & mask
    return slot, False


@part
def remember_output(graph: Graph, pool: Pool, derivation: int) -> tuple[Pool, bool]:
    """Add the output of a derivation to the table; returns the pool, and whether the output is new."""
    slot, known = _find_output(graph, pool, derivation)
    if known:
        return pool, False
    pool.seen[slot] = derivation
    pool.counts[SEEN] += 1
    if 2 * pool.counts[SEEN] <= pool.seen.size:
        return pool, True
    old = pool.seen
    pool = Pool(
        pool.counts, pool.scores, pool.fields, pool.tails, pool.hashes, np.full(2 * old.size, np.int64(-1), np.int64)
    )
    for other in old:
        if other >= 0:
            slot, _ = _find_output(graph, pool, other)
            pool.seen[slot] = other
    return pool, True
