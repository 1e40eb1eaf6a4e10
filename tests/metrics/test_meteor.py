from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hulltune.errors import InputError
from hulltune.metrics.meteor import Meteor, read_synonyms


def row(metric: Meteor, references: list[str], output: str) -> list[int]:
    counts: list[int] = metric.prepare([references]).statistics(np.array([0]), [output])[0].tolist()
    return counts


def score(metric: Meteor, references: list[str], output: str) -> float:
    return float(metric.score(np.array(row(metric, references, output))))


def test_one_word_is_missing() -> None:
    # "the president" and "spoke to the audience" are 2 chunks of 6 matches; P = 6/6, R = 6/7;
    # 10 P R / (R + 9 P) = 60/69 and the penalty is 0.5 (2/6)^3 = 1/54.
    reference, output = "the president then spoke to the audience", "the president spoke to the audience"
    assert row(Meteor(), [reference], output) == [6, 0, 0, 2, 6, 7]
    assert score(Meteor(), [reference], output) == pytest.approx(60 / 69 * (1 - 1 / 54), rel=1e-12)


def test_stems_match() -> None:
    # running/runs share a stem, dogs/dog share one, quickly is exact: order is kept, so 1 chunk of 3.
    assert row(Meteor(), ["Dogs running quickly"], "dog runs quickly") == [1, 2, 0, 1, 3, 3]
    assert row(Meteor(stemmer=None), ["Dogs running quickly"], "dog runs quickly") == [1, 0, 0, 1, 3, 3]


def test_module_weights() -> None:
    metric = Meteor(alpha=0.5, beta=1.0, gamma=0.5, stem_weight=0.6)
    # The weighted matches are 1 + 0.6, so P = R = 1.6/3 and chunks/matches = 1/2.
    assert row(metric, ["dogs bark x"], "dog bark y") == [1, 1, 0, 1, 3, 3]
    assert score(metric, ["dogs bark x"], "dog bark y") == pytest.approx(1.6 / 3 * (1 - 0.25), rel=1e-12)


def test_forms_go_before_stems() -> None:
    # "dog" could match "dogs" in one chunk with "bark", but the exact "dog" far away goes first, whatever the weights.
    for metric in (Meteor(), Meteor(exact_weight=0.5)):
        assert row(metric, ["dogs bark at the dog"], "dog bark") == [2, 0, 0, 2, 2, 5]


def test_synonyms_come_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "synonyms.txt"
    path.write_text("# groups\ncar Automobile auto\n\nauto self  # a word may be in two groups\n")
    assert read_synonyms(path) == (("car", "Automobile", "auto"), ("auto", "self"))
    metric = Meteor(synonyms=path, synonym_weight=0.8)
    assert row(metric, ["the automobile stops"], "the car stops") == [2, 0, 1, 1, 3, 3]
    assert row(metric, ["self"], "auto") == [0, 0, 1, 1, 1, 1]
    assert row(metric, ["self"], "car") == [0, 0, 0, 0, 1, 1]
    assert row(Meteor(synonyms=path, lowercase=False), ["automobile"], "car") == [0, 0, 0, 0, 1, 1]
    assert metric.signature != Meteor(synonym_weight=0.8).signature


def test_tokens_and_case() -> None:
    assert row(Meteor(lowercase=False), ["Yes, he can."], "yes, he can") == [1, 0, 0, 1, 3, 3]
    assert row(Meteor(tokenize="words"), ["Yes, he can."], "yes he can") == [3, 0, 0, 2, 3, 5]


def test_the_best_reference_of_the_sentence_counts() -> None:
    assert row(Meteor(), ["a b c d", "x y"], "x y") == [2, 0, 0, 1, 2, 2]
    assert row(Meteor(), ["x y", "a b c d"], "a b c") == [3, 0, 0, 1, 3, 4]


@pytest.mark.parametrize(("reference", "output"), [("", ""), ("a", ""), ("", "a"), ("a", "b")])
def test_without_a_match_the_score_is_zero(reference: str, output: str) -> None:
    assert score(Meteor(), [reference], output) == 0.0


words = st.lists(st.sampled_from(["a", "b", "cat", "cats", "run", "runs"]), max_size=7).map(" ".join)


