"""Inside and outside values of a forest under any semiring.

The algorithms know a semiring only by its operations. If a semiring names a ``kernel``, the compiled code registered
under that name (kernels/forests/inside.py) does the work, with the same operations in the same order, hence equal
results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from hulltune.data import Forest
from hulltune.errors import InputError
from hulltune.semirings.base import Semiring

T = TypeVar("T")

Weight = Callable[[int], T] | Sequence[T] | NDArray[Any]
"""The value of each edge: a function of its number, or one value per edge in order."""

Method = Literal["auto", "generic"]


def inside(forest: Forest, semiring: Semiring[T], weight: Weight[T], *, method: Method = "auto") -> list[T]:
    """The inside value of each node, the root last: the ⊕ over its derivations of the ⊗ of their edges.

    The value of a node is the ⊕ of its edges in order; the value of an edge is weight ⊗ tail 0 ⊗ tail 1 ⊗ …. A node
    that an edge names twice counts twice. A root without derivations has ``semiring.zero``. Method "generic" uses no
    compiled code and gives equal results. Linear: one ⊕ per edge and one ⊗ per tail.

    >>> from hulltune import Forest, inside
    >>> arcs = [(0, 1, "wreck", [-1.0, -3.0]), (0, 1, "recognise", [-2.0, -1.0]), (1, 2, "speech", [-1.0, -1.0])]
    >>> lattice = Forest.from_lattice(arcs, start=0, finals=[2], feature_names=["am", "lm"])
    >>> from hulltune.semirings import CountingSemiring
    >>> inside(lattice, CountingSemiring(), lambda edge: 1)
    [1, 2, 2, 2]
    """
    weights = _weights(forest, weight)
    kernel = _kernel("INSIDE", semiring, method)
    compiled = kernel(forest, weights) if kernel is not None else None
    if compiled is not None:
        return compiled
    offsets, tails = forest.tail_offsets.tolist(), forest.tails.tolist()
    values: list[T] = []

    def edge_value(edge: int) -> T:
        value = weights[edge]
        for position in range(offsets[edge], offsets[edge + 1]):
            value = semiring.times(value, values[tails[position]])
        return value

    edge_offsets = forest.edge_offsets.tolist()
    for first, last in pairwise(edge_offsets):
        values.append(semiring.sum(map(edge_value, range(first, last))))
    return values


def outside(
    forest: Forest,
    semiring: Semiring[T],
    weight: Weight[T],
    *,
    inside_values: Sequence[T] | None = None,
    method: Method = "auto",
) -> list[T]:
    """The outside value of each node: the ⊕ over the derivations of the root, with one use of the node cut out.

    So outside[v] ⊗ inside[v] sums over the derivations that use v, once for each use. The contribution of an edge to a
    tail leaves out one position, not the node: an edge that names a node twice contributes twice. The root has
    ``semiring.one``, because it is never a tail. ``inside_values`` saves the inside pass. The semiring must be
    commutative, because what lies left and right of a node is multiplied on one side. Linear, like ``inside``.

    >>> from hulltune import Forest, outside
    >>> arcs = [(0, 1, "wreck", [-1.0, -3.0]), (0, 1, "recognise", [-2.0, -1.0]), (1, 2, "speech", [-1.0, -1.0])]
    >>> lattice = Forest.from_lattice(arcs, start=0, finals=[2], feature_names=["am", "lm"])
    >>> from hulltune.semirings import CountingSemiring
    >>> outside(lattice, CountingSemiring(), lambda edge: 1)
    [2, 1, 1, 1]
    """
    if not semiring.commutative:
        raise InputError(f"outside needs a commutative semiring, got {semiring!r}: its ⊗ depends on the order")
    weights = _weights(forest, weight)
    if inside_values is None:
        inside_values = inside(forest, semiring, weights, method=method)
    elif len(inside_values) != forest.nodes:
        raise InputError(
            f"inside_values: got {len(inside_values)} values, expected one for each of {forest.nodes} nodes"
        )
    kernel = _kernel("OUTSIDE", semiring, method)
    compiled = kernel(forest, weights, inside_values) if kernel is not None else None
    if compiled is not None:
        return compiled
    offsets, tails = forest.tail_offsets.tolist(), forest.tails.tolist()
    edge_offsets = forest.edge_offsets.tolist()
    values = [semiring.zero] * forest.nodes
    values[forest.root] = semiring.one
    for head in reversed(range(forest.nodes)):
        for edge in range(edge_offsets[head], edge_offsets[head + 1]):
            edge_tails = tails[offsets[edge] : offsets[edge + 1]]
            context = semiring.times(values[head], weights[edge])
            for tail, value in zip(edge_tails, _contexts(semiring, context, edge_tails, inside_values), strict=True):
                values[tail] = semiring.plus(values[tail], value)
    return values


def _contexts(semiring: Semiring[T], context: T, tails: Sequence[int], inside_values: Sequence[T]) -> list[T]:
    """``context`` times the inside values of all other tails, for each tail: by prefixes and suffixes, linear."""
    suffixes = [semiring.one]
    for tail in reversed(tails[1:]):
        suffixes.append(semiring.times(inside_values[tail], suffixes[-1]))
    contexts = []
    for tail in tails:
        contexts.append(semiring.times(context, suffixes.pop()))
        context = semiring.times(context, inside_values[tail])
    return contexts


def _weights(forest: Forest, weight: Weight[T]) -> Sequence[T]:
    if callable(weight):
        return [weight(edge) for edge in range(forest.edges)]
    if len(weight) != forest.edges:
        raise InputError(f"weight: got {len(weight)} values, expected one for each of {forest.edges} edges")
    return weight.tolist() if isinstance(weight, np.ndarray) else weight


def _kernel(
    algorithm: Literal["INSIDE", "OUTSIDE"], semiring: Semiring[T], method: str
) -> Callable[..., list[T] | None] | None:
    """The compiled function for this semiring; None if there is none, or if the method is "generic"."""
    if method not in ("auto", "generic"):
        raise InputError(f"method is {method!r}, expected 'auto' or 'generic'")
    if method == "generic" or semiring.kernel is None:
        return None
    from hulltune.kernels.forests import inside as kernels

    registry: dict[str, Callable[..., list[T] | None]] = getattr(kernels, algorithm)
    return registry.get(semiring.kernel)
