"""Powell's method: conjugate directions, one line after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from hulltune.search.climbing import Climber, Climbing, Position


@dataclass(frozen=True)
class Powell(Climbing):
    """Climbs along one line after the other, from the axes on; the way of a whole round then replaces the direction
    that gained most (Powell 1964). A round without gain ends a climb.
    """

    name: ClassVar[str] = "powell"

    def climb(self, climber: Climber, position: Position) -> Iterator[Position]:
        """Search all lines in turn, then the way of the round, and again."""
        lines = list(climber.axes)
        for _ in range(self.max_rounds):
            before = position
            best_gain, best_line = 0.0, 0
            for number, line in enumerate(lines):
                moved, _ = climber.best_step(position, [line])
                if position.loss - moved.loss > best_gain:
                    best_gain, best_line = position.loss - moved.loss, number
                position = moved
            if not position.loss < before.loss:
                yield position
                return
            way = position.weights - before.weights
            position, _ = climber.best_step(position, [way])
            lines[best_line] = way
            yield position
