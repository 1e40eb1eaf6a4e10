"""Searches that somebody else runs in the place of this process: what they are asked, and what they answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from numpy.typing import NDArray

from hulltune.arrays import Floats
from hulltune.search.policies import Policy
from hulltune.search.shards import Runner

if TYPE_CHECKING:
    from hulltune.search.problem import Problem


@dataclass(frozen=True, eq=False)
class Lines:
    """Lines from one origin, and all that decides the best step along each of them."""

    origin: Floats
    directions: Floats
    """A direction a row; every one has room in its interval."""
    intervals: Floats
    """The least and the largest η of each line."""
    current_loss: float
    """The loss at the origin, as decoding sees it."""
    policy: Policy
    scales: Floats
    """The length of the origin in units of each direction."""
    points: Floats
    """Points of each line, increasing, whose losses are asked for as well."""

    def __len__(self) -> int:
        return len(self.intervals)


Steps = tuple[Floats, Floats, Floats]
"""The step along each line (0 where nothing is better), the loss there, and the losses at the points of each line."""


class Searcher(Protocol):
    """Whoever holds the sentences of a problem and searches them. Threads may ask at once."""

    def total(self, problem: Problem, weights: Floats, runner: Runner) -> NDArray[Any]:
        """The summed statistics of the winners under ``weights``."""

    def best_steps(self, problem: Problem, lines: Lines, runner: Runner) -> Steps:
        """The best step along each line. ``problem`` has the metric, and the penalty on weights if there is one."""
