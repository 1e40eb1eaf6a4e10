"""What tuning asks of its data, be they lists or forests."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hulltune.data.corpus import Corpus
from hulltune.metrics.base import Metric
from hulltune.search.problem import Picks
from hulltune.surface import ErrorSurface

Floats = NDArray[np.float64]
Int64s = NDArray[np.int64]


class Problem(Protocol):
    """Sentences with things to choose from, and a metric of what is chosen.

    What is chosen has a number: a hypothesis of a list its place in the corpus, an output of a forest its place among
    all outputs met so far. Only who made a number knows what it means.
    """

    corpus: Corpus
    metric: Metric

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the weights."""

    @property
    def table(self) -> NDArray[Any]:
        """The statistics behind the rows."""

    def rows(self, candidates: Int64s) -> Int64s:
        """Rows of ``table``; asks the metric for what it was not asked before."""

    def text(self, candidate: int) -> str:
        """The text of what was chosen, or nothing for −1."""

    def surfaces(
        self, origin: Floats, directions: Floats, intervals: Floats, *, threads: int = 1
    ) -> list[ErrorSurface]:
        """The error surfaces along several directions, each within its interval."""

    def search(self, origin: Floats, directions: Floats, intervals: Floats, *, threads: int = 1) -> Any:
        """The envelopes of all sentences along several directions, each within its interval."""

    def surface(self, found: Any, direction: int) -> ErrorSurface:
        """The error surface along one of the directions that ``search`` found."""

    def picks(self, weights: Floats, *, threads: int = 1) -> Picks:
        """What wins under ``weights``."""

    def picked(self, candidates: Int64s) -> Picks:
        """The statistics of given picks."""

    @property
    def has_own_choice(self) -> bool:
        """Whether there is a baseline without weights."""

    @property
    def has_some_own_choice(self) -> bool:
        """Whether some sentences have one."""

    def baseline(self, weights: Floats | None = None) -> Picks:
        """The data's own first choice; where they have none, what wins under ``weights``."""

    def score(self, weights: Floats, *, threads: int = 1) -> float:
        """The metric of what wins under ``weights``."""

    def choices(self) -> tuple[Int64s, Int64s]:
        """What could be picked, as far as it is known: offsets by sentence, and the candidates."""

    @property
    def choices_are_all(self) -> bool:
        """Whether ``choices`` leaves out nothing that could be picked."""

    def rivals(self, weights: Floats, units: Floats) -> tuple[Int64s, Int64s, Floats]:
        """Candidates to compare around ``weights``: offsets by sentence, the candidates, and their features."""

    def subset(self, sentences: Int64s) -> Problem:
        """The same over some of the sentences."""
