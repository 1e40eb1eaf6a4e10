"""Outputs of derivations, and numbers for the distinct ones."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Bools, Int32s, Int64s
from hulltune.kernels.load.kernel import kernel, part


class EdgeOutputs(NamedTuple):
    """What the edges of a corpus put out: edge e the labels from ``label_offsets[e]`` on, each a token, or −1 − i for
    the output of its tail i; its tails are counted by ``tail_offsets``.
    """

    tail_offsets: Int64s
    label_offsets: Int64s
    labels: Int32s


class PackedDerivations(NamedTuple):
    """Derivations by direction, then by sentence: those of a cell from ``cells`` on, the edges of each from its offset
    on, in preorder.
    """

    cells: Int64s
    offsets: Int64s
    edges: Int32s


class SentenceGraphs(NamedTuple):
    """Sentences whose derivations are looked up: the number by which a table knows each, the offsets of their edges,
    whether all edges of a sentence put out their tails in order (see in_order), and what edges put out.
    """

    numbers: Int64s
    edge_offsets: Int64s
    simple: Bools
    graph: EdgeOutputs


class OutputTable(NamedTuple):
    """Distinct outputs: number k is ``tokens[offsets[k]:offsets[k + 1]]`` of sentence ``sentences[k]``.

    ``slots`` is an open-addressing table of their numbers by their hashes. Arrays may be longer than ``size`` outputs.
    """

    slots: Int64s
    hashes: Int64s
    sentences: Int64s
    offsets: Int64s
    tokens: Int32s
    size: int


class NewOutputs(NamedTuple):
    """Outputs that no table has yet: their sentences and hashes, and their offsets in their tokens."""

    sentences: Int64s
    hashes: Int64s
    offsets: Int64s
    tokens: Int32s


class _Room(NamedTuple):
    """Room for the sizes of subtrees and for a stack."""

    size: Int64s
    stack_edge: Int64s
    stack_label: Int64s


@part
def _room(edges: int) -> _Room:
    return _Room(np.empty(edges, np.int64), np.empty(edges + 1, np.int64), np.empty(edges + 1, np.int64))


@part
def _append_output(
    edges: Int32s, graph: EdgeOutputs, base: int, tokens: Int32s, count: int, room: _Room
) -> tuple[Int32s, int]:
    """Append the tokens of a derivation, as ``derivation_output`` does."""
    tail_offsets, label_offsets, labels = graph
    size, stack_edge, stack_label = room
    n = edges.size
    if n == 0:
        return tokens, count
    for i in range(n - 1, -1, -1):
        edge = base + edges[i]
        child = i + 1
        for _ in range(tail_offsets[edge + 1] - tail_offsets[edge]):
            child += size[child]
        size[i] = child - i
    stack_edge[0] = 0
    stack_label[0] = label_offsets[base + edges[0]]
    height = 1
    while height:
        place = stack_edge[height - 1]
        label = stack_label[height - 1]
        if label == label_offsets[base + edges[place] + 1]:
            height -= 1
            continue
        stack_label[height - 1] += 1
        if labels[label] >= 0:
            if count == tokens.size:
                tokens = np.concatenate((tokens, np.empty_like(tokens)))
            tokens[count] = labels[label]
            count += 1
        else:
            child = place + 1
            for _ in range(-1 - labels[label]):
                child += size[child]
            stack_edge[height] = child
            stack_label[height] = label_offsets[base + edges[child]]
            height += 1
    return tokens, count


@part
def _append_in_order(
    edges: Int32s, graph: EdgeOutputs, base: int, tokens: Int32s, count: int, room: _Room
) -> tuple[Int32s, int]:
    """Append the tokens of a derivation whose edges all put out their tails in order, each once.

    Tails are then met in preorder, and a third of the work of ``_append_output`` is enough.
    """
    label_offsets, labels = graph.label_offsets, graph.labels
    stack_label, stack_end = room.stack_label, room.stack_edge
    cursor = 1
    label, end = label_offsets[base + edges[0]], label_offsets[base + edges[0] + 1]
    height = 0
    while True:
        if label == end:
            if height == 0:
                return tokens, count
            height -= 1
            label, end = stack_label[height], stack_end[height]
            continue
        token = labels[label]
        label += 1
        if token >= 0:
            if count == tokens.size:
                tokens = np.concatenate((tokens, np.empty_like(tokens)))
            tokens[count] = token
            count += 1
        else:
            if label < end:  # an edge without further labels need not be returned to
                stack_label[height], stack_end[height] = label, end
                height += 1
            edge = base + edges[cursor]
            cursor += 1
            label, end = label_offsets[edge], label_offsets[edge + 1]


@kernel
def in_order(sentence_edges: Int64s, graph: EdgeOutputs) -> Bools:
    """Whether all edges of a sentence put out their tails in order, each once; for each sentence."""
    tail_offsets, label_offsets, labels = graph
    result = np.ones(sentence_edges.size - 1, np.bool_)
    for sentence in range(result.size):
        for edge in range(sentence_edges[sentence], sentence_edges[sentence + 1]):
            slot = -1
            for label in range(label_offsets[edge], label_offsets[edge + 1]):
                if labels[label] < 0:
                    if labels[label] != slot:
                        result[sentence] = False
                    slot -= 1
            if slot != -1 - (tail_offsets[edge + 1] - tail_offsets[edge]):
                result[sentence] = False
    return result


@part
def derivation_output(edges: Int32s, graph: EdgeOutputs, base: int, tokens: Int32s, count: int) -> tuple[Int32s, int]:
    """Append the tokens of a derivation (edges in preorder, numbered from ``base``) to ``tokens[:count]``.

    The sizes of all subtrees are computed first, from the back. Then the labels are expanded with an explicit stack, so
    that deep derivations cannot overflow the machine's. Linear in edges and tokens where each tail is put out once.
    """
    return _append_output(edges, graph, base, tokens, count, _room(edges.size))


@kernel
def outputs(
    sentences: Int64s,
    sentence_edges: Int64s,
    derivation_offsets: Int64s,
    derivation_edges: Int32s,
    graph: EdgeOutputs,
) -> tuple[Int64s, Int32s]:
    """Offsets and tokens of many derivations; derivation i belongs to sentence ``sentences[i]``."""
    offsets = np.zeros(sentences.size + 1, np.int64)
    tokens = np.empty(1024, np.int32)
    count = 0
    for i in range(sentences.size):
        edges = derivation_edges[derivation_offsets[i] : derivation_offsets[i + 1]]
        if edges.size:
            tokens, count = derivation_output(edges, graph, sentence_edges[sentences[i]], tokens, count)
        offsets[i + 1] = count
    return offsets, tokens[:count]


@part
def _hash_tokens(sentence: int, tokens: Int32s, begin: int, end: int) -> np.int64:
    """A hash of 63 bits of a sentence number and tokens: FNV-1a on whole tokens, then a last mix."""
    value = np.uint64(1469598103934665603) ^ np.uint64(sentence)
    for i in range(begin, end):
        value = (value ^ np.uint64(tokens[i])) * np.uint64(1099511628211)
        value ^= value >> np.uint64(29)
    value = (value ^ (value >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64((value ^ (value >> np.uint64(29))) >> np.uint64(1))


@part
def _grown(array: NDArray[Any], size: int) -> NDArray[Any]:
    """The array itself if it has room for ``size`` items, or a copy at least twice as long."""
    if size <= array.size:
        return array
    larger = np.empty(max(size, 2 * array.size), array.dtype)
    larger[: array.size] = array
    return larger


@part
def _filled_slots(hashes: Int64s, count: int, size: int) -> Int64s:
    """An open-addressing table of ``size`` slots (a power of two) for the first ``count`` outputs."""
    slots = np.full(size, -1, np.int64)
    for output in range(count):
        slot = hashes[output] & (size - 1)
        while slots[slot] >= 0:
            slot = (slot + 1) & (size - 1)
        slots[slot] = output
    return slots


@kernel
def find_outputs(
    found: PackedDerivations, first_sentence: int, last_sentence: int, sentences: SentenceGraphs, table: OutputTable
) -> tuple[Int64s, NewOutputs]:
    """The number of each derivation's output in a table, or −1 − i where it is new and the i-th of those; and the new
    ones, some of which may be equal. The derivations are those of sentences ``first_sentence`` to ``last_sentence``.

    Outputs are equal where sentence and tokens are, not just their hashes. Expected linear in edges and tokens.

    Another thread may add outputs to the table meanwhile (``add_outputs``): those beyond its size are not looked at.
    """
    numbers = np.empty(found.offsets.size - 1, np.int64)
    sentence_numbers, sentence_edges, simple, graph = sentences
    room = _room(256)
    names, new_hashes, new_offsets = np.empty(64, np.int64), np.empty(64, np.int64), np.zeros(65, np.int64)
    words = np.empty(1024, np.int32)
    new = 0
    for cell in range(found.cells.size - 1):
        sentence = first_sentence + cell % (last_sentence - first_sentence)
        base = sentence_edges[sentence]
        name = sentence_numbers[sentence]
        for i in range(found.cells[cell], found.cells[cell + 1]):
            edges = found.edges[found.offsets[i] : found.offsets[i + 1]]
            if edges.size > room.size.size:
                room = _room(2 * edges.size)
            begin = new_offsets[new]
            if simple[sentence]:
                words, end = _append_in_order(edges, graph, base, words, begin, room)
            else:
                words, end = _append_output(edges, graph, base, words, begin, room)
            value = _hash_tokens(name, words, begin, end)
            known = _known(value, name, words, begin, end, table)[0]
            if known >= 0:
                numbers[i] = known
            else:
                names, new_hashes = _grown(names, new + 1), _grown(new_hashes, new + 1)
                new_offsets = _grown(new_offsets, new + 2)
                names[new], new_hashes[new], new_offsets[new + 1] = name, value, end
                new += 1
                numbers[i] = -new
    return numbers, NewOutputs(names[:new], new_hashes[:new], new_offsets[: new + 1], words[: new_offsets[new]])


@part
def _known(value: Any, name: int, words: Int32s, begin: int, end: int, table: OutputTable) -> tuple[int, int]:
    """The number of an output with this hash, or −1, and its slot, or the one to put it into."""
    slots, hashes, sentences, offsets, tokens, count = table
    slot = value & (slots.size - 1)
    while slots[slot] >= 0:
        known = slots[slot]
        if known < count and hashes[known] == value and sentences[known] == name:
            k, shift = offsets[known], begin - offsets[known]
            if offsets[known + 1] + shift == end:
                while k < offsets[known + 1] and tokens[k] == words[k + shift]:
                    k += 1
                if k == offsets[known + 1]:
                    return known, slot
        slot = (slot + 1) & (slots.size - 1)
    return -1, slot


@kernel
def add_outputs(new: NewOutputs, table: OutputTable) -> tuple[Int64s, OutputTable]:
    """The numbers of outputs that ``find_outputs`` did not know, and the table with them.

    Arrays of the table are replaced by longer ones, or written behind the outputs that there were.
    """
    numbers = np.empty(new.sentences.size, np.int64)
    for i in range(numbers.size):
        begin, end = new.offsets[i], new.offsets[i + 1]
        known, slot = _known(new.hashes[i], new.sentences[i], new.tokens, begin, end, table)
        if known < 0:
            known = table.size
            first = table.offsets[known]
            hashes, sentences = _grown(table.hashes, known + 1), _grown(table.sentences, known + 1)
            offsets, tokens = _grown(table.offsets, known + 2), _grown(table.tokens, first + end - begin)
            tokens[first : first + end - begin] = new.tokens[begin:end]
            hashes[known], sentences[known], offsets[known + 1] = new.hashes[i], new.sentences[i], first + end - begin
            slots = table.slots
            slots[slot] = known
            if 2 * (known + 1) > slots.size:
                slots = _filled_slots(hashes, known + 1, 2 * slots.size)
            table = OutputTable(slots, hashes, sentences, offsets, tokens, known + 1)
        numbers[i] = known
    return numbers, table
