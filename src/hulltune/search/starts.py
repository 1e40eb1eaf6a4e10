"""Weights to climb from, all within the constraints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hulltune.arrays import Floats
from hulltune.search.constraints import CompiledConstraints
from hulltune.search.directions import random_directions

WAY = (0.2, 0.6)
"""How far from the best towards another a start may lie."""
CANCELLED = 0.1  # of the size of the best: shorter weights are what two opposite ones leave of each other


def random_start(constraints: CompiledConstraints, units: Floats, rng: np.random.Generator) -> Floats:
    """Random weights over scaled features."""
    return _feasible(constraints, random_directions(1, units, rng)[0], constraints.start(units))


def start_near(
    constraints: CompiledConstraints,
    units: Floats,
    best: Floats,
    others: Sequence[Floats],
    distance: float,
    rng: np.random.Generator,
) -> Floats:
    """Weights on the way from the best to one of the others (drawn at random), and then every scaled weight moved by a
    share of their mean size.
    """
    if others:
        other = others[int(rng.integers(len(others)))]
        best = _between(constraints, units, best, other, float(rng.uniform(*WAY)))
    moved = best + random_directions(1, units, rng)[0] * _size(best, units) * distance
    return _feasible(constraints, moved, best)


def _between(constraints: CompiledConstraints, units: Floats, best: Floats, other: Floats, share: float) -> Floats:
    """What lies between two weight vectors keeps the constraints as both do; the best where they cancel out."""
    size = _size(best, units)
    if constraints.only_direction_matters and _size(other, units) > 0.0:
        other = other * (size / _size(other, units))
    between = best + share * (other - best)
    return between if _size(between, units) > CANCELLED * size else best


def _size(weights: Floats, units: Floats) -> float:
    return float(np.mean(np.abs(weights * units)))


def _feasible(constraints: CompiledConstraints, weights: Floats, fallback: Floats) -> Floats:
    """A start within the constraints: mirrored at bounds of 0, otherwise as near as may be."""
    feasible = weights.copy()
    for group in constraints.groups:
        value = float(weights[group].mean())
        low, high = float(constraints.lower[group[0]]), float(constraints.upper[group[0]])
        if not low <= value <= high and low <= -value <= high:
            value = -value
        feasible[group] = min(max(value, low), high)
    return feasible if np.any(feasible) else fallback
