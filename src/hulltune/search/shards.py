"""Shards: parts of a problem that are searched independently.

A shard answers three questions: which outputs win along some directions (``segments``), which outputs win under
some weights (``winners``), and which derivations win along lines (``derivations``). Only this module chooses the kernel
by the kind of sentence.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hulltune.arrays import Floats, Int32s, Int64s
from hulltune.errors import InputError
from hulltune.kernels.outputs.output import PackedDerivations
from hulltune.kernels.surfaces.rows import copy_segments, renumber
from hulltune.kernels.surfaces.sweep import Segments
from hulltune.lines.compute import Block, BlockEnvelopes, blocks_of, list_segments, search_block
from hulltune.search.outputs import Sentences
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


class Shard:
    """Sentences ``first`` up to ``last`` of a problem, which are all lists or all forests."""

    def __init__(self, sentences: Sentences, first: int, last: int) -> None:
        self.sentences, self.first, self.last = sentences, first, last
        self.are_lists = bool(sentences.corpus.is_list[first])

    def segments(self, weights: Floats, intervals: Floats) -> Segments:
        """The segments along lines from the first row of ``weights``, in the direction of each other row.

        Lists cost one pass over the features for every 16 directions, forests a few Viterbi passes for each direction.
        """
        sentences = self.sentences
        found = None
        if self.are_lists:
            found = list_segments(sentences.scorer, (self.first, self.last), weights, intervals)
        if found is None:
            return self._envelopes(weights, intervals)
        if sentences.edge_numbers is not None:
            renumber(found.outputs, found.begins, found.ends, sentences.edge_numbers)
        return found

    def winners(self, weights: Floats) -> Int64s:
        """The output of each sentence with the highest score, of equals the first; −1 where there is none."""
        rows = np.zeros((2, len(weights)))
        rows[0] = weights
        segments = self.segments(rows, WHOLE_LINE)
        found = segments.outputs[: segments.ends[0]].astype(np.int64)
        if len(found) == self.last - self.first:
            return found
        edges = self.sentences.corpus.sentence_edges[self.first : self.last + 1]
        winners = np.full(self.last - self.first, -1, dtype=np.int64)
        winners[edges[1:] > edges[:-1]] = found
        return winners

    def derivations(self, weights: Floats, intervals: Floats) -> Derivations:
        """The derivations that win somewhere on the lines, once for each segment, with the sums of their features."""
        corpus = self.sentences.corpus
        outputs, owners, sums = [], [], []
        for block, _, (found, _, _) in self._search(weights, intervals):
            directions = (len(found.cells) - 1) // (block[1] - block[0])
            owner = np.repeat(np.tile(np.arange(*block), directions), np.diff(found.cells))
            places = np.repeat(corpus.sentence_edges[owner], np.diff(found.offsets)) + found.edges
            values = corpus.features.take(places).toarray()
            outputs.append(self._outputs_of(block, found))
            owners.append(owner)
            sums.append(np.add.reduceat(values, found.offsets[:-1], axis=0) if len(owner) else values)
        return Derivations(np.concatenate(outputs), np.concatenate(owners), np.concatenate(sums))

    def _envelopes(self, weights: Floats, intervals: Floats) -> Segments:
        """The segments by the general kernels: scores of all edges, envelopes, and the outputs of derivations."""
        lefts: list[list[Floats]] = [[] for _ in intervals]
        outputs: list[list[Int32s]] = [[] for _ in intervals]
        for block, first, found in self._search(weights, intervals):
            numbers = self._outputs_of(block, found.winners)
            ends = found.winners.cells[:: block[1] - block[0]].tolist()
            for direction, (begin, end) in enumerate(itertools.pairwise(ends), start=first):
                lefts[direction].append(found.lines[begin:end, 0])
                outputs[direction].append(numbers[begin:end])
        ends = np.cumsum([sum(map(len, parts)) for parts in lefts], dtype=np.int64)
        return Segments(
            lefts=np.concatenate([part for parts in lefts for part in parts]),
            outputs=np.concatenate([part for parts in outputs for part in parts]),
            begins=np.concatenate([[0], ends[:-1]]).astype(np.int64),
            ends=ends,
        )

    def _search(self, weights: Floats, intervals: Floats) -> Iterator[tuple[Block, int, BlockEnvelopes]]:
        """Each block of the shard with its envelopes by the general kernels along the directions from a number on.

        These are all directions at once, but for a sentence so large that its scores would take too much memory.
        """
        sentences = self.sentences
        sentences.scorer.prepare()
        for block in blocks_of(sentences.corpus, len(weights), 1, first=self.first, last=self.last):
            edges = int(sentences.corpus.sentence_edges[block[1]] - sentences.corpus.sentence_edges[block[0]])
            at_once = 1 if self._is_long(block) else max(MOST_SCORES // max(edges, 1) - 1, 1)
            for first in range(0, len(intervals), at_once):
                some = slice(first, first + at_once)
                rows = weights if at_once >= len(intervals) else np.vstack([weights[:1], weights[1:][some]])
                for found in self._searched(block, rows, intervals[some]):
                    yield block, first, found

    def _is_long(self, block: Block) -> bool:
        """Whether a block is one sentence with very long derivations."""
        return not self.are_lists and block[1] == block[0] + 1 and self.sentences.longest[block[0]] > LONG

    def _searched(self, block: Block, weights: Floats, intervals: Floats) -> Iterator[BlockEnvelopes]:
        """The envelopes of a block, in parts for a sentence with long derivations along its one direction.

        Thousands of segments with derivations of thousands of edges would fill the memory. So the segments come first,
        and then the derivations of a few of them at a time, from the middle of the first of these to that of the last.
        """
        scorer = self.sentences.scorer
        if not self._is_long(block):
            yield search_block(scorer, block, weights, intervals)
            return
        segments = search_block(scorer, block, weights, intervals, derivations=False).lines
        ends = np.append(segments[:, 0], intervals[0, 1])
        longest = float(self.sentences.longest[block[0]])
        at_once = max(int(MOST_EDGES / longest), 1)
        for first in range(0, len(segments), at_once):
            last = min(first + at_once, len(segments)) - 1
            part = np.array([[_inside(*ends[first : first + 2].tolist()), _inside(*ends[last : last + 2].tolist())]])
            if first == last:  # an interval must have some width, within the only segment
                part[0, 1] = _inside(part[0, 0], float(ends[last + 1]))
            found = search_block(scorer, block, weights, part)
            if len(found.lines) != last - first + 1:
                raise InputError(
                    f"sentence {block[0]}: derivations of up to {longest:,.0f} edges, on segments too thin to be "
                    "searched apart; cut long inputs, or prune the forests (convert --beam)"
                )
            yield found._replace(lines=segments[first : last + 1])

    def _outputs_of(self, block: Block, found: PackedDerivations) -> Int32s:
        """The output of every derivation of a block."""
        sentences, (first, last) = self.sentences, block
        if self.are_lists:
            starts = np.tile(sentences.corpus.sentence_edges[first:last], (len(found.cells) - 1) // (last - first))
            return sentences.outputs_of_edges(found.edges + np.repeat(starts, np.diff(found.cells)))
        return sentences.outputs.of_derivations(sentences.graphs, block, found).astype(np.int32)


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
    is_list, edges = sentences.corpus.is_list, sentences.corpus.sentence_edges
    kinds = np.flatnonzero(np.diff(is_list)) + 1
    wanted = np.searchsorted(edges, np.linspace(0, edges[-1], parts + 1)[1:-1])
    ends = np.unique(np.concatenate([[0], kinds, wanted, [len(is_list)]])).astype(np.int64).tolist()
    return [Shard(sentences, first, last) for first, last in itertools.pairwise(ends)]


def joined(found: Sequence[Segments], workers: Workers) -> Segments:
    """The segments of all shards together, sentence by sentence in the order of the shards."""
    if len(found) == 1:
        return found[0]
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
