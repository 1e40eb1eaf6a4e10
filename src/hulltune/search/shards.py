"""Shards: some sentences of a problem, which answer where their outputs change along lines, and who runs them.

A shard is asked where its outputs change along some directions (``changes``), the special case of that, who wins under
some weights (``winners``), and which derivations win along lines (``derivations``). Here, and only here, the kernel is
chosen by the kind of sentence.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from hulltune.arrays import Bools, Floats, Int32s, Int64s
from hulltune.data.corpus import Corpus
from hulltune.data.features import DenseFeatures
from hulltune.lines.compute import Answer, Block, blocks_of, check_threads, room_for_scores, search_block
from hulltune.lines.scoring import EdgeScorer
from hulltune.search.outputs import Outputs, in_order

WHOLE_LINE = np.array([[-np.inf, np.inf]])


@dataclass(frozen=True, eq=False)
class Changes:
    """The segments of a line that some sentences have along each direction, and the output that wins on each.

    Those of a sentence follow each other: the first begins at the low end of the interval, the others later and later.
    """

    lefts: tuple[Floats, ...]
    """By direction, the left end of every segment."""
    outputs: tuple[Int32s, ...]
    """By direction, the number of every segment's output."""


@dataclass(frozen=True, eq=False)
class Derivations:
    """Derivations that win on lines: the output, the sentence (its place in the problem) and the features of each."""

    outputs: Int32s
    sentences: Int64s
    sums: Floats


@dataclass(frozen=True, eq=False)
class Sentences:
    """Sentences to be searched, with what depends on them alone: the shards of a problem share it.

    ``names`` are the numbers of the sentences among those that ``outputs`` are of.
    """

    corpus: Corpus
    outputs: Outputs
    names: Int64s

    @cached_property
    def scorer(self) -> EdgeScorer:
        """The scorer of the corpus's edges."""
        return EdgeScorer(self.corpus)

    @cached_property
    def is_list(self) -> Bools:
        """Per sentence, whether it is an n-best list."""
        one_node: Bools = np.diff(self.corpus.node_offsets) == 1
        return one_node

    @cached_property
    def in_order(self) -> Bools:
        """Per sentence, whether its edges put out their tails in order."""
        return in_order(self.corpus)

    @cached_property
    def edge_numbers(self) -> Int32s | None:
        """The output of every edge, for those of lists; None where each is its own."""
        corpus, whole = self.corpus, self.outputs.corpus
        if corpus is whole:
            return None
        shifts = whole.sentence_edges[self.names] - corpus.sentence_edges[:-1]
        return (np.arange(corpus.edges) + np.repeat(shifts, np.diff(corpus.sentence_edges))).astype(np.int32)

    def outputs_of_edges(self, edges: Int64s | Int32s) -> Int32s:
        """The outputs of edges of lists."""
        return edges.astype(np.int32, copy=False) if self.edge_numbers is None else self.edge_numbers[edges]


