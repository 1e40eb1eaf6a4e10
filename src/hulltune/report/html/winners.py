"""The winners of sentences along a line, with their derivations: what the surface and the sentences of a page need."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hulltune.arrays import Floats, Int32s, Int64s
from hulltune.data.features import offsets_of, ranges
from hulltune.kernels.outputs.output import PackedDerivations
from hulltune.lines.compute import envelopes
from hulltune.search.outputs import Sentences
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


class Searched:
    """Some sentences of a problem, ready to be searched along many lines."""

    def __init__(self, problem: Problem, sentences: Int64s | None = None, *, threads: int | None = None) -> None:
        """Take these sentences, by default all; those without a derivation have no winners."""
        self.problem, self.threads = problem, threads
        every = np.arange(len(problem.corpus)) if sentences is None else np.asarray(sentences, dtype=np.int64)
        self._sentences = every[np.diff(problem.corpus.sentence_edges)[every] > 0]
        some = len(self._sentences) < len(problem.corpus)
        corpus = problem.corpus.take(self._sentences) if some else problem.corpus
        self._searched = Sentences(corpus, problem.outputs, self._sentences)

    def along(self, origin: Floats, direction: Floats, interval: tuple[float, float] = WHOLE) -> Winners:
        """The winners along origin + η · direction, for η in the interval."""
        corpus, scorer = self._searched.corpus, self._searched.scorer
        found = envelopes(corpus, origin, [direction], interval=interval, threads=self.threads, scorer=scorer)
        offsets, sizes = found.derivation_offsets, np.diff(found.offsets[0])
        owners = np.repeat(self._sentences, sizes)
        starts = self.problem.corpus.sentence_edges[owners]
        edges = (found.derivation_edges + np.repeat(starts, np.diff(offsets))).astype(np.int64)
        outputs = edges[offsets[:-1]].astype(np.int32)  # the outputs of lists have the numbers of their edges
        of_forests = ~np.repeat(corpus.is_list, sizes)
        if of_forests.any():
            derivations, places = ranges(offsets[:-1][of_forests], np.diff(offsets)[of_forests])
            packed = PackedDerivations(
                offsets_of(np.where(corpus.is_list, 0, sizes)), derivations, found.derivation_edges[places]
            )
            outputs[of_forests] = self.problem.outputs.of_derivations(self._searched.graphs, (0, len(corpus)), packed)
        return Winners(interval[0], owners, found.lefts, outputs, offsets, edges)

    def at(self, weights: Floats) -> Winners:
        """The winners under weights, a segment for each sentence."""
        return self.along(weights, np.zeros(len(weights)))
