"""The language model is a probability, prefers what it has seen, and agrees with the textbook's formula."""

from __future__ import annotations

import math
from collections import Counter
from random import Random

import pytest
from decoder.language_model import EMPTY, END, START, UNKNOWN, LanguageModel, Scorer, State
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune import InputError

WORDS = st.sampled_from(["a", "b", "c", "dog"])
SENTENCES = st.lists(st.lists(WORDS, max_size=6), min_size=1, max_size=8)


def textbook(sentences: list[list[str]], order: int, discount: float, history: list[str], word: str) -> float:
    """Interpolated Kneser–Ney by its definition: for each n-gram length the sets are collected anew."""
    vocabulary = {word for sentence in sentences for word in sentence} | {END, UNKNOWN}
    padded = [[START] * (order - 1) + sentence + [END] for sentence in sentences]
    highest = [tuple(p[k : k + order]) for p in padded for k in range(len(p) - order + 1)]

    def count(ngram: tuple[str, ...]) -> int:
        if len(ngram) == order:
            return sum(each == ngram for each in highest)
        longer = {each[order - len(ngram) - 1 :] for each in highest}  # a word more to the left: how many kinds
        return sum(each[1:] == ngram for each in longer)

    def probability(history: tuple[str, ...], word: str) -> float:
        lower = probability(history[1:], word) if history else 1.0 / len(vocabulary)
        counts = Counter({each: count((*history, each)) for each in vocabulary})
        total = sum(counts.values())
        if total == 0:
            return lower
        kinds = sum(c > 0 for c in counts.values())
        return (max(counts[word] - discount, 0.0) + discount * kinds * lower) / total

    known = [each if each in vocabulary or each == START else UNKNOWN for each in (*history, word)]
    return probability(tuple(known[:-1][-(order - 1) :] if order > 1 else ()), known[-1])


@settings(max_examples=60, deadline=None)
@given(SENTENCES, st.integers(1, 4), st.lists(st.sampled_from(["a", "b", "dog", "never", START]), max_size=4))
def test_after_any_history_the_probabilities_sum_to_one(
    sentences: list[list[str]], order: int, history: list[str]
) -> None:
    model = LanguageModel(sentences, order=order)
    values = [math.exp(model.log_probability(history, word)) for word in model.vocabulary]
    assert math.isclose(sum(values), 1.0, rel_tol=1e-12)
    assert min(values) > 0.0


@settings(max_examples=60, deadline=None)
@given(SENTENCES, st.integers(1, 4), st.lists(WORDS | st.just("never"), max_size=4), WORDS | st.just("never"))
def test_it_is_the_textbooks_formula(sentences: list[list[str]], order: int, history: list[str], word: str) -> None:
    model = LanguageModel(sentences, order=order, discount=0.6)
    expected = textbook(sentences, order, 0.6, history, word)
    assert math.isclose(math.exp(model.log_probability(history, word)), expected, rel_tol=1e-9)


def test_what_was_seen_is_likelier() -> None:
    model = LanguageModel([["the", "dog", "sees", "the", "cat"], ["the", "cat", "sleeps"]])
    assert model.log_probability(["sees", "the"], "cat") > model.log_probability(["sees", "the"], "dog")
    assert model.log_probability(["the"], "dog") > model.log_probability(["the"], "sleeps")
    assert model.sentence_log_probability(["the", "cat", "sleeps"]) > model.sentence_log_probability(["cat", "the"])


def test_what_cannot_be_estimated() -> None:
    with pytest.raises(InputError, match="at least one to estimate"):
        LanguageModel([])
    with pytest.raises(InputError, match="order: expected at least 1, got 0"):
        LanguageModel([["a"]], order=0)
    with pytest.raises(InputError, match="mark of the model"):
        LanguageModel([["<s>"]])
    with pytest.raises(InputError, match=r"discount: expected a number between 0 and 1, got 1\.5"):
        LanguageModel([["a"]], discount=1.5)


@settings(max_examples=100, deadline=None)
@given(st.lists(WORDS | st.just("never"), max_size=9), st.integers(1, 4), st.randoms(use_true_random=False))
def test_pieces_joined_in_any_order_score_as_the_sentence(words: list[str], order: int, random: Random) -> None:
    model = LanguageModel([["a", "b", "dog", "a"], ["dog", "b"], ["c", "a", "b", "c"]], order=order)
    scorer = Scorer(model)
    total = 0.0
    pieces: list[State] = []
    for word in words:
        state, score = scorer.join((word,))
        pieces.append(state)
        total += score
    while len(pieces) > 1:
        place = random.randrange(len(pieces) - 1)
        state, score = scorer.join((pieces[place], EMPTY, pieces[place + 1]))
        pieces[place : place + 2] = [state]
        total += score
    total += scorer.finish(pieces[0] if pieces else EMPTY)
    assert math.isclose(total, model.sentence_log_probability(words), rel_tol=1e-12, abs_tol=1e-12)
