"""The winners of sentences along a line, with their derivations: what the surface and the sentences of a page need."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hulltune.arrays import Bools, Floats, Int32s, Int64s
from hulltune.data.corpus import Corpus
from hulltune.data.features import ranges
from hulltune.lines.compute import envelopes
from hulltune.lines.result import CorpusEnvelopes
from hulltune.lines.scoring import EdgeScorer
from hulltune.search.outputs import in_order
from hulltune.search.problem import Line, Problem
from hulltune.surface import ErrorSurface

WHOLE = (-math.inf, math.inf)


@dataclass(frozen=True, eq=False)
class Winners:
    """The segments of some sentences along a line, sentence by sentence, each from left to right.

    Segment j belongs to sentence ``owners[j]``, begins at ``lefts[j]``, and is won by the derivation with the edges
    ``edges[offsets[j]:offsets[j + 1]]``, numbered in the whole corpus, whose output has the number ``outputs[j]``.
    """

    low: float
    owners: Int64s
    lefts: Floats
    outputs: Int32s
    offsets: Int64s
    edges: Int64s

    def surface(self, problem: Problem) -> ErrorSurface:
        """The error surface along the line; only that of the corpus if all sentences are here."""
        return problem.surface(Line(self.low, self.lefts, self.outputs))

    @cached_property
    def rights(self) -> Floats:
        """The right end of each segment; infinite for the last of a sentence."""
        ends = np.append(self.lefts[1:], math.inf)
        ends[np.append(self.owners[1:] != self.owners[:-1], True)] = math.inf
        return ends

    def of(self, sentence: int) -> tuple[int, int]:
        """The first segment of a sentence, and the one after its last."""
        return int(self._bounds[sentence]), int(self._bounds[sentence + 1])

    @cached_property
    def _bounds(self) -> Int64s:
        last = int(self.owners.max(initial=-1))
        return np.searchsorted(self.owners, np.arange(last + 2))


@dataclass(frozen=True, eq=False)
class _Part:
    """Sentences of one kind, as a corpus of their own."""

    sentences: Int64s
    corpus: Corpus
    are_lists: bool

    @cached_property
    def scorer(self) -> EdgeScorer:
        return EdgeScorer(self.corpus)

    @cached_property
    def in_order(self) -> Bools:
        return in_order(self.corpus)


class Searched:
    """Some sentences of a problem, ready to be searched along many lines."""

    def __init__(self, problem: Problem, sentences: Int64s | None = None, *, threads: int | None = None) -> None:
        """Take these sentences, by default all; those without a derivation have no winners."""
        self.problem, self.threads = problem, threads
        corpus = problem.corpus
        every = np.arange(len(corpus)) if sentences is None else np.asarray(sentences, dtype=np.int64)
        every = every[np.diff(corpus.sentence_edges)[every] > 0]
        lists = np.diff(corpus.node_offsets)[every] == 1
        self._parts = [
            _Part(some, corpus if len(some) == len(corpus) else corpus.take(some), are_lists)
            for some, are_lists in ((every[lists], True), (every[~lists], False))
            if len(some)
        ]

    def along(self, origin: Floats, direction: Floats, interval: tuple[float, float] = WHOLE) -> Winners:
        """The winners along origin + η · direction, for η in the interval."""
        found = [self._of_part(part, origin, direction, interval) for part in self._parts]
        owners = np.concatenate([each.owners for each in found])
        order = np.argsort(owners, kind="stable")
        sizes = np.concatenate([np.diff(each.offsets) for each in found])
        starts = np.concatenate([[0], np.cumsum(sizes)])[:-1]
        offsets, places = ranges(starts[order], sizes[order])
        return Winners(
            low=interval[0],
            owners=owners[order],
            lefts=np.concatenate([each.lefts for each in found])[order],
            outputs=np.concatenate([each.outputs for each in found])[order],
            offsets=offsets,
            edges=np.concatenate([each.edges for each in found])[places],
        )

    def at(self, weights: Floats) -> Winners:
        """The winners under weights, a segment for each sentence."""
        return self.along(weights, np.zeros(len(weights)))

    def _of_part(self, part: _Part, origin: Floats, direction: Floats, interval: tuple[float, float]) -> Winners:
        found = envelopes(part.corpus, origin, [direction], interval=interval, threads=self.threads, scorer=part.scorer)
        owners = np.repeat(part.sentences, np.diff(found.offsets[0]))
        starts = self.problem.corpus.sentence_edges[owners]
        edges = found.derivation_edges + np.repeat(starts, np.diff(found.derivation_offsets))
        outputs = edges if part.are_lists else self._outputs(part, found)
        return Winners(
            interval[0], owners, found.lefts, outputs.astype(np.int32), found.derivation_offsets, edges.astype(np.int64)
        )

    def _outputs(self, part: _Part, found: CorpusEnvelopes) -> Int64s:
        """The numbers of the outputs of forests."""
        return self.problem.outputs.of_derivations(
            part.corpus, part.in_order, 0, part.sentences, found.offsets[0].copy(), found.derivation_offsets,
            found.derivation_edges,
        )  # fmt: skip
