"""The best reachable score: against the enumeration of all outputs of all derivations."""

from __future__ import annotations

import importlib
import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hulltune import Constraints, Corpus, Forest, ForestBuilder, InputError, read, tune
from hulltune.kernels.outputs.nearest_output import tails_put_out
from hulltune.metrics.bleu import Bleu
from hulltune.metrics.chrf import ChrF
from hulltune.metrics.wer import Cer, Wer
from hulltune.tuning.nearest_outputs import nearest_outputs
from hulltune.tuning.oracle import Oracle, best_reachable
from tests.oracles import derivations, output_of
from tests.strategies import counts, forests
from tests.tuning.corpora import QUICK, quick_search, random_forests, random_lists

WORDS = ("a", "b", "c", "d")
references = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)


def edit_distance(left: list[str], right: list[str]) -> int:
    """The edit distance, slow and plain."""
    row = list(range(len(right) + 1))
    for i, word in enumerate(left, 1):
        row, old = [i, *row[1:]], row
        for j, other in enumerate(right, 1):
            row[j] = min(old[j] + 1, row[j - 1] + 1, old[j - 1] + (word != other))
    return row[-1]


def outputs(forest: Forest) -> list[str]:
    return sorted({" ".join(output_of(forest, d)) for d in derivations(forest)})


def puts_out_a_tail_twice(forest: Forest) -> bool:
    for edge in range(forest.edges):
        row = [x for x in forest.labels[forest.label_offsets[edge] : forest.label_offsets[edge + 1]].tolist() if x < 0]
        if len(row) > len(set(row)):
            return True
    return False


LETTERS = st.text("abcd e", max_size=7)
UNITS: dict[str, tuple[Any, Any]] = {
    "words": (Wer(), str.split),
    "characters": (Cer(), lambda text: list(text.strip())),
}


@pytest.mark.parametrize("unit", UNITS)
@settings(max_examples=150, deadline=None)
@given(
    forest=st.one_of(forests(elements=counts), forests(elements=counts, max_arity=1, max_nodes=7)),
    two=st.tuples(st.one_of(references, LETTERS), st.one_of(references, LETTERS)),
)
def test_the_nearest_output_of_all(unit: str, forest: Forest, two: tuple[str, str]) -> None:
    metric, parts_of = UNITS[unit]
    found = nearest_outputs(Corpus.pack([forest]), metric.prepare([list(two)]), np.array([0]))[0]
    every = outputs(forest)
    if puts_out_a_tail_twice(forest) or not every:
        assert found == ()
        return
    for nearest, reference in zip(found, map(parts_of, two), strict=True):
        assert nearest.text in every
        assert nearest.edits == min(edit_distance(parts_of(text), reference) for text in every)
        assert nearest.edits == edit_distance(parts_of(nearest.text), reference)
        assert nearest.length == len(reference)


@given(st.lists(forests(elements=counts), min_size=1, max_size=3))
def test_where_edges_put_out_their_tails(several: list[Forest]) -> None:
    corpus = Corpus.pack(several)
    for forest, ends in zip(several, itertools.pairwise(corpus.sentence_edges.tolist()), strict=True):
        offsets = itertools.pairwise(forest.label_offsets.tolist())
        come_first = all(label >= 0 for begin, end in offsets for label in forest.labels[begin + 1 : end].tolist())
        expected = come_first, puts_out_a_tail_twice(forest)
        assert tails_put_out(corpus.label_offsets, corpus.labels, *ends) == expected


def test_words_that_are_white_space_at_the_ends_of_a_line_are_left_to_the_candidates() -> None:
    builder = ForestBuilder(feature_names=["score"])
    builder.add_edge(0, features=[0.0], output=["—", "It's"])
    builder.add_edge(1, [0], features=[0.0], output=[0, "GOOD."])
    builder.add_edge(1, [0], features=[0.0], output=[0, "bad"])
    corpus, texts = Corpus.pack([builder.build(root=1)]), [["its good"]]
    odd = best_reachable(corpus, texts, Cer(normalization="lower-nopunct"), weights=[1.0])
    assert (odd.score, odd.exact) == (0.0, False)  # the mark and the blank after it do not count
    plain = best_reachable(corpus, texts, Cer(normalization="lower"))
    assert (plain.exact, plain.texts) == (True, ("— It's GOOD.",))


