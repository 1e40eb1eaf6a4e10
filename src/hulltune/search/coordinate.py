"""Och's coordinate search: every round searches one line for each weight, and takes the best step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from hulltune.arrays import Floats
from hulltune.search.climbing import Climber, Climbing
from hulltune.search.steps import Position, best_step


@dataclass(frozen=True)
class Coordinate(Climbing):
    """Climbs along the axes and the direction of the last step; a round without gain ends a climb (Och 2003).

    >>> from hulltune import Coordinate, tune
    >>> from hulltune.simulate import simulated_task
    >>> task = simulated_task(sentences=20, candidates=10)
    >>> result = tune(task.lists, metric="wer", search=Coordinate(restarts=1))
    >>> result.score < result.start_score
    True
    """

    name: ClassVar[str] = "coordinate"

    def climb(self, climber: Climber, position: Position) -> Iterator[Position]:
        """Positions after each round: search all axes and the direction of the last step, take the best step."""
        axes, last_step = climber.axes(), list[Floats]()
        for _ in range(self.max_rounds):
            moved, _ = best_step(climber.setting, position, axes + last_step)
            gained = moved.loss < position.loss
            last_step = [moved.weights - position.weights]
            position = moved
            yield position
            if not gained:
                return
