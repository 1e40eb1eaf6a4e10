"""The compiled inside pass of the convex hull semiring, for edges that carry a line each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from hulltune.arrays import Floats
from hulltune.geometry.hulls import are_doubles, are_exact
from hulltune.kernels.forests.forest import Forests, ScoredForest
from hulltune.kernels.forests.hull import hull_inside
from hulltune.kernels.scores.exact import FAR
from hulltune.kernels.scores.magnitudes import magnitudes

if TYPE_CHECKING:
    from hulltune.data import Forest
    from hulltune.semirings.hull import Hull

MOST = 2.0**51  # grid units that a derivation may sum to: the exact range of the kernel (scores.py)


def inside_hull(forest: Forest, weights: Sequence[Hull]) -> list[Hull] | None:
    """The hull of each node, equal to that of the generic algorithm; None where only that algorithm can compute it.

    That is so where an edge carries no line or several, where numbers are exact already, or where sums of derivations
    are not exact in doubles.
    """
    from hulltune.semirings.hull import Hull

    if any(len(weight) != 1 for weight in weights):
        return None
    lines = [weight.points[0] for weight in weights]
    if are_exact(lines) or not are_doubles(lines):
        return None
    x, y = np.array(lines, dtype=np.float64).reshape(-1, 2).T
    rows = np.stack([x, -y])
    units = np.array([_unit(row) for row in rows])
    with np.errstate(over="ignore"):
        scaled = np.ascontiguousarray(rows / units[:, None])
    whole = np.array([0, forest.nodes], dtype=np.int64)
    bounds = magnitudes(Forests(whole, forest.edge_offsets, forest.tail_offsets, forest.tails), scaled)
    if not np.all(bounds <= MOST):
        return None
    scored = ScoredForest(0, forest.nodes, forest.edge_offsets, forest.tail_offsets, forest.tails, scaled[0], scaled[1])
    slopes, intercepts, start, size, more_slope, more_intercept = hull_inside(scored, -FAR, FAR)
    hulls = []
    for node in range(forest.nodes):
        chain = slice(start[node], start[node] + size[node])
        x = (slopes[chain] + more_slope[node]) * units[0]
        y = (intercepts[chain] + more_intercept[node]) * -units[1] + 0.0  # no negative zero
        hulls.append(Hull(tuple(zip(x.tolist(), y.tolist(), strict=True))))
    return hulls


def _unit(values: Floats) -> float:
    """The largest power of two that divides all values (1 if all are 0)."""
    mantissas, exponents = np.frexp(values[values != 0.0])
    if not len(mantissas):
        return 1.0
    bits = np.ldexp(np.abs(mantissas), 53).astype(np.int64)
    trailing = np.log2((bits & -bits).astype(np.float64)).astype(np.int64)
    return float(np.ldexp(1.0, int((exponents - 53 + trailing).min())))
