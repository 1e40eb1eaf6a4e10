"""Pruning: what is kept is what max-marginals by enumeration say, and the share of the envelope is counted right."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune import Corpus, Forest, InputError, decode, envelopes, read
from hulltune.data import Member
from hulltune.data.joining import Piece, joined
from hulltune.data.vocabulary import Vocabulary
from hulltune.tuning.pruning import envelope_share, prune
from tests.oracles import derivations, edge_lines, output_of
from tests.strategies import counts, forests, vectors


def max_marginals(corpus: Corpus, sentence: int, weights: list[float]) -> tuple[list[Fraction], Fraction]:
    """The best score of a derivation with each edge of a sentence, and the best of all, on the grid of the corpus."""
    forest = corpus[sentence]
    scores = [intercept for _, intercept in edge_lines(corpus, weights, [0.0] * len(weights), sentence)]
    totals = {d: sum((scores[edge] for edge in d), Fraction(0)) for d in derivations(forest)}
    best = max(totals.values(), default=Fraction(0))
    return [max(total for d, total in totals.items() if edge in d) for edge in range(forest.edges)], best


@settings(max_examples=150, deadline=None)
@given(st.lists(forests(max_derivations=60), min_size=1, max_size=3), vectors(3), st.floats(0, 20))
def test_the_beam_keeps_edges_near_the_best(parts: list[Forest], weights: list[float], beam: float) -> None:
    corpus = Corpus.pack(parts)
    found = prune(corpus, weights, beam=beam, share=False)
    expected: list[bool] = []
    for sentence in range(len(corpus)):
        marginals, best = max_marginals(corpus, sentence, weights)
        expected += [float(best - marginal) <= beam if best - marginal < 2**1000 else False for marginal in marginals]
    assert found.kept.tolist() == expected
    assert_the_kept_derivations_are_left(corpus, found.corpus, found.kept.tolist())
    best_edges = decode(corpus, weights)
    sentences = np.repeat(np.flatnonzero(np.diff(best_edges.offsets[0])), np.diff(best_edges.derivation_offsets))
    assert found.kept[best_edges.derivation_edges + corpus.sentence_edges[sentences]].all()


@settings(max_examples=60, deadline=None)
@given(forests(elements=counts), vectors(3, counts), st.floats(0, 20))
def test_decoding_does_not_change(forest: Forest, weights: list[float], beam: float) -> None:
    """Features are counts: with others, a smaller forest has a finer grid, on which ties may disappear."""
    pruned = prune(forest, weights, beam=beam, share=False).corpus
    before, after = decode(forest, weights), decode(pruned, weights)
    assert before.outputs() == after.outputs()
    assert before.intercepts.tolist() == after.intercepts.tolist()


def assert_the_kept_derivations_are_left(corpus: Corpus, pruned: Corpus, kept: list[bool]) -> None:
    """Every sentence has exactly the derivations that use only kept edges, with their outputs and features."""
    assert len(pruned) == len(corpus)
    start = 0
    for forest, smaller in zip(corpus, pruned, strict=True):
        mine = kept[start : start + forest.edges]
        numbers = [edge for edge in range(forest.edges) if mine[edge]]
        assert smaller.edge_ids.tolist() == forest.edge_ids[numbers].tolist()
        assert smaller.features.toarray().tolist() == forest.features.toarray()[numbers].tolist()
        left = [tuple(numbers[edge] for edge in d) for d in derivations(smaller)]
        assert left == [d for d in derivations(forest) if all(mine[edge] for edge in d)]
        assert [output_of(smaller, d) for d in derivations(smaller)] == [output_of(forest, d) for d in left]
        used = {edge for d in left for edge in d}
        assert used == set(numbers)  # nothing dangles
        start += forest.edges


@settings(max_examples=150, deadline=None)
@given(st.one_of(forests(max_derivations=60), forests(elements=counts)), vectors(3), st.floats(0, 8))
def test_the_density_keeps_the_best_edges(forest: Forest, weights: list[float], density: float) -> None:
    found = prune(forest, weights, density=density, share=False)
    if not forest.edges:
        assert found.corpus.edges == 0
        return
    marginals, best = max_marginals(Corpus.pack([forest]), 0, weights)
    words = max(1, len(decode(forest, weights).envelope(0).tokens(0)))
    least = min(m for m, kept in zip(marginals, found.kept.tolist(), strict=True) if kept)
    assert found.kept.tolist() == [marginal >= least for marginal in marginals]
    assert least == best or found.corpus.edges <= density * words
    lower = [marginal for marginal in marginals if marginal < least]
    if lower:  # one more value would be too much
        assert sum(marginal >= max(lower) for marginal in marginals) > density * words
    assert_the_kept_derivations_are_left(Corpus.pack([forest]), found.corpus, found.kept.tolist())


@settings(max_examples=80, deadline=None)
@given(forests(elements=st.floats(-3, 3), max_derivations=60), vectors(3, st.floats(-2, 2)), st.floats(0, 5))
def test_the_share_counts_the_winners_that_are_left(forest: Forest, weights: list[float], beam: float) -> None:
    found = prune(forest, weights, beam=beam)
    assert found.envelope is not None
    if found.kept.all():
        assert (found.envelope.segments, round(found.envelope.angle, 12)) == (1.0, 1.0)
    assert 0.0 <= found.envelope.segments <= 1.0
    assert 0.0 <= found.envelope.angle <= 1.0 + 1e-12


def test_the_share_of_a_list_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Along the second feature the winners change at η = −1 and η = 1; the third candidate is pruned."""
    forest = Forest.from_nbest(["a", "b", "c"], [[0.0, -1.0], [1.0, 0.0], [0.0, 1.0]])
    corpus = Corpus.pack([forest])
    kept = np.array([True, True, False])
    lines = envelopes(corpus, [1.0, 0.0], [[0.0, 1.0]])
    assert lines.lefts.tolist() == [-math.inf, -1.0, 1.0]
    monkeypatch.setattr("hulltune.tuning.pruning.RANDOM_DIRECTIONS", 0)
    share = envelope_share(corpus, kept, np.array([1.0, 0.0]))
    # Along the first feature: 0 and 2 tie left of −1 (the first wins), then candidate 1. Units are 1 and 2.
    first = envelopes(corpus, [1.0, 0.0], [[1.0, 0.0]])
    assert first.derivation_edges.tolist() == [0, 1]
    angle = math.atan(1.0 * 2.0) / math.pi  # candidate 2 wins beyond η = 1, seen under π/2 − atan(2)
    assert share.segments == pytest.approx(4 / 5)
    assert share.angle == pytest.approx((1.0 + 0.5 + angle) / 2.0)
    assert share.directions == 2


