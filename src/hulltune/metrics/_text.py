"""Helpers of the text metrics: packed lines, batches, vocabularies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Int32s, Int64s, as_whole
from hulltune.data.vocabulary import Texts
from hulltune.errors import InputError
from hulltune.metrics.base import Metric, References, Statistics
from hulltune.metrics.checks import checked_references, checked_statistics

if TYPE_CHECKING:
    from hulltune.kernels.metrics.tokens import Vocabulary

Modes = int | NDArray[np.int8]
Number = TypeVar("Number", np.int64, np.float64)

_BATCH_CHARACTERS = 1 << 17


class Lines(NamedTuple):
    """Lines end to end: ``codes[offsets[i]:offsets[i + 1]]`` are the code points of line i."""

    codes: Int32s
    offsets: Int64s


def pack(lines: Sequence[str]) -> Lines:
    """The code points of all lines in one (read-only) array, O(characters) at the speed of a copy."""
    if isinstance(lines, Texts) and lines.codes is not None:
        return Lines(*lines.codes)
    offsets = np.zeros(len(lines) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, lines), np.int64, len(lines)), out=offsets[1:])
    codes = np.frombuffer("".join(lines).encode("utf-32-le", "surrogatepass"), "<i4")
    return Lines(codes.astype(np.int32, copy=False), offsets)


def flatten_references(references: References, *, metric: str, variable_references: bool) -> tuple[list[str], Int64s]:
    """All references in one list, and the offsets of the sentences in it; checked.

    Each sentence needs at least one reference, and all the same number unless ``variable_references``. An
    empty string is a reference like any other.
    """
    groups = checked_references(metric, references, ragged=variable_references)
    offsets = np.zeros(len(groups) + 1, np.int64)
    np.cumsum(list(map(len, groups)), out=offsets[1:])
    return list(chain.from_iterable(groups)), offsets


def in_batches(
    compute: Callable[[Int64s, Sequence[str]], NDArray[Number]], sentences: Int64s, outputs: Sequence[str]
) -> NDArray[Number]:
    """The results of ``compute`` on batches of about a thousand outputs.

    Measured on 50,000 outputs: the code points and ids of a batch stay in the cache and in memory that the
    allocator reuses. All outputs at once take twice as long, most of it in page faults; batches of 64 take 1.5
    times as long, because of the calls.
    """
    if isinstance(outputs, Texts):  # a batch already
        return compute(sentences, outputs)
    sample = outputs[:: max(1, len(outputs) // 64)]
    size = max(64, _BATCH_CHARACTERS // (1 + sum(map(len, sample)) // max(1, len(sample))))
    if len(outputs) <= size:
        return compute(sentences, outputs)
    starts = range(0, len(outputs), size)
    return np.concatenate([compute(sentences[k : k + size], outputs[k : k + size]) for k in starts])


def statistic_rows(statistics: Statistics, metric: Metric) -> Statistics:
    """Statistics of any shape (..., columns) as a table of int64 or float64 rows, checked."""
    table = checked_statistics(statistics, metric)
    kind = np.int64 if table.dtype.kind in "iub" else np.float64
    return np.ascontiguousarray(table, kind).reshape(-1, len(metric.columns))


def check_order(option: str, value: object, *, least: int, most: int) -> None:
    """Raise unless an n-gram order is an integer from ``least`` to ``most``."""
    number = as_whole(value)
    if number is None or not least <= number <= most:
        raise InputError(f"{option} is {value!r}, expected an integer from {least} to {most}")


def spelled(value: float) -> str:
    """A number in a signature: all its digits, no trailing ``.0``."""
    return repr(float(value)).removesuffix(".0")


class Tokenised(NamedTuple):
    """Lines end to end: ``ids[offsets[i]:offsets[i + 1]]`` are the token ids of line i."""

    ids: Int32s
    offsets: Int64s

    @property
    def lengths(self) -> Int64s:
        """The number of tokens of each line."""
        return np.diff(self.offsets)


class ReferenceVocabulary:
    """The distinct tokens of the references, with ids from 0; −1 stands for a token that no reference has.

    ``modes`` is the way to split each line into tokens, or one way for all lines (see hulltune.kernels.metrics.tokens).
    """

    def __init__(self, references: Sequence[str], modes: Modes) -> None:
        from hulltune.kernels.metrics.tokens import build_vocabulary

        lines = pack(references)
        self._vocabulary: Vocabulary
        self._vocabulary, ids, offsets = build_vocabulary(*lines, _mode_per_line(modes, lines))
        self.references = Tokenised(ids, offsets)
        self.size = int(ids.max()) + 1 if len(ids) else 0

    def encode(self, outputs: Sequence[str], modes: Modes) -> Tokenised:
        """The outputs as ids, O(characters)."""
        from hulltune.kernels.metrics.tokens import token_ids

        lines = pack(outputs)
        return Tokenised(*token_ids(*lines, _mode_per_line(modes, lines), self._vocabulary))


def _mode_per_line(modes: Modes, lines: Lines) -> NDArray[np.int8]:
    return np.full(len(lines.offsets) - 1, modes, np.int8) if isinstance(modes, int) else modes
