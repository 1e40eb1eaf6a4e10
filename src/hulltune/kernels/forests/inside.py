"""Compiled inside and outside passes: for semirings whose values are single doubles, and for hulls of one line an edge.

Values equal those of the generic algorithms (inference.py) to the bit: the operations, their order and the doubles are
the same. The semiring is a number that the two operations branch on, always the same way; truth values are 0.0 and 1.0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from hulltune.arrays import Floats, Int32s, Int64s
from hulltune.geometry.hulls import are_doubles, are_exact
from hulltune.kernels.forests.forest import Forests, ScoredForest
from hulltune.kernels.forests.hull import hull_inside
from hulltune.kernels.load.kernel import kernel, part
from hulltune.kernels.scores.exact import FAR
from hulltune.kernels.scores.magnitudes import magnitudes

if TYPE_CHECKING:
    from hulltune.data import Forest
    from hulltune.semirings.hull import Hull

MOST = 2.0**51  # grid units that a derivation may sum to: the exact range of the kernel (scores.py)

BOOLEAN, REAL, LOG, TROPICAL = range(4)
ZERO = (0.0, 0.0, -math.inf, -math.inf)
ONE = (1.0, 1.0, 0.0, 0.0)


@part
def _plus(semiring: int, a: float, b: float) -> float:
    if semiring == REAL:
        return a + b
    if semiring != LOG:  # the larger: the better score, or the disjunction
        return a if a >= b else b
    high, low = (a, b) if a >= b else (b, a)
    if high == -math.inf:
        return high
    return high + math.log1p(math.exp(low - high))


@part
def _times(semiring: int, a: float, b: float) -> float:
    if semiring in (BOOLEAN, REAL):
        return a * b
    return a + b


@kernel
def _inside(semiring: int, edge_offsets: Int64s, tail_offsets: Int64s, tails: Int32s, weights: Floats) -> Floats:
    values = np.empty(edge_offsets.size - 1)
    for node in range(values.size):
        total = ZERO[semiring]
        for edge in range(edge_offsets[node], edge_offsets[node + 1]):
            value = weights[edge]
            for position in range(tail_offsets[edge], tail_offsets[edge + 1]):
                value = _times(semiring, value, values[tails[position]])
            total = _plus(semiring, total, value)
        values[node] = total
    return values


@kernel
def _outside(
    semiring: int,
    edge_offsets: Int64s,
    tail_offsets: Int64s,
    tails: Int32s,
    weights: Floats,
    inside_values: Floats,
    arity: int,
) -> Floats:
    values = np.full(edge_offsets.size - 1, ZERO[semiring])
    values[-1] = ONE[semiring]
    suffixes = np.empty(arity + 1)
    for node in range(values.size - 1, -1, -1):
        for edge in range(edge_offsets[node], edge_offsets[node + 1]):
            first, last = tail_offsets[edge], tail_offsets[edge + 1]
            # suffixes[i] is the product of the inside values of the tails after the i-th.
            suffix = ONE[semiring]
            for position in range(last - 1, first - 1, -1):
                suffixes[position - first] = suffix
                suffix = _times(semiring, inside_values[tails[position]], suffix)
            context = _times(semiring, values[node], weights[edge])
            for position in range(first, last):
                tail = tails[position]
                around = _times(semiring, context, suffixes[position - first])
                values[tail] = _plus(semiring, values[tail], around)
                context = _times(semiring, context, inside_values[tail])
    return values


def _run_inside(semiring: int, forest: Forest, weights: Sequence[Any]) -> list[Any]:
    values = _inside(semiring, forest.edge_offsets, forest.tail_offsets, forest.tails, _doubles(weights))
    return _unpack(semiring, values)


def _run_outside(semiring: int, forest: Forest, weights: Sequence[Any], inside_values: Sequence[Any]) -> list[Any]:
    values = _outside(
        semiring,
        forest.edge_offsets,
        forest.tail_offsets,
        forest.tails,
        _doubles(weights),
        _doubles(inside_values),
        forest.arity,
    )
    return _unpack(semiring, values)


def _doubles(values: Sequence[Any]) -> Floats:
    return np.ascontiguousarray(values, dtype=np.float64)


def _unpack(semiring: int, values: Floats) -> list[Any]:
    unpacked: list[Any] = (values != 0.0).tolist() if semiring == BOOLEAN else values.tolist()
    return unpacked


def inside_hull(forest: Forest, weights: Sequence[Hull]) -> list[Hull] | None:
    """The hull of each node, equal to that of the generic algorithm; None where only that algorithm can compute it.

    That is so where an edge carries no line, several or labels, where numbers are exact already, or where sums of
    derivations are not exact in doubles.
    """
    from hulltune.semirings.hull import Hull

    if any(len(weight) != 1 or weight.labels for weight in weights):
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


_CODES = {"boolean": BOOLEAN, "real": REAL, "log": LOG, "tropical": TROPICAL}

INSIDE: dict[str, Callable[..., list[Any] | None]] = {
    **{name: partial(_run_inside, code) for name, code in _CODES.items()},
    "hull": inside_hull,
}
"""Functions from (forest, weights) to the inside value of each node, by kernel name; None where they cannot serve."""

OUTSIDE: dict[str, Callable[..., list[Any]]] = {name: partial(_run_outside, code) for name, code in _CODES.items()}
"""Functions from (forest, weights, inside values) to the outside value of each node, by kernel name."""
