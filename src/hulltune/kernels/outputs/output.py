"""Outputs of derivations, and numbers for the distinct ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Bools, Int32s, Int64s
from hulltune.kernels.load.jit import kernel


@kernel
def _append_output(
    edges: Int32s,
    tail_offsets: Int64s,
    label_offsets: Int64s,
    labels: Int32s,
    base: int,
    tokens: Int32s,
    count: int,
    size: Int64s,
    stack_edge: Int64s,
    stack_label: Int64s,
) -> tuple[Int32s, int]:
    """Append the tokens of a derivation, as ``derivation_output`` does, with the caller's room for sizes and stack."""
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


@kernel
def _append_in_order(
    edges: Int32s,
    label_offsets: Int64s,
    labels: Int32s,
    base: int,
    tokens: Int32s,
    count: int,
    stack_label: Int64s,
    stack_end: Int64s,
) -> tuple[Int32s, int]:
    """Append the tokens of a derivation whose edges all put out their tails in order, each once.

    Tails are then met in preorder, and a third of the work of ``_append_output`` is enough.
    """
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
def in_order(sentence_edges: Int64s, tail_offsets: Int64s, label_offsets: Int64s, labels: Int32s) -> Bools:
    """Whether all edges of a sentence put out their tails in order, each once; for each sentence."""
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


@kernel
def derivation_output(
    edges: Int32s, tail_offsets: Int64s, label_offsets: Int64s, labels: Int32s, base: int, tokens: Int32s, count: int
) -> tuple[Int32s, int]:
    """Append the tokens of a derivation (edges in preorder, numbered from ``base``) to ``tokens[:count]``.

    The sizes of all subtrees are computed first, from the back. Then the labels are expanded with an explicit stack, so
    that deep derivations cannot overflow the machine's. Linear in edges and tokens where each tail is put out once.
    """
    n = edges.size
    return _append_output(
        edges, tail_offsets, label_offsets, labels, base, tokens, count,
        np.empty(n, np.int64), np.empty(n + 1, np.int64), np.empty(n + 1, np.int64),
    )  # fmt: skip


@kernel
def outputs(
    sentences: Int64s,
    sentence_edges: Int64s,
    derivation_offsets: Int64s,
    derivation_edges: Int32s,
    tail_offsets: Int64s,
    label_offsets: Int64s,
    labels: Int32s,
) -> tuple[Int64s, Int32s]:
    """Offsets and tokens of many derivations; derivation i belongs to sentence ``sentences[i]``."""
    offsets = np.zeros(sentences.size + 1, np.int64)
    tokens = np.empty(1024, np.int32)
    count = 0
    for i in range(sentences.size):
        edges = derivation_edges[derivation_offsets[i] : derivation_offsets[i + 1]]
        if edges.size:
            tokens, count = derivation_output(
                edges, tail_offsets, label_offsets, labels, sentence_edges[sentences[i]], tokens, count
            )
        offsets[i + 1] = count
    return offsets, tokens[:count]


