"""Random derivations: drawn as often as their probability says, and the same again with the same seed."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from hulltune import Corpus, Forest, InputError
from hulltune.lines import sample
from hulltune.lines.derivations import DerivationLists
from tests.oracles import Derivation, derivations, edge_lines
from tests.strategies import forests, vectors

DRAWS = 5000


def probabilities(
    forest: Forest, weights: list[float], temperature: float
) -> tuple[list[Derivation], NDArray[np.float64]]:
    scores = [intercept for _, intercept in edge_lines(forest, weights, [0.0] * len(weights))]
    every = list(derivations(forest))
    logs = np.array([float(sum((scores[edge] for edge in d), Fraction(0))) for d in every]) / temperature
    shares = np.exp(logs - logs.max(initial=-math.inf))
    return every, shares / shares.sum()


def drawn(found: DerivationLists) -> list[Derivation]:
    bounds = found.edge_offsets.tolist()
    return [tuple(found.edges[begin:end].tolist()) for begin, end in pairwise(bounds)]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    forests(max_derivations=60, elements=st.floats(-3, 3)),
    vectors(3, st.floats(-1, 1)),
    st.sampled_from([0.5, 1.0, 4.0]),
    st.integers(0, 5),
)
def test_frequencies_are_probabilities(forest: Forest, weights: list[float], temperature: float, seed: int) -> None:
    """A chi-square test; at 60 fixed examples a p-value under 1e-5 would be a fault, not chance."""
    every, shares = probabilities(forest, weights, temperature)
    assume(len(every) > 1)
    draws = drawn(sample(forest, weights, DRAWS, temperature=temperature, seed=seed))
    place = {derivation: number for number, derivation in enumerate(every)}
    observed = np.bincount([place[draw] for draw in draws], minlength=len(every))
    common = shares * DRAWS >= 5
    groups = np.where(common, np.arange(len(every)), len(every))  # the rare ones together
    expected = np.bincount(groups, weights=shares * DRAWS)
    seen = np.bincount(groups, weights=observed)
    expected, seen = expected[expected > 0], seen[expected > 0]
    if expected[-1] < 5 and len(expected) > 1:
        expected, seen = (np.append(part[:-2], part[-2:].sum()) for part in (expected, seen))
    if len(expected) > 1:
        assert stats.chisquare(seen, expected).pvalue > 1e-5


@settings(max_examples=50, deadline=None)
@given(st.lists(forests(), min_size=2, max_size=5), vectors(3), st.integers(0, 2**64 - 1))
def test_a_seed_draws_the_same_whatever_the_threads(parts: list[Forest], weights: list[float], seed: int) -> None:
    corpus = Corpus.pack(parts)
    one, three = (sample(corpus, weights, 4, seed=seed, threads=threads) for threads in (1, 3))
    assert one.edges.tolist() == three.edges.tolist()
    assert one.scores.tobytes() == three.scores.tobytes()
    for sentence, forest in enumerate(corpus):
        every = set(derivations(forest))
        assert {derivation.edges for derivation in one[sentence]} <= every
        assert len(one[sentence]) == (4 if every else 0)


def test_seeds_and_sentences_draw_differently() -> None:
    forest = Forest.from_nbest([str(number) for number in range(1000)], np.zeros((1000, 1)))
    corpus = Corpus.pack([forest, forest])
    draws = [drawn(sample(corpus, [1.0], 10, seed=seed)) for seed in (1, 2)]
    assert draws[0] != draws[1]
    assert draws[0][:10] != draws[0][10:]


@settings(max_examples=80, deadline=None)
@given(forests(), vectors(3))
def test_extreme_scores_and_temperatures_stay_in_the_forest(forest: Forest, weights: list[float]) -> None:
    every, _ = probabilities(forest, [0.0] * 3, 1.0) if len(list(derivations(forest))) else ([], None)
    for temperature in (5e-324, 1e-300, 1e300):
        assert set(drawn(sample(forest, weights, 5, temperature=temperature))) <= set(every)


def test_a_temperature_near_0_draws_the_best_and_a_high_one_all_alike() -> None:
    forest = Forest.from_nbest(["a", "b", "c"], [[1.0], [1.001], [0.5]])
    assert set(sample(forest, [1.0], 200, temperature=1e-9).texts) == {"b"}
    hot = sample(forest, [1.0], 6000, temperature=1e9)
    assert stats.chisquare([list(hot.texts).count(word) for word in "abc"]).pvalue > 1e-3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"count": 0}, "count: expected a whole number of at least 1, got 0"),
        ({"temperature": 0.0}, "temperature: expected a number above 0"),
        ({"temperature": math.nan}, "temperature: expected a number above 0"),
        ({"temperature": "warm"}, "temperature: expected a number above 0"),
        ({"seed": -1}, "seed: expected a whole number"),
        ({"seed": 2**64}, "seed: expected a whole number"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, object], message: str) -> None:
    forest = Forest.from_nbest(["a"], [[1.0]])
    with pytest.raises(InputError, match=message):
        sample(forest, [1.0], **{"count": 1, **options})  # type: ignore[arg-type]  # that is the point
