from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hulltune.metrics.meteor_alignment import MOST_OPTIONS, align

Words = Sequence[Sequence[Sequence[int]]]


def all_alignments(words: Words, stages: int) -> set[tuple[tuple[int, ...], int]]:
    """The matches of each stage and the chunks of every one-to-one alignment."""
    found = set()

    def choose(word: int, chosen: dict[int, tuple[int, int]]) -> None:
        if word == len(words):
            counts = Counter(stage for _, stage in chosen.values())
            position = {w: place for w, (place, _) in chosen.items()}
            chunks = sum(position.get(w - 1) != place - 1 for w, place in position.items())
            found.add((tuple(counts[stage] for stage in range(stages)), chunks))
            return
        choose(word + 1, chosen)
        for stage, places in enumerate(words[word]):
            for place in places:
                if all(place != other for other, _ in chosen.values()):
                    choose(word + 1, {**chosen, word: (place, stage)})

    choose(0, {})
    return found


def from_texts(output: str, reference: str) -> Words:
    """The options of letters: the first stage matches a letter as it is, the second in either case."""
    exact = {letter: tuple(k for k, r in enumerate(reference) if r == letter) for letter in output}
    folded = {letter: tuple(k for k, r in enumerate(reference) if r.lower() == letter.lower()) for letter in output}
    return [(exact[letter], folded[letter]) for letter in output]


letters = st.text("abAB", max_size=6)


@given(letters, letters)
def test_no_match_is_lost_and_chunks_are_those_of_an_alignment(output: str, reference: str) -> None:
    words = from_texts(output, reference)
    counts, chunks = align(words, 2)
    possible = all_alignments(words, 2)
    assert (tuple(counts), chunks) in possible
    assert tuple(counts) == max(found for found, _ in possible)


@given(st.lists(st.tuples(*[st.sets(st.integers(0, 4)).map(tuple)] * 2), max_size=4))
def test_any_options_give_an_alignment(words: Words) -> None:
    """Words may have options in common without having all in common, as synonyms of several groups do."""
    counts, chunks = align(words, 2)
    assert (tuple(counts), chunks) in all_alignments(words, 2)


@given(st.permutations("abcdefg"), st.permutations("abcdefg"), st.integers(0, 7))
def test_distinct_words_have_the_fewest_chunks(output: list[str], reference: list[str], length: int) -> None:
    words = from_texts("".join(output[:length]), "".join(reference))
    counts, chunks = align(words, 2)
    assert chunks == min(few for found, few in all_alignments(words, 2) if found == tuple(counts))


@pytest.mark.parametrize(
    ("output", "reference", "expected"),
    [
        ("cabxab", "ababc", ([5, 0], 3)),  # ab first comes first; c is next to nothing, x is no match
        ("abcbcd", "bcdabc", ([6, 0], 2)),  # of abc and bcd, equally long, abc comes first and leaves bcd
        ("bcabc", "abc", ([3, 0], 1)),  # the longest run, not the first words
        ("aBa", "aba", ([2, 1], 1)),  # a run of the second stage goes on through the matches of the first
        ("aA", "A", ([1, 0], 1)),  # the exact match, though the other word comes first
        ("", "abc", ([0, 0], 0)),
        ("abc", "", ([0, 0], 0)),
    ],
)
def test_the_longest_run_goes_first(output: str, reference: str, expected: tuple[list[int], int]) -> None:
    assert align(from_texts(output, reference), 2) == expected


def test_few_chunks_more_than_necessary() -> None:
    draw = random.Random(7)
    found = fewest = 0
    for _ in range(100):
        reference = draw.choices("aaabcdef", k=7)
        output = reference[3:] + reference[:3]
        output[draw.randrange(7)] = draw.choice("abc")
        words = [(options[0],) for options in from_texts("".join(output), "".join(reference))]
        counts, chunks = align(words, 1)
        found += chunks
        fewest += min(few for other, few in all_alignments(words, 1) if other == tuple(counts))
    assert fewest <= found < 1.02 * fewest


def test_long_texts_take_bounded_time() -> None:
    draw = random.Random(4)
    began = time.thread_time()
    for alphabet, sizes in [("a", (800, 800)), ("ab", (1000, 900)), ("a", (5000, 5000)), ("ab", (5000, 4000))]:
        output, reference = ("".join(draw.choices(alphabet, k=size)) for size in sizes)
        places = {letter: tuple(k for k, r in enumerate(reference) if r == letter) for letter in alphabet}
        counts, chunks = align([(places[letter],) for letter in output], 1)
        assert counts == [sum(min(output.count(x), reference.count(x)) for x in alphabet)]
        assert alphabet != "a" or chunks == 1
    assert 1000 * 900 / 2 < MOST_OPTIONS < 5000 * 4000 / 2  # both ways are tried here
    assert time.thread_time() - began < 20


def test_a_moved_half_of_a_long_text_makes_two_chunks() -> None:
    places = [f"w{k % 40}-{k // 400}" for k in range(4000)]
    numbers: dict[str, list[int]] = {}
    for k, word in enumerate(places):
        numbers.setdefault(word, []).append(k)
    assert align([(numbers[word],) for word in places[1500:] + places[:1500]], 1) == ([4000], 2)
