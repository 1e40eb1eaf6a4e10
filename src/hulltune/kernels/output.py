"""What derivations put out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hulltune.kernels._jit import kernel

Int64s = NDArray[np.int64]
Int32s = NDArray[np.int32]


@kernel
def derivation_output(
    edges: Int32s, tail_offsets: Int64s, label_offsets: Int64s, labels: Int32s, base: int, tokens: Int32s, count: int
) -> tuple[Int32s, int]:
    """Append the tokens of a derivation (edges in preorder, numbered from ``base``) to ``tokens[:count]``.

    First the size of each subtree, from the back; then the labels are expanded with an explicit stack, so that deep
    derivations cannot overflow the machine's. Linear in edges and tokens where each tail is put out once.
    """
    n = edges.size
    if n == 0:
        return tokens, count
    size = np.ones(n, np.int64)
    for i in range(n - 1, -1, -1):
        edge = base + edges[i]
        child = i + 1
        for _ in range(tail_offsets[edge + 1] - tail_offsets[edge]):
            size[i] += size[child]
            child += size[child]
    stack_edge = np.empty(n + 1, np.int64)
    stack_label = np.empty(n + 1, np.int64)
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
def outputs(
    sentences: Int64s,
    sentence_edges: Int64s,
    derivation_offsets: Int64s,
    derivation_edges: Int32s,
    tail_offsets: Int64s,
    label_offsets: Int64s,
    labels: Int32s,
) -> tuple[Int64s, Int32s]:
    """Offsets and tokens of many derivations; ``sentences[i]`` says whose edges derivation i is made of."""
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
