"""A check of envelopes against all derivations, one by one."""

from __future__ import annotations

import math
from fractions import Fraction

from hulltune import Envelope, Forest
from tests.oracles import brute_force_envelope, derivations, edge_lines, output_of

FOREST_METHODS = ("lanes", "hull")
METHODS = ("scan", *FOREST_METHODS)


def assert_equals_enumeration(
    forest: Forest, origin: list[float], direction: list[float], interval: tuple[float, float], found: Envelope
) -> None:
    per_edge = edge_lines(forest, origin, direction)
    every = list(derivations(forest))
    lines = [
        (sum((per_edge[e][0] for e in d), Fraction(0)), sum((per_edge[e][1] for e in d), Fraction(0))) for d in every
    ]
    expected: list[tuple[float, int]] = []
    for left, winner in brute_force_envelope(lines, *interval):
        start = _to_double(left)
        if expected and start >= interval[1]:
            break
        if expected and start <= expected[-1][0]:  # too thin for a double in between: the next one takes its place
            start = expected.pop()[0]
        expected.append((start, winner))
    assert found.breakpoints.tolist() == [start for start, _ in expected[1:]]
    assert found.slopes.tolist() == [float(lines[winner][0]) for _, winner in expected]
    assert found.intercepts.tolist() == [float(lines[winner][1]) for _, winner in expected]
    for index, (_, winner) in enumerate(expected):
        assert tuple(found.edges(index)) == every[winner]
        assert found[index].tokens == output_of(forest, every[winner])


def _to_double(number: Fraction | float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
