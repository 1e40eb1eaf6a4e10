"""Decoding picks what the envelope names."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune import Corpus, Envelope, Forest, decode, envelope, kbest, rerank
from tests.oracles import derivations, edge_lines
from tests.problems import corpus_problem
from tests.strategies import counts, forests, lists, reals, vectors

few_values = st.integers(-1, 1).map(float)
tied = st.one_of(
    lists(elements=few_values), forests(elements=few_values), forests(elements=few_values, max_arity=1, max_nodes=7)
)
eighths = st.integers(-64, 64).map(lambda n: n / 8)


@settings(max_examples=300, deadline=None)
@given(tied, vectors(3, counts), vectors(3, counts), eighths)
def test_one_rule_breaks_all_ties(forest: Forest, origin: list[float], direction: list[float], eta: float) -> None:
    """Of derivations with equal scores the first wins: from the root down, the first edge. Lists, lattices and
    hypergraphs full of ties, decoded inside a segment: what the surface predicts is what decoding gives.
    """
    found = envelope(forest, origin, direction)
    if not len(found) or eta in found.breakpoints:
        return
    weights = np.array(origin) + eta * np.array(direction)
    scores = forest.features.toarray() @ weights  # whole eighths
    ranked = sorted(derivations(forest), key=lambda edges: (-sum(scores[list(edges)]), edges))
    winner = found[found.index_at(eta)]
    decoded = decode(forest, weights).envelope(0)
    assert winner.edges == decoded[0].edges == ranked[0]
    assert decoded.at(0.0) == found.at(eta)
    assert [each.edges for each in kbest(forest, weights, 20)[0]] == ranked[:20]
    assert list(rerank(forest, weights.tolist())) == [" ".join(winner.tokens)]
    problem = corpus_problem([forest], "wer", [("a",)])
    (surface,) = problem.search(np.array(origin), np.array([direction]), np.array([[-np.inf, np.inf]]))
    place = int(np.searchsorted(surface.lefts, eta, side="right")) - 1
    assert problem.outputs.text(int(surface.outputs[place])) == " ".join(winner.tokens)


@settings(max_examples=200, deadline=None)
@given(forests(elements=reals), vectors(3, reals), vectors(3, reals), st.floats(-20, 20))
def test_decoding_gives_the_winner_beyond_rounding(
    forest: Forest, origin: list[float], direction: list[float], eta: float
) -> None:
    found = envelope(forest, origin, direction)
    if not len(found):
        return
    decoded = decode(Corpus.pack([forest]), np.array(origin) + eta * np.array(direction)).envelope(0)
    # The decoded derivation scores what the envelope says, up to the rounding of the weights themselves.
    assert decoded.at(0.0) == pytest.approx(found.at(eta), rel=1e-9, abs=1e-6)
    ends = [-math.inf, *found.breakpoints, math.inf]
    index = found.index_at(eta)
    if eta - ends[index] > 1e-6 and ends[index + 1] - eta > 1e-6 and np.ptp(found.slopes) < 1e3:
        gap = min(
            [abs(m * eta + b - found.at(eta)) for m, b in _other_lines(forest, origin, direction, found, index)]
            or [1.0]
        )
        if gap > 1e-6:
            assert tuple(decoded.edges(0)) == tuple(found.edges(index))


def _other_lines(
    forest: Forest, origin: list[float], direction: list[float], found: Envelope, index: int
) -> list[tuple[float, float]]:
    """The lines of derivations with other features than those of a segment: of those with the same the first wins."""
    per_edge = edge_lines(forest, origin, direction)
    rows = forest.features.toarray()
    winner = rows[list(found.edges(index))].sum(axis=0)
    return [
        (float(sum(per_edge[e][0] for e in edges)), float(sum(per_edge[e][1] for e in edges)))
        for edges in derivations(forest)
        if np.any(rows[list(edges)].sum(axis=0) != winner)
    ]


def test_decoding_is_as_exact_as_doubles_on_large_counts() -> None:
    """Large counts beside small reals: no weight is rounded more than the others."""
    rng = np.random.default_rng(0)
    for _ in range(100):
        counted = rng.integers(1, 2**19, 3).astype(float)
        rows = np.column_stack([np.tile(counted, (20, 1)), rng.standard_normal(20) * 1e-4])
        rows[:, 0] += rng.integers(-2, 3, 20)
        weights = rng.standard_normal(4)
        picked = int(decode(Forest.from_nbest([str(i) for i in range(20)], rows), weights).derivation_edges[0])
        exact = [sum(Fraction(h) * Fraction(w) for h, w in zip(row, weights, strict=True)) for row in rows.tolist()]
        assert float(max(exact) - exact[picked]) <= 1e-14 * float(np.abs(rows).max() * np.abs(weights).max())
