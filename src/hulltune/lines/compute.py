"""Envelopes of one forest or of a whole corpus, and decoding, which is an envelope along no direction."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from hulltune.arrays import Floats, Int64s
from hulltune.data.corpus import Corpus
from hulltune.data.dataset import Dataset
from hulltune.data.features import ranges
from hulltune.data.forest import Forest, feature_vector
from hulltune.errors import InputError, unknown_name
from hulltune.lines.result import CorpusEnvelopes, Envelope
from hulltune.lines.scoring import EdgeScorer
from hulltune.threads import Workers

Data: TypeAlias = Dataset | Corpus | Forest | Sequence[Forest]
Block: TypeAlias = tuple[int, int]
"""A range of sentences: the first, and the one after the last."""
Answer: TypeAlias = tuple[Any, ...]
"""A kernel's answer: offsets of segments by direction and sentence, segments (left end, slope, intercept), offsets and
edges of derivations, Viterbi passes.
"""

METHODS = ("auto", "scan", "lanes", "hull")
BLOCK_SCORES = 1 << 18
"""Edge scores (edges × directions) computed at a time: 2 MB, which stays in the cache until it is searched."""


def envelope(
    forest: Forest,
    origin: Any,
    direction: Any,
    *,
    interval: tuple[float, float] = (-math.inf, math.inf),
    method: str = "auto",
    exact: bool = False,
) -> Envelope:
    """The upper envelope of all derivations of ``forest`` along w = origin + η · direction, for η in ``interval``.

    ``origin`` and ``direction`` are vectors in the order of ``forest.feature_names``, or mappings from feature names.
    Methods, all equal in their results, in which each edge's score is rounded once (docs/theory.md):

    - "scan": for n-best lists; one SIMD scan in the order of the scores at the origin, then a walk over the few
      hypotheses that it leaves.
    - "lanes": parametric search by Viterbi passes, at most 2h − 1 evaluations for h segments (2 for one).
    - "hull": the inside algorithm under the convex hull semiring.
    - "auto": "scan" for lists, "lanes" otherwise (docs/theory.md has the measurements).

    With ``exact`` nothing is rounded but the result: the inside algorithm under the convex hull semiring, over the
    decimals that weights and features are written as. That is thousands of times as slow.

    >>> from hulltune import Forest, envelope
    >>> arcs = [(0, 1, "wreck", [-1.0, -3.0]), (0, 1, "recognise", [-2.0, -1.0]), (1, 2, "speech", [-1.0, -1.0])]
    >>> lattice = Forest.from_lattice(arcs, start=0, finals=[2], feature_names=["am", "lm"])
    >>> for segment in envelope(lattice, {"am": 1.0}, {"lm": 1.0}):
    ...     print(segment.left, segment.right, " ".join(segment.tokens))
    -inf 0.5 wreck speech
    0.5 inf recognise speech
    """
    if exact:
        from hulltune.lines.exact import exact_envelope

        if method != "auto":
            raise InputError(f"method: exact envelopes have one of their own; leave {method!r} out")
        ends = tuple(check_intervals(interval, 1)[0].tolist())
        names = forest.feature_names
        return exact_envelope(
            forest, feature_vector(origin, names, "origin"), feature_vector(direction, names, "direction"), ends
        )
    return envelopes(Corpus.pack([forest]), origin, [direction], interval=interval, method=method, threads=1).envelope(
        0
    )


def envelopes(
    data: Data,
    origin: Any,
    directions: Any,
    *,
    interval: Any = (-math.inf, math.inf),
    method: str = "auto",
    threads: int | None = None,
    derivations: bool = True,
    scorer: EdgeScorer | None = None,
) -> CorpusEnvelopes:
    """The envelopes of every sentence along each of ``directions`` from ``origin``.

    Edge scores come from one matrix product for all directions. Sentences are searched in parallel threads (as many as
    there are CPUs by default) with the GIL released; the result does not depend on their number. ``interval`` is one
    for all directions, or one for each. ``scorer`` keeps the tables that depend only on the features from one call to
    the next. Without ``derivations`` only lines are computed (lists name their winners anyway).

    >>> from hulltune import Forest, envelopes
    >>> arcs = [(0, 1, "wreck", [-1.0, -3.0]), (0, 1, "recognise", [-2.0, -1.0]), (1, 2, "speech", [-1.0, -1.0])]
    >>> lattice = Forest.from_lattice(arcs, start=0, finals=[2], feature_names=["am", "lm"])
    >>> found = envelopes(lattice, {"am": 1.0}, [[0.0, 1.0], [0.0, -1.0]])
    >>> found.directions, found.outputs()
    (2, [['wreck speech', 'recognise speech']])
    """
    corpus = as_corpus(data)
    if not hasattr(directions, "__len__") or len(directions) == 0:
        raise InputError(f"directions: expected a list of at least one direction, got {directions!r}")
    intervals = check_intervals(interval, len(directions))
    if method not in METHODS:
        raise unknown_name("method", str(method), METHODS)
    if scorer is not None and scorer.corpus is not corpus:
        raise InputError("scorer: made for another corpus; use EdgeScorer(corpus) of this corpus")
    if method == "scan":
        _check_lists(corpus)
    rows = [feature_vector(origin, corpus.feature_names, "origin")]
    rows += [
        feature_vector(direction, corpus.feature_names, f"direction {i}" if len(directions) > 1 else "direction")
        for i, direction in enumerate(directions)
    ]
    weights = np.stack(rows)
    scorer = EdgeScorer(corpus) if scorer is None else scorer
    workers = Workers(threads)
    scorer.prepare(workers=workers)

    def search(block: Block) -> Answer:
        return search_block(scorer, block, weights, intervals, method=method, derivations=derivations)

    blocks = blocks_of(corpus, len(weights), workers.count, by_kind=method == "auto")
    parts = workers.map(search, blocks)
    return _gather(corpus, intervals, blocks, parts, derivations or bool(np.all(np.diff(corpus.node_offsets) == 1)))


class _Scratch(threading.local):
    """Memory of each thread for the scores of one block after the other: fresh memory costs as much as scoring."""

    def __init__(self) -> None:
        self.scores = np.empty(2 * BLOCK_SCORES)


_scratch = _Scratch()


def search_block(
    scorer: EdgeScorer,
    block: Block,
    weights: Floats,
    intervals: Floats,
    *,
    method: str = "auto",
    derivations: bool = True,
) -> Answer:
    """The kernel's answer for a range of sentences. With method "auto" they are all lists, or none of them is.

    ``weights`` has the origin, then the directions. An answer may be large, its derivations most of all: reduce it to
    what is needed while it is still in the cache.
    """
    corpus = scorer.corpus
    first, last = block
    if method == "scan" or (method == "auto" and corpus.node_offsets[first + 1] - corpus.node_offsets[first] == 1):
        found = _search_lists(scorer, block, weights, intervals)
        if found is not None:
            return found
        method = "lanes"
    scores, exponents = scorer.scores(first, last, weights, _scratch.scores)
    from hulltune.kernels.forests.envelopes import envelopes as forest_envelopes

    try:
        answer: Answer = forest_envelopes(
            scorer.forests, first, last, scores, exponents, intervals, METHODS.index(method), derivations
        )
    except MemoryError:
        raise InputError(
            f"sentences {first} to {last - 1}: out of memory for derivations or hulls; "
            'try derivations=False, or method "lanes", which keeps no hulls'
        ) from None
    return answer


def _search_lists(scorer: EdgeScorer, block: Block, weights: Floats, intervals: Floats) -> Answer | None:
    """The answer for lists by their own kernels; None where numbers are too large or small for these."""
    from hulltune.kernels.lists import lines, scores

    lists, edges, (first, last) = scorer.list_features, scorer.corpus.sentence_edges, block
    if np.any(weights[1:]):
        ordinary, counts, lefts, best = lines.list_lines(lists, edges, first, last, weights, intervals)
    else:  # decoding needs no ranks
        ordinary, one = scores.list_winners(lists, edges, first, last, weights[0])
        best = np.tile(one[one >= 0], (len(intervals), 1))
        counts, lefts = np.full(len(best), best.shape[1]), np.broadcast_to(intervals[:, :1], best.shape)
    if not ordinary:
        return None
    kept = np.arange(best.shape[1]) < counts[:, None]  # row by row: the segments of each direction
    starts, found = lefts[kept], best[kept].astype(np.int64)
    sentences = np.searchsorted(edges, found, side="right") - 1
    places = np.repeat(np.arange(len(counts)) * (last - first), counts) + sentences - first
    sizes = np.bincount(places, minlength=len(counts) * (last - first))
    cells = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    segments = np.column_stack([starts, scores.segment_lines(lists, first, cells, found, weights)])
    return cells, segments, np.arange(len(found) + 1), (found - edges[sentences]).astype(np.int32), 0


def decode(
    data: Data, weights: Any, *, threads: int | None = None, scorer: EdgeScorer | None = None
) -> CorpusEnvelopes:
    """The best derivation of every sentence under ``weights``: envelopes of one segment each.

    Ties are broken as everywhere: from the root down, the first edge in the forest's order among equals (in a list, the
    first hypothesis).

    >>> from hulltune import Forest, decode
    >>> arcs = [(0, 1, "wreck", [-1.0, -3.0]), (0, 1, "recognise", [-2.0, -1.0]), (1, 2, "speech", [-1.0, -1.0])]
    >>> lattice = Forest.from_lattice(arcs, start=0, finals=[2], feature_names=["am", "lm"])
    >>> decode(lattice, {"am": 1.0, "lm": 1.0}).outputs()
    [['recognise speech']]
    """
    corpus = as_corpus(data)
    no_direction = np.zeros(len(corpus.feature_names))
    return envelopes(corpus, weights, [no_direction], threads=threads, scorer=scorer)


def as_corpus(data: Data) -> Corpus:
    """The corpus of a dataset, a corpus itself, or some forests as a corpus."""
    if isinstance(data, Corpus):
        return data
    if isinstance(data, Dataset):
        return data.corpus
    forests = [data] if isinstance(data, Forest) else data
    if isinstance(forests, (list, tuple)) and all(isinstance(each, Forest) for each in forests):
        return Corpus.pack(forests)
    raise InputError(f"data: expected a Dataset, a Corpus or Forests, got {str(data)[:80]!r}; read files with read()")


def _gather(
    corpus: Corpus, intervals: Floats, blocks: Sequence[Block], parts: Sequence[Answer], has_derivations: bool
) -> CorpusEnvelopes:
    """The answers of all blocks as one result, ordered by direction, then by sentence."""
    sentences, directions = len(corpus), len(intervals)
    owners = []
    for block, (cells, *_) in zip(blocks, parts, strict=True):
        numbers = np.arange(directions)[:, None] * sentences + np.arange(*block)
        owners.append(np.repeat(numbers.ravel(), np.diff(cells)))
    owner = np.concatenate(owners)
    order = np.argsort(owner, kind="stable")
    ends = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=directions * sentences))]).astype(np.int64)
    lengths = np.concatenate([np.diff(offsets) for _, _, offsets, _, _ in parts])
    derivation_offsets, places = ranges((np.cumsum(lengths) - lengths)[order], lengths[order])
    columns = np.concatenate([segments for _, segments, *_ in parts])[order].T.copy()
    return CorpusEnvelopes(
        corpus=corpus,
        intervals=intervals,
        offsets=np.lib.stride_tricks.sliding_window_view(ends, sentences + 1)[::sentences],
        lefts=columns[0],
        slopes=columns[1],
        intercepts=columns[2],
        derivation_offsets=derivation_offsets,
        derivation_edges=np.concatenate([edges for *_, edges, _ in parts])[places],
        passes=sum(passes for *_, passes in parts),
        has_derivations=has_derivations,
    )


def blocks_of(
    corpus: Corpus, rows: int, threads: int, *, by_kind: bool, first: int = 0, last: int | None = None
) -> list[Block]:
    """The sentences from ``first`` to ``last`` in ranges of about equal work: small enough for the cache, and enough of
    them for the threads. With ``by_kind`` no range has both lists and other forests.
    """
    edges: Int64s = corpus.sentence_edges
    last = len(corpus) if last is None else last
    is_list = np.diff(corpus.node_offsets) == 1
    kind_ends = np.append(np.flatnonzero(is_list[1:] != is_list[:-1]) + 1, len(corpus)) if by_kind else [len(corpus)]
    size = min(BLOCK_SCORES // rows, int(edges[-1]) // (4 * threads) if threads > 1 else BLOCK_SCORES)
    blocks = []
    while first < last:
        end = int(np.searchsorted(edges, edges[first] + max(size, 1), side="right")) - 1
        end = min(max(end, first + 1), int(kind_ends[np.searchsorted(kind_ends, first, side="right")]), last)
        blocks.append((first, end))
        first = end
    return blocks


def check_intervals(interval: Any, directions: int) -> Floats:
    """The low and the high end for each direction, from one pair for all or a pair for each."""
    try:
        ends = np.array(interval, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"interval: expected two numbers (low, high), got {interval!r}") from None
    if ends.shape == (2,):
        ends = np.tile(ends, (directions, 1))
    if ends.shape != (directions, 2):
        raise InputError(
            f"interval: expected (low, high), or {directions} such pairs, got an array of shape {ends.shape}"
        )
    for low, high in ends.tolist():
        if not low < high or low == math.inf or high == -math.inf:
            raise InputError(f"interval: expected low < high, got ({low}, {high})")
    return ends


def _check_lists(corpus: Corpus) -> None:
    nodes = np.diff(corpus.node_offsets)
    if np.any(nodes > 1):
        sentence = int(np.argmax(nodes > 1))
        raise InputError(
            f'method "scan" is for n-best lists, but sentence {sentence} has {nodes[sentence]} nodes; '
            'use "lanes", "hull" or "auto"'
        )
