"""Forests whose envelopes have more segments than the forest has edges: the corollary often quoted is false.

Every edge has two features, ``m`` and ``b``: the slope and the intercept of its line along the direction (1, 0) from
the origin (0, 1). Both constructions use integers only, so all sums are exact.
"""

from __future__ import annotations

from hulltune.data import Forest, ForestBuilder
from hulltune.semirings import Hull

FEATURES = ("m", "b")
DIRECTION, ORIGIN = (1.0, 0.0), (0.0, 1.0)


def digit_lattice(a: int, b: int, c: int) -> Forest:
    """A lattice of 2a + ab + bc + ca edges whose envelope has abc + a − 1 segments.

    The layers t, l, u are the digits of η, stiff in that order; t' repeats t so that every two digits meet on an edge.
    """
    bc = b * c
    gamma = 1
    beta = 4 * c * c
    alpha = 4 * beta * bc * bc
    builder = ForestBuilder(feature_names=FEATURES)

    def edge(head: object, tails: list[object], x: int, y: int) -> None:
        builder.add_edge(head, tails, features=[x, -y])  # the dual point (x, y) is the line (x, −y)

    for i in range(a):
        x, y = 2 * alpha * bc * i, alpha * bc * bc * i * (i + 1)
        edge(("t", i), [], x, y)  # out of the source, which is no node of the forest
        edge("sink", [("t'", i)], x, y)
        for j in range(b):
            edge(("l", j), [("t", i)], 2 * beta * c * j, beta * c * c * j * (j + 1) + 2 * beta * c * j * bc * i)
        for k in range(c):
            edge(("t'", i), [("u", k)], 0, 2 * gamma * k * bc * i)
    for j in range(b):
        for k in range(c):
            edge(("u", k), [("l", j)], 2 * gamma * k, gamma * k * (k + 1) + 2 * gamma * k * c * j)
    return builder.build(root="sink")


def tent_map(rounds: int) -> Forest:
    """A hypergraph of 3·rounds + 4 edges whose envelope has 2^rounds + 1 segments.

    F' → F G with weight c and G' → F F | G G: f' = f + g + c and g' = 2 max(f, g), which folds the envelope onto
    itself in every round.
    """
    builder = ForestBuilder(feature_names=FEATURES)
    builder.add_edge(("F", 0), features=[1, 0], output=[])
    builder.add_edge(("G", 0), features=[0, 0], output=[])
    for n in range(rounds):
        f, g = ("F", n), ("G", n)
        builder.add_edge(("F", n + 1), [f, g], features=[0, 2 ** (rounds - 1 - n)])
        builder.add_edge(("G", n + 1), [f, f])
        builder.add_edge(("G", n + 1), [g, g])
    builder.add_edge("root", [("F", rounds)])
    builder.add_edge("root", [("G", rounds)])
    return builder.build(root="root")


def hull_weights(forest: Forest) -> list[Hull]:
    """Each edge as the hull of its one line."""
    lines = forest.features.toarray()
    return [Hull.from_lines([(float(m), float(b))]) for m, b in lines]
