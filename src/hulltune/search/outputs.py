"""The distinct outputs that searches over forests have met, each with a number."""

from __future__ import annotations

import threading
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hulltune.data.corpus import Corpus
from hulltune.data.features import gather_rows
from hulltune.data.vocabulary import Vocabulary

Int64s = NDArray[np.int64]
Int32s = NDArray[np.int32]

Bools = NDArray[np.bool_]

FIRST_SLOTS = 1 << 12


def in_order(corpus: Corpus) -> Bools:
    """Per sentence, whether all its edges put out their tails in order, each once; linear."""
    from hulltune.kernels import output

    return output.in_order(corpus.sentence_edges, corpus.tail_offsets, corpus.label_offsets, corpus.labels)


class Outputs:
    """A growing, one-to-one numbering of (sentence, tokens) from 0; numbers never change. Threads may share one.

    A derivation that puts out what another did before costs one look-up; its tokens become a text only when somebody
    asks for it.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._lock = threading.Lock()
        self._slots = np.full(FIRST_SLOTS, -1, dtype=np.int64)
        self._hashes = np.empty(FIRST_SLOTS // 2, dtype=np.int64)
        self._sentences = np.empty(FIRST_SLOTS // 2, dtype=np.int64)
        self._offsets = np.zeros(FIRST_SLOTS // 2, dtype=np.int64)
        self._tokens = np.empty(FIRST_SLOTS * 8, dtype=np.int32)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def numbers(
        self,
        corpus: Corpus,
        simple: Bools,
        first: int,
        names: Int64s,
        cells: Int64s,
        derivation_offsets: Int64s,
        derivation_edges: Int32s,
    ) -> Int64s:
        """The number of what each derivation puts out.

        The derivations are those of sentences ``first`` on of ``corpus``, once for each direction: ``cells`` are their
        offsets by direction, then sentence. Here the sentences are called by their ``names``. ``simple`` is what
        ``in_order`` says of the corpus. Linear in their edges.
        """
        from hulltune.kernels.output import number_outputs

        with self._lock:
            (
                numbers, self._slots, self._hashes, self._sentences, self._offsets, self._tokens, self._count,
            ) = number_outputs(
                cells, first, names, simple, corpus.sentence_edges, derivation_offsets, derivation_edges,
                corpus.tail_offsets, corpus.label_offsets, corpus.labels,
                self._slots, self._hashes, self._sentences, self._offsets, self._tokens, self._count,
            )  # fmt: skip
        return numbers

    def sentences(self, numbers: Int64s) -> Int64s:
        """The sentence of each output."""
        found: Int64s = self._sentences[numbers]
        return found

    def texts(self, numbers: Int64s) -> list[str]:
        """The text of each output: its tokens with spaces between them."""
        with self._lock:
            known, tokens = self._offsets, self._tokens  # of one moment: they grow together
        offsets, places = gather_rows(known, numbers)
        words = self._vocabulary.words(tokens[places].tolist())
        return [" ".join(words[begin:end]) for begin, end in pairwise(offsets.tolist())]

    def of_sentences(self, count: int) -> tuple[Int64s, Int64s]:
        """All outputs by sentence, in an order that does not depend on when they were met: offsets and numbers."""
        numbers = np.arange(self._count, dtype=np.int64)
        sentences = self.sentences(numbers)
        texts = self.texts(numbers)
        order = sorted(numbers.tolist(), key=lambda number: (sentences[number], texts[number]))
        offsets = np.concatenate([[0], np.cumsum(np.bincount(sentences, minlength=count))]).astype(np.int64)
        return offsets, np.array(order, dtype=np.int64)
