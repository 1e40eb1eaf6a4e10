"""Envelopes, decoding and the k best against exact arithmetic over the numbers as given (tests/exact_oracle.py)."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune import Forest
from tests.exact_oracle import ExactLines, enumerated_envelope, exact_envelope, meant
from tests.strategies import forests, lists, vectors

DATA = Path(__file__).parents[1] / "../shared/data"

ends = st.one_of(
    st.just((-math.inf, math.inf)),
    st.tuples(st.floats(-5, 5), st.floats(-5, 5))
    .map(lambda pair: (min(pair), max(pair)))
    .filter(lambda p: p[0] < p[1]),
    st.sampled_from([(0.0, math.inf), (-math.inf, 0.0), (-1e300, 1e-300), (1e17, 1e300)]),
)


@settings(max_examples=100, deadline=None)
@given(st.one_of(forests(max_derivations=60), lists(max_size=12)), vectors(3), vectors(3), ends)
def test_the_referee_agrees_with_enumeration(
    forest: Forest, origin: list[float], direction: list[float], interval: tuple[float, float]
) -> None:
    lines = ExactLines(forest)
    assert exact_envelope(lines, origin, direction, *interval) == enumerated_envelope(
        lines, origin, direction, *interval
    )


def test_a_thousand_sums_of_two_thirds_are_doubles() -> None:
    """Numbers that are no short decimals mean their doubles."""
    assert meant([2 / 3, 0.5]) == [Fraction(2 / 3), Fraction(1, 2)]
    assert meant([0.1, -2.25]) == [Fraction(1, 10), Fraction(-9, 4)]