@kernel
def _hash_tokens(sentence: int, tokens: Int32s, begin: int, end: int) -> np.int64:
    """A hash of 63 bits of a sentence number and tokens: FNV-1a on whole tokens, then a last mix."""
    value = np.uint64(1469598103934665603) ^ np.uint64(sentence)
    for i in range(begin, end):
        value = (value ^ np.uint64(tokens[i])) * np.uint64(1099511628211)
        value ^= value >> np.uint64(29)
    value = (value ^ (value >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64((value ^ (value >> np.uint64(29))) >> np.uint64(1))


@kernel
def _grown(array: NDArray[Any], size: int) -> NDArray[Any]:
    """The array itself if it has room for ``size`` items, or a copy at least twice as long."""
    if size <= array.size:
        return array
    larger = np.empty(max(size, 2 * array.size), array.dtype)
    larger[: array.size] = array
    return larger


@kernel
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
    cells: Int64s,
    first_sentence: int,
    sentence_numbers: Int64s,
    simple: Bools,
    sentence_edges: Int64s,
    derivation_offsets: Int64s,
    derivation_edges: Int32s,
    tail_offsets: Int64s,
    label_offsets: Int64s,
    labels: Int32s,
    slots: Int64s,
    hashes: Int64s,
    sentences: Int64s,
    offsets: Int64s,
    tokens: Int32s,
    count: int,
) -> tuple[Int64s, Int64s, Int64s, Int64s, Int32s]:
    """The number of each derivation's output among the ``count`` distinct ones known, or −1 − i where it is new and
    the i-th of those; then of the new ones the sentences, hashes, offsets and tokens. New ones may be equal.

    ``cells`` are offsets of derivations by direction, then by sentence from ``first_sentence`` on. Known output k is
    ``tokens[offsets[k]:offsets[k + 1]]`` of sentence ``sentences[k]``, by its number in ``sentence_numbers``;
    ``simple`` is the result of ``in_order``. Outputs are equal where sentence and tokens are, not just their hashes.
    Expected linear in edges and tokens.

    Another thread may add outputs to the table meanwhile (``add_outputs``): those from ``count`` on are not looked at.
    """
    numbers = np.empty(derivation_offsets.size - 1, np.int64)
    width = sentence_numbers.size
    size, stack_edge, stack_label = np.empty(256, np.int64), np.empty(257, np.int64), np.empty(257, np.int64)
    names, new_hashes, new_offsets = np.empty(64, np.int64), np.empty(64, np.int64), np.zeros(65, np.int64)
    words = np.empty(1024, np.int32)
    new = 0
    for cell in range(cells.size - 1):
        sentence = first_sentence + cell % width
        base = sentence_edges[sentence]
        name = sentence_numbers[cell % width]
        for i in range(cells[cell], cells[cell + 1]):
            edges = derivation_edges[derivation_offsets[i] : derivation_offsets[i + 1]]
            if edges.size > size.size:
                size = np.empty(2 * edges.size, np.int64)
                stack_edge, stack_label = np.empty(size.size + 1, np.int64), np.empty(size.size + 1, np.int64)
            begin = new_offsets[new]
            if simple[sentence]:
                words, end = _append_in_order(edges, label_offsets, labels, base, words, begin, stack_edge, stack_label)
            else:
                words, end = _append_output(
                    edges, tail_offsets, label_offsets, labels, base, words, begin, size, stack_edge, stack_label
                )
            value = _hash_tokens(name, words, begin, end)
            known = _known(value, name, words, begin, end, slots, hashes, sentences, offsets, tokens, count)[0]
            if known >= 0:
                numbers[i] = known
            else:
                names, new_hashes = _grown(names, new + 1), _grown(new_hashes, new + 1)
                new_offsets = _grown(new_offsets, new + 2)
                names[new], new_hashes[new], new_offsets[new + 1] = name, value, end
                new += 1
                numbers[i] = -new
    return numbers, names[:new], new_hashes[:new], new_offsets[: new + 1], words[: new_offsets[new]]


@kernel
def _known(
    value: Any,
    name: int,
    words: Int32s,
    begin: int,
    end: int,
    slots: Int64s,
    hashes: Int64s,
    sentences: Int64s,
    offsets: Int64s,
    tokens: Int32s,
    count: int,
) -> tuple[int, int]:
    """The number of an output with this hash, or −1, and its slot, or the one to put it into."""
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
def add_outputs(
    names: Int64s,
    new_hashes: Int64s,
    new_offsets: Int64s,
    words: Int32s,
    slots: Int64s,
    hashes: Int64s,
    sentences: Int64s,
    offsets: Int64s,
    tokens: Int32s,
    count: int,
) -> tuple[Int64s, Int64s, Int64s, Int64s, Int64s, Int32s, int]:
    """The numbers of outputs that ``find_outputs`` did not know, and the table with them.

    Arrays of the table are replaced by longer ones, or written behind the ``count`` outputs that there were.
    """
    numbers = np.empty(names.size, np.int64)
    for i in range(names.size):
        begin, end = new_offsets[i], new_offsets[i + 1]
        known, slot = _known(
            new_hashes[i], names[i], words, begin, end, slots, hashes, sentences, offsets, tokens, count
        )
        if known < 0:
            first = offsets[count]
            hashes, sentences = _grown(hashes, count + 1), _grown(sentences, count + 1)
            offsets, tokens = _grown(offsets, count + 2), _grown(tokens, first + end - begin)
            tokens[first : first + end - begin] = words[begin:end]
            hashes[count], sentences[count], offsets[count + 1] = new_hashes[i], names[i], first + end - begin
            slots[slot] = known = count
            count += 1
            if 2 * count > slots.size:
                slots = _filled_slots(hashes, count, 2 * slots.size)
        numbers[i] = known
    return numbers, slots, hashes, sentences, offsets, tokens, count
