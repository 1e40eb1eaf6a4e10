"""A metric whose answers come from outside: a person, or a model behind an interface of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hulltune.metrics._common import checked_references, checked_statistics, ratio, signature
from hulltune.metrics.base import Metric, PreparedMetric, References, Statistics
from hulltune.metrics.bounds import LinearBound, LossBound, Ranges, Ratio
from hulltune.metrics.pending import NotYet


@dataclass(frozen=True, kw_only=True)
class Ask(Metric):
    """The mean of ratings that somebody gives: it always answers "not yet", so every rating comes from the
    store.

    ``question`` says what is asked; it is a part of the signature, so other questions have other answers.
    References are shown to whoever answers; there may be none, if there are sources.
    """

    name: ClassVar[str] = "ask"
    columns = ("total", "weight")
    waits = True

    question: str = "how good is the output?"
    higher_is_better: bool = True

    @property
    def signature(self) -> str:
        """The question and its direction; an answer stays valid whatever the version of hulltune."""
        options = {"question": self.question, "higher_is_better": self.higher_is_better}
        return signature("ask", options, version="1")

    def prepare(self, references: References, sources: Sequence[str] | None = None) -> PreparedMetric:
        """Check that there is something to show."""
        least = 1 if sources is None else 0
        checked_references("ask", references, sources, ragged=True, at_least=least)
        return _PreparedAsk()

    def score(self, statistics: Statistics) -> NDArray[np.float64]:
        """The mean rating; 0 of no outputs."""
        sums = checked_statistics(statistics, self)
        return ratio(sums[..., 0], sums[..., 1], empty=0.0)

    def linear_bound(self, ranges: Ranges) -> LinearBound:
        """The mean, turned so that smaller is better, from below."""
        return self._ratio.linear_bound(ranges)

    def loss_bound(self, ranges: Ranges) -> LossBound:
        """The exact minimum of the ratio."""
        return self._ratio.loss_bound(ranges, self.loss)

    @property
    def _ratio(self) -> Ratio:
        sign = -1.0 if self.higher_is_better else 1.0
        return Ratio(np.array([sign, 0.0]), np.array([0.0, 1.0]), best=-np.inf)


class _PreparedAsk(PreparedMetric):
    def statistics(self, sentences: NDArray[np.int64], outputs: Sequence[str]) -> Statistics:
        if len(outputs):
            raise NotYet
        return np.empty((0, 2))
