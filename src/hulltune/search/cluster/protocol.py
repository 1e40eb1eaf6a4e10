"""Questions of the driver to the workers of shards, and their answers.

A question has all that its answer depends on, so that it can be put again to a worker that was started anew: answers
are the same to the bit. What a worker remembers only saves time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
class Outline:
    """The question for what little there is to know before bins can be named; the answer is an Outlined."""

    along: Along
    points: Floats
    """Points of each line, increasing."""
    samples: int
    """The number of places of changes to name for each line."""


@dataclass(frozen=True, eq=False)
class Bins:
    """Bins of η on lines: those of line d are ``offsets[d]`` to ``offsets[d + 1]``, in order and apart from each other.

    A bin has the changes at its low end, and not those at its high end.
    """

    offsets: Int64s
    lows: Floats
    highs: Floats


@dataclass(frozen=True, eq=False)
class Sums:
    """The question for sums over bins; the answer is a Binned."""

    along: Along
    bins: Bins


@dataclass(frozen=True, eq=False)
class Within:
    """The question for all changes in bins; the answer is a Fetched."""

    along: Along
    bins: Bins


@dataclass(frozen=True, eq=False)
class Places:
    """The question for the places of all changes on some lines, by number; the answer is an increasing array for each,
    without places where the changes of a shard add up to nothing.
    """

    along: Along
    lines: tuple[int, ...]


Question = Total | Everything | Outline | Sums | Within | Places


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
class Outlined:
    """The numbers of changes of each line (at most), some of their places, the sums of statistics at the beginning and
    at the points, and whether all are whole numbers of 32 bits; ``least`` is the smallest statistic of any output.
    """

    counts: Int64s
    places: list[Floats]
    first: NDArray[Any]
    at_points: NDArray[Any]
    whole: bool
    least: float


@dataclass(frozen=True, eq=False)
class Binned:
    """For each bin, the number of changes, and the sums of the rises and of the falls of each statistic."""

    counts: NDArray[Any]
    rises: NDArray[Any]
    falls: NDArray[Any]

    @staticmethod
    def joined(answers: Sequence[Binned]) -> Binned:
        """The sums over all shards."""
        total = Binned(*(part.astype(np.int64) for part in (answers[0].counts, answers[0].rises, answers[0].falls)))
        for each in answers[1:]:
            total = Binned(total.counts + each.counts, total.rises + each.rises, total.falls + each.falls)
        return total


@dataclass(frozen=True, eq=False)
class Fetched:
    """The changes in bins, in order of bin and place; equal places are one change."""

    bins: NDArray[Any]
    places: Floats
    changes: NDArray[Any]


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
