"""A check of envelopes against all derivations, one by one."""

from __future__ import annotations

from hulltune import Envelope, Forest
from hulltune.geometry.predicates import Number
from tests.oracles import Line, edge_lines, enumerated_envelope, output_of

FOREST_METHODS = ("lanes", "hull")
METHODS = ("scan", *FOREST_METHODS)


def assert_equals_enumeration(
    forest: Forest, origin: list[float], direction: list[float], interval: tuple[float, float], found: Envelope
) -> None:
    """On the grid, after the one rounding of each edge's score, nothing else is rounded."""
    assert_segments(forest, edge_lines(forest, origin, direction), interval, found)


def assert_segments(forest: Forest, lines: list[Line], interval: tuple[Number, Number], found: Envelope) -> None:
    """The segments are those of the edges' lines, to the bit."""
    expected = enumerated_envelope(forest, lines, *interval)
    assert found.breakpoints.tolist() == [left for left, _, _ in expected[1:]]
    assert found.slopes.tolist() == [float(slope) for _, _, (slope, _) in expected]
    assert found.intercepts.tolist() == [float(intercept) for _, _, (_, intercept) in expected]
    assert [segment.edges for segment in found] == [winner for _, winner, _ in expected]
    assert [segment.tokens for segment in found] == [output_of(forest, winner) for _, winner, _ in expected]
