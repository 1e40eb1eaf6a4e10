"""A check of envelopes against all derivations, one by one, in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

from hulltune import Envelope, Forest
from tests.exact_oracle import ExactLines, enumerated_envelope
from tests.oracles import edge_lines, output_of

FOREST_METHODS = ("lanes", "hull")
METHODS = ("scan", *FOREST_METHODS)


def assert_equals_enumeration(
    forest: Forest, origin: list[float], direction: list[float], interval: tuple[float, float], found: Envelope
) -> None:
    expected = enumerated_envelope(ExactLines(forest), origin, direction, *interval)
    per_edge = edge_lines(forest, origin, direction)
    assert found.breakpoints.tolist() == [start for start, _ in expected[1:]]
    for index, (_, winner) in enumerate(expected):
        assert tuple(found.edges(index)) == winner
        assert found[index].tokens == output_of(forest, winner)
        assert found.slopes[index] == float(sum((per_edge[e][0] for e in winner), Fraction(0)))
        assert found.intercepts[index] == float(sum((per_edge[e][1] for e in winner), Fraction(0)))
    assert len(found) == len(expected)
