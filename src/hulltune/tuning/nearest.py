"""The outputs of forests that are nearest to their references: what an exact oracle of WER is made of."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hulltune.forest.corpus import Corpus
from hulltune.lines.compute import check_threads
from hulltune.lines.output import derivation_tokens
from hulltune.metrics.wer import PreparedEditRate

MOST_CELLS = 1 << 27
"""Of a table of edits: half a gigabyte."""
MOST_STEPS = 1 << 34
"""For a sentence and reference: some seconds."""
MOST_EDGES = 10_000_000
"""Of a derivation."""


@dataclass(frozen=True)
class Nearest:
    """An output of a sentence with the fewest edits from one of its references."""

    text: str
    edits: int
    length: int
    """Words of the reference."""


def nearest_outputs(
    corpus: Corpus, prepared: PreparedEditRate, sentences: NDArray[np.int64], *, threads: int | None = None
) -> list[tuple[Nearest, ...]]:
    """For each sentence and each of its references the nearest output; nothing for a sentence that is not among
    ``sentences``, that has no derivation, or whose outputs cannot be searched so (an edge puts a tail out twice, or
    there would be too many steps).

    By dynamic programming over all derivations: O(edges × length) on lattices whose edges put their words after those
    of their tail, O(edges × length³) otherwise.
    """
    encoded = prepared.encoded(corpus.vocabulary.tokens)
    word_ids = np.append(encoded.ids[: encoded.offsets[-1]], np.int32(-1))  # never empty
    slots = _slots(corpus)

    def search(sentence: int) -> tuple[Nearest, ...]:
        from hulltune.kernels.nearest_output import Words, nearest_derivation

        found = []
        first, last = corpus.sentence_edges[sentence], corpus.sentence_edges[sentence + 1]
        nodes = int(corpus.node_offsets[sentence + 1] - corpus.node_offsets[sentence])
        only_prefixes = bool(slots.come_first[first:last].all())
        if first == last or slots.repeat[first:last].any():
            return ()
        graph = Words(
            int(corpus.node_offsets[sentence]), corpus.edge_offsets, corpus.tail_offsets, corpus.tails,
            corpus.label_offsets, corpus.labels, encoded.offsets, word_ids,
        )  # fmt: skip
        labels = int(corpus.label_offsets[last] - corpus.label_offsets[first]) + int(last - first)
        for reference in prepared.references_of(sentence):
            columns = len(reference) + 1
            cells = nodes * columns * (1 if only_prefixes else columns)
            steps = labels * columns * (1 if only_prefixes else columns**2 // 6 + 1)
            if cells > MOST_CELLS or steps > MOST_STEPS:
                return ()
            edits, edges = nearest_derivation(graph, nodes, reference, only_prefixes, MOST_EDGES)
            if edits < 0:
                return ()
            tokens = derivation_tokens(corpus[sentence], edges)
            text = " ".join(corpus.vocabulary.words(tokens.tolist()))
            found.append(Nearest(text, int(edits), len(reference)))
        return tuple(found)

    with ThreadPoolExecutor(check_threads(threads)) as pool:
        found = dict(zip(sentences.tolist(), pool.map(search, sentences.tolist()), strict=True))
    return [found.get(sentence, ()) for sentence in range(len(corpus))]


@dataclass(frozen=True)
class _Slots:
    """Per edge, how its labels name its tails."""

    come_first: NDArray[np.bool_]
    """None, or one as the first label."""
    repeat: NDArray[np.bool_]
    """The same one twice."""


def _slots(corpus: Corpus) -> _Slots:
    places = np.flatnonzero(corpus.labels < 0)
    edges = np.searchsorted(corpus.label_offsets, places, side="right") - 1
    come_first = np.ones(corpus.edges, dtype=np.bool_)
    come_first[edges[places != corpus.label_offsets[edges]]] = False
    repeat = np.zeros(corpus.edges, dtype=np.bool_)
    order = np.lexsort((corpus.labels[places], edges))
    same = (np.diff(edges[order]) == 0) & (np.diff(corpus.labels[places][order]) == 0)
    repeat[edges[order][1:][same]] = True
    return _Slots(come_first, repeat)
