"""The decoder against brute force: with a beam that drops nothing it finds every derivation, each once."""

from __future__ import annotations

import math
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from decoder import FEATURES, START_WEIGHTS, UNLIMITED, Decoder, Translator, made_task, small_translator
from decoder.fragment import examples
from decoder.grammar import JOINED, TEMPLATES, Grammar, made_grammar, pair_rules, word_options
from decoder.language_model import LanguageModel
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune import Corpus, Forest, InputError, kbest, read, read_weights
from tests.pages import ROOT

Derivation = tuple[tuple[str, ...], tuple[float, ...]]
"""The words of a derivation, and its features but that of the language model."""
MOST = 100_000
"""More than the derivations of any forest here."""


@pytest.fixture(scope="module")
def unlimited() -> Translator:
    return small_translator(beam=UNLIMITED, text=60, pairs=20)


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
    found = kbest(Corpus.pack([forest]), dict(START_WEIGHTS), MOST)
    assert len(found) < MOST
    return zip((tuple(text.split()) for text in found.texts), found.features.toarray(), strict=True)


def derivations(forest: Forest) -> Counter[tuple[tuple[str, ...], tuple[float, ...]]]:
    return Counter((words, rounded(features)) for words, features in in_forest(forest))


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
    narrow = small_translator(beam=2, text=60, pairs=20)
    assert outputs(narrow, dict(START_WEIGHTS)) != outputs(narrow, others)
    assert outputs(narrow, others) < outputs(unlimited, others)


def test_a_wider_beam_finds_better_derivations() -> None:
    sources = [example.german for example in examples(12, seed=5)]
    best = []
    for beam in (1, 4, 16):
        translator = small_translator(beam=beam, text=100, pairs=20)
        lists = read(Decoder(sources, size=1, translator=translator)(START_WEIGHTS))
        assert lists.scores is not None
        best.append(float(lists.scores.sum()))
    assert best[0] < best[1] <= best[2]


def test_the_list_is_what_the_weights_say() -> None:
    decoder = Decoder(["Anna liest das Buch nicht", "", "Quark"], size=20)
    weights = {**START_WEIGHTS, "words": 0.5}
    lists = read(decoder(weights))
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
        expected = decoder.translator.model.sentence_log_probability(words)
        assert math.isclose(lists.corpus.features.matrix()[row, 0], expected, rel_tol=1e-9)
        assert lists.corpus.features.matrix()[row, FEATURES.index("words")] == len(words)
    assert [lists.text(row) for row in range(lists.corpus.sentence_edges[1], lists.corpus.sentence_edges[2])] == [""]
    assert {lists.text(row) for row in range(lists.corpus.sentence_edges[2], lists.corpus.sentence_edges[3])} == {
        "Quark",
        "",
    }


def test_a_lattice_has_every_derivation_as_often_as_the_forest() -> None:
    translator = small_translator(beam=4, text=100, pairs=20)
    sources = [*SHORT[:25], "", "Quark", ",", "Anna Quark (2) nicht"]
    both = (Decoder(sources, form=form, translator=translator)(START_WEIGHTS) for form in ("forests", "lattices"))
    for forest, lattice in zip(*(read(forests).corpus for forests in both), strict=True):
        assert lattice.arity <= 1
        assert derivations(lattice) == derivations(forest)


def test_the_program_makes_sentences_and_writes_what_the_decoder_finds(tmp_path: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        program = [sys.executable, str(ROOT / "examples" / "decoder"), *arguments]
        return subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert run("make", "5", "--seed", "3", "--input", "de", "--ref", "en", "--weights", "w.json").returncode == 0
    task = made_task(5, seed=3)
    assert (tmp_path / "de").read_text(encoding="utf-8").splitlines() == list(task.sources)
    assert (tmp_path / "en").read_text(encoding="utf-8").splitlines() == list(task.references)
    assert read_weights(tmp_path / "w.json") == START_WEIGHTS
    for name, *options in (("lists", "--nbest", "7"), ("lattices/", "--lattice"), ("forests", "--forest")):
        done = run("translate", "--input", "de", "--weights", "w.json", "--output", name, *options, "--beam", "3")
        assert done.returncode == 0, done.stderr
        found = read(tmp_path / name)
        same = read(Decoder(task.sources, size=7, form=name.strip("/"), beam=3)(START_WEIGHTS))
        assert (len(found), set(found.feature_names)) == (5, set(FEATURES))
        assert found.corpus.edges == same.corpus.edges or name == "lattices/"  # where an arc has one word in a file
    assert run("translate", "--input", "none", "--output", "x").stderr == "decoder: none: no such file\n"
    assert "different files" in run("make", "5", "--input", "x", "--ref", "x").stderr


def test_every_sentence_of_the_fragment_can_be_translated_right() -> None:
    """Where nothing is pruned, the reference is among the translations: the grammar covers the language."""
    unlimited = small_translator(beam=UNLIMITED, text=30, pairs=10)
    found = 0
    short = [example for example in examples(300, seed=21) if len(example.german.split()) <= 6][:40]
    for example in short:
        forest = unlimited.forest(example.german.split(), START_WEIGHTS)
        found += any(" ".join(text) == example.english for text, _ in in_forest(forest))
    assert found >= 0.9 * len(short)


def test_the_fragment_and_the_grammar_know_the_same_words() -> None:
    options = set(word_options())
    assert all(pair in options for example in examples(2000, seed=9) for pair in example.pairs)
    grammar = made_grammar([])
    assert len(grammar.words) + len(grammar.pairs) > 500
    for word, rules in grammar.by_word.items():
        for category in {rule.category for rule in rules}:
            shares = [math.exp(rule.forward) for rule in rules if rule.category == category]
            assert math.isclose(sum(shares), 1.0), word


def test_tasks_depend_on_their_seed_alone() -> None:
    assert made_task(5, seed=3) == made_task(5, seed=3)
    assert made_task(5, seed=3) != made_task(5, seed=4)
    assert made_task(9, seed=3).sources[:5] == made_task(5, seed=3).sources
    first, second = made_task(200, seed=1), made_task(200, seed=2)
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
    grammar, model = made_grammar([]), LanguageModel([["a"]])
    with pytest.raises(InputError, match="beam: expected at least 1, got 0"):
        Translator(grammar, model, beam=0)
    with pytest.raises(InputError, match="unknown feature in weights: 'lmm'; did you mean 'lm'"):
        Translator(grammar, model).forest(["Hund"], {"lmm": 1.0})
    with pytest.raises(InputError, match="sentences: expected at least 1"):
        made_task(0)
    with pytest.raises(InputError, match="text, pairs"):
        small_translator(beam=1, text=0)
    with pytest.raises(InputError, match="form: expected one of lists, lattices, forests, got 'forest'"):
        Decoder([], form="forest")
