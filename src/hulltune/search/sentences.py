"""What problems of lists and of forests share: a reference for each sentence, and sentences with nothing to choose."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.data.corpus import Corpus
from hulltune.errors import InputError
from hulltune.metrics.base import References
from hulltune.metrics.lazy import LazyStatistics
from hulltune.surface import ErrorSurface
from hulltune.wording import counted

Floats = NDArray[np.float64]
Int64s = NDArray[np.int64]


def check_references(references: References, corpus: Corpus) -> None:
    """Raise InputError unless there is one for each sentence."""
    if len(references) != len(corpus):
        raise InputError(
            f"references: got {counted(len(references), 'line')}, expected one for each of "
            f"{counted(len(corpus), 'sentence')}"
        )


def rows_of_empty(corpus: Corpus, statistics: LazyStatistics) -> Int64s:
    """The row of the empty output for each sentence without candidates, and −1 for the others."""
    rows = np.full(len(corpus), -1, dtype=np.int64)
    empty = np.flatnonzero(np.diff(corpus.sentence_edges) == 0)
    if len(empty):
        rows[empty] = statistics.rows(empty, [""] * len(empty))
    return rows


def surface_beside_empty(
    offsets: Int64s, lefts: Floats, rows: Int64s, empty_rows: Int64s, table: NDArray[Any]
) -> ErrorSurface:
    """ErrorSurface.from_rows, with a single segment for each sentence that has a row in ``empty_rows``."""
    others = empty_rows[empty_rows >= 0]
    if len(others):
        rows = np.concatenate([rows, others])
        lefts = np.concatenate([lefts, np.full(len(others), -np.inf)])
        offsets = np.concatenate([offsets, offsets[-1] + 1 + np.arange(len(others))])
    return ErrorSurface.from_rows(offsets, lefts, rows, table)
