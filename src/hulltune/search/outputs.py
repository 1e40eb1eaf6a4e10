"""Numbers for the outputs of sentences: the hypotheses of lists, and the outputs of forests that searches have met."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hulltune.arrays import Floats, Int32s, Int64s
from hulltune.data.copies import taken
from hulltune.data.corpus import Corpus
from hulltune.data.features import gather_rows, ranges
from hulltune.data.vocabulary import Texts
from hulltune.errors import InputError
from hulltune.kernels.outputs.output import (
    NewOutputs,
    OutputTable,
    PackedDerivations,
    SentenceGraphs,
    add_outputs,
    find_outputs,
    in_order,
)
from hulltune.kernels.outputs.texts import first_equals, hash_texts
from hulltune.kernels.scores.magnitudes import longest_derivations
from hulltune.lines.output import edge_outputs
from hulltune.lines.scoring import EdgeScorer
from hulltune.memory import LEAST_LEFT, memory_left, size_text
from hulltune.threads import ALONE, Workers

FIRST_SLOTS = 1 << 12
HYPOTHESES_AT_ONCE = 1 << 15
"""Hypotheses that are compared as one part of the work."""
CHECKED_WORDS = 1 << 24
"""From this many words of outputs on, the memory that is left is looked at when their table grows."""
MOST_OUTPUTS = 2**31 - 1
"""The most outputs: kernels number them with 32 bits."""


class Outputs:
    """Numbers of the outputs of a corpus. Numbers never change, and threads may share one object.

    A hypothesis of a list has the number of its edge in the corpus, so that the kernels of lists need no translation.
    The outputs of forests are numbered in the order in which they are met, after the edges if there is any list. Equal
    outputs of a sentence have one number; a derivation whose output is known costs one look-up. Words are joined to a
    text only on demand.
    """

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.is_list = corpus.is_list
        self.closed = bool(self.is_list.all())
        self._first_met = corpus.edges if self.is_list.any() else 0
        if self._first_met > MOST_OUTPUTS:
            raise InputError(f"{corpus.edges:,} hypotheses; expected at most {MOST_OUTPUTS:,}: tune on a part of them")
        self._met = _Met()
        self._firsts: Int64s | None = None
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return self._first_met + self._met.count

    def of_derivations(self, graphs: SentenceGraphs, block: tuple[int, int], found: PackedDerivations) -> Int64s:
        """The number of each derivation's output; the derivations are those of the sentences from the first to the last
        of ``block``.

        O(edges); threads wait for each other only to add outputs that are new.
        """
        numbers, new = self._met.found(graphs, block, found)
        unknown = numbers < 0
        if unknown.any():
            with self._lock:
                before = self._met.words
                added = self._met.added(new)
                if self._met.words > max(before, CHECKED_WORDS):
                    self._check_memory()
                if self._first_met + self._met.count > MOST_OUTPUTS:
                    raise InputError(f"more than {MOST_OUTPUTS:,} outputs were met; tune on fewer sentences at a time")
            numbers[unknown] = added[-1 - numbers[unknown]]
        return numbers + self._first_met

    def _check_memory(self) -> None:
        """Refuse to go on when the outputs met have nearly filled the memory."""
        left = memory_left()
        if left is not None and left < LEAST_LEFT:
            raise InputError(
                f"{self._met.count:,} outputs of forests were met, and {size_text(left)} of memory is left; prune the "
                "forests (convert --beam), cut long inputs, or tune on fewer sentences at a time"
            )

    def described(self, numbers: Int64s) -> tuple[Int64s, list[str]]:
        """The sentence and the text of each output: its words with spaces between them."""
        sentences = self.sentences(numbers)
        if not self._first_met:
            return sentences, self._texts(*self._met.labels(numbers))
        if self.closed:
            return sentences, self._texts(*self._labels_of_edges(numbers))
        texts = np.empty(len(numbers), dtype=object)
        listed = numbers < self._first_met
        texts[listed] = self._texts(*self._labels_of_edges(numbers[listed]))
        texts[~listed] = self._texts(*self._met.labels(numbers[~listed] - self._first_met))
        return sentences, texts.tolist()

    def lazily_described(self, numbers: Int64s) -> tuple[Int64s, Sequence[str]]:
        """The sentence and the text of each output; texts become strings only when somebody asks for one."""
        if self.closed or not self._first_met:
            of_numbers = self._labels_of_edges if self.closed else self._met.labels
            return self.sentences(numbers), Texts(self.corpus.vocabulary, *of_numbers(numbers))
        return self.described(numbers)

    def sentences(self, numbers: Int64s) -> Int64s:
        """The sentence of each output."""
        listed = numbers < self._first_met
        found = np.empty(len(numbers), dtype=np.int64)
        found[listed] = np.searchsorted(self.corpus.sentence_edges, numbers[listed], side="right") - 1
        found[~listed] = self._met.sentences[numbers[~listed] - self._first_met]
        return found

    def text(self, number: int) -> str:
        """The text of an output; nothing for −1."""
        return self.described(np.array([number]))[1][0] if number >= 0 else ""

    def first_equals(self, numbers: Int64s, workers: Workers = ALONE) -> Int64s:
        """For each output, the first of its sentence with the same words; the array itself if that is known of all."""
        if self.closed:
            return taken(self._first_of_equal_edges(workers), numbers, workers)
        listed = numbers < self._first_met
        firsts: Int64s = numbers
        if listed.any():
            firsts = numbers.copy()
            firsts[listed] = self._first_of_equal_edges(workers)[numbers[listed]]
        return firsts

    def _first_of_equal_edges(self, workers: Workers) -> Int64s:
        """For each edge, the first of its sentence with the same labels; meant for lists. O(labels), once."""
        if self._firsts is not None:
            return self._firsts
        corpus = self.corpus
        as_bytes = np.ascontiguousarray(corpus.labels).view(np.uint8)
        nothing = np.zeros((0, 0), order="F")
        firsts = np.empty(corpus.edges, dtype=np.int64)

        def fill(some: slice) -> None:
            ends = corpus.sentence_edges[some.start : some.stop + 1]
            first, last = int(ends[0]), int(ends[-1])
            offsets = corpus.label_offsets[first : last + 1] * corpus.labels.itemsize
            hashes = hash_texts(as_bytes, offsets)
            firsts[first:last] = first_equals(as_bytes, offsets, nothing, hashes, ends - first)
            firsts[first:last] += first

        workers.map(fill, corpus.parts(HYPOTHESES_AT_ONCE))
        self._firsts = firsts
        return firsts

    def by_sentence(self) -> tuple[Int64s, Int64s]:
        """Offsets by sentence, and numbers: all hypotheses of a list in their order, and the outputs of a forest met so
        far, sorted by text. So the order does not depend on when an output was met.
        """
        edges = self.corpus.sentence_edges
        if self.closed:
            return edges, np.arange(self.corpus.edges, dtype=np.int64)
        numbers = np.arange(self._first_met, len(self), dtype=np.int64)
        owners, words = self.described(numbers)
        order = sorted(range(len(numbers)), key=lambda k: (owners[k], words[k]))
        met = numbers[np.array(order, dtype=np.int64)]
        met_sizes = np.bincount(owners, minlength=len(self.is_list))
        starts = np.where(self.is_list, edges[:-1], self._first_met + np.cumsum(met_sizes) - met_sizes)
        sizes = np.where(self.is_list, np.diff(edges), met_sizes)
        offsets, places = ranges(starts, sizes)
        every = np.concatenate([np.arange(self._first_met, dtype=np.int64), met])
        return offsets, every[places]

    def _labels_of_edges(self, edges: Int64s) -> tuple[Int64s, Int32s]:
        offsets, places = gather_rows(self.corpus.label_offsets, edges)
        return offsets, self.corpus.labels[places]

    def _texts(self, offsets: Int64s, labels: Int32s) -> list[str]:
        return Texts(self.corpus.vocabulary, offsets, labels).strings


@dataclass(frozen=True, eq=False)
class Sentences:
    """The sentences of a problem, with the tables that depend on them alone; shared by all its shards.

    ``names`` are the numbers of the sentences in ``outputs.corpus``, of which ``corpus`` may be a part.
    """

    corpus: Corpus
    outputs: Outputs
    names: Int64s

    @cached_property
    def scorer(self) -> EdgeScorer:
        """The scorer of the corpus's edges."""
        return EdgeScorer(self.corpus)

    @cached_property
    def are_lists(self) -> bool:
        """Whether all sentences are n-best lists."""
        return bool(self.corpus.is_list.all())

    @cached_property
    def graphs(self) -> SentenceGraphs:
        """The sentences as kernels take them that look up outputs."""
        graph, edges = edge_outputs(self.corpus), self.corpus.sentence_edges
        return SentenceGraphs(self.names, edges, in_order(edges, graph), graph)

    @cached_property
    def edge_numbers(self) -> Int32s | None:
        """The output of every edge of a list; None where output and edge have the same number."""
        corpus, whole = self.corpus, self.outputs.corpus
        if corpus is whole:
            return None
        shifts = whole.sentence_edges[self.names] - corpus.sentence_edges[:-1]
        return (np.arange(corpus.edges) + np.repeat(shifts, np.diff(corpus.sentence_edges))).astype(np.int32)

    @cached_property
    def longest(self) -> Floats:
        """The number of edges of each sentence's longest derivation."""
        return longest_derivations(self.scorer.forests)

    def outputs_of_edges(self, edges: Int64s | Int32s) -> Int32s:
        """The outputs of some edges of lists."""
        return edges.astype(np.int32, copy=False) if self.edge_numbers is None else self.edge_numbers[edges]


