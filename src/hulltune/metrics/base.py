"""The interface of a metric: additive statistics per output, and a score of summed statistics.

Tuning sums the statistics of one output per sentence in very many combinations, so the two halves never mix:
``prepare`` binds the references once and answers with statistics; ``score`` turns sums of them into the
number that people report. A metric object itself is immutable and carries options only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Floats, Int64s
from hulltune.errors import InputError
from hulltune.kernels.surfaces.constants import BLEU, RATIO, UNKNOWN

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


@dataclass(frozen=True, eq=False)
class Rough:
    """A rough loss of summed statistics: its kind (see kernels/surfaces/constants.py) and its coefficients.

    It is off by a few roundings from the loss, so that rows clearly above the smallest rough loss are not the best.
    """

    kind: int = UNKNOWN
    numbers: Floats = field(default_factory=lambda: np.empty(0))

    def value(self, losses: Floats, columns: int) -> Floats:
        """The rough value of losses, the larger the better: −∞ if it is unknown."""
        if self.kind == BLEU:
            shares: Floats = np.clip(-losses / 100.0, 0.0, 1.0) ** ((columns - 2) // 2)
            return shares
        return -losses if self.kind == RATIO else np.full(losses.shape, -np.inf)


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


class ByOutput(PreparedMetric):
    """A prepared metric that looks at one output after the other, by a function from (sentence, output) to a row.

    >>> from hulltune.metrics import ByOutput
    >>> prepared = ByOutput(lambda sentence, output: (len(output), 1), sentences=2, columns=2)
    >>> prepared.statistics([0, 1], ["ab", "c"]).tolist()
    [[2, 1], [1, 1]]
    """

    def __init__(self, row: Callable[[int, str], Sequence[float]], *, sentences: int, columns: int) -> None:
        self._row, self._sentences, self._columns = row, sentences, columns

    def statistics(self, sentences: Int64s, outputs: Sequence[str]) -> Statistics:
        """A row for each output."""
        from hulltune.metrics.checks import checked_numbers

        numbers = checked_numbers(sentences, outputs, self._sentences).tolist()
        rows = [self._row(number, output) for number, output in zip(numbers, outputs, strict=True)]
        return np.array(rows) if rows else np.empty((0, self._columns), dtype=np.int64)


class Metric(ABC):
    """Options, statistics and score of one metric."""

    def __init_subclass__(cls, **options: Any) -> None:
        """A version is not inherited: the code of a subclass is other code."""
        super().__init_subclass__(**options)
        if "version" not in vars(cls):
            cls.version = None

    name: ClassVar[str]
    higher_is_better: bool
    columns: tuple[str, ...]
    """The names of the statistics."""
    version: str | None = None
    """What tells the code behind the statistics from earlier code, such as "1". A store keeps no answers without it.

    Whoever changes the code of a metric, or a model that it uses, changes the version.
    """
    monotone: tuple[int, ...] | None = None
    """+1 for a statistic that can only raise the score when it alone grows, −1 for one that can only lower it.

    None where the direction is not fixed. Certified search uses it for metrics without a bound of their own.
    """
    waits: bool = False
    """Whether the metric may answer NotYet. A search then asks only for the statistics that it cannot do without."""
    needs_references: bool = True
    """Whether every sentence must have a reference. Lists that have neither references nor candidates are left out."""
    threaded: bool = False
    """Whether many threads may ask for statistics at once: they depend on the outputs alone, and nothing is kept."""
    batch_size: int = 1024
    """The most outputs to ask for at a time. Answers are stored batch by batch, so costly ones come in small ones."""
    answers: str = "winner"
    """What the metric is about: the "winner" of each sentence, or the "order" of all its candidates."""
    reads: tuple[str, ...] = ()
    """The columns of the data that the metric reads, a number for each candidate; they are then no features."""

    @property
    @abstractmethod
    def signature(self) -> str:
        """Everything needed to reproduce a score: name, parameters, tokenisation, version."""

    @property
    def stored_as(self) -> str | None:
        """The name under which a store keeps the answers: the signature with the version; None if it keeps none.

        References, source and output must determine the statistics. Answers that come from outside, for a metric that
        ``waits``, depend on no code.
        """
        if self.reads or (self.version is None and not self.waits):
            return None
        ending = "" if self.version is None else f"|version:{self.version}"
        return self.signature if self.signature.endswith(ending) else self.signature + ending

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

    @property
    def rough(self) -> Rough:
        """A rough loss by which line searches pass over most intervals, without asking for the exact one."""
        ratio = self.as_ratio
        if ratio is None:
            return Rough()
        return Rough(RATIO, np.concatenate([ratio.scale * ratio.numerator, ratio.denominator]))

    def losses(self, statistics: Statistics) -> Floats:
        """The loss of each row of summed statistics, checked: a number for each."""
        if not len(statistics):
            return np.empty(0)
        losses = np.asarray(self.loss(statistics), dtype=np.float64)
        if losses.shape != (len(statistics),):
            raise InputError(f"loss: expected {len(statistics)} values, one for each row, got shape {losses.shape}")
        if np.isnan(losses.min()):
            row = statistics[int(np.argmax(np.isnan(losses)))]
            raise InputError(f"loss: got NaN for the statistics {row.tolist()}")
        return losses
