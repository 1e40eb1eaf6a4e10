"""Random forests and lines on which rounding has much to get wrong."""

from __future__ import annotations

import itertools
import random

from hulltune import Forest, ForestBuilder


def nasty_case(seed: int) -> tuple[Forest, list[float], list[float]]:
    """A forest of at most a few hundred derivations, an origin and a direction, by a seed.

    Ties, parallel and all but parallel lines, decimals, huge and tiny numbers, duplicated paths, counts spread over
    edges, lines that meet in one point.
    """
    rng = random.Random(seed)
    width = rng.randint(1, 4)
    kind = rng.choice(["counts", "decimals", "long decimals", "near", "doubles", "extreme", "mixed"])
    while True:
        forest = _forest(rng, width, kind)
        if forest is not None:
            break
    origin, direction = _weights(rng, width, kind), _weights(rng, width, kind)
    roll = rng.random()
    if roll < 0.2:  # an axis
        direction = [0.0] * width
        direction[rng.randrange(width)] = rng.choice([1.0, -1.0, 0.3])
    elif roll < 0.3:  # along the weights themselves: all lines meet in one point
        factor = rng.choice([1.0, -0.5, 1 / 3])
        direction = [factor * weight for weight in origin]
    return forest, origin, direction


def _value(rng: random.Random, kind: str) -> float:
    if rng.random() < 0.15:
        return 0.0
    if kind == "mixed":
        kind = rng.choice(["counts", "decimals", "long decimals", "near", "doubles"])
    if kind == "counts":
        return float(rng.randint(-3, 3))
    if kind == "decimals":
        return rng.randint(-30, 30) / rng.choice([10, 100])
    if kind == "long decimals":
        return float(f"{rng.randint(-9, 9)}.{rng.choice([301029995663981, 434294481903, 69897])}")
    if kind == "near":
        return rng.choice([0.1, 0.2, 0.3, 1.0, -0.1]) + rng.choice([0.0, 0.0, 2.0**-53, -(2.0**-52), 2.0**-40])
    if kind == "doubles":
        return rng.gauss(0.0, 1.0)
    return rng.choice([1e150, -1e150, 1e-150, 5e-324, 1.0, -1.0, 0.1, 3e-150, 2.0**53, 1e-9])


def _weights(rng: random.Random, width: int, kind: str) -> list[float]:
    if rng.random() < 0.4:
        return [float(rng.randint(-2, 2)) for _ in range(width)]
    if kind == "extreme":
        return [_value(rng, kind) for _ in range(width)]
    return [rng.choice([rng.gauss(0.0, 1.0), 0.1, -0.3, 1 / 3, 1.0]) for _ in range(width)]


def _forest(rng: random.Random, width: int, kind: str) -> Forest | None:
    """A list, a lattice, a hypergraph, or all ways to bracket a sequence; None if it has too many derivations."""
    few = [[_value(rng, kind) for _ in range(width)] for _ in range(rng.randint(1, 4))]

    def features() -> list[float]:
        return rng.choice(few) if rng.random() < 0.6 else [_value(rng, kind) for _ in range(width)]

    names = [f"f{i}" for i in range(width)]
    shape = rng.choice(["list", "lattice", "hypergraph", "brackets"])
    if shape == "list":
        rows = [features() for _ in range(rng.randint(1, 40))]
        return Forest.from_nbest([str(i) for i in range(len(rows))], rows, feature_names=names)
    builder = ForestBuilder(feature_names=names, sparse=rng.random() < 0.3)
    if shape == "brackets":  # the sums of all brackets are equal, but for noise
        n = rng.randint(2, 5)
        words = [features() for _ in range(n)]
        for begin, end in itertools.combinations(range(n + 1), 2):
            if end == begin + 1:
                builder.add_edge((begin, end), features=words[begin], output=[str(begin)])
            for middle in range(begin + 1, end):
                noise = features() if rng.random() < 0.1 else [0.0] * width
                builder.add_edge((begin, end), [(begin, middle), (middle, end)], features=noise)
        return builder.build(root=(0, n))
    nodes = rng.randint(2, 6)
    builder.add_edge(0, features=features(), output=["s"])
    counts = [1]
    for node in range(1, nodes):
        count = 0
        for number in range(rng.randint(1, 4)):
            arity = 1 if shape == "lattice" else rng.randint(0, 2)
            tails = [rng.randrange(node) for _ in range(arity)]
            builder.add_edge(node, tails, features=features(), output=[str(number), *range(arity)])
            product = 1
            for tail in tails:
                product *= counts[tail]
            count += product
        counts.append(count)
    return builder.build(root=nodes - 1) if counts[-1] <= 200 else None