class Shard:
    """Sentences ``first`` up to ``last`` of a problem, which are all lists or all forests."""

    def __init__(self, sentences: Sentences, first: int, last: int) -> None:
        self.sentences, self.first, self.last = sentences, first, last
        self.are_lists = bool(sentences.is_list[first])
        self._rooms: list[tuple[Floats, Int32s]] = []
        self._score_rooms: list[Floats] = []

    def changes(self, weights: Floats, intervals: Floats) -> Changes:
        """The segments along the lines from the first row of ``weights`` in the direction of each other row.

        One pass over the features for every 16 directions of lists, a few Viterbi passes for each of forests.
        """
        found = self._list_lines(weights, intervals) if self.are_lists else None
        return self._envelopes(weights, intervals) if found is None else found

    def winners(self, weights: Floats) -> Int64s:
        """The output of each sentence that scores best, of equals the first; −1 where there is none."""
        found = self._list_winners(weights) if self.are_lists else None
        if found is not None:
            return found
        nowhere = np.zeros((1, len(weights)))
        changes = self._envelopes(np.concatenate([weights[None, :], nowhere]), WHOLE_LINE)
        edges = self.sentences.corpus.sentence_edges[self.first : self.last + 1]
        winners = np.full(self.last - self.first, -1, dtype=np.int64)
        winners[np.diff(edges) > 0] = changes.outputs[0]
        return winners

    def derivations(self, weights: Floats, intervals: Floats) -> Derivations:
        """The derivations that win somewhere on the lines, once for each segment, with the sums of their features."""
        corpus = self.sentences.corpus
        outputs, owners, sums = [], [], []
        for block, answer in self._search(weights, intervals):
            cells, _, offsets, edges, _ = answer
            directions = (len(cells) - 1) // (block[1] - block[0])
            owner = np.repeat(np.tile(np.arange(*block), directions), np.diff(cells))
            places = edges + np.repeat(corpus.sentence_edges[owner], np.diff(offsets))
            values = np.asarray(corpus.features.take(places).matrix(), dtype=np.float64)
            outputs.append(self._outputs_of(block, answer))
            owners.append(owner)
            sums.append(np.add.reduceat(values, offsets[:-1], axis=0) if len(owner) else values)
        return Derivations(np.concatenate(outputs), np.concatenate(owners), np.concatenate(sums))

    def release(self, changes: Changes) -> None:
        """Leave the memory of an answer that is no longer needed to the next ones: fresh memory costs as much."""
        if changes.lefts and self.are_lists:
            lefts, outputs = changes.lefts[0].base, changes.outputs[0].base
            # Only what the kernel wrote: an answer that came from elsewhere may lie in memory of any kind.
            if isinstance(lefts, np.ndarray) and isinstance(outputs, np.ndarray) and lefts.ndim == outputs.ndim == 2:
                self._rooms.append((lefts, outputs))

    def _list_lines(self, weights: Floats, intervals: Floats) -> Changes | None:
        """The answer of the fast kernel of lists; None where features are sparse or numbers not of ordinary size."""
        from hulltune.kernels.list_lines import list_lines

        corpus = self.sentences.corpus
        if not isinstance(corpus.features, DenseFeatures):
            return None
        magnitudes, columns = self.sentences.scorer.list_tables
        try:
            room = self._rooms.pop()
        except IndexError:
            room = np.empty((0, 0)), np.empty((0, 0), dtype=np.int32)
        ordinary, counts, lefts, winners = list_lines(
            columns, corpus.sentence_edges, self.first, self.last, weights, magnitudes, intervals, *room
        )
        if not ordinary:
            return None
        outputs = [winners[direction, :count] for direction, count in enumerate(counts.tolist())]
        if self.sentences.edge_numbers is not None:
            outputs = [self.sentences.outputs_of_edges(edges) for edges in outputs]
        return Changes(
            lefts=tuple(lefts[direction, :count] for direction, count in enumerate(counts.tolist())),
            outputs=tuple(outputs),
        )

    def _list_winners(self, weights: Floats) -> Int64s | None:
        """The answer of the fast kernel of lists; None as for _list_lines."""
        from hulltune.kernels.list_scores import list_winners

        corpus = self.sentences.corpus
        if not isinstance(corpus.features, DenseFeatures):
            return None
        magnitudes, columns = self.sentences.scorer.list_tables
        edges = corpus.sentence_edges[self.first : self.last + 1]
        ordinary, found = list_winners(columns, edges, weights, magnitudes[self.first : self.last])
        if not ordinary:
            return None
        if self.sentences.edge_numbers is not None:
            found[found >= 0] = self.sentences.edge_numbers[found[found >= 0]]
        return found

    def _envelopes(self, weights: Floats, intervals: Floats) -> Changes:
        """The answer of the general kernels: scores of all edges, envelopes, and the outputs of their derivations."""
        lefts: list[list[Floats]] = [[] for _ in intervals]
        outputs: list[list[Int32s]] = [[] for _ in intervals]
        for block, answer in self._search(weights, intervals):
            numbers = self._outputs_of(block, answer)
            ends = answer[0][:: block[1] - block[0]].tolist()
            for direction, (begin, end) in enumerate(itertools.pairwise(ends)):
                lefts[direction].append(answer[1][begin:end, 0])
                outputs[direction].append(numbers[begin:end])
        return Changes(
            lefts=tuple(np.concatenate(parts) for parts in lefts),
            outputs=tuple(np.concatenate(parts) for parts in outputs),
        )

    def _search(self, weights: Floats, intervals: Floats) -> Iterator[tuple[Block, Answer]]:
        """The blocks of the shard with the general kernels' answers, one after the other."""
        sentences = self.sentences
        sentences.scorer.prepare()
        try:
            room = self._score_rooms.pop()
        except IndexError:
            room = room_for_scores()
        for block in blocks_of(sentences.corpus, len(weights), 1, by_kind=True, first=self.first, last=self.last):
            yield block, search_block(sentences.scorer, block, weights, intervals, room)
        self._score_rooms.append(room)

    def _outputs_of(self, block: Block, answer: Answer) -> Int32s:
        """The output of every segment of a block's answer."""
        cells, _, offsets, edges, _ = answer
        first, last = block
        sentences = self.sentences
        if self.are_lists:
            starts = sentences.corpus.sentence_edges[first:last]
            directions = (len(cells) - 1) // (last - first)
            return sentences.outputs_of_edges(edges + np.repeat(np.tile(starts, directions), np.diff(cells)))
        names = sentences.names[first:last]
        numbers = sentences.outputs.of_derivations(
            sentences.corpus, sentences.in_order, first, names, cells, offsets, edges
        )
        return numbers.astype(np.int32)