def lowest_by_enumeration(corpus: Corpus, texts: list[list[str]], metric: Wer | Cer) -> float:
    prepared = metric.prepare(texts)
    rows = []
    for sentence, forest in enumerate(corpus):
        every = outputs(forest) or [""]
        rows.append(np.unique(prepared.statistics(np.full(len(every), sentence), every), axis=0).tolist())
    return min(float(metric.score(np.sum(choice, axis=0))) for choice in itertools.product(*rows))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(forests(elements=counts, max_derivations=40), references), min_size=1, max_size=2),
    st.sampled_from([Wer(), Cer()]),
)
def test_the_rate_of_the_corpus_is_the_lowest_of_all_choices(
    sentences: list[tuple[Forest, str]], metric: Wer | Cer
) -> None:
    assume(any(forest.edges for forest, _ in sentences))
    corpus = Corpus.pack([forest for forest, _ in sentences])
    texts = [[reference] for _, reference in sentences]
    found = best_reachable(corpus, texts, metric, weights=[0.0, 0.0, 0.0], k=1000)
    assert found.score == lowest_by_enumeration(corpus, texts, metric)
    linear = not any(puts_out_a_tail_twice(forest) for forest, _ in sentences)
    if linear:
        assert found.exact
        assert found.bound == found.score
    assert metric_of(found.texts, texts, metric) == found.score


def metric_of(picked: tuple[str, ...], texts: list[list[str]], metric: Wer | Cer) -> float:
    rows = metric.prepare(texts).statistics(np.arange(len(texts)), list(picked))
    return float(metric.score(rows.sum(axis=0)))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(forests(elements=counts, max_arity=1, max_derivations=40), references, references),
        min_size=1,
        max_size=2,
    )
)
def test_with_several_references_the_claim_is_never_too_strong(sentences: list[tuple[Forest, str, str]]) -> None:
    assume(any(forest.edges for forest, _, _ in sentences))
    corpus = Corpus.pack([forest for forest, _, _ in sentences])
    texts = [[one, other] for _, one, other in sentences]
    found = best_reachable(corpus, texts, "wer", weights=[0.0, 0.0, 0.0], k=1000)
    lowest = lowest_by_enumeration(corpus, texts, Wer())
    assert found.score >= lowest
    assert metric_of(found.texts, texts, Wer()) == found.score
    if found.bound is not None:
        assert found.bound <= lowest
    if found.exact:
        assert found.score == lowest


def test_lists_are_exact_with_any_references() -> None:
    """The nearest reference of a longer output is longer: two more edits, but four more words to divide by."""
    forest = Forest.from_nbest(["a x", "a b c d e x y"], np.zeros((2, 1)))
    texts = [["a b", "a b c d e f g"]]
    found = best_reachable(Corpus.pack([forest]), texts, "wer")
    assert (found.score, found.exact, found.kind) == (2 / 7, True, "exact, all candidates")
    assert found.texts == ("a b c d e x y",)


def test_words_are_normalised_as_the_metric_does() -> None:
    builder = ForestBuilder(feature_names=["score"])
    builder.add_edge(0, features=[0.0], output=["It's", "—"])
    builder.add_edge(1, [0], features=[0.0], output=[0, "GOOD."])
    builder.add_edge(1, [0], features=[0.0], output=[0, "bad"])
    found = best_reachable(Corpus.pack([builder.build(root=1)]), [["its good"]], Wer(normalization="lower-nopunct"))
    assert (found.score, found.exact, found.texts) == (0.0, True, ("It's — GOOD.",))
    assert best_reachable(Corpus.pack([builder.build(root=1)]), [["its good"]], Wer()).score == 1.5


