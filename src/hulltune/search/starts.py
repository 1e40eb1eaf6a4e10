"""Starts of climbs, all within the constraints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator

from hulltune.arrays import Floats
from hulltune.search.constraints import CompiledConstraints
from hulltune.search.logistic import logistic_weights
from hulltune.search.strategy import Setting

WAY = (0.2, 0.6)
"""The range of the way from the best weights to others on which a start may lie."""
CANCELLED = 0.1
"""Weights between two others are refused if their size is below this share of the best's: opposite weights cancel."""


def known_starts(setting: Setting) -> list[Floats]:
    """The first weights and, where answers are orders, those of a logistic regression (see search/logistic.py)."""
    problem, starts = setting.problem, [setting.first]
    if problem.orders is not None:
        documents = problem.orders.judgements.judged.documents
        learned = logistic_weights(problem.corpus.features, documents, setting.units)
        if learned is not None:
            starts.append(_feasible(setting.constraints, learned, setting.first, mirror=False))
    return starts


def random_start(setting: Setting, rng: Generator) -> Floats:
    """Random weights over scaled features, whitened (see Whitening)."""
    return _feasible(setting.constraints, setting.whitening.draw(1, rng)[0], setting.constraints.start(setting.units))


def start_near(setting: Setting, best: Floats, others: Sequence[Floats], distance: float, rng: Generator) -> Floats:
    """A point between the best weights and others (drawn at random), moved in a whitened random direction by about
    ``distance`` times the mean size of the scaled weights.
    """
    constraints, units = setting.constraints, setting.units
    if others:
        other = others[int(rng.integers(len(others)))]
        best = _between(constraints, units, best, other, float(rng.uniform(*WAY)))
    moved = best + setting.whitening.draw(1, rng)[0] * _size(best, units) * distance if distance > 0.0 else best
    return _feasible(constraints, moved, best)


def _between(constraints: CompiledConstraints, units: Floats, best: Floats, other: Floats, share: float) -> Floats:
    """Weights between the best and others, or the best where both cancel. Constraints are convex, so the result keeps
    them.
    """
    size = _size(best, units)
    if constraints.only_direction_matters and _size(other, units) > 0.0:
        other = other * (size / _size(other, units))
    between = best + share * (other - best)
    return between if _size(between, units) > CANCELLED * size else best


def _size(weights: Floats, units: Floats) -> float:
    return float(np.mean(np.abs(weights * units)))


def _feasible(constraints: CompiledConstraints, weights: Floats, fallback: Floats, *, mirror: bool = True) -> Floats:
    """The weights moved into the constraints: mirrored at bounds of 0 where that helps, then clipped."""
    lower, upper = constraints.lower, constraints.upper
    means = weights.copy()
    for group in constraints.tied_groups:
        means[group] = weights[group].mean()
    mirrored = ~((lower <= means) & (means <= upper)) & (lower <= -means) & (-means <= upper)
    feasible = np.clip(np.where(mirrored & mirror, -means, means), lower, upper)
    return feasible if np.any(feasible) else fallback
