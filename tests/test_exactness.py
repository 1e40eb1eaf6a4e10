"""Envelopes, decoding and the k best against exact arithmetic over the numbers as given (tests/exact_oracle.py)."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune import Dataset, Forest, ForestBuilder, decode, envelope, envelopes, kbest, read
from tests.envelope_checks import FOREST_METHODS, METHODS
from tests.exact_oracle import ExactLines, enumerated_envelope, exact_envelope, meant
from tests.exactness.cases import nasty_case
from tests.oracles import derivations
from tests.strategies import forests, lists, vectors

DATA = Path(__file__).parents[1] / "../shared/data"

ends = st.one_of(
    st.just((-math.inf, math.inf)),
    st.tuples(st.floats(-5, 5), st.floats(-5, 5))
    .map(lambda pair: (min(pair), max(pair)))
    .filter(lambda p: p[0] < p[1]),
    st.sampled_from([(0.0, math.inf), (-math.inf, 0.0), (-1e300, 1e-300), (1e17, 1e300)]),
)


def assert_exact(
    forest: Forest, origin: list[float], direction: list[float], interval: tuple[float, float], methods: tuple[str, ...]
) -> None:
    expected = exact_envelope(ExactLines(forest), origin, direction, *interval)
    for method in methods:
        found = envelope(forest, origin, direction, interval=interval, method=method)
        assert [(segment.left, segment.edges) for segment in found] == expected, method


@settings(max_examples=100, deadline=None)
@given(st.one_of(forests(max_derivations=60), lists(max_size=12)), vectors(3), vectors(3), ends)
def test_the_referee_agrees_with_enumeration(
    forest: Forest, origin: list[float], direction: list[float], interval: tuple[float, float]
) -> None:
    lines = ExactLines(forest)
    assert exact_envelope(lines, origin, direction, *interval) == enumerated_envelope(
        lines, origin, direction, *interval
    )


@settings(max_examples=150, deadline=None)
@given(forests(max_derivations=100), vectors(3), vectors(3), ends)
def test_envelopes_of_forests_are_exact(
    forest: Forest, origin: list[float], direction: list[float], interval: tuple[float, float]
) -> None:
    assert_exact(forest, origin, direction, interval, FOREST_METHODS)


@settings(max_examples=150, deadline=None)
@given(lists(max_size=40), vectors(3), vectors(3), ends)
def test_envelopes_of_lists_are_exact(
    forest: Forest, origin: list[float], direction: list[float], interval: tuple[float, float]
) -> None:
    assert_exact(forest, origin, direction, interval, METHODS)


@pytest.mark.parametrize("seed", [*range(60), 5775, 46442, 50146, 86524, 88250])
def test_nasty_cases_are_exact(seed: int) -> None:
    forest, origin, direction = nasty_case(seed)
    assert_exact(forest, origin, direction, (-math.inf, math.inf), METHODS if forest.nodes == 1 else FOREST_METHODS)


@pytest.mark.parametrize("seed", range(30))
def test_decoding_and_the_k_best_are_exact(seed: int) -> None:
    """The order of all derivations by exact score, ties in preorder."""
    forest, weights, _ = nasty_case(seed)
    every = list(derivations(forest))
    scores, _ = ExactLines(forest).scores(weights)
    ranked = sorted(every, key=lambda edges: (-sum(scores[e] for e in edges), edges))
    assert [each.edges for each in kbest(forest, weights, 50)[0]] == ranked[:50]
    assert decode(forest, weights).envelope(0)[0].edges == ranked[0]


def test_decimals_are_summed_as_decimals() -> None:
    """0.1 + 0.2 is 0.3, though not in doubles: one segment, won by the first derivation."""
    builder = ForestBuilder(feature_names=["penalty", "other"])
    builder.add_edge("a", features=[0.1, 1.0], output=["x"])
    builder.add_edge("b", ["a"], features=[0.2, 0.0])
    builder.add_edge("b", features=[0.3, 1.0], output=["y"])
    forest = builder.build(root="b")
    for origin, direction in [([1.0, 0.0], [0.0, 1.0]), ([0.0, 1.0], [1.0, 0.0]), ([1.0, 2.0], [-0.7, 1.0])]:
        for method in FOREST_METHODS:
            found = envelope(forest, origin, direction, method=method)
            assert [segment.tokens for segment in found] == [("x",)]


def test_a_thousand_sums_of_two_thirds_are_doubles() -> None:
    """Numbers that are no short decimals mean their doubles."""
    assert meant([2 / 3, 0.5]) == [Fraction(2 / 3), Fraction(1, 2)]
    assert meant([0.1, -2.25]) == [Fraction(1, 10), Fraction(-9, 4)]


def shared_sets() -> dict[str, Dataset]:
    return {
        "cdec": read(sorted((DATA / "cdec_two_forests").glob("*.hg.gz"))),
        "lattices": read([DATA / f"asr_tts/slf/{name}.slf.gz" for name in _ids()[:100:25]]),
        "lists": read(DATA / "fr_en/nbest.moses.gz"),
    }


def _ids() -> list[str]:
    return (DATA / "asr_tts/ids.txt").read_text(encoding="utf-8").split()


@pytest.mark.skipif(not DATA.is_dir(), reason="real data (../shared/data) is not there")
@pytest.mark.parametrize("name", ["cdec", "lattices", "lists"])
def test_real_envelopes_are_exact(name: str) -> None:
    """A slice of what `make exactness` compares."""
    corpus = shared_sets()[name].corpus
    rng = np.random.default_rng(18)
    width = len(corpus.feature_names)
    origin, directions = rng.normal(size=width), [rng.normal(size=width), np.eye(width)[0]]
    found = envelopes(corpus, origin, directions)
    for sentence in range(1 if name == "cdec" else 0, len(corpus), 20):
        lines = ExactLines(corpus[sentence])
        for number, direction in enumerate(directions):
            segments = found.envelope(sentence, number)
            assert [(each.left, each.edges) for each in segments] == exact_envelope(lines, origin, direction)
