"""The k best derivations of forests, lazily: algorithm 3 of Huang & Chiang (2005, Better k-best parsing).

The derivations of a node are ordered by falling score, and among equals by their edges in preorder, the smaller number
first. The order respects joining: a better part makes a better whole. So the next derivation of a node is a known one
in which one tail takes its next derivation, or another edge with the best derivations of its tails. Scores are grid
integers (scores.py), whose sums are exact, so that the first derivation is the one that decoding gives.

For distinct outputs, every node keeps only the first derivation of each output: it can replace a later one in any whole
without a change of the output (Huang, Knight & Joshi 2006 do so for trees).
"""

from __future__ import annotations

import numpy as np

from hulltune.arrays import Bools, Floats, Int32s, Int64s
from hulltune.kernels.forests.forest import Forests
from hulltune.kernels.forests.kbest_pool import (
    CHILD,
    DERIVATIONS,
    EDGE,
    MOVED,
    NEXT,
    NODE,
    NONE,
    SIBLING,
    SKIPPED,
    TAIL_SLOTS,
    TAILS,
    UNKNOWN,
    Graph,
    Pool,
    hash_output,
    remember_output,
    with_room,
    write_edges,
)
from hulltune.kernels.load.kernel import kernel, part
from hulltune.kernels.outputs.output import EdgeOutputs


@part
def _comes_first(graph: Graph, pool: Pool, a: int, b: int) -> bool:
    """Whether derivation ``a`` of a node comes before ``b``. O(1), but O(edges) where scores are equal."""
    if pool.scores[a] != pool.scores[b]:
        return bool(pool.scores[a] > pool.scores[b])
    while True:
        edge = pool.fields[a, EDGE]
        if edge != pool.fields[b, EDGE]:
            return bool(edge < pool.fields[b, EDGE])
        # The first tail that differs decides: nothing to its right can matter in preorder.
        slots_a, slots_b = pool.fields[a, TAILS], pool.fields[b, TAILS]
        for i in range(graph.tail_offsets[edge + 1] - graph.tail_offsets[edge]):
            a, b = pool.tails[slots_a + i], pool.tails[slots_b + i]
            if a != b:
                break
        if a == b:
            return False


@part
def _joined(graph: Graph, pool: Pool, a: int, b: int) -> int:
    """The union of two pairing heaps, as the number of its first derivation. −1 is an empty heap."""
    if a < 0:
        return b
    if b < 0:
        return a
    if _comes_first(graph, pool, b, a):
        a, b = b, a
    pool.fields[b, SIBLING] = pool.fields[a, CHILD]
    pool.fields[a, CHILD] = b
    return a


@part
def _without_first(graph: Graph, pool: Pool, heap: int) -> int:
    """The heap without its first derivation: children are joined in pairs, then from the last pair on."""
    child = pool.fields[heap, CHILD]
    pairs = -1
    while child >= 0:
        other = pool.fields[child, SIBLING]
        after = pool.fields[other, SIBLING] if other >= 0 else -1
        pair = _joined(graph, pool, child, other)
        pool.fields[pair, SIBLING] = pairs
        pairs = pair
        child = after
    rest = -1
    while pairs >= 0:
        after = pool.fields[pairs, SIBLING]
        rest = _joined(graph, pool, rest, pairs)
        pairs = after
    return rest


@part
def _add(graph: Graph, pool: Pool, node: int, edge: int, like: int, moved: int, distinct: bool) -> tuple[Pool, int]:
    """Add a derivation of ``edge``: with the tails of ``like``, of which tail ``moved`` takes its next derivation; or,
    where ``like`` is −1, with the best of each tail. Returns the pool and the number of the derivation.
    """
    first, arity = graph.tail_offsets[edge], graph.tail_offsets[edge + 1] - graph.tail_offsets[edge]
    pool = with_room(pool, arity)
    new, slots = pool.counts[DERIVATIONS], pool.counts[TAIL_SLOTS]
    pool.counts[DERIVATIONS] += 1
    pool.counts[TAIL_SLOTS] += arity
    score = graph.scores[edge - graph.base]
    for i in range(arity):
        tail = np.int64(graph.tails[first + i]) if like < 0 else pool.tails[pool.fields[like, TAILS] + i]
        if like >= 0 and i == moved:
            tail = pool.fields[tail, NEXT]
        pool.tails[slots + i] = tail
        score += pool.scores[tail]
    pool.scores[new] = score
    fields = pool.fields[new]
    fields[EDGE], fields[NODE], fields[TAILS], fields[MOVED] = edge, node, slots, moved
    fields[NEXT], fields[CHILD], fields[SIBLING] = UNKNOWN, -1, -1
    if distinct:
        hash_output(graph, pool, new)
    return pool, new


@part
def _best_of_nodes(graph: Graph, nodes: int, pool: Pool, distinct: bool) -> Pool:
    """Find the best derivation of every node, among equals that of the first edge: Viterbi, O(edges)."""
    for node in range(nodes):
        begin, end = graph.edge_offsets[graph.first_node + node], graph.edge_offsets[graph.first_node + node + 1]
        best, best_score = begin, 0.0
        for edge in range(begin, end):
            score = graph.scores[edge - graph.base]
            for slot in range(graph.tail_offsets[edge], graph.tail_offsets[edge + 1]):
                score += pool.scores[graph.tails[slot]]
            if edge == begin or score > best_score:
                best, best_score = edge, score
        pool, _ = _add(graph, pool, node, best, -1, 0, distinct)
    return pool


