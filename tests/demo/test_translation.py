"""The decoder against brute force: with a beam that drops nothing it finds every derivation, each once."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune import Forest, InputError, kbest
from hulltune.demo import FEATURES, START_WEIGHTS, UNLIMITED, LanguageModel, Translator, built_in_translator
from hulltune.demo.best import best_translations
from hulltune.demo.fragment import examples
from hulltune.demo.grammar import JOINED, TEMPLATES, Grammar, built_in_grammar, pair_rules, word_options
from hulltune.demo.model import built_in_task
from hulltune.demo.output import translate_to_forests, translate_to_lists

Derivation = tuple[tuple[str, ...], tuple[float, ...]]
"""The words of a derivation, and its features but that of the language model."""


@pytest.fixture(scope="module")
def unlimited() -> Translator:
    return built_in_translator(beam=UNLIMITED, text=60, pairs=20)


def by_recursion(grammar: Grammar, words: list[str]) -> Iterator[Derivation]:
    """All derivations by their definition: a phrase is a word or two neighbours; a sentence is phrases in a row."""
    quoted = {side for rule in grammar.pairs for side in (rule.left, rule.right) if side.startswith("'")}

    @cache
    def phrases(symbol: str, begin: int, end: int) -> list[Derivation]:
        found: list[Derivation] = []
        if end == begin + 1:
            word = words[begin]
            if symbol == f"'{word}'":
                found.append(((), (0.0,) * 6))
            found += [
                (option.english, (option.forward, option.backward, float(len(option.english)), 0.0, 0.0, 0.0))
                for option in grammar.by_word.get(word, ())
                if option.category == symbol
            ]
            if word not in grammar.by_word and f"'{word}'" not in quoted and symbol == "NP":
                found += [((word,), (0.0, 0.0, 1.0, 0.0, 0.0, 1.0)), ((), (0.0,) * 6)]
        for rule in grammar.pairs:
            for middle in range(begin + 1, end):
                if rule.category != symbol:
                    continue
                for first in phrases(rule.left, begin, middle):
                    for second in phrases(rule.right, middle, end):
                        parts = [(t,) if isinstance(t, str) else (first, second)[t][0] for t in rule.target]
                        inserted = sum(isinstance(token, str) for token in rule.target)
                        own = (0.0, 0.0, float(inserted), float(rule.swaps), 0.0, 0.0)
                        sums = tuple(map(sum, zip(first[1], second[1], own, strict=True)))
                        found.append((tuple(w for part in parts for w in part), sums))
        return found

    def rows(begin: int) -> Iterator[Derivation]:
        if begin == len(words):
            yield (), (0.0,) * 6
        for end in range(begin + 1, len(words) + 1):
            for symbol in grammar.joined:
                for first in phrases(symbol, begin, end):
                    for rest in rows(end):
                        own = (0.0, 0.0, 0.0, 0.0, 1.0, 0.0)
                        yield first[0] + rest[0], tuple(map(sum, zip(first[1], rest[1], own, strict=True)))

    return rows(0)


def in_forest(forest: Forest) -> Iterator[tuple[tuple[str, ...], np.ndarray]]:
    """All derivations of a forest: words and features."""
    features = forest.features.toarray()

    @cache
    def at(node: int) -> list[tuple[tuple[str, ...], np.ndarray]]:
        found = []
        for edge in range(int(forest.edge_offsets[node]), int(forest.edge_offsets[node + 1])):
            choices: list[list[tuple[tuple[str, ...], np.ndarray]]] = [[]]
            for tail in forest.edge_tails(edge).tolist():
                choices = [[*chosen, derivation] for chosen in choices for derivation in at(tail)]
            for chosen in choices:
                words: list[str] = []
                for label in forest.labels[forest.label_offsets[edge] : forest.label_offsets[edge + 1]].tolist():
                    words += chosen[-1 - label][0] if label < 0 else [forest.vocabulary[label]]
                found.append((tuple(words), features[edge] + sum(part[1] for part in chosen)))
        return found

    return iter(at(forest.root))


def rounded(values: object) -> tuple[float, ...]:
    return tuple(float(value) + 0.0 for value in np.round(np.asarray(values, dtype=float), 9))


SHORT = [
    example.german
    for example in examples(400, seed=11)
    if len(example.german.split()) <= 5 and example.german.count(" ")
]


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(SHORT) | st.lists(st.sampled_from(["Anna", "die", "Bank", "sieht", "nicht", "oft", ","])).map(
    lambda words: " ".join(words[:4])
))  # fmt: skip
def test_every_derivation_is_found_once_and_none_besides(unlimited: Translator, source: str) -> None:
    words = source.split()
    expected = Counter((text, rounded(rest)) for text, rest in by_recursion(unlimited.grammar, words))
    found: Counter[tuple[tuple[str, ...], tuple[float, ...]]] = Counter()
    for text, features in in_forest(unlimited.forest(words, START_WEIGHTS)):
        found[text, rounded(features[1:])] += 1
        assert math.isclose(features[0], unlimited.model.sentence_log_probability(text), rel_tol=1e-9)
    assert found == expected


def test_without_a_limit_the_weights_change_nothing_and_with_one_they_do(unlimited: Translator) -> None:
    words = ["die", "kleine", "Frau", "sieht", "das", "Schloss"]
    others = {**START_WEIGHTS, "words": 3.0, "lm": 0.2}

    def outputs(translator: Translator, weights: dict[str, float]) -> set[tuple[str, ...]]:
        return {text for text, _ in in_forest(translator.forest(words, weights))}

    assert outputs(unlimited, dict(START_WEIGHTS)) == outputs(unlimited, others)
    narrow = built_in_translator(beam=2, text=60, pairs=20)
    assert outputs(narrow, dict(START_WEIGHTS)) != outputs(narrow, others)
    assert outputs(narrow, others) < outputs(unlimited, others)


def test_a_wider_beam_finds_better_derivations() -> None:
    sources = [example.german for example in examples(12, seed=5)]
    best = []
    for beam in (1, 4, 16):
        translator = built_in_translator(beam=beam, text=100, pairs=20)
        lists = translate_to_lists(translator, sources, START_WEIGHTS, size=1)
        assert lists.scores is not None
        best.append(float(lists.scores.sum()))
    assert best[0] < best[1] <= best[2]


def test_the_list_is_what_the_weights_say() -> None:
    translator = built_in_translator(text=100, pairs=20)
    weights = {**START_WEIGHTS, "words": 0.5}
    lists = translate_to_lists(translator, ["Anna liest das Buch nicht", "", "Quark"], weights, size=20)
    assert lists.scores is not None
    assert lists.feature_names == FEATURES
    vector = np.array([weights[name] for name in FEATURES])
    assert np.allclose(lists.corpus.features.matrix() @ vector, lists.scores)
    for first, last in zip(lists.corpus.sentence_edges[:-1], lists.corpus.sentence_edges[1:], strict=True):
        assert np.all(np.diff(lists.scores[first:last]) <= 0)
        texts = [lists.text(row) for row in range(first, last)]
        assert len(set(texts)) == len(texts)
    for row in range(lists.corpus.edges):
        words = lists.text(row).split()
        assert math.isclose(
            lists.corpus.features.matrix()[row, 0], translator.model.sentence_log_probability(words), rel_tol=1e-9
        )
        assert lists.corpus.features.matrix()[row, FEATURES.index("words")] == len(words)
    assert [lists.text(row) for row in range(lists.corpus.sentence_edges[1], lists.corpus.sentence_edges[2])] == [""]
    assert {lists.text(row) for row in range(lists.corpus.sentence_edges[2], lists.corpus.sentence_edges[3])} == {
        "Quark",
        "",
    }
    forests = list(translate_to_forests(translator, ["Anna liest"], weights))
    assert forests[0].feature_names == FEATURES


@pytest.mark.parametrize("size", [1, 7, 60])
def test_the_best_translations_are_those_of_kbest(size: int) -> None:
    translator = built_in_translator(text=100, pairs=20)
    weights = [0.9, 1.1, 0.7, 0.53, -0.21, -0.37, 0.4]
    sources = [example.german for example in examples(12, seed=17)]
    forests = list(translate_to_forests(translator, sources, dict(zip(FEATURES, weights, strict=True))))
    for forest in forests:
        found = best_translations(forest, weights, size)
        expected = kbest(forest, weights, size, distinct=True)[0]
        assert len(found) == len(expected)
        assert np.allclose([each.score for each in found], [each.score for each in expected])
        assert len({each.words for each in found}) == len(found)
        known = {each.tokens: each for each in expected}
        same = [each for each in found if each.words in known]
        assert len(same) >= len(found) - 1  # of equals at the end of the list, either may be there
        for each in same:
            assert math.isclose(each.score, known[each.words].score)
            assert math.isclose(each.score, sum(w * f for w, f in zip(weights, each.features, strict=True)))


def test_every_sentence_of_the_fragment_can_be_translated_right() -> None:
    """Where nothing is pruned, the reference is among the translations: the grammar covers the language."""
    unlimited = built_in_translator(beam=UNLIMITED, text=30, pairs=10)
    found = 0
    short = [example for example in examples(300, seed=21) if len(example.german.split()) <= 6][:40]
    for example in short:
        forest = unlimited.forest(example.german.split(), START_WEIGHTS)
        found += any(" ".join(text) == example.english for text, _ in in_forest(forest))
    assert found >= 0.9 * len(short)


def test_the_fragment_and_the_grammar_know_the_same_words() -> None:
    options = set(word_options())
    assert all(pair in options for example in examples(2000, seed=9) for pair in example.pairs)
    grammar = built_in_grammar([])
    assert len(grammar.words) + len(grammar.pairs) > 500
    for word, rules in grammar.by_word.items():
        for category in {rule.category for rule in rules}:
            shares = [math.exp(rule.forward) for rule in rules if rule.category == category]
            assert math.isclose(sum(shares), 1.0), word


def test_tasks_depend_on_their_seed_alone() -> None:
    assert built_in_task(5, seed=3) == built_in_task(5, seed=3)
    assert built_in_task(5, seed=3) != built_in_task(5, seed=4)
    assert built_in_task(9, seed=3).sources[:5] == built_in_task(5, seed=3).sources
    first, second = built_in_task(200, seed=1), built_in_task(200, seed=2)
    assert len(set(first.sources) & set(second.sources)) < 10


def test_templates() -> None:
    rules = pair_rules("A : B 'c' : not 1 ; 2 1\nD : A A : 1 2")
    assert [(rule.category, rule.target, rule.swaps) for rule in rules] == [
        ("A", ("not", 0, 1), False),
        ("A", (1, 0), True),
        ("D", (0, 1), False),
    ]
    assert {rule.category for rule in pair_rules(TEMPLATES)} >= JOINED - {"ADV"}
    with pytest.raises(InputError, match="expected 'CATEGORY : LEFT RIGHT"):
        pair_rules("A : B : 1")


def test_what_cannot_be_done() -> None:
    grammar, model = built_in_grammar([]), LanguageModel([["a"]])
    with pytest.raises(InputError, match="beam: expected at least 1, got 0"):
        Translator(grammar, model, beam=0)
    with pytest.raises(InputError, match="unknown feature in weights: 'lmm'; did you mean 'lm'"):
        Translator(grammar, model).forest(["Hund"], {"lmm": 1.0})
    with pytest.raises(InputError, match="sentences: expected at least 1"):
        built_in_task(0)
    with pytest.raises(InputError, match="text, pairs"):
        built_in_translator(text=0)