@given(st.lists(st.tuples(words, words, words), min_size=1, max_size=5))
def test_sums_are_the_statistics_of_the_corpus(corpus: list[tuple[str, str, str]]) -> None:
    metric = Meteor()
    prepared = metric.prepare([[first, second] for first, second, _ in corpus])
    outputs = [output for _, _, output in corpus]
    rows = prepared.statistics(np.arange(len(corpus)), outputs)
    exact, stem, synonym, chunks, output_words, reference_words = rows.sum(axis=0).tolist()
    assert output_words == sum(len(output.split()) for output in outputs)
    assert synonym == 0
    matches = exact + stem
    value = float(metric.score(rows.sum(axis=0)))
    if matches:
        precision, recall = matches / output_words, matches / reference_words
        mean = precision * recall / (0.9 * precision + 0.1 * recall)
        assert value == pytest.approx(mean * (1 - 0.5 * (chunks / matches) ** 3), rel=1e-12)
    else:
        assert value == 0.0
    assert 0.0 <= value <= 1.0
    order = np.arange(len(corpus))[::-1]
    assert np.array_equal(prepared.statistics(order, [outputs[k] for k in order]), rows[::-1])


class NoWordNet:
    """Stands in for the WordNet of nltk: no word has a synonym."""

    def synsets(self, word: str) -> list[Any]:
        return []


FORMS = [
    ["run", "running", "runs"],
    ["cat", "cats"],
    ["walk", "walked"],
    ["play", "plays"],
    ["the"],
    ["on"],
    ["x"],
]


@st.composite
def sentence_pairs(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    """Two sentences without two forms of a word, so that the alignment is the same for everybody."""
    sides = []
    for _ in range(2):
        classes = draw(st.lists(st.sampled_from(range(len(FORMS))), unique=True, min_size=1))
        sides.append([draw(st.sampled_from(FORMS[k])) for k in classes])
    return sides[0], sides[1]


@given(sentence_pairs())
def test_equal_to_nltk(pair: tuple[list[str], list[str]]) -> None:
    theirs = pytest.importorskip("nltk.translate.meteor_score", reason="nltk is not installed")
    reference, output = pair
    expected = theirs.single_meteor_score(reference, output, wordnet=NoWordNet())
    assert score(Meteor(stemmer="porter"), [" ".join(reference)], " ".join(output)) == pytest.approx(
        expected, abs=1e-12
    )


@given(words, words)
def test_matches_are_those_of_nltk(reference: str, output: str) -> None:
    """Words may repeat: which of them match is a choice, how many is none."""
    theirs = pytest.importorskip("nltk.translate.meteor_score", reason="nltk is not installed")
    matches, _, _ = theirs.align_words(output.split(), reference.split(), wordnet=NoWordNet())
    exact, stem, *_ = row(Meteor(stemmer="porter"), [reference], output)
    assert exact + stem == len(matches)
    assert exact == len(theirs.exact_match(output.split(), reference.split())[0])


def test_equal_to_nltk_with_wordnet() -> None:
    theirs = pytest.importorskip("nltk.translate.meteor_score", reason="nltk is not installed")
    reference, output = ["the", "cats", "walked", "on", "mats"], ["a", "cat", "walks", "on", "the", "mat"]
    try:
        expected = theirs.single_meteor_score(reference, output)
    except LookupError:
        pytest.skip("nltk has no WordNet data here")
    assert score(Meteor(stemmer="porter"), [" ".join(reference)], " ".join(output)) == pytest.approx(expected)


def test_numbers_of_references_may_differ_if_that_is_meant() -> None:
    groups = [["a b c d", "x y"], ["x y"], ["a", "b", "a"]]
    prepared = Meteor(variable_references=True).prepare(groups)
    sentences, outputs = np.array([2, 0, 1, 0]), ["b", "a b c", "y", "x y"]
    alone = [row(Meteor(), groups[number], output) for number, output in zip(sentences, outputs, strict=True)]
    assert prepared.statistics(sentences, outputs).tolist() == alone


def test_a_group_of_one_word(tmp_path: Path) -> None:
    (tmp_path / "lonely.txt").write_text("a b\nc\n")
    with pytest.raises(InputError, match=r"lonely\.txt:2: the group has only 'c'"):
        Meteor(synonyms=tmp_path / "lonely.txt")


def test_without_the_stemmer_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "snowballstemmer", None)
    with pytest.raises(InputError, match="needs the package snowballstemmer"):
        Meteor()
    assert score(Meteor(stemmer=None), ["a b"], "a b") > 0
