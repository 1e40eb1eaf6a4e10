"""The outputs of derivations, as token numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from hulltune.arrays import Int32s, Int64s
from hulltune.data.corpus import Corpus
from hulltune.data.forest import Forest


def edge_outputs(data: Forest | Corpus) -> Any:
    """What edges put out, as kernels take it: a kernels.outputs.output.EdgeOutputs."""
    from hulltune.kernels.outputs.output import EdgeOutputs

    return EdgeOutputs(data.tail_offsets, data.label_offsets, data.labels)


def tokens_of(data: Forest | Corpus, sentences: Int64s, offsets: Int64s, edges: Int32s) -> tuple[Int64s, Int32s]:
    """Offsets and tokens of the outputs of derivations.

    Derivation i belongs to sentence ``sentences[i]``, and its edges are ``edges[offsets[i]:offsets[i + 1]]``.
    """
    from hulltune.kernels.outputs import output

    starts = data.sentence_edges if isinstance(data, Corpus) else np.array([0, data.edges])
    return output.outputs(sentences, starts, offsets, edges, edge_outputs(data))


def derivation_tokens(forest: Forest, edges: Int32s) -> Int32s:
    """The output of one derivation of ``forest``."""
    return tokens_of(forest, np.zeros(1, dtype=np.int64), np.array([0, len(edges)]), edges)[1]
