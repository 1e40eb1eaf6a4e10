"""From line searches to a local optimum: coordinate search, Powell's method, and random directions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from hulltune.errors import InputError, unknown_name
from hulltune.search.constraints import CompiledConstraints
from hulltune.search.directions import axes, random_directions
from hulltune.search.policies import Policy
from hulltune.search.problem import ListProblem
from hulltune.search.steps import Step, search_lines

Floats = NDArray[np.float64]

SEARCHES = ("random", "coordinate", "powell", "gradient")


@dataclass(frozen=True)
class SearchOptions:
    """How to climb.

    - "random": every round searches all axes and ``directions`` random directions, and takes the best step.
    - "coordinate": Och's search: every round searches the axes, and takes the best step.
    - "powell": Powell's conjugate directions: one line after the other, from the axes on; the way of a whole round
      then replaces the direction that gained most.
    - "gradient": as "random", with the gradient of the expected metric among the directions: for many features.

    A round without gain ends the search (with random directions: ``patience`` such rounds).
    """

    search: str = "random"
    directions: int = 16
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
    problem: ListProblem,
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
    weights = constraints.normalised(start)
    if constraints.violation(weights) is not None:
        weights = start
    loss = _loss(problem, weights, threads)
    if not np.array_equal(weights, start):  # scaling rounds: a start within a hair of a tie could lose by it
        unscaled = _loss(problem, start, threads)
        weights, loss = (start, unscaled) if unscaled < loss else (weights, loss)
    position = Position(weights, loss, 0)
    yield position
    climber = _powell if options.search == "powell" else _best_of_round
    yield from climber(problem, position, constraints, options, units, rng, reach, threads, more_directions)


def _best_of_round(
    problem: ListProblem,
    position: Position,
    constraints: CompiledConstraints,
    options: SearchOptions,
    units: Floats,
    rng: Generator,
    reach: Floats | None,
    threads: int,
    more_directions: Directions | None,
) -> Iterator[Position]:
    one_by_one = axes(constraints.free_groups, units)
    way: list[Floats] = []  # of the last two steps together: where one gain is, there is often another
    idle = 0
    for _ in range(options.max_rounds):
        lines = list(one_by_one)
        if options.search != "coordinate":
            lines += list(random_directions(options.directions, units, rng))
        if more_directions is not None:
            lines += more_directions(position.weights)
        steps = search_lines(
            problem,
            position.weights,
            position.loss,
            lines + way,
            constraints,
            options.policy,
            reach=reach,
            threads=threads,
        )
        spent = position.line_searches + len(steps)
        moved = _take_best(problem, steps, position, spent, constraints, threads)
        if moved is None:
            position = Position(position.weights, position.loss, spent)
            yield position
            idle += 1
            if options.search == "coordinate" or idle >= options.patience:
                return
            continue
        idle = 0
        way = [moved.weights - position.weights]
        position = moved
        yield position


def _powell(
    problem: ListProblem,
    position: Position,
    constraints: CompiledConstraints,
    options: SearchOptions,
    units: Floats,
    rng: Generator,
    reach: Floats | None,
    threads: int,
    more_directions: Directions | None,
) -> Iterator[Position]:
    lines = axes(constraints.free_groups, units)
    for _ in range(options.max_rounds):
        before = position
        best_gain, best_line = 0.0, 0
        for number, line in enumerate(lines):
            moved = _along(problem, position, line, constraints, options, reach, threads)
            if position.loss - moved.loss > best_gain:
                best_gain, best_line = position.loss - moved.loss, number
            position = moved
        if not position.loss < before.loss:
            yield position
            return
        way = position.weights - before.weights
        position = _along(problem, position, way, constraints, options, reach, threads)
        lines[best_line] = way
        yield position


def _along(
    problem: ListProblem,
    position: Position,
    line: Floats,
    constraints: CompiledConstraints,
    options: SearchOptions,
    reach: Floats | None,
    threads: int,
) -> Position:
    steps = search_lines(
        problem, position.weights, position.loss, [line], constraints, options.policy, reach=reach, threads=threads
    )
    spent = position.line_searches + len(steps)
    moved = _take_best(problem, steps, position, spent, constraints, threads)
    return moved if moved is not None else Position(position.weights, position.loss, spent)


def _take_best(
    problem: ListProblem,
    steps: list[Step],
    position: Position,
    spent: int,
    constraints: CompiledConstraints,
    threads: int,
) -> Position | None:
    """Go to the best step whose gain decoding confirms.

    The gain was computed exactly, for weights that were then rounded to doubles and scaled: in an interval thinner
    than that rounding, decoding may see another loss. It has the last word.
    """
    for step in sorted(steps, key=lambda step: step.loss):
        if not step.loss < position.loss:
            return None
        scaled = constraints.normalised(step.weights)
        for weights in (scaled, step.weights):
            if constraints.violation(weights) is None:
                loss = _loss(problem, weights, threads)
                if loss < position.loss:
                    return Position(weights, loss, spent)
    return None


def _loss(problem: ListProblem, weights: Floats, threads: int) -> float:
    return float(problem.metric.loss(problem.picks(weights, threads=threads).total))
