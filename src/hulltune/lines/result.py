"""Envelopes as plain data: segments of the line and the derivation that wins on each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from hulltune.arrays import Floats, Int32s, Int64s
from hulltune.data.corpus import Corpus
from hulltune.data.forest import Forest
from hulltune.data.vocabulary import joined_words
from hulltune.errors import InputError
from hulltune.lines.output import derivation_tokens, tokens_of
from hulltune.wording import counted


@dataclass(frozen=True)
class Segment:
    """A stretch of the line and its winner: score(η) = slope · η + intercept for left < η < right."""

    left: float
    right: float
    slope: float
    intercept: float
    edges: tuple[int, ...]
    """The winning derivation: edges of the forest, the root's first, each followed by those of its tails in order."""
    tokens: tuple[str, ...]
    """The output of the derivation."""


@dataclass(frozen=True, eq=False, repr=False)
class Envelope:
    """The upper envelope of all derivations of one forest along w = origin + η · direction.

    ``breakpoints`` strictly increase, one fewer than the segments; slopes increase, too. All are exact for the edges'
    scores, each of which is rounded once (docs/theory.md), or, with ``exact``, for the numbers as they are written.
    A forest without derivations has an envelope without segments. Ties: where derivations share a line, the winner
    takes, from the root down, the first edge in the forest's order; at a breakpoint both neighbours have the same
    score.

    >>> from hulltune import Forest, envelope
    >>> arcs = [(0, 1, "wreck", [-1.0, -3.0]), (0, 1, "recognise", [-2.0, -1.0]), (1, 2, "speech", [-1.0, -1.0])]
    >>> lattice = Forest.from_lattice(arcs, start=0, finals=[2], feature_names=["am", "lm"])
    >>> found = envelope(lattice, {"am": 1.0}, {"lm": 1.0})
    >>> len(found), found.breakpoints.tolist(), found.at(0.0)
    (2, [0.5], -2.0)
    """

    forest: Forest
    interval: tuple[float, float]
    breakpoints: Floats
    slopes: Floats
    intercepts: Floats
    _derivation_offsets: Int64s
    _derivation_edges: Int32s
    has_derivations: bool = True

    def __len__(self) -> int:
        return len(self.slopes)

    def __repr__(self) -> str:
        where = f"({self.interval[0]:g}, {self.interval[1]:g}) of {self.forest!r}"
        return f"Envelope({counted(len(self), 'segment')} on {where})"

    def __getitem__(self, index: int) -> Segment:
        index = range(len(self))[index]
        return Segment(
            left=float(self.breakpoints[index - 1]) if index else self.interval[0],
            right=float(self.breakpoints[index]) if index + 1 < len(self) else self.interval[1],
            slope=float(self.slopes[index]),
            intercept=float(self.intercepts[index]),
            edges=tuple(self.edges(index).tolist()),
            tokens=self.tokens(index),
        )

    def __iter__(self) -> Iterator[Segment]:
        return (self[index] for index in range(len(self)))

    @property
    def segments(self) -> tuple[Segment, ...]:
        """All segments, from left to right."""
        return tuple(self)

    def index_at(self, eta: float) -> int:
        """The number of the segment that wins at η; at a breakpoint, the one to its right."""
        if not len(self):
            raise InputError("this envelope has no segments: the forest has no derivation")
        return int(np.searchsorted(self.breakpoints, eta, side="right"))

    def at(self, eta: float) -> float:
        """The best score at η."""
        index = self.index_at(eta)
        return float(self.slopes[index] * eta + self.intercepts[index])

    def edges(self, index: int) -> Int32s:
        """The edges of the winning derivation of a segment."""
        if not self.has_derivations:
            raise InputError("derivations: this envelope was computed without them; compute with derivations=True")
        index = range(len(self))[index]
        return self._derivation_edges[self._derivation_offsets[index] : self._derivation_offsets[index + 1]]

    def tokens(self, index: int) -> tuple[str, ...]:
        """The output of the winning derivation of a segment."""
        return self.forest.vocabulary.words(derivation_tokens(self.forest, self.edges(index)).tolist())


@dataclass(frozen=True, eq=False, repr=False)
class CorpusEnvelopes:
    """The envelopes of every sentence along several directions, packed.

    The segments of sentence s along direction d are ``offsets[d, s]`` up to ``offsets[d, s + 1]``; each has its left
    end (the interval's own for the first), slope, intercept, and derivation.
    """

    corpus: Corpus
    intervals: Floats
    offsets: Int64s
    lefts: Floats
    slopes: Floats
    intercepts: Floats
    derivation_offsets: Int64s
    derivation_edges: Int32s
    """Edges numbered within their sentence."""
    passes: int
    """Viterbi passes made by the method "lanes"."""
    has_derivations: bool = True

    @property
    def directions(self) -> int:
        """The number of directions."""
        return len(self.offsets)

    def __len__(self) -> int:
        return int(self.offsets.shape[1]) - 1

    def __repr__(self) -> str:
        searches = f"{counted(len(self), 'sentence')} × {counted(self.directions, 'direction')}"
        return f"CorpusEnvelopes({searches}, {counted(len(self.slopes), 'segment')})"

    def envelope(self, sentence: int, direction: int = 0) -> Envelope:
        """The envelope of one sentence along one direction."""
        sentence, direction = range(len(self))[sentence], range(self.directions)[direction]
        first, last = self.offsets[direction, sentence], self.offsets[direction, sentence + 1]
        offsets = self.derivation_offsets[first : last + 1]
        return Envelope(
            forest=self.corpus[sentence],
            interval=(float(self.intervals[direction, 0]), float(self.intervals[direction, 1])),
            breakpoints=self.lefts[first + 1 : last],
            slopes=self.slopes[first:last],
            intercepts=self.intercepts[first:last],
            _derivation_offsets=offsets - offsets[0],
            _derivation_edges=self.derivation_edges[offsets[0] : offsets[-1]],
            has_derivations=self.has_derivations,
        )

    def outputs(self, direction: int = 0) -> Sequence[Sequence[str]]:
        """The output texts of the segments of each sentence, from left to right."""
        if not self.has_derivations:
            raise InputError("derivations: these envelopes were computed without them; compute with derivations=True")
        rows = self.offsets[direction]
        sentences = np.repeat(np.arange(len(self)), np.diff(rows))
        derivations = self.derivation_offsets[rows[0] : rows[-1] + 1]
        offsets, tokens = tokens_of(self.corpus, sentences, derivations, self.derivation_edges)
        texts = joined_words(self.corpus.vocabulary.words(tokens), offsets)
        return [texts[begin:end] for begin, end in pairwise((rows - rows[0]).tolist())]