def test_other_metrics_say_what_was_searched() -> None:
    builder = ForestBuilder(feature_names=["score"])
    for number, word in enumerate("abc"):
        builder.add_edge("tail", features=[-float(number)], output=[word])
    builder.add_edge("root", ["tail"], features=[0.0], output=["x y z", 0])
    corpus = Corpus.pack([builder.build(root="root")])
    found = best_reachable(corpus, [["x y z c"]], Bleu(), weights=[1.0], k=2)
    assert (found.exact, found.bound) == (False, None)
    assert found.kind == "greedy, near the references, the 2 best"
    assert found.texts == ("x y z c",)  # not among the two best, but nearest to the reference
    assert best_reachable(corpus, [["x y z c"]], Bleu()).texts == ("x y z c",)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(forests(elements=counts, max_derivations=40), references), min_size=1, max_size=3))
def test_other_metrics_of_forests_are_reachable(sentences: list[tuple[Forest, str]]) -> None:
    assume(any(forest.edges for forest, _ in sentences))
    corpus = Corpus.pack([forest for forest, _ in sentences])
    texts = [[reference] for _, reference in sentences]
    found = best_reachable(corpus, texts, "chrf")
    for forest, text in zip(corpus, found.texts, strict=True):
        assert text in (outputs(forest) or [""])
    rows = ChrF().prepare(texts).statistics(np.arange(len(texts)), list(found.texts))
    assert float(ChrF().score(rows.sum(axis=0))) == found.score


@pytest.mark.parametrize("metric", ["bleu", "chrf", "wer"])
@pytest.mark.parametrize("make", [random_lists, lambda seed: read(*random_forests(seed))])
def test_the_oracle_is_one_number_whatever_the_run(metric: str, make: Any) -> None:
    """Neither the seed, nor the threads, the start, the search or the constraints change it."""
    data = make(3)
    alone = best_reachable(data, metric=metric)
    names = data.feature_names
    runs: list[dict[str, Any]] = [
        {"seed": 1},
        {"seed": 2, "threads": 3},
        {"start": dict.fromkeys(names, -1.0)},
        {"search": quick_search("powell")},
        {"constraints": Constraints(fix={names[0]: 0.5})},
        {"search": "certified", "constraints": Constraints(free=names[:1])},
    ]
    for options in runs:
        result = tune(data, **{**QUICK, "metric": metric, **options})
        assert (result.oracle, result.oracle_kind, result.oracle_bound) == (alone.score, alone.kind, alone.bound)


def test_the_oracle_is_never_below_what_was_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    data = random_lists(4)
    poor = Oracle(score=1.0, metric="", kind="greedy, by chance", exact=False, bound=0.0, texts=())
    monkeypatch.setattr(importlib.import_module("hulltune.tuning.tune"), "oracle_of", lambda *_, **__: poor)
    result = tune(data, **QUICK)
    assert result.oracle == result.score < 1.0
    assert result.oracle_kind == "the tuned picks, which are better than those of a search: greedy, by chance"


def test_sentences_without_derivations_count_as_empty_outputs() -> None:
    builder = ForestBuilder(feature_names=["score"])
    builder.add_node(0)
    empty, other = builder.build(root=0), Forest.from_nbest(["c d", "e"], [[1.0], [2.0]], feature_names=["score"])
    found = best_reachable(Corpus.pack([empty, other]), [["a b"], ["c d"]], "wer")
    assert (found.score, found.exact, found.texts) == (0.5, True, ("", "c d"))
    with pytest.raises(InputError, match="no sentence has a derivation, so there is nothing to choose from"):
        best_reachable(Corpus.pack([empty]), [["a b"]], "wer")


def test_an_empty_reference_beside_another_one() -> None:
    """The fewest edits, 1, may come with the empty reference, whose length of 0 makes the rate worse than 1 of 2."""
    texts = ["a a a", "a"]
    listed = Forest.from_nbest(texts, np.zeros((2, 1)))
    arcs = [(0, 1, text, [0.0]) for text in texts]
    lattice = Forest.from_lattice(arcs, start=0, finals=[1], feature_names=["x"])
    for forest in (listed, lattice):
        found = best_reachable(Corpus.pack([forest]), [["", "a a"]], "wer")
        assert found.score == 0.5
        assert found.texts == ("a a a",)
        assert found.bound is not None
        assert found.bound <= 0.5
