"""A problem over the segments that workers have sent: lines are searched in it as in the problem itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Int32s, Int64s
from hulltune.metrics.memory import CompactTable
from hulltune.search.cluster.protocol import Segments
from hulltune.search.problem import Problem
from hulltune.search.shards import Changes, Runner, joined
from hulltune.threads import Each, one_by_one


class _Rows:
    """A memory whose outputs are the rows of a table."""

    complete = True

    def __init__(self, table: NDArray[Any], sentences: int) -> None:
        self.table = table
        self._compact = CompactTable(sentences)
        self._numbers = np.arange(len(table), dtype=np.int64)

    def compact(self, *, each: Each = one_by_one) -> Int32s | None:
        """The table in 32 bits; see Memory.compact."""
        return self._compact.of(self.table, each)

    def row_of(self, numbers: Int64s | Int32s) -> Int64s:
        """The rows, which are numbered by themselves."""
        return self._numbers

    def known_rows(self) -> Int64s:
        """The rows, which are numbered by themselves."""
        return self._numbers


class Answered(Problem):
    """The part of a problem that knows the lines of one round: their minima and their surfaces."""

    def __init__(self, problem: Problem, table: NDArray[Any], others: Int64s) -> None:
        self.metric, self.penalty = problem.metric, problem.penalty
        self.memory = _Rows(table, len(problem.corpus))  # type: ignore[assignment]  # all of a memory that lines need
        self._empty_rows = others
        self._rooms = []


def answered(problem: Problem, answers: Sequence[Segments], runner: Runner) -> tuple[Answered, Changes]:
    """The segments of all shards together, and a problem in which their rows are the outputs."""
    starts = np.cumsum([0, *(len(answer.table) for answer in answers)])
    found = []
    for start, answer in zip(starts.tolist(), answers, strict=False):
        ends = np.cumsum(answer.sizes).astype(np.int64)
        rows = (answer.rows + start).astype(np.int32)
        found.append(Changes(answer.lefts, rows, ends - answer.sizes, ends))
    others = np.concatenate([answer.others + start for start, answer in zip(starts.tolist(), answers, strict=False)])
    table = np.concatenate([answer.table for answer in answers])
    return Answered(problem, table, others.astype(np.int64)), joined(found, runner, [])
