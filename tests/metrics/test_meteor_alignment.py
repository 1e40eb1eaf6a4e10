"""METEOR's word alignment beside every one-to-one alignment of short texts."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hulltune.kernels.metrics.meteor import STAGES, meteor_statistics
from hulltune.kernels.metrics.packed import KeyedLines

Keys = Sequence[int]
"""The form, the stem and the synonym groups of a word; −1 for none."""


def aligned(words: Sequence[Keys], reference: Sequence[Keys]) -> tuple[tuple[int, ...], int]:
    """The new matches of each stage, and the chunks."""
    sides = [
        KeyedLines(np.array([*side, [-1] * 4], dtype=np.int32)[:-1], np.array([0, len(side)]))
        for side in (words, reference)
    ]
    zero = np.zeros(1, np.int64)
    *matches, chunks, output_words, reference_words = meteor_statistics(sides[0], zero, sides[1], zero)[0].tolist()
    assert (output_words, reference_words) == (len(words), len(reference))
    return tuple(matches), chunks


def all_alignments(words: Sequence[Keys], reference: Sequence[Keys]) -> set[tuple[tuple[int, ...], int]]:
    """The matches of each stage and the chunks of every one-to-one alignment."""
    found = set()

    def stages(word: Keys, other: Keys) -> list[int]:
        shared = [{word[0]} & {other[0]}, {word[1]} & {other[1]}, {*word[2:]} & {*other[2:]}]
        return [stage for stage, keys in enumerate(shared) if keys - {-1}]

    def choose(word: int, chosen: dict[int, tuple[int, int]]) -> None:
        if word == len(words):
            counts = Counter(stage for _, stage in chosen.values())
            position = {w: place for w, (place, _) in chosen.items()}
            chunks = sum(position.get(w - 1) != place - 1 for w, place in position.items())
            found.add((tuple(counts[stage] for stage in range(STAGES)), chunks))
            return
        choose(word + 1, chosen)
        for place in set(range(len(reference))) - {place for place, _ in chosen.values()}:
            for stage in stages(words[word], reference[place]):
                choose(word + 1, {**chosen, word: (place, stage)})

    choose(0, {})
    return found


def letters(text: str) -> list[Keys]:
    """The first stage matches a letter as it is, the second in either case."""
    return [(ord(letter), ord(letter.lower()), -1, -1) for letter in text]


texts = st.text("abAB", max_size=6).map(letters)


@given(texts, texts)
def test_no_match_is_lost_and_chunks_are_those_of_an_alignment(words: list[Keys], reference: list[Keys]) -> None:
    matches, chunks = aligned(words, reference)
    possible = all_alignments(words, reference)
    assert (matches, chunks) in possible
    assert matches == max(found for found, _ in possible)


synonyms = st.lists(st.tuples(*[st.integers(-1, 2)] * 4), max_size=4)


@given(synonyms, synonyms)
def test_any_keys_give_an_alignment(words: list[Keys], reference: list[Keys]) -> None:
    """Words may share one of their groups of synonyms without sharing all."""
    assert aligned(words, reference) in all_alignments(words, reference)


@given(st.permutations("abcdefg"), st.permutations("abcdefg"), st.integers(0, 7))
def test_distinct_words_have_the_fewest_chunks(output: list[str], reference: list[str], length: int) -> None:
    words, others = letters("".join(output[:length])), letters("".join(reference))
    matches, chunks = aligned(words, others)
    assert chunks == min(few for found, few in all_alignments(words, others) if found == matches)


@pytest.mark.parametrize(
    ("output", "reference", "expected"),
    [
        ("cabxab", "ababc", ((5, 0, 0), 3)),  # ab first comes first; c is next to nothing, x is no match
        ("abcbcd", "bcdabc", ((6, 0, 0), 2)),  # of abc and bcd, equally long, abc comes first and leaves bcd
        ("bcabc", "abc", ((3, 0, 0), 1)),  # the longest run, not the first words
        ("aBa", "aba", ((2, 1, 0), 1)),  # a run of the second stage goes on through the matches of the first
        ("aA", "A", ((1, 0, 0), 1)),  # the exact match, though the other word comes first
        ("", "abc", ((0, 0, 0), 0)),
        ("abc", "", ((0, 0, 0), 0)),
    ],
)
def test_the_longest_run_goes_first(output: str, reference: str, expected: tuple[tuple[int, ...], int]) -> None:
    assert aligned(letters(output), letters(reference)) == expected


def test_few_chunks_more_than_necessary() -> None:
    draw = random.Random(7)
    found = fewest = 0
    for _ in range(100):
        reference = draw.choices("aaabcdef", k=7)
        output = reference[3:] + reference[:3]
        output[draw.randrange(7)] = draw.choice("abc")
        words, others = ([(ord(letter), -1, -1, -1) for letter in side] for side in (output, reference))
        matches, chunks = aligned(words, others)
        found += chunks
        fewest += min(few for other, few in all_alignments(words, others) if other == matches)
    assert fewest <= found < 1.02 * fewest


def test_long_texts_take_bounded_time() -> None:
    draw = random.Random(4)
    began = time.thread_time()
    for alphabet, sizes in [("ab", (1000, 900)), ("a", (5000, 5000)), ("ab", (3000, 2000))]:
        output, reference = ("".join(draw.choices(alphabet, k=size)) for size in sizes)
        matches, chunks = aligned(letters(output), letters(reference))
        assert matches == (sum(min(output.count(x), reference.count(x)) for x in alphabet), 0, 0)
        assert alphabet != "a" or chunks == 1
    assert time.thread_time() - began < 20
    places = [(k % 40 + 1000 * (k // 400), -1, -1, -1) for k in range(4000)]
    assert aligned(places[1500:] + places[:1500], places) == ((4000, 0, 0), 2)