class _Met:
    """A growing table of (sentence, words), numbered from 0 without duplicates. Threads may read while one adds.

    Its arrays and the number of outputs are one tuple, which is replaced as a whole: threads that hold an earlier one
    find the outputs of then, which nobody changes.
    """

    def __init__(self) -> None:
        self._table = OutputTable(
            np.full(FIRST_SLOTS, -1, dtype=np.int64),
            np.empty(FIRST_SLOTS // 2, dtype=np.int64),
            np.empty(FIRST_SLOTS // 2, dtype=np.int64),
            np.zeros(FIRST_SLOTS // 2, dtype=np.int64),
            np.empty(FIRST_SLOTS * 8, dtype=np.int32),
            0,
        )

    @property
    def count(self) -> int:
        """The number of outputs."""
        return self._table.size

    @property
    def words(self) -> int:
        """The room for words; it doubles when it is used up."""
        return len(self._table.tokens)

    @property
    def sentences(self) -> Int64s:
        """The sentence of each output."""
        return self._table.sentences

    def found(
        self, graphs: SentenceGraphs, block: tuple[int, int], found: PackedDerivations
    ) -> tuple[Int64s, NewOutputs]:
        """The number of each derivation's output, and the outputs that have none; see find_outputs."""
        return find_outputs(found, *block, graphs, self._table)

    def added(self, new: NewOutputs) -> Int64s:
        """The numbers of outputs that had none; one thread at a time may add some."""
        numbers, self._table = add_outputs(new, self._table)
        return numbers

    def labels(self, numbers: Int64s) -> tuple[Int64s, Int32s]:
        """The words of each output: offsets and labels."""
        table = self._table
        offsets, places = gather_rows(table.offsets, numbers)
        return offsets, table.tokens[places]
