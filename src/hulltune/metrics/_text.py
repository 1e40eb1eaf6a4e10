"""The base of the text metrics: packed lines, batches, vocabularies."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Floats, Int64s, as_whole
from hulltune.data.vocabulary import Texts
from hulltune.errors import InputError
from hulltune.kernels.metrics.packed import Tokens
from hulltune.metrics.base import Metric, PreparedMetric, References, Statistics
from hulltune.metrics.checks import checked_numbers, checked_references, checked_statistics

if TYPE_CHECKING:
    from hulltune.kernels.metrics.tokens import Vocabulary

Modes = int | NDArray[np.int8]

_BATCH_CHARACTERS = 1 << 17


def pack(lines: Sequence[str]) -> Tokens:
    """The code points of all lines in one (read-only) array, O(characters) at the speed of a copy."""
    if isinstance(lines, Texts) and lines.codes is not None:
        return Tokens(*lines.codes)
    offsets = np.zeros(len(lines) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, lines), np.int64, len(lines)), out=offsets[1:])
    codes = np.frombuffer("".join(lines).encode("utf-32-le", "surrogatepass"), "<i4")
    return Tokens(codes.astype(np.int32, copy=False), offsets)


class TextMetric(Metric):
    """A metric of tokens, whose statistics and scores kernels compute."""

    threaded = True
    variable_references: bool

    def score(self, statistics: Statistics) -> Floats:
        """The score of each row."""
        table = checked_statistics(statistics, self)
        kind = np.int64 if table.dtype.kind in "iub" else np.float64
        rows = np.ascontiguousarray(table, kind).reshape(-1, len(self.columns))
        return self._scores(rows).reshape(table.shape[:-1])

    @abstractmethod
    def _scores(self, rows: Statistics) -> Floats:
        """The scores of a table of int64 or float64 rows."""


class PreparedText(PreparedMetric):
    """A text metric bound to references: ``_lines`` from ``_offsets[s]`` to ``_offsets[s + 1]`` are of sentence s.

    Each sentence needs at least one reference, and all the same number unless ``variable_references``. An empty string
    is a reference like any other.
    """

    def __init__(self, metric: TextMetric, references: References) -> None:
        groups = checked_references(metric.name, references, ragged=metric.variable_references)
        self._lines = list(chain.from_iterable(groups))
        self._offsets: Int64s = np.zeros(len(groups) + 1, np.int64)
        np.cumsum(list(map(len, groups)), out=self._offsets[1:])

    def statistics(self, sentences: Int64s, outputs: Sequence[str]) -> Statistics:
        """The columns of the metric for each output."""
        sentences = checked_numbers(sentences, outputs, len(self._offsets) - 1)
        if isinstance(outputs, Texts):  # a batch already
            return self._statistics(sentences, outputs)
        sample = outputs[:: max(1, len(outputs) // 64)]
        # Measured on 50,000 outputs: the code points and ids of a batch of about a thousand stay in the cache and in
        # memory that the allocator reuses. All outputs at once take twice as long, most of it in page faults; batches
        # of 64 take 1.5 times as long, because of the calls.
        size = max(64, _BATCH_CHARACTERS // (1 + sum(map(len, sample)) // max(1, len(sample))))
        if len(outputs) <= size:
            return self._statistics(sentences, outputs)
        starts = range(0, len(outputs), size)
        return np.concatenate([self._statistics(sentences[k : k + size], outputs[k : k + size]) for k in starts])

    @abstractmethod
    def _statistics(self, sentences: Int64s, outputs: Sequence[str]) -> Statistics:
        """The columns of the metric for a batch of outputs."""


def check_order(option: str, value: object, *, least: int, most: int) -> None:
    """Raise unless an n-gram order is an integer from ``least`` to ``most``."""
    number = as_whole(value)
    if number is None or not least <= number <= most:
        raise InputError(f"{option} is {value!r}, expected an integer from {least} to {most}")


def spelled(value: float) -> str:
    """A number in a signature: all its digits, no trailing ``.0``."""
    return repr(float(value)).removesuffix(".0")


class ReferenceVocabulary:
    """The distinct tokens of the references, with ids from 0; −1 stands for a token that no reference has.

    ``modes`` is the way to split each line into tokens, or one way for all lines (see hulltune.kernels.metrics.tokens).
    """

    def __init__(self, references: Sequence[str], modes: Modes) -> None:
        from hulltune.kernels.metrics.tokens import build_vocabulary

        self._modes = modes
        lines = pack(references)
        self._vocabulary: Vocabulary
        self._vocabulary, ids, offsets = build_vocabulary(*lines, _mode_per_line(modes, lines))
        self.references = Tokens(ids, offsets)
        self.size = int(ids.max()) + 1 if len(ids) else 0

    def encode(self, outputs: Sequence[str], modes: Modes | None = None) -> Tokens:
        """The outputs as ids, O(characters); by default they are split as the references are."""
        from hulltune.kernels.metrics.tokens import token_ids

        lines = pack(outputs)
        modes = _mode_per_line(self._modes if modes is None else modes, lines)
        return Tokens(*token_ids(*lines, modes, self._vocabulary))


def _mode_per_line(modes: Modes, lines: Tokens) -> NDArray[np.int8]:
    return np.full(len(lines.offsets) - 1, modes, np.int8) if isinstance(modes, int) else modes
