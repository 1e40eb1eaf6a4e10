"""Steps in planes and 3-spaces through the current weights, each solved to its certified optimum."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from hulltune.search.certified.certify import pool_of
from hulltune.search.certified.pool import Pool, list_pool
from hulltune.search.certified.search import Limits, branch_and_bound
from hulltune.search.certified.space import Space, space_of, space_through
from hulltune.search.constraints import CompiledConstraints
from hulltune.search.directions import random_directions
from hulltune.search.interface import Problem
from hulltune.search.optimise import Position

Floats = NDArray[np.float64]

PATIENCE = 4
"""Subspaces without gain, one after the other, that end a climb."""
MOST_BOXES = 4000
"""Boxes for each subspace: most planes are solved with fewer."""

Gradient = Callable[[Floats], Floats]


def climb_in_subspaces(
    problem: Problem,
    start: Floats,
    constraints: CompiledConstraints,
    units: Floats,
    rng: Generator,
    limits: Limits,
    *,
    gradient: Gradient | None = None,
) -> Iterator[Position]:
    """Positions of ever smaller loss, from the start on, each the best of a subspace through the last.

    In turn: a plane of two weights, a plane of random directions (one of them the gradient of the expected metric, if
    there is one), and a 3-space of three weights. Fewer weights than that are searched all at once.
    """
    pool = list_pool(problem) if problem.choices_are_all else None  # of forests one for each subspace
    loss = float(problem.metric.loss(problem.picks(start).total))
    position = Position(start, loss, 0)
    yield position
    free = [group for group in constraints.free_groups if np.any(units[group] > 0.0)]
    idle, number = 0, 0
    while free and idle < PATIENCE:
        space = _subspace(number, position.weights, constraints, units, free, rng, gradient)
        moved = _best_in(problem, pool or pool_of(problem, space), space, position, limits)
        idle = 0 if moved.loss < position.loss else idle + 1
        position, number = moved, number + 1
        yield position
        if len(free) <= 2:
            return


def _subspace(
    number: int,
    weights: Floats,
    constraints: CompiledConstraints,
    units: Floats,
    free: list[NDArray[np.int64]],
    rng: Generator,
    gradient: Gradient | None,
) -> Space:
    kind = number % 3
    if kind == 1 and len(free) > 2:
        directions = random_directions(2, units, rng)
        if gradient is not None:
            directions[0] = gradient(weights)
        return space_through(weights, np.array([constraints.restrict(line) for line in directions]), units, constraints)
    count = min(2 if kind == 0 else 3, len(free))
    chosen = np.concatenate([free[k] for k in rng.choice(len(free), count, replace=False)])
    held = np.ones(len(weights), dtype=bool)
    held[chosen] = False
    around = replace(
        constraints,
        lower=np.where(held, weights, constraints.lower),
        upper=np.where(held, weights, constraints.upper),
    )
    return space_of(around, units)


def _best_in(problem: Problem, pool: Pool, space: Space, position: Position, limits: Limits) -> Position:
    """The best weights of a subspace, if they are better."""
    found = branch_and_bound(problem, pool, space, limits, start=position.weights)
    spent = position.line_searches + found.line_searches
    if found.loss < position.loss:
        return Position(found.weights, found.loss, spent)
    return Position(position.weights, position.loss, spent)
