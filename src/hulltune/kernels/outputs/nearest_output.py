"""The output of a forest that is nearest to a reference by edit distance, over all derivations at once.

In a lattice, the table of a node has the fewest edits between an output of the node and the first j words of the
reference, for each column j; an edge carries the row of its tail over its words. In a hypergraph, the table has the
fewest edits for each stretch i to j of the reference, and an edge joins stretches. Words are ids, −1 for a word that no
reference has.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hulltune.arrays import Int32s, Int64s
from hulltune.kernels.load.kernel import kernel, part

Tables = Int32s

FAR = np.int32(1 << 28)  # more edits than any output needs


class Words(NamedTuple):
    """A forest with the words of its labels: label l stands for ``word_ids[word_offsets[l]:word_offsets[l + 1]]``.

    The nodes of a sentence are numbered from 0, its edges and labels as in the corpus.
    """

    first_node: int
    edge_offsets: Int64s
    tail_offsets: Int64s
    tails: Int32s
    label_offsets: Int64s
    labels: Int32s
    word_offsets: Int64s
    word_ids: Int32s


@kernel
def tails_put_out(label_offsets: Int64s, labels: Int32s, first: int, last: int) -> tuple[bool, bool]:
    """Whether each of the edges ``first`` to ``last`` puts out at most one tail, before its words, and whether one of
    them puts out a tail twice. O(labels).
    """
    most = 0
    for i in range(label_offsets[first], label_offsets[last]):
        most = max(most, -labels[i])
    put_out_by = np.full(most, -1, np.int64)
    come_first, repeat = True, False
    for edge in range(first, last):
        for i in range(label_offsets[edge], label_offsets[edge + 1]):
            if labels[i] < 0:
                tail = -1 - np.int64(labels[i])
                come_first = come_first and i == label_offsets[edge]
                repeat = repeat or put_out_by[tail] == edge
                put_out_by[tail] = edge
    return come_first, repeat


@part
def _over_word(row: Int32s, word: int, reference: Int32s, start: int) -> None:
    """Carry a row of fewest edits, from column ``start`` on, over one more word of the output."""
    diagonal = row[start]
    row[start] += 1
    for j in range(start + 1, row.size):
        up = row[j]
        row[j] = min(min(up, row[j - 1]) + 1, diagonal + (word != reference[j - 1]))
        diagonal = up


@part
def _over_label(graph: Words, label: np.int64, row: Int32s, reference: Int32s, start: int) -> None:
    for i in range(graph.word_offsets[label], graph.word_offsets[label + 1]):
        _over_word(row, graph.word_ids[i], reference, start)


@part
def _over_stretch(row: Int32s, table: Tables, start: int, joined: Int32s) -> None:
    """Carry a row over the output of a tail: the fewest edits up to any column m, plus the tail's from m to j."""
    for j in range(start, row.size):
        joined[j] = FAR
    for m in range(start, row.size):
        before, after, target = row[m], table[m, m:], joined[m:]
        for j in range(target.size):  # along rows, in 32 bits, without a branch: SIMD, three times as fast
            value = np.int32(before + after[j])
            old = target[j]
            target[j] = value if value < old else old
    for j in range(start, row.size):
        row[j] = joined[j]


@part
def _edge_row(
    graph: Words, edge: int, tables: Tables, reference: Int32s, start: int, row: Int32s, joined: Int32s
) -> None:
    """The fewest edits between outputs of an edge and the stretches of the reference that begin at ``start``."""
    for j in range(start, row.size):
        row[j] = j - start
    first = graph.label_offsets[edge]
    for position in range(first, graph.label_offsets[edge + 1]):
        label = np.int64(graph.labels[position])
        if label >= 0:
            _over_label(graph, label, row, reference, start)
            continue
        tail = graph.tails[graph.tail_offsets[edge] - 1 - label]
        if position == first:  # nothing before it: the tail's own row
            row[start:] = tables[tail, min(start, tables.shape[1] - 1), start:]
        else:
            _over_stretch(row, tables[tail], start, joined)


@part
def fill_tables(graph: Words, nodes: int, reference: Int32s, only_prefixes: bool) -> Tables:
    """The table of every node: (nodes, starts, columns), with the start 0 alone where ``only_prefixes`` are needed.

    O(edges × columns) where edges have one word and only prefixes are needed, otherwise O(edges × columns³ / 6).
    """
    columns = reference.size + 1
    starts = 1 if only_prefixes else columns
    tables = np.full((nodes, starts, columns), FAR, np.int32)
    row, joined = np.empty(columns, np.int32), np.empty(columns, np.int32)
    for node in range(nodes):
        for edge in range(graph.edge_offsets[graph.first_node + node], graph.edge_offsets[graph.first_node + node + 1]):
            for start in range(starts):
                _edge_row(graph, edge, tables, reference, start, row, joined)
                for j in range(start, columns):
                    tables[node, start, j] = min(tables[node, start, j], row[j])
    return tables


