"""From line searches to a local optimum: coordinate search, Powell's method, and random directions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from hulltune.defaults import DIRECTIONS
from hulltune.errors import InputError, unknown_name
from hulltune.names import SEARCHES
from hulltune.search.constraints import CompiledConstraints
from hulltune.search.directions import axes, random_directions
from hulltune.search.interface import Problem
from hulltune.search.policies import Policy
from hulltune.search.steps import search_lines

Floats = NDArray[np.float64]

CARRIED = 3
"""A round searches again along up to 1/CARRIED as many directions as it has, of those that gained in the last one."""
AXES = 3
"""Of the other directions of a round, 1/AXES are axes."""


@dataclass(frozen=True)
class SearchOptions:
    """How to climb.

    - "random": every round searches ``directions`` lines at once and takes the best step: the way of the last step,
      those that gained in the last round, some axes in turn, and random ones. Before it ends, all axes are searched.
    - "coordinate": Och's search: every round searches the axes, and takes the best step.
    - "powell": Powell's conjugate directions: one line after the other, from the axes on; the way of a whole round
      then replaces the direction that gained most.
    - "gradient": as "random", with the gradient of the expected metric among the directions: for many features.
    - "certified": the global optimum with a proof, for a few free weights (certified/).

    A round without gain ends the search (with random directions: ``patience`` such rounds in a row).
    """

    search: str = "random"
    directions: int = DIRECTIONS
    patience: int = 2
    max_rounds: int = 100
    policy: Policy = Policy()  # noqa: RUF009  # frozen

    def __post_init__(self) -> None:
        if self.search not in SEARCHES:
            raise unknown_name("search", self.search, SEARCHES)
        for name in ("directions", "patience", "max_rounds"):
            if getattr(self, name) < (0 if name == "directions" else 1):
                raise InputError(f"{name}: expected a positive number, got {getattr(self, name)}")


@dataclass(frozen=True, eq=False)
class Position:
    """Weights, their loss, and the line searches spent so far."""

    weights: Floats
    loss: float
    line_searches: int


Directions = Callable[[Floats], list[Floats]]
"""Further directions to search from given weights."""


def climb(
    problem: Problem,
    start: Floats,
    constraints: CompiledConstraints,
    options: SearchOptions,
    units: Floats,
    rng: Generator,
    *,
    reach: Floats | None = None,
    threads: int = 1,
    more_directions: Directions | None = None,
) -> Iterator[Position]:
    """Positions of ever smaller loss, from the start on. The loss of each is that of decoding with its weights."""
    climber = _Climber(problem, constraints, options, units, rng, reach, threads, more_directions)
    position = climber.first_position(start)
    yield position
    yield from climber.powell(position) if options.search == "powell" else climber.best_of_round(position)


@dataclass(frozen=True, eq=False)
class _Climber:
    """What stays the same during a climb."""

    problem: Problem
    constraints: CompiledConstraints
    options: SearchOptions
    units: Floats
    rng: Generator
    reach: Floats | None
    threads: int
    more_directions: Directions | None

    def first_position(self, start: Floats) -> Position:
        """The start, scaled as the constraints say, unless scaling would make it worse or break a bound."""
        weights = self.constraints.normalised(start)
        if self.constraints.violation(weights) is not None:
            weights = start
        loss = self._loss(weights)
        if not np.array_equal(weights, start):  # scaling rounds: a start within a hair of a tie could lose by it
            unscaled = self._loss(start)
            weights, loss = (start, unscaled) if unscaled < loss else (weights, loss)
        return Position(weights, loss, 0)

    def best_of_round(self, position: Position) -> Iterator[Position]:
        """Search many lines, take the best step, and again."""
        options = self.options
        promising: list[Floats] = []
        patience = 1 if options.search == "coordinate" else options.patience
        idle, turn = 0, 0
        for _ in range(options.max_rounds):
            lines = self._lines(promising, turn, thorough=idle + 1 >= patience)
            if self.more_directions is not None:
                lines += self.more_directions(position.weights)
            moved, gaining = self._search(position, lines)
            turn += options.directions
            if moved.loss < position.loss:
                idle = 0
                # Where one gain is, there is often another: along the same way, and along what was second best.
                promising = [moved.weights - position.weights, *gaining[1 : 1 + options.directions // CARRIED]]
            else:
                idle, promising = idle + 1, []
            position = moved
            yield position
            if idle >= patience:
                return

    @cached_property
    def _axes(self) -> list[Floats]:
        return axes(self.constraints.free_groups, self.units)

    def _lines(self, promising: list[Floats], turn: int, *, thorough: bool) -> list[Floats]:
        """The directions of a round: promising ones, axes (all of them if ``thorough``), and random ones."""
        one_by_one = self._axes
        if self.options.search == "coordinate":
            return one_by_one + promising[:1]
        room = self.options.directions - len(promising)
        if not thorough and one_by_one:
            wanted = range(turn, turn + max(room // AXES, 1))
            one_by_one = [one_by_one[k % len(one_by_one)] for k in sorted({k % len(one_by_one) for k in wanted})]
        room -= len(one_by_one)
        return promising + one_by_one + list(random_directions(max(room, 1), self.units, self.rng))

    def powell(self, position: Position) -> Iterator[Position]:
        """Search one line after the other; the way of a round replaces the line that gained most."""
        lines = list(self._axes)
        for _ in range(self.options.max_rounds):
            before = position
            best_gain, best_line = 0.0, 0
            for number, line in enumerate(lines):
                moved, _ = self._search(position, [line])
                if position.loss - moved.loss > best_gain:
                    best_gain, best_line = position.loss - moved.loss, number
                position = moved
            if not position.loss < before.loss:
                yield position
                return
            way = position.weights - before.weights
            position, _ = self._search(position, [way])
            lines[best_line] = way
            yield position

    def _search(self, position: Position, lines: list[Floats]) -> tuple[Position, list[Floats]]:
        """Where the best step along any of the lines leads, if decoding confirms that it gains anything; and all
        directions that gain, the best first.

        The gain was computed exactly, for weights that were then rounded to doubles and scaled: in an interval thinner
        than that rounding, decoding may see another loss. It has the last word.
        """
        steps = search_lines(
            self.problem, position.weights, position.loss, lines, self.constraints, self.options.policy,
            reach=self.reach, threads=self.threads,
        )  # fmt: skip
        spent = position.line_searches + len(steps)
        gains = [step for step in sorted(steps, key=lambda step: step.loss) if step.loss < position.loss]
        directions = [step.direction for step in gains]
        for step in gains:
            for weights in (self.constraints.normalised(step.weights), step.weights):
                if self.constraints.violation(weights) is None:
                    loss = self._loss(weights)
                    if loss < position.loss:
                        return Position(weights, loss, spent), directions
        return Position(position.weights, position.loss, spent), directions

    def _loss(self, weights: Floats) -> float:
        return float(self.problem.metric.loss(self.problem.picks(weights, threads=self.threads).total))