@part
def _start_heap(graph: Graph, pool: Pool, node: int, distinct: bool) -> tuple[Pool, int]:
    """The heap of a node whose best derivation is known: each of its other edges with the best of its tails."""
    heap = -1
    begin, end = graph.edge_offsets[graph.first_node + node], graph.edge_offsets[graph.first_node + node + 1]
    for edge in range(begin, end):
        if edge != pool.fields[node, EDGE]:
            pool, new = _add(graph, pool, node, edge, -1, 0, distinct)
            heap = _joined(graph, pool, heap, new)
    if distinct:
        pool, _ = remember_output(graph, pool, node)
    return pool, heap


@part
def _advance(
    graph: Graph, pool: Pool, root: int, node_state: Int64s, stack: Int64s, distinct: bool, patience: int
) -> tuple[Pool, bool]:
    """Find the next derivation of the root; False when more than ``patience`` duplicates have been skipped.

    ``node_state`` has for each node: its heap; the derivation whose successors are still to be added (−1 for none); the
    next of its tails to be moved; its latest derivation (−1 if it has no heap yet). A node that waits for one of its
    tails stays below it on an explicit stack: deep forests cannot overflow the machine's.
    """
    stack[0] = root
    height = 1
    while height:
        node = stack[height - 1]
        state = node_state[node]
        if state[3] < 0:
            pool, state[0] = _start_heap(graph, pool, node, distinct)
            state[1], state[2], state[3] = node, 0, node
        current = state[1]
        if current >= 0:
            edge = pool.fields[current, EDGE]
            arity = graph.tail_offsets[edge + 1] - graph.tail_offsets[edge]
            waits = False
            while state[2] < arity:
                tail = pool.tails[pool.fields[current, TAILS] + state[2]]
                following = pool.fields[tail, NEXT]
                if following == UNKNOWN:
                    stack[height] = pool.fields[tail, NODE]
                    height += 1
                    waits = True
                    break
                if following != NONE:
                    pool, new = _add(graph, pool, node, edge, current, state[2], distinct)
                    state[0] = _joined(graph, pool, state[0], new)
                state[2] += 1
            if waits:
                continue
            state[1] = -1
        found = state[0]
        if found < 0:
            pool.fields[state[3], NEXT] = NONE
            height -= 1
            continue
        state[0] = _without_first(graph, pool, found)
        state[1], state[2] = found, pool.fields[found, MOVED]
        if distinct:
            pool, is_new = remember_output(graph, pool, found)
            if not is_new:
                pool.counts[SKIPPED] += 1
                if pool.counts[SKIPPED] > patience:
                    return pool, False
                continue
        pool.fields[state[3], NEXT] = found
        state[3] = found
        height -= 1
    return pool, True


@kernel
def k_best(
    forests: Forests,
    outputs: EdgeOutputs,
    first: int,
    last: int,
    scores: Floats,
    k: int,
    distinct: bool,
    patience: int,
) -> tuple[Int64s, Floats, Int64s, Int32s, Bools]:
    """The k best derivations of sentences ``first`` to ``last``: the number of each sentence, their grid scores, the
    offsets of their edges, the edges, and whether the search of each sentence was completed.

    ``scores`` are those of the sentences' edges. O(edges) for a sentence, and for each further derivation O(1) heap
    operations for each of its edges.
    """
    node_offsets, edge_offsets = forests.node_offsets, forests.edge_offsets
    base = edge_offsets[node_offsets[first]]
    counts = np.zeros(last - first, np.int64)
    complete = np.ones(last - first, np.bool_)
    found_scores = np.empty(1024)
    starts = np.zeros(1024, np.int64)
    edges = np.empty(4096, np.int32)
    found, edge_count = 0, 0
    for s in range(first, last):
        nodes = node_offsets[s + 1] - node_offsets[s]
        if edge_offsets[node_offsets[s + 1]] == edge_offsets[node_offsets[s]]:
            continue
        graph = Graph(
            node_offsets[s], edge_offsets, forests.tail_offsets, forests.tails, outputs.label_offsets, outputs.labels,
            scores, base,
        )  # fmt: skip
        room = 2 * nodes + 64
        pool = Pool(
            np.zeros(4, np.int64), np.empty(room), np.empty((room, 7), np.int64), np.empty(2 * room, np.int64),
            np.zeros((room, 2), np.uint64), np.full(1024 if distinct else 1, np.int64(-1), np.int64),
        )  # fmt: skip
        pool = _best_of_nodes(graph, nodes, pool, distinct)
        node_state = np.full((nodes, 4), np.int64(-1), np.int64)
        stack = np.empty(nodes + 1, np.int64)
        derivation = nodes - 1
        while True:
            if found + 1 == starts.size:
                found_scores = np.concatenate((found_scores, np.empty_like(found_scores)))
                starts = np.concatenate((starts, np.empty_like(starts)))
            found_scores[found] = pool.scores[derivation]
            edges, edge_count = write_edges(graph, pool, derivation, edges, edge_count)
            found += 1
            starts[found] = edge_count
            counts[s - first] += 1
            if counts[s - first] == k:
                break
            pool, complete[s - first] = _advance(graph, pool, nodes - 1, node_state, stack, distinct, patience)
            derivation = pool.fields[derivation, NEXT]
            if derivation < 0:
                break
    return counts, found_scores[:found], starts[: found + 1], edges[:edge_count], complete
