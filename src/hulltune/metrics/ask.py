"""A metric whose answers come from outside: a person, or a model behind an interface of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hulltune.arrays import Int64s
from hulltune.metrics._common import checked_references, signature
from hulltune.metrics.base import PreparedMetric, References, Statistics
from hulltune.metrics.mean import MeanMetric
from hulltune.metrics.pending import NotYet


@dataclass(frozen=True, kw_only=True)
class Ask(MeanMetric):
    """The mean of ratings that a person or a program outside gives.

    The metric itself always answers "not yet", so every rating comes from the store. ``question`` is a part of the
    signature, so another question has other answers. References are shown to whoever answers; there may be none
    if there are sources.
    """

    name: ClassVar[str] = "ask"
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


class _PreparedAsk(PreparedMetric):
    def statistics(self, sentences: Int64s, outputs: Sequence[str]) -> Statistics:
        if len(outputs):
            raise NotYet
        return np.empty((0, 2))
