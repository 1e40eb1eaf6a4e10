"""The k best derivations: against enumeration, against the k-best semiring, and against decoding."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune import Corpus, Forest, ForestBuilder, InputError, decode, inside
from hulltune.lines import kbest
from hulltune.semirings.kbest import KBestSemiring
from hulltune.semirings.viterbi import Derivation as SemiringDerivation
from tests.oracles import Derivation, derivations, edge_lines, output_of
from tests.strategies import counts, forests, lists, vectors


def in_order(forest: Forest, weights: list[float]) -> list[tuple[Fraction, Derivation]]:
    """All derivations by falling score on the grid, then by their edges in preorder."""
    scores = [intercept for _, intercept in edge_lines(forest, weights, [0.0] * len(weights))]
    every = ((sum((scores[edge] for edge in d), Fraction(0)), d) for d in derivations(forest))
    return sorted(every, key=lambda pair: (-pair[0], pair[1]))


def first_of_each_output(
    forest: Forest, ordered: list[tuple[Fraction, Derivation]]
) -> dict[tuple[str, ...], Derivation]:
    found: dict[tuple[str, ...], Derivation] = {}
    for _, derivation in ordered:
        found.setdefault(output_of(forest, derivation), derivation)
    return found


@settings(max_examples=200, deadline=None)
@given(st.one_of(forests(), forests(elements=counts), lists()), vectors(3), st.integers(1, 30))
def test_the_k_best_are_the_first_k_of_all(forest: Forest, weights: list[float], k: int) -> None:
    ordered = in_order(forest, weights)[:k]
    found = kbest(forest, weights, k)
    assert [derivation.edges for derivation in found[0]] == [derivation for _, derivation in ordered]
    assert found.scores.tolist() == [float(score) for score, _ in ordered]
    assert [derivation.tokens for derivation in found[0]] == [
        output_of(forest, derivation) for _, derivation in ordered
    ]
    assert [" ".join(derivation.tokens) for derivation in found[0]] == list(found.texts)
    assert found.complete.all()


@settings(max_examples=200, deadline=None)
@given(st.one_of(forests(), forests(elements=counts, max_arity=2)), vectors(3), st.integers(1, 30))
def test_distinct_outputs_come_once_with_their_best_derivation(forest: Forest, weights: list[float], k: int) -> None:
    expected = first_of_each_output(forest, in_order(forest, weights))
    found = kbest(forest, weights, k, distinct=True)
    assert [derivation.edges for derivation in found[0]] == list(expected.values())[:k]
    assert [derivation.tokens for derivation in found[0]] == list(expected)[:k]


@settings(max_examples=100, deadline=None)
@given(st.lists(forests(), min_size=1, max_size=4), vectors(3), st.integers(1, 3))
def test_the_first_is_what_decoding_gives_bit_for_bit(parts: list[Forest], weights: list[float], threads: int) -> None:
    corpus = Corpus.pack(parts)
    best, found = decode(corpus, weights), kbest(corpus, weights, 1, threads=threads)
    assert found.offsets.tolist() == best.offsets[0].tolist()
    assert found.scores.tobytes() == best.intercepts.tobytes()
    assert found.edges.tolist() == best.derivation_edges.tolist()
    assert list(found.texts) == [text for texts in best.outputs() for text in texts]


@settings(max_examples=60, deadline=None)
@given(forests(max_arity=2), vectors(3), st.integers(1, 8))
def test_scores_are_those_of_the_k_best_semiring(forest: Forest, weights: list[float], k: int) -> None:
    """The semiring orders ties by length first, so only the scores are compared."""
    corpus = Corpus.pack([forest])
    from hulltune import EdgeScorer

    scores, exponents = EdgeScorer(corpus).scores(0, 1, np.array([weights]))
    semiring = KBestSemiring(k)
    values = [semiring.value([SemiringDerivation(score, (edge,))]) for edge, score in enumerate(scores[0].tolist())]
    expected = [float(np.ldexp(best.score, exponents[0, 0])) for best in inside(forest, semiring, values)[forest.root]]
    assert kbest(forest, weights, k).scores.tolist() == expected


@settings(max_examples=100, deadline=None)
@given(st.lists(forests(elements=st.floats(-4, 4)), min_size=1, max_size=3), vectors(3), st.booleans())
def test_features_are_sums_over_the_edges(parts: list[Forest], weights: list[float], sparse: bool) -> None:
    corpus = Corpus.pack(parts)
    found = kbest(corpus, weights, 5)
    every = found.features.toarray()
    row = 0
    for sentence, forest in enumerate(corpus):
        values = forest.features.toarray()
        for derivation in found[sentence]:
            expected = np.zeros(3)
            for edge in derivation.edges:
                expected += values[edge]
            assert every[row].tolist() == expected.tolist()
            assert [derivation.features.get(name, 0.0) for name in corpus.feature_names] == expected.tolist()
            row += 1
    assert row == len(every) == len(found.scores)


def confusion_network(positions: int, words: int) -> Forest:
    """Each position has ``words`` words, each of them by two edges that differ in nothing."""
    builder = ForestBuilder(feature_names=["score"])
    builder.add_edge(0, features=[0.0], output=[])
    for position in range(positions):
        for word in range(words):
            for _ in range(2):
                builder.add_edge(position + 1, [position], features=[-float(word)], output=[0, f"w{word}"])
    return builder.build(root=positions)


def test_distinct_outputs_are_found_among_exponentially_many_duplicates() -> None:
    """2^40 derivations have the best output, so that waiting for them to pass would never end."""
    found = kbest(confusion_network(40, 2), [1.0], 42, distinct=True)
    assert len(set(found.texts)) == 42
    assert found.scores.tolist() == [0.0, *[-1.0] * 40, -2.0]
    assert found.complete.all()


def test_a_sentence_with_too_many_duplicates_keeps_what_was_found() -> None:
    """The root drops the output of its tail, so no node below can know that all outputs are equal."""
    builder = ForestBuilder(feature_names=["score"])
    for number in range(1000):
        builder.add_edge("tail", features=[-float(number)], output=[str(number)])
    builder.add_edge("root", ["tail"], features=[0.0], output=["same"])
    builder.add_edge("root", features=[-5000.0], output=["other"])
    forest = builder.build(root="root")
    cut = kbest(forest, [1.0], 2, distinct=True, patience=100)
    assert (list(cut.texts), cut.complete.tolist()) == (["same"], [False])
    whole = kbest(forest, [1.0], 2, distinct=True)
    assert (list(whole.texts), whole.complete.tolist()) == (["same", "other"], [True])


@pytest.mark.parametrize(("depth", "losses"), [(30_000, [0.0, -1.0, -2.0]), (2_000, [0.0, -1.0, -1.0])])
def test_deep_forests_do_not_overflow_the_stack(depth: int, losses: list[float]) -> None:
    """Ties are judged over all edges in which they differ: with ties at every node, the time grows with the square."""
    is_tied = losses[1] == losses[2]
    builder = ForestBuilder(feature_names=["score"])
    builder.add_edge(0, features=[0.0], output=["a"])
    for node in range(1, depth):
        builder.add_edge(node, [node - 1], features=[0.0], output=[0])
        builder.add_edge(node, [node - 1], features=[-1.0 if is_tied else -float(node)], output=[0])
    found = kbest(builder.build(root=depth - 1), [1.0], 3)
    assert found.scores.tolist() == losses


def test_sentences_without_derivations_have_none() -> None:
    builder = ForestBuilder(feature_names=["score"])
    builder.add_node("root")
    corpus = Corpus.pack([builder.build(root="root"), confusion_network(1, 1), builder.build(root="root")])
    for distinct in (False, True):
        found = kbest(corpus, [1.0], 5, distinct=distinct)
        assert found.offsets.tolist() == [0, 0, 1 if distinct else 2, 1 if distinct else 2]
        assert found[0] == ()


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "3"])
def test_a_k_that_is_none_is_refused(k: object) -> None:
    with pytest.raises(InputError, match="k: expected a whole number of at least 1"):
        kbest(confusion_network(1, 1), [1.0], k)  # type: ignore[arg-type]  # that is the point