def test_nothing_to_prune_by_is_refused() -> None:
    forest = Forest.from_nbest(["a"], [[1.0]])
    with pytest.raises(InputError, match="beam, density: expected at least one"):
        prune(forest, [1.0])
    for bad in (-1.0, math.nan, math.inf, "wide"):
        with pytest.raises(InputError, match="beam: expected a number of at least 0"):
            prune(forest, [1.0], beam=bad)  # type: ignore[arg-type]  # that is the point


def test_first_choices_of_lists_move_with_their_edges_or_go() -> None:
    vocabulary = Vocabulary()
    pieces = [
        Piece(
            sentence,
            Forest.from_nbest(["x", "y", "z"], [[0.0], [9.0], [8.0]], vocabulary=vocabulary),
            Member("m", str(sentence), True),
            choice,
        )
        for sentence, choice in enumerate((2, 0))
    ]
    pruning = prune(joined(pieces), [1.0], beam=2.0, share=False)
    small = pruning.dataset
    assert small.first_choices.tolist() == [1, -1]
    assert small.corpus.sentence_edges.tolist() == [0, 2, 4]
    assert pruning.kept.tolist() == [False, True, True] * 2
    assert str(pruning) == "4 of 6 edges, 2 of 2 nodes"


@settings(max_examples=40, deadline=None)
@given(st.lists(forests(elements=counts), min_size=1, max_size=3), st.integers(1, 3))
def test_pruned_forests_keep_their_names(parts: list[Forest], density: int) -> None:
    whole = read(parts)
    small = prune(whole, np.ones(3), density=float(density), share=False).dataset
    assert (small.ids, small.members, small.feature_names) == (whole.ids, whole.members, whole.feature_names)
    assert len(small.corpus) == len(whole.corpus)
