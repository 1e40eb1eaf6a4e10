"""Questions of the driver to the workers of shards, and their answers.

A question has all that its answer depends on, so that it can be put again to a worker that was started anew: answers
are the same to the bit. What a worker remembers only saves time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Floats, Int32s, Int64s


@dataclass(frozen=True, eq=False)
class Total:
    """The question for the statistics of the winners under some weights: their sum, a row of whole numbers; or a row
    for each sentence where statistics are real numbers, whose sums must be rounded once.
    """

    weights: Floats


@dataclass(frozen=True, eq=False)
class Along:
    """Lines from the first row of ``weights`` in the direction of each other row, within intervals."""

    weights: Floats
    intervals: Floats

    @property
    def key(self) -> bytes:
        """What tells these lines from others."""
        return self.weights.tobytes() + self.intervals.tobytes()


@dataclass(frozen=True, eq=False)
class Everything:
    """The question for all changes along lines; the answer is a Segments."""

    along: Along


@dataclass(frozen=True, eq=False)
class Bins:
    """Bins of η on lines: those of line d are ``offsets[d]`` to ``offsets[d + 1]``, in order and apart from each other.

    A bin has the changes at its low end, and not those at its high end.
    """

    offsets: Int64s
    lows: Floats
    highs: Floats


@dataclass(frozen=True, eq=False)
class Start:
    """The first question about lines that are cut into bins, which cover all of them; the answer is a Started."""

    along: Along
    bins: Bins


@dataclass(frozen=True, eq=False)
class Further:
    """The question for sums over some bins, and for all changes in others; the answer is a Found."""

    along: Along
    sums: Bins
    within: Bins


@dataclass(frozen=True, eq=False)
class Outermost:
    """The question for the first and the last changes of some lines, by number: so many places at each end. The answer
    is an Ends for each line.
    """

    along: Along
    lines: tuple[int, ...]
    places: int


Question = Total | Everything | Start | Further | Outermost


@dataclass(frozen=True, eq=False)
class Segments:
    """All segments along lines: of line d there are ``sizes[d]``, one line after the other, sentence by sentence."""

    lefts: Floats
    rows: Int32s
    """The row of ``table`` that holds the statistics of each segment's output."""
    sizes: Int64s
    table: NDArray[Any]
    others: Int64s
    """The rows of sentences with nothing to choose from."""


@dataclass(frozen=True, eq=False)
class Binned:
    """For each bin, the number of changes, their sum, and the least and the most of all sums of its first changes (in
    order of place; that of none is 0) for each statistic.
    """

    counts: NDArray[Any]
    sums: NDArray[Any]
    least: NDArray[Any]
    most: NDArray[Any]

    @staticmethod
    def joined(answers: Sequence[Binned]) -> Binned:
        """The sums over all shards; the least of sums may be above those returned, and the most below them."""
        total = [np.array(getattr(answers[0], each.name), dtype=np.int64) for each in fields(Binned)]
        for answer in answers[1:]:
            for sums, each in zip(total, fields(Binned), strict=True):
                sums += getattr(answer, each.name)
        return Binned(*total)


@dataclass(frozen=True, eq=False)
class Started:
    """The sums of statistics at the beginning of each line, the smallest statistic of any output, and the sums over
    bins; these are None if statistics are not whole numbers of 32 bits.
    """

    first: NDArray[Any]
    smallest: float
    binned: Binned | None


@dataclass(frozen=True, eq=False)
class Fetched:
    """The changes in bins, in order of bin and place; equal places are one change, and no change is 0."""

    bins: NDArray[Any]
    places: Floats
    changes: NDArray[Any]


@dataclass(frozen=True, eq=False)
class Found:
    """The answer to Further."""

    binned: Binned
    fetched: Fetched


@dataclass(frozen=True, eq=False)
class Ends:
    """The first changes of a line and the last ones. All changes are among them, or those at ``places`` places of each
    end at least.
    """

    first: Fetched
    last: Fetched
    are_all: bool


@dataclass(frozen=True, eq=False)
class Unknown:
    """Not an answer: outputs whose statistics the driver must tell first, and the line on which they win."""

    line: int
    numbers: Int64s
    """The edge of each output of a list, counted within the shard; −1 for others."""
    sentences: Int64s
    texts: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True, eq=False)
class Telling:
    """The statistics of the outputs that a worker has asked for, a row each."""

    asked: Unknown
    statistics: NDArray[np.generic]
