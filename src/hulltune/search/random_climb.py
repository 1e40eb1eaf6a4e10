"""The random climb: every round searches many lines at once and takes the best step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from hulltune.arrays import Floats
from hulltune.errors import InputError, check_most
from hulltune.names import DIRECTIONS, MOST_DIRECTIONS
from hulltune.search.climbing import Climber, Climbing
from hulltune.search.directions import MOST_AXES
from hulltune.search.steps import Position, best_step

CARRIED = 3
"""Up to 1/CARRIED of the directions of a round are directions that gained in the round before."""
AXES = 3
"""Axes are 1/AXES of the other directions of a round."""


@dataclass(frozen=True)
class Climb(Climbing):
    """Climbs along ``directions`` lines a round: the direction of the last step, directions that gained in the last
    round, some axes in turn, and random ones (Cer et al. 2008).

    A climb ends after ``patience`` rounds in a row without gain; in the last of them all axes are searched (of more
    than MOST_AXES, so many).

    >>> from hulltune import Climb, tune
    >>> from hulltune.simulate import simulated_task
    >>> task = simulated_task(sentences=20, candidates=10)
    >>> result = tune(task.lists, metric="wer", search=Climb(restarts=1))
    >>> result.score < result.start_score
    True
    """

    name: ClassVar[str] = "random"

    directions: int = DIRECTIONS
    """The number of lines that a round searches."""
    patience: int = 2
    """The number of rounds in a row without gain after which a climb ends."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.directions < 0:
            raise InputError(f"directions: expected 0 or more, got {self.directions}")
        check_most("directions", self.directions, MOST_DIRECTIONS)
        if self.patience < 1:
            raise InputError(f"patience: expected a positive number, got {self.patience}")

    def climb(self, climber: Climber, position: Position) -> Iterator[Position]:
        """Positions after each round: search many lines, take the best step."""
        promising: list[Floats] = []
        idle, turn = 0, 0
        for _ in range(self.max_rounds):
            lines = self._lines(climber, promising, turn, thorough=idle + 1 >= self.patience)
            moved, gaining = best_step(climber.setting, position, lines + self.further_lines(climber, position.weights))
            turn += self.directions
            if moved.loss < position.loss:
                idle = 0
                # A gain is often followed by another in the same direction, or in one that was nearly as good.
                promising = [moved.weights - position.weights, *gaining[1 : 1 + self.directions // CARRIED]]
            else:
                idle, promising = idle + 1, []
            position = moved
            yield position
            if idle >= self.patience:
                return

    def further_lines(self, climber: Climber, weights: Floats) -> list[Floats]:
        """More directions to search from ``weights`` in every round; none by default, a subclass may add some."""
        return []

    def _lines(self, climber: Climber, promising: list[Floats], turn: int, *, thorough: bool) -> list[Floats]:
        """The directions of a round: promising ones, axes (if ``thorough`` all, up to MOST_AXES), and random ones."""
        room = self.directions - len(promising)
        one_by_one = climber.axes_in_turn(turn, MOST_AXES if thorough else max(room // AXES, 1))
        room -= len(one_by_one)
        return promising + one_by_one + list(climber.setting.whitening.draw(max(room, 1), climber.rng))
