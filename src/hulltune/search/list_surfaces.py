"""Error surfaces of n-best lists along many directions at once: the fast path of tuning.

What ListProblem.search and ListProblem.surface find in two steps, to the bit, for numbers of ordinary size; the callers
fall back on those two for the rest.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hulltune.data.features import DenseFeatures
from hulltune.search.sentences import surface_beside_empty
from hulltune.surface import ErrorSurface

if TYPE_CHECKING:
    from hulltune.search.problem import ListProblem

Floats = NDArray[np.float64]
Int64s = NDArray[np.int64]
Int32s = NDArray[np.int32]

Part = tuple[Int64s, Floats, Int32s]
"""The kernel's answer for a part of the corpus: the number of segments of each direction, and in its row where each
begins and which candidate wins there.
"""

LARGEST_SUM = 2**31 - 1
LARGEST_CORPUS = 2**31 - 1
"""Hypotheses: the kernel numbers them with 32 bits."""


class CompactTable:
    """A growing table of integer statistics as 32-bit rows that fill whole cache lines, for sums over a corpus."""

    def __init__(self, sentences: int) -> None:
        self._sentences = sentences
        self._rows = np.zeros((0, 0), dtype=np.int32)
        self._done = 0
        self._fits = True
        self._lock = threading.Lock()

    def of(self, table: NDArray[Any]) -> Int32s | None:
        """The rows of ``table`` and perhaps more, laid end to end; None if a sum over all sentences may not fit.

        ``table`` is the one of the last call or that with further rows. O(new rows).
        """
        from hulltune.kernels.simd import LANES

        if table.dtype.kind not in "iu":
            return None
        with self._lock:
            new = table[self._done :]
            if len(new) and self._fits:
                largest = max(abs(int(new.max(initial=0))), abs(int(new.min(initial=0))))
                self._fits = largest * (self._sentences + 1) <= LARGEST_SUM
                width = -(-table.shape[1] // LANES) * LANES
                if self._fits and len(table) > len(self._rows):
                    rows = np.zeros((2 * len(table), width), dtype=np.int32)
                    if self._done:
                        rows[: self._done] = self._rows[: self._done]
                    self._rows = rows
                if self._fits:
                    self._rows[self._done : len(table), : table.shape[1]] = new
                    self._done = len(table)
            return self._rows.reshape(-1) if self._fits else None


def list_surfaces(
    problem: ListProblem, compact: CompactTable, origin: Floats, directions: Floats, intervals: Floats, threads: int
) -> list[ErrorSurface] | None:
    """The surface along each direction; None where that is a case for the general path.

    One pass over the features for every 16 directions, a sort of all changes of winner, and running sums.
    """
    parts = _search(problem, origin, directions, intervals, threads)
    if parts is None:
        return None
    lows = intervals[:, 0].tolist()
    surfaces = [_surface(problem, compact, *_along(parts, number), low) for number, low in enumerate(lows)]
    _give_back(problem, parts)
    return surfaces


def _surface(problem: ListProblem, compact: CompactTable, lefts: Floats, winners: Int32s, low: float) -> ErrorSurface:
    """From where each segment begins (the first one of a sentence at ``low``), and who wins there."""
    from hulltune.kernels.line_surface import line_surface

    row_of = problem.rows_with(winners)
    others = problem.empty_rows[problem.empty_rows >= 0]
    statistics = problem.table  # after the rows were asked for: it may have grown
    table = compact.of(statistics)
    if table is not None:
        return ErrorSurface(*line_surface(lefts, winners, row_of, low, others, table, statistics.shape[1]))
    offsets = np.append(np.flatnonzero(lefts == low), len(lefts))
    return surface_beside_empty(offsets, lefts, row_of[winners], problem.empty_rows, statistics)


def list_winners(problem: ListProblem, weights: Floats) -> Int64s | None:
    """The best candidate of each list (−1 for an empty one); None where that is a case for the general path."""
    from hulltune.kernels.list_scores import list_winners as winners

    if not isinstance(problem.corpus.features, DenseFeatures):
        return None
    magnitudes, columns = problem.scorer.list_tables
    ordinary, found = winners(columns, problem.corpus.sentence_edges, weights, magnitudes)
    return found if ordinary else None


def winners_along(
    problem: ListProblem, origin: Floats, directions: Floats, intervals: Floats, *, threads: int = 1
) -> Int64s | None:
    """All candidates that win somewhere along some direction, each once, in order; None as for list_surfaces."""
    parts = _search(problem, origin, directions, intervals, threads)
    if parts is None:
        return None
    winners = np.unique(np.concatenate([_along(parts, number)[1] for number in range(len(directions))]))
    _give_back(problem, parts)
    return winners.astype(np.int64)


def _search(
    problem: ListProblem, origin: Floats, directions: Floats, intervals: Floats, threads: int
) -> list[Part] | None:
    """The segments along each direction, in as many parts of the corpus as there are threads; None where that is a case
    for the general path.
    """
    from hulltune.kernels.list_lines import list_lines

    corpus = problem.corpus
    if not 0 < corpus.edges <= LARGEST_CORPUS or not isinstance(corpus.features, DenseFeatures):
        return None
    magnitudes, columns = problem.scorer.list_tables
    weights = np.vstack([origin, directions])
    cuts = np.linspace(0, len(corpus), min(threads, len(corpus)) + 1).astype(np.int64).tolist()

    def search(part: int) -> tuple[bool, Part]:
        try:
            room = problem.rooms.pop()
        except IndexError:
            room = np.empty((0, 0)), np.empty((0, 0), dtype=np.int32)
        ordinary, counts, lefts, winners = list_lines(
            columns, corpus.sentence_edges, cuts[part], cuts[part + 1], weights, magnitudes, intervals, *room
        )
        return ordinary, (counts, lefts, winners)

    if len(cuts) == 2:
        answers = [search(0)]
    else:
        with ThreadPoolExecutor(threads) as pool:
            answers = list(pool.map(search, range(len(cuts) - 1)))
    return [found for _, found in answers] if all(ordinary for ordinary, _ in answers) else None


def _along(parts: list[Part], direction: int) -> tuple[Floats, Int32s]:
    """Where each segment along a direction begins, and which candidate wins there."""
    lefts = [lefts[direction, : counts[direction]] for counts, lefts, _ in parts]
    winners = [winners[direction, : counts[direction]] for counts, _, winners in parts]
    return (lefts[0], winners[0]) if len(parts) == 1 else (np.concatenate(lefts), np.concatenate(winners))


def _give_back(problem: ListProblem, parts: list[Part]) -> None:
    """Leave the memory of a search to those to come."""
    problem.rooms.extend((lefts, winners) for _, lefts, winners in parts)