@part
def _columns_of_tails(
    graph: Words, edge: int, tables: Tables, reference: Int32s, start: int, end: int, ends: Int64s, joined: Int32s
) -> None:
    """Write the columns where the items of an edge's labels end, on a best alignment with ``start`` to ``end``.

    Among several best alignments it is the one with the least columns, from the last item back.
    """
    first, last = graph.label_offsets[edge], graph.label_offsets[edge + 1]
    columns = reference.size + 1
    rows = np.empty((last - first + 1, columns), np.int32)
    for j in range(start, columns):
        rows[0, j] = j - start
    # The row before the first item allows deletions. A tail that comes first has them in its own table: item 0 below.
    for item in range(last - first):
        label = np.int64(graph.labels[first + item])
        rows[item + 1] = rows[item]
        if label >= 0:
            _over_label(graph, label, rows[item + 1], reference, start)
            continue
        tail = graph.tails[graph.tail_offsets[edge] - 1 - label]
        if item == 0:
            rows[1, start:] = tables[tail, min(start, tables.shape[1] - 1), start:]
        else:
            _over_stretch(rows[item + 1], tables[tail], start, joined)
    column = end
    for item in range(last - first - 1, -1, -1):
        ends[item] = column
        if item == 0:
            break
        label = np.int64(graph.labels[first + item])
        target = rows[item + 1, column]
        for m in range(start, column + 1):
            if label < 0:
                cost = tables[graph.tails[graph.tail_offsets[edge] - 1 - label], m, column]
            else:
                for j in range(m, column + 1):
                    joined[j] = j - m
                _over_label(graph, label, joined[: column + 1], reference, m)
                cost = joined[column]
            if rows[item, m] + cost == target:
                column = m
                break


@kernel
def nearest_derivation(
    graph: Words, nodes: int, reference: Int32s, only_prefixes: bool, most_edges: int
) -> tuple[int, Int32s]:
    """The fewest edits of any output of a sentence from the reference, and the edges, in preorder, of a derivation with
    so few: from the root down, the first edge that allows it.

    No edge may put out the same tail twice: its two places would be free to choose different derivations. A tail that
    is not put out at all takes its first derivation. The edits are −1 where the derivation has more than ``most_edges``
    edges.
    """
    tables = fill_tables(graph, nodes, reference, only_prefixes)
    columns = reference.size + 1
    row, joined = np.empty(columns, np.int32), np.empty(columns, np.int32)
    base = graph.edge_offsets[graph.first_node]
    edges = np.empty(64, np.int32)
    count = 0
    stack = np.empty((64, 3), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = nodes - 1, 0, columns - 1
    height = 1
    edits = tables[nodes - 1, 0, columns - 1]
    ends = np.empty(16, np.int64)
    while height:
        height -= 1
        node, start, end = stack[height, 0], stack[height, 1], stack[height, 2]
        found = graph.edge_offsets[graph.first_node + node]
        if start >= 0:
            while True:
                _edge_row(graph, found, tables, reference, start, row, joined)
                if row[end] == tables[node, min(start, tables.shape[1] - 1), end]:
                    break
                found += 1
        if count == most_edges:
            return -1, edges[:count]
        if count == edges.size:
            edges = np.concatenate((edges, np.empty_like(edges)))
        edges[count] = found - base
        count += 1
        first, last = graph.label_offsets[found], graph.label_offsets[found + 1]
        while ends.size < last - first:
            ends = np.empty(2 * ends.size, np.int64)
        if start >= 0:
            _columns_of_tails(graph, found, tables, reference, start, end, ends, joined)
        arity = graph.tail_offsets[found + 1] - graph.tail_offsets[found]
        while height + arity > len(stack):
            stack = np.concatenate((stack, np.empty_like(stack)))
        for i in range(arity - 1, -1, -1):
            stack[height, 0] = graph.tails[graph.tail_offsets[found] + i]
            stack[height, 1], stack[height, 2] = -1, -1
            for item in range(last - first - 1, -1, -1):
                if start >= 0 and graph.labels[first + item] == -1 - i:
                    stack[height, 1] = ends[item - 1] if item else start
                    stack[height, 2] = ends[item]
            height += 1
    return edits, edges[:count]
