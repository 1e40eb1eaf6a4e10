"""n-gram matches of many outputs against prepared references: the statistics of BLEU and chrF.

Only n-grams of a reference can match, and a prefix of such an n-gram is one too. So the n-grams of each group of
references make a trie, held as a hash table from (node, symbol) to child, and an output is counted by walks down the
trie: no n-gram is ever built. Symbols are token ids or code points; a negative one is in no reference.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hulltune.arrays import Int32s, Int64s
from hulltune.kernels.load.kernel import borrowing, inlined, kernel
from hulltune.kernels.metrics.packed import Tokens

Int = Any  # a Python int or a NumPy integer: the same thing once compiled
Float = Any

_MIX = np.int64(-7046029254386353131)  # 2^64 / golden ratio, odd, as a signed number: Fibonacci hashing

Symbols = Int32s


class Trie(NamedTuple):
    """The n-grams of each group of references, and how often each may match.

    Node 0 of a group is its root, the other nodes are numbered from 1. ``edges`` holds parent << 32 | symbol
    and ``limits`` the largest count in one reference of the group, both from ``first_node[group]`` on.
    ``table`` is an open-addressing table of node numbers, 0 for empty, of a power-of-two size, from
    ``first_slot[group]`` on.
    """

    edges: Int64s
    limits: Int32s
    first_node: Int64s
    table: Int32s
    first_slot: Int64s


@inlined
def _find(trie: Trie, node_base: Int, slot_base: Int, mask: Int, edge: Int) -> tuple[Int, Int]:
    """The node that ``edge`` leads to, or 0, and the slot where it is or would go."""
    slot = ((edge * _MIX) >> 32) & mask
    while True:
        node = np.int64(trie.table[slot_base + slot])
        if node == 0 or trie.edges[node_base + node] == edge:
            return node, slot
        slot = (slot + 1) & mask


class Tries:
    """The tries of groups of sequences: ``groups[g]`` to ``groups[g + 1]`` are those of group g.

    A group is filled when it is first asked for, by the thread that asks. Others may do so at the same time: they write
    the same bytes. O(order * symbols) in all.
    """

    def __init__(self, sequences: Tokens, groups: Int64s, order: int) -> None:
        self._sequences = sequences, groups, order
        first_node, first_slot = trie_sizes(sequences.offsets, groups, order)
        nodes, slots = int(first_node[-1]), int(first_slot[-1])
        self._trie = Trie(
            np.zeros(nodes, np.int64), np.zeros(nodes, np.int32), first_node, np.zeros(slots, np.int32), first_slot
        )
        self._filled = np.zeros(len(groups) - 1, np.bool_)

    def of(self, groups: Int64s) -> Trie:
        """The tries, of which those of these groups are filled."""
        new = np.unique(groups[~self._filled[groups]])
        if len(new):
            fill_tries(new, *self._sequences, self._trie)
            self._filled[new] = True  # no sooner: who sees it takes the bytes as they are
        return self._trie


@kernel
def trie_sizes(offsets: Int64s, groups: Int64s, order: int) -> tuple[Int64s, Int64s]:
    """The first node and the first slot of each group, and where those of the last one end."""
    count = len(groups) - 1
    first_node = np.zeros(count + 1, np.int64)
    first_slot = np.zeros(count + 1, np.int64)
    for group in range(count):
        most_nodes = 1
        for sequence in range(groups[group], groups[group + 1]):
            length = offsets[sequence + 1] - offsets[sequence]
            for n in range(order):
                most_nodes += max(0, length - n)
        size = 4
        while size < 2 * most_nodes:
            size *= 2
        first_node[group + 1] = first_node[group] + most_nodes
        first_slot[group + 1] = first_slot[group] + size
    return first_node, first_slot


@kernel
def fill_tries(which: Int64s, sequences: Tokens, groups: Int64s, order: int, trie: Trie) -> None:
    """Fill the tries of some groups. Each is made in memory of its own and then copied: its bytes are final."""
    nodes, slots = 0, 0
    for group in which:
        nodes = max(nodes, trie.first_node[group + 1] - trie.first_node[group])
        slots = max(slots, trie.first_slot[group + 1] - trie.first_slot[group])
    nothing = np.zeros(1, np.int64)
    own = Trie(np.zeros(nodes, np.int64), np.zeros(nodes, np.int32), nothing, np.zeros(slots, np.int32), nothing)
    counts = np.zeros(nodes, np.int32)
    for group in which:
        node_base, slot_base = trie.first_node[group], trie.first_slot[group]
        most_nodes, size = trie.first_node[group + 1] - node_base, trie.first_slot[group + 1] - slot_base
        own.limits[:most_nodes] = 0
        own.table[:size] = 0
        count = 1
        for sequence in range(groups[group], groups[group + 1]):
            counts[:count] = 0
            first, last = sequences.offsets[sequence], sequences.offsets[sequence + 1]
            for start in range(first, last):
                node = 0
                for at in range(start, min(start + order, last)):
                    edge = (np.int64(node) << 32) | np.int64(sequences.ids[at])
                    node, slot = _find(own, 0, 0, size - 1, edge)
                    if node == 0:
                        node = count
                        count += 1
                        own.edges[node] = edge
                        own.table[slot] = node
                        counts[node] = 0
                    counts[node] += 1
                    if counts[node] > own.limits[node]:
                        own.limits[node] = counts[node]
        trie.edges[node_base : node_base + count] = own.edges[:count]
        trie.limits[node_base : node_base + count] = own.limits[:count]
        trie.table[slot_base : slot_base + size] = own.table[:size]


@borrowing
def _largest_group(trie: Trie) -> Int:
    largest = 1
    for group in range(len(trie.first_node) - 1):
        largest = max(largest, trie.first_node[group + 1] - trie.first_node[group])
    return largest


@borrowing
def _add_matches(line: Symbols, trie: Trie, group: Int, left: Symbols, matches: Int64s) -> None:
    """Add the clipped matches of order n + 1 to ``matches[n]``; ``left`` is scratch space."""
    order, length = len(matches), len(line)
    node_base, slot_base = trie.first_node[group], trie.first_slot[group]
    mask = trie.first_slot[group + 1] - slot_base - 1
    for k in range(trie.first_node[group + 1] - node_base):
        left[k] = trie.limits[node_base + k]
    for start in range(length):
        node: Int = np.int64(0)
        for n in range(min(order, length - start)):
            symbol = line[start + n]
            if symbol < 0:
                break
            node = _find(trie, node_base, slot_base, mask, (node << 32) | np.int64(symbol))[0]
            if node == 0:
                break
            if left[node] > 0:
                left[node] -= 1
                matches[n] += 1


@kernel
def bleu_statistics(
    outputs: Tokens, sentences: Int64s, trie: Trie, reference_lengths: Int64s, groups: Int64s, order: int
) -> Int64s:
    """(length, closest reference length, matches per order, n-grams per order) of each output.

    ``reference_lengths[groups[s]:groups[s + 1]]`` belong to sentence s; of two references equally close in length the
    shorter one counts. O(order * tokens).
    """
    rows = np.zeros((len(sentences), 2 + 2 * order), np.int64)
    left = np.empty(_largest_group(trie), np.int32)
    for output in range(len(sentences)):
        row = rows[output]
        sentence = sentences[output]
        line = outputs.ids[outputs.offsets[output] : outputs.offsets[output + 1]]
        length = len(line)
        closest = reference_lengths[groups[sentence]]
        for reference in range(groups[sentence] + 1, groups[sentence + 1]):
            other = reference_lengths[reference]
            if (abs(length - other), other) < (abs(length - closest), closest):
                closest = other
        row[0] = length
        row[1] = closest
        _add_matches(line, trie, sentence, left, row[2 : 2 + order])
        for n in range(order):
            row[2 + order + n] = max(0, length - n)
    return rows


@borrowing
def _f_score(row: Int64s, orders: Int, beta: float, eps_smoothing: bool) -> Float:
    """chrF of (output n-grams, reference n-grams, matches) per order.

    The operations and their order are sacrebleu's: the score is equal to the last bit.
    """
    eps = 1e-16
    factor = beta**2
    score, mean_precision, mean_recall, effective = 0.0, 0.0, 0.0, 0
    for n in range(orders):
        n_output, n_reference, n_match = float(row[3 * n]), float(row[3 * n + 1]), float(row[3 * n + 2])
        precision = n_match / n_output if n_output > 0 else eps
        recall = n_match / n_reference if n_reference > 0 else eps
        denominator = factor * precision + recall
        score += (1 + factor) * precision * recall / denominator if denominator > 0 else eps
        if n_output > 0 and n_reference > 0:
            mean_precision += precision
            mean_recall += recall
            effective += 1
    if eps_smoothing:
        return 100 * score / orders
    if effective == 0:
        return 0.0
    mean_precision /= effective
    mean_recall /= effective
    if mean_precision + mean_recall == 0:
        return 0.0
    score = (1 + factor) * mean_precision * mean_recall
    score /= factor * mean_precision + mean_recall
    return 100 * score


class Grams(NamedTuple):
    """The n-grams of outputs and references up to an order: those of characters, or those of words.

    Each reference is a group of the trie.
    """

    outputs: Tokens
    trie: Trie
    reference_lengths: Int64s
    order: int


@borrowing
def _count_grams(grams: Grams, output: Int, reference: Int, left: Symbols, row: Int64s) -> None:
    """Write the numbers of n-grams of output and reference, and add their matches, three columns for each order.

    An order for which the reference is too short counts no n-grams of the output.
    """
    line = grams.outputs.ids[grams.outputs.offsets[output] : grams.outputs.offsets[output + 1]]
    length: Int = len(line)
    reference_length: Int = grams.reference_lengths[reference]
    for n in range(grams.order):
        row[3 * n] = max(0, length - n) if reference_length > n else 0
        row[3 * n + 1] = max(0, reference_length - n)
    _add_matches(line, grams.trie, reference, left, row[2::3])


@kernel
def chrf_statistics(
    sentences: Int64s, groups: Int64s, characters: Grams, words: Grams, beta: float, eps_smoothing: bool
) -> Int64s:
    """(output n-grams, reference n-grams, matches) per order, characters first, against the best reference.

    The references of sentence s are those from ``groups[s]`` to ``groups[s + 1]``. The best one has the highest chrF,
    the first of equals. O(references * order * characters).
    """
    orders = characters.order + words.order
    rows = np.zeros((len(sentences), 3 * orders), np.int64)
    row = np.zeros(3 * orders, np.int64)
    left = np.empty(max(_largest_group(characters.trie), _largest_group(words.trie)), np.int32)
    for output in range(len(sentences)):
        best = -1.0
        for reference in range(groups[sentences[output]], groups[sentences[output] + 1]):
            row[:] = 0
            _count_grams(characters, output, reference, left, row[: 3 * characters.order])
            if words.order > 0:
                _count_grams(words, output, reference, left, row[3 * characters.order :])
            score = _f_score(row, orders, beta, eps_smoothing)
            if score > best:
                best = score
                rows[output] = row
    return rows
