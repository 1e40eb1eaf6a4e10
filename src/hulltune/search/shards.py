"""Shards: parts of a problem that are searched independently.

A shard answers three questions: which outputs win along some directions (``segments``), which outputs win under
some weights (``winners``), and which derivations win along lines (``derivations``). Only this module chooses the kernel
by the kind of sentence.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hulltune.arrays import Bools, Floats, Int32s, Int64s
from hulltune.data.corpus import Corpus
from hulltune.errors import InputError
from hulltune.kernels.surfaces.sweep import Segments
from hulltune.lines.compute import Answer, Block, blocks_of, search_block
from hulltune.lines.scoring import EdgeScorer
from hulltune.search.outputs import Outputs, in_order
from hulltune.threads import Workers

MOST_SCORES = 1 << 24
"""The most edge scores of one sentence at a time: 128 MB."""
LONG = 4096
"""Derivations of more edges are long: they are kept for a few segments at a time."""
MOST_EDGES = 1 << 24
"""The most edges of long derivations at a time: 64 MB."""
FEW_LINES = 4
"""Parts of lines for each thread: lines differ in work."""
WHOLE_LINE = np.array([[-np.inf, np.inf]])


@dataclass(frozen=True, eq=False)
class Derivations:
    """Derivations that win on lines: the output, the sentence (its place in the problem) and the features of each."""

    outputs: Int32s
    sentences: Int64s
    sums: Floats


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
    def is_list(self) -> Bools:
        """For each sentence, whether it is an n-best list."""
        one_node: Bools = np.diff(self.corpus.node_offsets) == 1
        return one_node

    @cached_property
    def are_lists(self) -> bool:
        """Whether all sentences are n-best lists."""
        return bool(self.is_list.all())

    @cached_property
    def in_order(self) -> Bools:
        """For each sentence, whether its edges put out their tails in order."""
        return in_order(self.corpus)

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
        from hulltune.kernels.scores.magnitudes import longest_derivations

        return longest_derivations(self.scorer.forests)

    def outputs_of_edges(self, edges: Int64s | Int32s) -> Int32s:
        """The outputs of some edges of lists."""
        return edges.astype(np.int32, copy=False) if self.edge_numbers is None else self.edge_numbers[edges]


class Shard:
    """Sentences ``first`` up to ``last`` of a problem, which are all lists or all forests."""

    def __init__(self, sentences: Sentences, first: int, last: int) -> None:
        self.sentences, self.first, self.last = sentences, first, last
        self.are_lists = bool(sentences.is_list[first])

    def segments(self, weights: Floats, intervals: Floats) -> Segments:
        """The segments along lines from the first row of ``weights``, in the direction of each other row.

        Lists cost one pass over the features for every 16 directions, forests a few Viterbi passes for each direction.
        """
        found = self._list_lines(weights, intervals) if self.are_lists else None
        return self._envelopes(weights, intervals) if found is None else found

    def winners(self, weights: Floats) -> Int64s:
        """The output of each sentence with the highest score, of equals the first; −1 where there is none."""
        found = self._list_winners(weights) if self.are_lists else None
        if found is not None:
            return found
        no_direction = np.zeros((1, len(weights)))
        segments = self._envelopes(np.concatenate([weights[None, :], no_direction]), WHOLE_LINE)
        edges = self.sentences.corpus.sentence_edges[self.first : self.last + 1]
        winners = np.full(self.last - self.first, -1, dtype=np.int64)
        winners[np.diff(edges) > 0] = segments.outputs
        return winners

    def derivations(self, weights: Floats, intervals: Floats) -> Derivations:
        """The derivations that win somewhere on the lines, once for each segment, with the sums of their features."""
        corpus = self.sentences.corpus
        outputs, owners, sums = [], [], []
        for block, _, answer in self._search(weights, intervals):
            cells, _, offsets, edges, _ = answer
            directions = (len(cells) - 1) // (block[1] - block[0])
            owner = np.repeat(np.tile(np.arange(*block), directions), np.diff(cells))
            places = edges + np.repeat(corpus.sentence_edges[owner], np.diff(offsets))
            values = corpus.features.take(places).toarray()
            outputs.append(self._outputs_of(block, answer))
            owners.append(owner)
            sums.append(np.add.reduceat(values, offsets[:-1], axis=0) if len(owner) else values)
        return Derivations(np.concatenate(outputs), np.concatenate(owners), np.concatenate(sums))

    def _list_lines(self, weights: Floats, intervals: Floats) -> Segments | None:
        """The segments by the fast kernel of lists; None if numbers are very large or small."""
        from hulltune.kernels.lists.lines import list_lines

        corpus, features = self.sentences.corpus, self.sentences.scorer.list_features
        ordinary, counts, lefts, winners = list_lines(
            features, corpus.sentence_edges, self.first, self.last, weights, intervals
        )
        if not ordinary:
            return None
        begins = np.arange(len(counts), dtype=np.int64) * lefts.shape[1]
        found = Segments(lefts.reshape(-1), winners.reshape(-1), begins, begins + counts)
        if self.sentences.edge_numbers is not None:
            from hulltune.kernels.surfaces.rows import renumber

            renumber(found.outputs, begins, found.ends, self.sentences.edge_numbers)
        return found

    def _list_winners(self, weights: Floats) -> Int64s | None:
        """The winners by the fast kernel of lists; None if numbers are very large or small."""
        from hulltune.kernels.lists.scores import list_winners

        edges, features = self.sentences.corpus.sentence_edges, self.sentences.scorer.list_features
        ordinary, found = list_winners(features, edges, self.first, self.last, weights)
        if not ordinary:
            return None
        if self.sentences.edge_numbers is not None:
            found[found >= 0] = self.sentences.edge_numbers[found[found >= 0]]
        return found

    def _envelopes(self, weights: Floats, intervals: Floats) -> Segments:
        """The segments by the general kernels: scores of all edges, envelopes, and the outputs of derivations."""
        lefts: list[list[Floats]] = [[] for _ in intervals]
        outputs: list[list[Int32s]] = [[] for _ in intervals]
        for block, first, answer in self._search(weights, intervals):
            numbers = self._outputs_of(block, answer)
            ends = answer[0][:: block[1] - block[0]].tolist()
            for direction, (begin, end) in enumerate(itertools.pairwise(ends), start=first):
                lefts[direction].append(answer[1][begin:end, 0])
                outputs[direction].append(numbers[begin:end])
        ends = np.cumsum([sum(map(len, parts)) for parts in lefts], dtype=np.int64)
        return Segments(
            lefts=np.concatenate([part for parts in lefts for part in parts]),
            outputs=np.concatenate([part for parts in outputs for part in parts]),
            begins=np.concatenate([[0], ends[:-1]]).astype(np.int64),
            ends=ends,
        )

    def _search(self, weights: Floats, intervals: Floats) -> Iterator[tuple[Block, int, Answer]]:
        """Each block of the shard with the answer of the general kernels for the directions from a number on.

        It is one answer for all directions, but for a sentence so large that its scores would take too much memory.
        """
        sentences = self.sentences
        sentences.scorer.prepare()
        for block in blocks_of(sentences.corpus, len(weights), 1, by_kind=True, first=self.first, last=self.last):
            edges = int(sentences.corpus.sentence_edges[block[1]] - sentences.corpus.sentence_edges[block[0]])
            at_once = 1 if self._is_long(block) else max(MOST_SCORES // max(edges, 1) - 1, 1)
            for first in range(0, len(intervals), at_once):
                some = slice(first, first + at_once)
                rows = weights if at_once >= len(intervals) else np.vstack([weights[:1], weights[1:][some]])
                for answer in self._answers(block, rows, intervals[some]):
                    yield block, first, answer

    def _is_long(self, block: Block) -> bool:
        """Whether a block is one sentence with very long derivations."""
        return not self.are_lists and block[1] == block[0] + 1 and self.sentences.longest[block[0]] > LONG

    def _answers(self, block: Block, weights: Floats, intervals: Floats) -> Iterator[Answer]:
        """The answer of the general kernels, in parts for a sentence with long derivations along its one direction.

        Thousands of segments with derivations of thousands of edges would fill the memory. So the segments come first,
        and then the derivations of a few of them at a time, from the middle of the first of these to that of the last.
        """
        scorer = self.sentences.scorer
        if not self._is_long(block):
            yield search_block(scorer, block, weights, intervals)
            return
        _, segments, *_ = search_block(scorer, block, weights, intervals, derivations=False)
        ends = np.append(segments[:, 0], intervals[0, 1])
        longest = float(self.sentences.longest[block[0]])
        at_once = max(int(MOST_EDGES / longest), 1)
        for first in range(0, len(segments), at_once):
            last = min(first + at_once, len(segments)) - 1
            part = np.array([[_inside(*ends[first : first + 2].tolist()), _inside(*ends[last : last + 2].tolist())]])
            if first == last:  # an interval must have some width, within the only segment
                part[0, 1] = _inside(part[0, 0], float(ends[last + 1]))
            _, _, offsets, edges, passes = search_block(scorer, block, weights, part)
            if len(offsets) != last - first + 2:
                raise InputError(
                    f"sentence {block[0]}: derivations of up to {longest:,.0f} edges, on segments too thin to be "
                    "searched apart; cut long inputs, or prune the forests (convert --beam)"
                )
            yield np.array([0, last - first + 1]), segments[first : last + 1], offsets, edges, passes

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


def _inside(low: float, high: float) -> float:
    """A point between two ends, which may be infinite."""
    if np.isinf(low) and np.isinf(high):
        return 0.0
    if np.isinf(low):
        return high - max(abs(high), 1.0)
    if np.isinf(high):
        return low + max(abs(low), 1.0)
    return low + (high - low) / 2.0


def cut(sentences: Sentences, parts: int) -> list[Shard]:
    """Shards of about equal size, at least ``parts`` if there are enough sentences; none mixes lists and forests."""
    is_list, edges = sentences.is_list, sentences.corpus.sentence_edges
    kinds = np.flatnonzero(is_list[1:] != is_list[:-1]) + 1
    wanted = np.searchsorted(edges, np.linspace(0, edges[-1], parts + 1)[1:-1])
    ends = np.unique(np.concatenate([[0], kinds, wanted, [len(is_list)]])).astype(np.int64).tolist()
    return [Shard(sentences, first, last) for first, last in itertools.pairwise(ends)]


def joined(found: Sequence[Segments], workers: Workers) -> Segments:
    """The segments of all shards together, sentence by sentence in the order of the shards."""
    if len(found) == 1:
        return found[0]
    from hulltune.kernels.surfaces.rows import copy_segments

    sizes = np.array([part.ends for part in found]) - np.array([part.begins for part in found])
    after = np.cumsum(sizes, axis=0)
    ends = np.cumsum(after[-1])
    begins = ends - after[-1]
    places = begins + (after - sizes)
    lefts, outputs = np.empty(ends[-1]), np.empty(ends[-1], dtype=np.int32)
    workers.map(lambda shard: copy_segments(found[shard], places[shard], lefts, outputs), range(len(found)))
    return Segments(lefts, outputs, begins, ends)


def lines_in_parts(sizes: Int64s, count: int, most: int | None = None) -> list[slice]:
    """Lines with so many segments each, in about ``count`` parts of equal work, or in more, of about ``most`` segments.

    Of a few lines for each thread every one is a part: a thread that is done takes the next.
    """
    lines = len(sizes)
    if count > 1 and lines <= FEW_LINES * count:
        return [slice(line, line + 1) for line in range(lines)]
    ends = np.cumsum(sizes)
    count = count if count == 1 else FEW_LINES * count
    if most is not None:
        count = max(count, -(-int(ends[-1]) // max(most, 1)))
    cuts = np.unique(np.searchsorted(ends, np.linspace(0, int(ends[-1]), min(count, lines) + 1)[1:-1]) + 1)
    cuts = cuts[cuts < lines].tolist()
    return [slice(first, last) for first, last in itertools.pairwise([0, *cuts, lines])]
