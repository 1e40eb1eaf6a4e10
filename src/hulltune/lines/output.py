"""The outputs of derivations: token numbers and texts."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from hulltune.arrays import Int32s
from hulltune.data.corpus import Corpus
from hulltune.data.forest import Forest
from hulltune.data.vocabulary import joined_words

if TYPE_CHECKING:
    from hulltune.lines.result import CorpusEnvelopes


def edge_outputs(data: Forest | Corpus) -> Any:
    """What edges put out, as kernels take it: a kernels.outputs.output.EdgeOutputs."""
    from hulltune.kernels.outputs.output import EdgeOutputs

    return EdgeOutputs(data.tail_offsets, data.label_offsets, data.labels)


def derivation_tokens(forest: Forest, edges: Int32s) -> Int32s:
    """The output of a derivation of ``forest``, as token numbers."""
    from hulltune.kernels.outputs import output

    tokens, count = output.derivation_output(edges, edge_outputs(forest), 0, np.empty(64, np.int32), 0)
    return tokens[:count]


def segment_texts(envelopes: CorpusEnvelopes, direction: int) -> list[list[str]]:
    """The texts of the segments of each sentence along one direction, tokens joined by spaces."""
    from hulltune.kernels.outputs import output

    corpus = envelopes.corpus
    rows = envelopes.offsets[direction]
    sentences = np.repeat(np.arange(len(corpus)), np.diff(rows))
    offsets, tokens = output.outputs(
        sentences, corpus.sentence_edges, envelopes.derivation_offsets[rows[0] : rows[-1] + 1],
        envelopes.derivation_edges, edge_outputs(corpus),
    )  # fmt: skip
    texts = joined_words(corpus.vocabulary.words(tokens), offsets)
    return [texts[begin:end] for begin, end in pairwise((rows - rows[0]).tolist())]
