"""Error surfaces of n-best lists along many directions at once: the fast path of tuning.

What ListProblem.search and ListProblem.surface find in two steps, to the bit, for ordinary numbers and statistics that
are integers; the callers fall back on those two for the rest.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hulltune.forest.features import DenseFeatures
from hulltune.surface import ErrorSurface

if TYPE_CHECKING:
    from hulltune.search.problem import ListProblem

Floats = NDArray[np.float64]
Int64s = NDArray[np.int64]
Int32s = NDArray[np.int32]

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
    from hulltune.kernels.line_surface import line_surface

    corpus = problem.corpus
    if not 0 < corpus.edges <= LARGEST_CORPUS or not isinstance(corpus.features, DenseFeatures):
        return None
    shards = _search(problem, np.vstack([origin, directions]), intervals, threads)
    if shards is None:
        return None
    others = problem.empty_rows[problem.empty_rows >= 0]
    surfaces = []
    for direction, (low, _) in enumerate(intervals.tolist()):
        lefts, winners = (_joined([shard[k][direction, : shard[0][direction]] for shard in shards]) for k in (1, 2))
        rows = problem.rows(winners)
        statistics = problem.table  # after the rows were asked for: it may have grown
        table = compact.of(statistics)
        if table is None:
            return None
        surfaces.append(ErrorSurface(*line_surface(lefts, rows, low, others, table, statistics.shape[1])))
    return surfaces


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
    corpus = problem.corpus
    if not 0 < corpus.edges <= LARGEST_CORPUS or not isinstance(corpus.features, DenseFeatures):
        return None
    shards = _search(problem, np.vstack([origin, directions]), intervals, threads)
    if shards is None:
        return None
    rows = [found[direction, : counts[direction]] for counts, _, found in shards for direction in range(len(counts))]
    return np.unique(np.concatenate(rows)).astype(np.int64)


def _search(
    problem: ListProblem, weights: Floats, intervals: Floats, threads: int
) -> list[tuple[Int64s, Floats, Int32s]] | None:
    """The kernel's answers for as many parts of the corpus as there are threads."""
    from hulltune.kernels.list_lines import list_lines

    corpus = problem.corpus
    magnitudes, columns = problem.scorer.list_tables
    cuts = np.linspace(0, len(corpus), min(threads, len(corpus)) + 1).astype(np.int64).tolist()

    def search(part: int) -> tuple[bool, tuple[Int64s, Floats, Int32s]]:
        room = _room.arrays if len(cuts) == 2 else _Room().arrays  # several answers are needed at a time
        ordinary, counts, lefts, winners = list_lines(
            columns, corpus.sentence_edges, cuts[part], cuts[part + 1], weights, magnitudes, intervals, *room
        )
        if len(cuts) == 2:
            _room.arrays = lefts, winners
        return ordinary, (counts, lefts, winners)

    if len(cuts) == 2:
        answers = [search(0)]
    else:
        with ThreadPoolExecutor(threads) as pool:
            answers = list(pool.map(search, range(len(cuts) - 1)))
    return [found for _, found in answers] if all(ordinary for ordinary, _ in answers) else None


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


class _Room(threading.local):
    """Memory that a thread uses again for every search."""

    def __init__(self) -> None:
        self.arrays: tuple[Floats, Int32s] = np.empty((0, 0)), np.empty((0, 0), dtype=np.int32)


_room = _Room()
