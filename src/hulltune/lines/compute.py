"""Envelopes of one forest or of a whole corpus, and decoding, which is an envelope along no direction."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from hulltune.arrays import Floats, Int64s
from hulltune.data.corpus import Corpus
from hulltune.data.dataset import Dataset
from hulltune.data.features import offsets_of, ranges
from hulltune.data.forest import Forest, feature_vector
from hulltune.errors import InputError, unknown_name
from hulltune.kernels.forests.envelopes import envelopes as forest_envelopes
from hulltune.kernels.lists.lines import list_lines
from hulltune.kernels.outputs.output import PackedDerivations
from hulltune.kernels.surfaces.sweep import Segments
from hulltune.lines.result import CorpusEnvelopes, Envelope
from hulltune.lines.scoring import EdgeScorer
from hulltune.threads import Workers

Data: TypeAlias = Dataset | Corpus | Forest | Sequence[Forest]
Block: TypeAlias = tuple[int, int]
"""A range of sentences: the first, and the one after the last."""

METHODS = ("auto", "scan", "lanes", "hull")
BLOCK_SCORES = 1 << 18
"""Edge scores (edges × directions) computed at a time: 2 MB, which stays in the cache until it is searched."""


class BlockEnvelopes(NamedTuple):
    """The envelopes of a range of sentences: the winning derivation of every segment, by direction, then by sentence;
    its left end (the interval's own for the first), slope and intercept; and the number of Viterbi passes made.
    """

    winners: PackedDerivations
    lines: Floats
    passes: int


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
    scorer = EdgeScorer.of(corpus, scorer)
    if method == "scan":
        _check_lists(corpus)
    rows = [feature_vector(origin, corpus.feature_names, "origin")]
    rows += [
        feature_vector(direction, corpus.feature_names, f"direction {i}" if len(directions) > 1 else "direction")
        for i, direction in enumerate(directions)
    ]
    weights = np.stack(rows)
    workers = Workers(threads)
    scorer.prepare(workers=workers)

    def search(block: Block) -> BlockEnvelopes:
        return search_block(scorer, block, weights, intervals, method=method, derivations=derivations)

    blocks = blocks_of(corpus, len(weights), workers.count)
    parts = workers.map(search, blocks)
    return _gather(corpus, intervals, blocks, parts, derivations or bool(corpus.is_list.all()))


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
) -> BlockEnvelopes:
    """The envelopes of a range of sentences, which are all lists, or none of them is.

    ``weights`` has the origin, then the directions. An answer may be large, its derivations most of all: reduce it to
    what is needed while it is still in the cache.
    """
    first, last = block
    if method == "scan" or (method == "auto" and scorer.corpus.is_list[first]):
        found = list_segments(scorer, block, weights, intervals)
        if found is not None:
            return _with_lines(scorer, block, weights, found)
        method = "lanes"
    scores = scorer.scores(first, last, weights, _scratch.scores)
    try:
        return BlockEnvelopes(
            *forest_envelopes(scorer.forests, first, last, scores, intervals, METHODS.index(method), derivations)
        )
    except MemoryError:
        raise InputError(
            f"sentences {first} to {last - 1}: out of memory for derivations or hulls; "
            'try derivations=False, or method "lanes", which keeps no hulls'
        ) from None


def list_segments(scorer: EdgeScorer, block: Block, weights: Floats, intervals: Floats) -> Segments | None:
    """The segments of lists by their own kernels, which know no lines but only which hypothesis (the number of its
    edge) wins; None where numbers are too large or small for these kernels.

    It costs one pass over the features for every 16 directions.
    """
    ordinary, counts, lefts, winners = list_lines(
        scorer.features, scorer.corpus.sentence_edges, *block, weights, intervals
    )
    begins = np.arange(len(counts)) * winners.shape[1]
    return Segments(lefts.reshape(-1), winners.reshape(-1), begins, begins + counts) if ordinary else None


def _with_lines(scorer: EdgeScorer, block: Block, weights: Floats, found: Segments) -> BlockEnvelopes:
    """The envelopes of lists whose segments are known."""
    (first, last), edges = block, scorer.corpus.sentence_edges
    counts = found.ends - found.begins
    _, places = ranges(found.begins, counts)
    winners, directions = found.outputs[places].astype(np.int64), np.repeat(np.arange(len(counts)), counts)
    sentences = np.searchsorted(edges, winners, side="right") - 1
    owners = directions * (last - first) + sentences - first
    cells = offsets_of(np.bincount(owners, minlength=len(counts) * (last - first)))
    lines = np.column_stack([found.lefts[places], scorer.lines(block, winners, directions, weights)])
    derivations = PackedDerivations(cells, np.arange(len(winners) + 1), (winners - edges[sentences]).astype(np.int32))
    return BlockEnvelopes(derivations, lines, passes=0)


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
    corpus: Corpus, intervals: Floats, blocks: Sequence[Block], parts: Sequence[BlockEnvelopes], has_derivations: bool
) -> CorpusEnvelopes:
    """The envelopes of all blocks as one result, ordered by direction, then by sentence."""
    sentences, directions = len(corpus), len(intervals)
    owners = []
    for block, part in zip(blocks, parts, strict=True):
        numbers = np.arange(directions)[:, None] * sentences + np.arange(*block)
        owners.append(np.repeat(numbers.ravel(), np.diff(part.winners.cells)))
    owner = np.concatenate(owners)
    order = np.argsort(owner, kind="stable")
    ends = offsets_of(np.bincount(owner, minlength=directions * sentences))
    lengths = np.concatenate([np.diff(part.winners.offsets) for part in parts])
    derivation_offsets, places = ranges((np.cumsum(lengths) - lengths)[order], lengths[order])
    columns = np.concatenate([part.lines for part in parts])[order].T.copy()
    return CorpusEnvelopes(
        corpus=corpus,
        intervals=intervals,
        offsets=ends[np.arange(directions)[:, None] * sentences + np.arange(sentences + 1)],
        lefts=columns[0],
        slopes=columns[1],
        intercepts=columns[2],
        derivation_offsets=derivation_offsets,
        derivation_edges=np.concatenate([part.winners.edges for part in parts])[places],
        passes=sum(part.passes for part in parts),
        has_derivations=has_derivations,
    )


def blocks_of(corpus: Corpus, rows: int, threads: int, *, first: int = 0, last: int | None = None) -> list[Block]:
    """The sentences from ``first`` to ``last`` in ranges of about equal work: small enough for the cache, and enough of
    them for the threads. No range has both lists and other forests.
    """
    edges: Int64s = corpus.sentence_edges
    last = len(corpus) if last is None else last
    kind_ends = np.append(np.flatnonzero(np.diff(corpus.is_list)) + 1, len(corpus))
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
    if not corpus.is_list.all():
        sentence = int(np.argmin(corpus.is_list))
        raise InputError(
            f'method "scan" is for n-best lists, but sentence {sentence} has {corpus[sentence].nodes} nodes; '
            'use "lanes", "hull" or "auto"'
        )
