"""The random climb: every round searches many lines at once, and takes the best step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from hulltune.arrays import Floats
from hulltune.defaults import DIRECTIONS
from hulltune.errors import InputError
from hulltune.search.climbing import Climber, Climbing, Position
from hulltune.search.directions import random_directions

CARRIED = 3
"""A round searches again along up to 1/CARRIED as many directions as it has, of those that gained in the last one."""
AXES = 3
"""A share of 1/AXES of the other directions of a round are axes."""


@dataclass(frozen=True)
class Climb(Climbing):
    """Climbs along ``directions`` lines a round: the way of the last step, those that gained in the last round, some
    axes in turn, and random ones (Cer et al. 2008).

    ``patience`` rounds in a row without gain end a climb; in the last of them all axes are searched.
    """

    name: ClassVar[str] = "random"

    directions: int = DIRECTIONS
    patience: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.directions < 0:
            raise InputError(f"directions: expected 0 or more, got {self.directions}")
        if self.patience < 1:
            raise InputError(f"patience: expected a positive number, got {self.patience}")

    def climb(self, climber: Climber, position: Position) -> Iterator[Position]:
        """Search many lines, take the best step, and again."""
        promising: list[Floats] = []
        idle, turn = 0, 0
        for _ in range(self.max_rounds):
            lines = self._lines(climber, promising, turn, thorough=idle + 1 >= self.patience)
            moved, gaining = climber.best_step(position, lines + self.further_lines(climber, position.weights))
            turn += self.directions
            if moved.loss < position.loss:
                idle = 0
                # Where one gain is, there is often another: along the same way, and along what was second best.
                promising = [moved.weights - position.weights, *gaining[1 : 1 + self.directions // CARRIED]]
            else:
                idle, promising = idle + 1, []
            position = moved
            yield position
            if idle >= self.patience:
                return

    def further_lines(self, climber: Climber, weights: Floats) -> list[Floats]:
        """Directions to search from given weights beside those of every round: none here."""
        return []

    def _lines(self, climber: Climber, promising: list[Floats], turn: int, *, thorough: bool) -> list[Floats]:
        """The directions of a round: promising ones, axes (all of them if ``thorough``), and random ones."""
        one_by_one = climber.axes
        room = self.directions - len(promising)
        if not thorough and one_by_one:
            wanted = range(turn, turn + max(room // AXES, 1))
            one_by_one = [one_by_one[k % len(one_by_one)] for k in sorted({k % len(one_by_one) for k in wanted})]
        room -= len(one_by_one)
        return promising + one_by_one + list(random_directions(max(room, 1), climber.setting.units, climber.rng))
