"""Pruning of forests: remove the edges that only bad derivations use, and measure how much of the envelopes is left.

The max-marginal of an edge is the score of the best derivation that uses it (Graehl 2005; Sixtus & Ortmanns 1999 for
word graphs). The edges whose max-marginals reach a threshold make whole derivations: none is left without its tails.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hulltune.arrays import Bools, Floats, Int32s, Int64s, as_number
from hulltune.data.corpus import Corpus, with_edges
from hulltune.data.dataset import Dataset
from hulltune.data.forest import feature_vector
from hulltune.errors import InputError
from hulltune.formats.read import DataLike, read
from hulltune.lines.compute import envelopes
from hulltune.lines.scoring import EdgeScorer
from hulltune.search.directions import feature_units, random_directions, some_axes
from hulltune.tuning.picks import best_derivations
from hulltune.wording import counted

RANDOM_DIRECTIONS = 8
AT_ONCE = 4  # directions searched together: more would keep more derivations in memory


@dataclass(frozen=True)
class EnvelopeShare:
    """The share of the envelopes around some weights that keeps its winner after pruning, over all sentences."""

    segments: float
    """The share of segments whose winning derivation is still there."""
    angle: float
    """The share by angle: each segment counts with the angle that it has as seen from 0, over scaled features."""
    directions: int

    def __str__(self) -> str:
        return f"{self.segments:.1%} of the segments, {self.angle:.1%} by angle, of {self.directions} directions"


@dataclass(frozen=True, eq=False)
class Pruning:
    """Pruned data, and the share of the original that is left."""

    dataset: Dataset
    kept: Bools
    """For each edge of the original corpus, whether it is left."""
    nodes_before: int
    edges_before: int
    envelope: EnvelopeShare | None = None

    @property
    def corpus(self) -> Corpus:
        """The pruned forests."""
        return self.dataset.corpus

    def __str__(self) -> str:
        share = "" if self.envelope is None else f"; the envelope keeps {self.envelope}"
        edges, nodes = counted(self.edges_before, "edge"), counted(self.nodes_before, "node")
        return f"{self.corpus.edges:,} of {edges}, {self.corpus.nodes:,} of {nodes}{share}"


def prune(
    data: DataLike,
    weights: Any,
    *,
    beam: float | None = None,
    density: float | None = None,
    share: bool = True,
    seed: int = 1,
    threads: int | None = None,
) -> Pruning:
    """Keep the edges whose best derivation under ``weights`` scores at most ``beam`` below the best of the sentence.
    ``density`` keeps only the edges with the best max-marginals: at most so many for each word of the best output. Of
    edges with equal max-marginals all are kept, or none.

    The best derivation is always kept. With ``share``, the envelopes around the weights are searched along every
    feature and some random directions, to measure how much of them keeps its winner. O(edges) without the share.

    >>> from hulltune import Forest, prune
    >>> arcs = [(0, 1, "wreck", [-1.0, -3.0]), (0, 1, "recognise", [-2.0, -1.0]), (1, 2, "speech", [-1.0, -1.0])]
    >>> lattice = Forest.from_lattice(arcs, start=0, finals=[2], feature_names=["am", "lm"])
    >>> pruned = prune(lattice, {"am": 1.0, "lm": 1.0}, beam=0.5)
    >>> lattice.edges, pruned.corpus.edges
    (5, 4)
    """
    dataset = read(data)
    corpus = dataset.corpus
    if beam is None and density is None:
        raise InputError("beam, density: expected at least one of them")
    for name, value in (("beam", beam), ("density", density)):
        number = as_number(value)
        if value is not None and (number is None or not 0.0 <= number < math.inf):
            raise InputError(f"{name}: expected a number of at least 0, got {value!r}")
    vector = feature_vector(weights, corpus.feature_names, "weights")
    scorer = EdgeScorer(corpus)
    marginals, best, exponents = _max_marginals(corpus, vector, scorer)
    sentences = np.repeat(np.arange(len(corpus)), np.diff(corpus.sentence_edges))
    kept = np.ones(corpus.edges, dtype=np.bool_)
    if beam is not None:
        with np.errstate(over="ignore"):
            kept &= np.ldexp(best[sentences] - marginals, exponents[sentences]) <= beam
    if density is not None:
        room = density * _words_of_best(corpus, vector, scorer)
        kept &= marginals >= _thresholds(corpus, marginals, best, room)[sentences]
    return Pruning(
        dataset=_with_edges(dataset, kept),
        kept=kept,
        nodes_before=corpus.nodes,
        edges_before=corpus.edges,
        envelope=envelope_share(corpus, kept, vector, seed=seed, threads=threads, scorer=scorer) if share else None,
    )


def _with_edges(dataset: Dataset, kept: Bools) -> Dataset:
    """The dataset with some of its edges; a sentence whose first choice goes has none any more."""
    edges, left = dataset.corpus.sentence_edges[:-1], np.cumsum(kept)
    has_choice = np.flatnonzero(dataset.first_choices >= 0)
    chosen = edges[has_choice] + dataset.first_choices[has_choice]
    choices = np.full(len(dataset), -1, dtype=np.int64)
    places = left[chosen] - left[edges[has_choice]] + kept[edges[has_choice]] - 1
    choices[has_choice] = np.where(kept[chosen], places, -1)
    return replace(
        dataset,
        corpus=with_edges(dataset.corpus, kept),
        first_choices=choices,
        scores=None if dataset.scores is None else dataset.scores[kept],
        copies=None if dataset.copies is None else dataset.copies[kept],
        qualities={name: values[kept] for name, values in dataset.qualities.items()},
    )


def envelope_share(
    corpus: Corpus,
    kept: Bools,
    weights: Floats,
    *,
    seed: int = 1,
    threads: int | None = None,
    scorer: EdgeScorer | None = None,
) -> EnvelopeShare:
    """The share of the envelopes around ``weights`` whose winners use kept edges only: along the axis of every feature
    that differs within a sentence (of very many, of some), and along RANDOM_DIRECTIONS more.
    """
    units = feature_units(corpus)
    random = random_directions(RANDOM_DIRECTIONS, units, np.random.default_rng(seed))
    directions = np.array([*some_axes(units), *random])
    directions = directions[np.any(directions != 0.0, axis=1)]
    size = float(np.linalg.norm(weights * units)) or 1.0
    # Of all segments, and of those whose winners survive: how many, and the sum of their angles.
    every, left = np.zeros(2), np.zeros(2)
    for start in range(0, len(directions), AT_ONCE):
        some = directions[start : start + AT_ONCE]
        found = envelopes(corpus, weights, some, threads=threads, scorer=scorer)
        counts = np.diff(found.offsets, axis=1).ravel()
        sentences = np.repeat(np.tile(np.arange(len(corpus)), len(some)), counts)
        survives = _survives(corpus, kept, sentences, found.derivation_offsets, found.derivation_edges)
        # Seen from 0, the point η of the line lies at the angle arctan(η · |direction| / |weights|).
        lengths = np.repeat(np.linalg.norm(some * units, axis=1) / size, np.diff(found.offsets[:, [0, -1]]).ravel())
        angles = np.arctan(found.lefts * lengths)
        ends = np.append(angles[1:], math.pi / 2)
        ends[np.cumsum(counts)[counts > 0] - 1] = math.pi / 2
        every += len(angles), (ends - angles).sum()
        left += survives.sum(), (ends - angles)[survives].sum()
    # Where no feature differs, or there is no derivation, nothing could be lost.
    segments, angle = (left / every).tolist() if every[0] else (1.0, 1.0)
    return EnvelopeShare(segments, angle, len(directions))


def _survives(corpus: Corpus, kept: Bools, sentences: Int64s, offsets: Int64s, edges: Int32s) -> Bools:
    """Whether all edges of each derivation are kept."""
    starts = np.repeat(corpus.sentence_edges[sentences], np.diff(offsets))
    lost = np.concatenate([[0], np.cumsum(~kept[edges + starts])])
    return np.asarray(lost[offsets[1:]] == lost[offsets[:-1]])


def _max_marginals(corpus: Corpus, weights: Floats, scorer: EdgeScorer) -> tuple[Floats, Floats, Int64s]:
    from hulltune.kernels.forests.marginals import max_marginals

    scores, exponents = scorer.scores(0, len(corpus), weights[None, :])
    marginals, best = max_marginals(scorer.forests, 0, len(corpus), scores[0])
    return marginals, best, exponents[0]


def _words_of_best(corpus: Corpus, weights: Floats, scorer: EdgeScorer) -> Floats:
    """The number of words of each sentence's best output, at least 1."""
    found = best_derivations(corpus, weights, scorer=scorer)
    words = np.ones(len(corpus))
    words[found.sentences] = np.maximum(found.token_counts, 1)
    return words


def _thresholds(corpus: Corpus, marginals: Floats, best: Floats, room: Floats) -> Floats:
    """For each sentence, the least max-marginal that at most ``room`` edges reach, but not above the best one."""
    thresholds = np.full(len(corpus), -math.inf)
    edges = corpus.sentence_edges
    for sentence in range(len(corpus)):
        ordered = np.sort(marginals[edges[sentence] : edges[sentence + 1]])[::-1]
        count = int(min(room[sentence], len(ordered)))
        if count < len(ordered):
            # The first edge beyond the room must not reach the threshold, so of equal edges none is kept.
            above = ordered[:count][ordered[:count] > ordered[count]]
            thresholds[sentence] = above[-1] if len(above) else best[sentence]
    return thresholds
