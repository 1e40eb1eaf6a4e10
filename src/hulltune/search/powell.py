"""Powell's method: conjugate directions, one line after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from hulltune.search.climbing import Climber, Climbing
from hulltune.search.steps import Position, best_step


@dataclass(frozen=True)
class Powell(Climbing):
    """Climbs along one line after the other, beginning with the axes. After a round, its total step replaces the
    direction that gained most (Powell 1964). A round without gain ends a climb.

    >>> from hulltune import Powell, tune
    >>> from hulltune.simulate import simulated_task
    >>> task = simulated_task(sentences=20, candidates=10)
    >>> result = tune(task.lists, metric="wer", search=Powell(restarts=1))
    >>> result.score < result.start_score
    True
    """

    name: ClassVar[str] = "powell"

    def climb(self, climber: Climber, position: Position) -> Iterator[Position]:
        """Positions after each round: all lines in turn, then the line of the round's total step."""
        lines = climber.axes()
        for _ in range(self.max_rounds):
            before = position
            best_gain, best_line = 0.0, 0
            for number, line in enumerate(lines):
                moved, _ = best_step(climber.setting, position, [line])
                if position.loss - moved.loss > best_gain:
                    best_gain, best_line = position.loss - moved.loss, number
                position = moved
            if not position.loss < before.loss:
                yield position
                return
            total_step = position.weights - before.weights
            position, _ = best_step(climber.setting, position, [total_step])
            lines[best_line] = total_step
            yield position