def cut(sentences: Sentences, parts: int) -> list[Shard]:
    """At least ``parts`` shards of about equal size, if there are as many sentences; none has lists and forests."""
    is_list, edges = sentences.is_list, sentences.corpus.sentence_edges
    kinds = np.flatnonzero(is_list[1:] != is_list[:-1]) + 1
    wanted = np.searchsorted(edges, np.linspace(0, edges[-1], parts + 1)[1:-1])
    ends = np.unique(np.concatenate([[0], kinds, wanted, [len(is_list)]])).astype(np.int64).tolist()
    return [Shard(sentences, first, last) for first, last in itertools.pairwise(ends)]


class Runner(Protocol):
    """Who runs the shards: puts one question to all of them, and has their answers in order."""

    @property
    def parts(self) -> int:
        """How many shards it can keep busy at one time."""

    def ask(self, shards: Sequence[Shard], question: str, *arguments: Any) -> list[Any]:
        """What ``shard.question(*arguments)`` answers, for each shard."""


class CallingThread:
    """Runs the shards one after the other, in the thread that asks."""

    parts = 1

    def ask(self, shards: Sequence[Shard], question: str, *arguments: Any) -> list[Any]:
        """The answer of each shard."""
        return [getattr(shard, question)(*arguments) for shard in shards]


class Threads:
    """Runs the shards in a pool of threads, which lives as long as this object.

    ``parts`` are the threads that one question is meant to keep busy: fewer than all, where several are asked at once.
    """

    def __init__(self, count: int, parts: int | None = None) -> None:
        self.parts = parts or count
        self._pool = ThreadPoolExecutor(count)

    def ask(self, shards: Sequence[Shard], question: str, *arguments: Any) -> list[Any]:
        """The answer of each shard."""
        if len(shards) == 1:
            return HERE.ask(shards, question, *arguments)
        return list(self._pool.map(lambda shard: getattr(shard, question)(*arguments), shards))


HERE = CallingThread()


def runner_of(threads: int | None, *, questions: int = 1) -> Runner:
    """A runner with so many threads (those of the CPUs by default), which ``questions`` at a time share."""
    count = check_threads(threads)
    parts = max(1, count // questions)
    return HERE if parts == 1 else Threads(count, parts)
