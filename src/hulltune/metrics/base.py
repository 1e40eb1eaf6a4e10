"""The interface of a metric: additive statistics per output, and a score of summed statistics.

Tuning sums the statistics of one output per sentence in very many combinations, so the two halves never mix:
``prepare`` binds the references once and answers with statistics; ``score`` turns sums of them into the
number that people report. A metric object itself is immutable and carries options only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Floats, Int64s
from hulltune.errors import InputError

if TYPE_CHECKING:
    from hulltune.metrics.bounds import LinearBound, LossBound, Ranges, Ratio

References = Sequence[Sequence[str]]
"""The references of each sentence, one or more."""

Statistics = NDArray[Any]
"""An int64 or float64 array, with the statistics along the last axis."""


@dataclass(frozen=True)
class Known:
    """The part of a dataset that few metrics look at: the ids of sentences, and numbers of candidates."""

    ids: Sequence[int | str]
    qualities: Mapping[str, Floats] = field(default_factory=dict)
    """Per name, a number of each candidate that is no feature (Dataset.qualities)."""


class PreparedMetric(ABC):
    """A metric bound to the references of a corpus."""

    @abstractmethod
    def statistics(self, sentences: Int64s, outputs: Sequence[str]) -> Statistics:
        """The statistics of ``outputs[i]`` as an output for sentence ``sentences[i]``: an (n, columns) array.

        A metric that cannot answer yet for some outputs raises ``hulltune.metrics.NotYet``.
        """

    def statistics_of(self, candidates: Int64s, sentences: Int64s, outputs: Sequence[str]) -> Statistics:
        """The statistics of candidates that are known by number, −1 for a text that is none of them.

        Only a metric that ``reads`` qualities overrides this: for others the text is all there is to an output.
        """
        return self.statistics(sentences, outputs)


class Metric(ABC):
    """Options, statistics and score of one metric."""

    name: ClassVar[str]
    higher_is_better: bool
    columns: tuple[str, ...]
    """The names of the statistics."""
    storable: ClassVar[bool] = True
    """Whether references, source and output determine the statistics, so that a store may keep them."""
    monotone: tuple[int, ...] | None = None
    """+1 for a statistic that can only raise the score when it alone grows, −1 for one that can only lower it.

    None where the direction is not fixed. Certified search uses it for metrics without a bound of their own.
    """
    waits: bool = False
    """Whether the metric may answer NotYet. A search then asks only for the statistics that it cannot do without."""
    needs_references: bool = True
    """Whether every sentence must have a reference. Lists that have neither references nor candidates are left out."""
    batch_size: int = 1024
    """The most outputs to ask for at a time. Answers are stored batch by batch, so costly ones come in small ones."""
    reads: tuple[str, ...] = ()
    """The columns of the data that the metric reads, a number for each candidate; they are then no features."""

    @property
    @abstractmethod
    def signature(self) -> str:
        """Everything needed to reproduce a score: name, parameters, tokenisation, version."""

    @abstractmethod
    def prepare(self, references: References, sources: Sequence[str] | None = None) -> PreparedMetric:
        """Bind the references (checked here, once) and do the work that all outputs share."""

    def prepare_with(
        self, known: Known, references: References, sources: Sequence[str] | None = None
    ) -> PreparedMetric:
        """Bind references, ids and numbers of candidates; a metric for which texts are enough leaves it as it is."""
        return self.prepare(references, sources)

    @abstractmethod
    def score(self, statistics: Statistics) -> Floats:
        """The score of summed statistics, vectorised: (..., columns) to (...)."""

    def loss(self, statistics: Statistics) -> Floats:
        """The score turned so that smaller is better."""
        scores = self.score(statistics)
        return -scores if self.higher_is_better else scores

    @property
    def as_ratio(self) -> Ratio | None:
        """The loss as a ratio of two linear functions, from which its bounds follow; None if it is no such ratio."""
        return None

    @property
    def least_loss(self) -> float:
        """A loss that no statistics are below, −∞ if none is known: the first bound of a certified search."""
        return -np.inf if self.as_ratio is None else self.as_ratio.least

    def linear_bound(self, ranges: Ranges) -> LinearBound:
        """A linear function that is nowhere above the loss in the ranges of summed statistics.

        A metric with ``as_ratio`` gets the bound of its ratio. A metric that is ``monotone`` in each statistic gets
        the loss at the best corner of the ranges. Any other metric must override this method to be certified.
        """
        from hulltune.metrics.bounds import interval_bound

        return interval_bound(self, ranges) if self.as_ratio is None else self.as_ratio.linear_bound(ranges)

    def loss_bound(self, ranges: Ranges) -> LossBound:
        """A linear function to minimise over the choices of a box, and the bound of the loss that it proves."""
        if self.as_ratio is not None:
            return self.as_ratio.loss_bound(ranges, self.loss)
        return self.linear_bound(ranges).as_loss_bound(ranges)

    def score_of(self, loss: float) -> float:
        """The score that has this loss."""
        return -loss if self.higher_is_better else loss

    def lowest(self, statistics: Statistics, *, below: float = np.inf) -> tuple[Int64s, float]:
        """The rows with the smallest loss, and that loss. If no loss is below ``below``: no rows, and any number.

        A metric may override this to skip the exact loss of most rows, as long as the answer is the same.
        """
        if not len(statistics):
            return np.empty(0, np.int64), np.inf
        losses = np.asarray(self.loss(statistics), dtype=np.float64)
        if losses.shape != (len(statistics),):
            raise InputError(f"loss: expected {len(statistics)} values, one for each row, got shape {losses.shape}")
        smallest = float(losses.min(initial=np.inf))
        if np.isnan(smallest):
            row = statistics[int(np.argmax(np.isnan(losses)))]
            raise InputError(f"loss: got NaN for the statistics {row.tolist()}")
        return np.flatnonzero(losses == smallest) if smallest < below else np.empty(0, np.int64), smallest
