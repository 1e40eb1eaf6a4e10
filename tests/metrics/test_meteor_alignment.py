from __future__ import annotations

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune.metrics import _meteor_alignment
from hulltune.metrics._meteor_alignment import Alignment, Candidate, align

Cost = tuple[int, int, int]
"""Minus the matches, the weight lost, the chunks."""


def chunks_of(matches: list[tuple[int, int]]) -> int:
    return sum(1 for word, position in matches if (word - 1, position - 1) not in matches)


def brute_force(candidates: list[list[Candidate]]) -> Cost:
    """The best cost over every one-to-one set of matches."""
    costs: list[Cost] = []

    def choose(word: int, chosen: dict[int, Candidate]) -> None:
        if word == len(candidates):
            matches = [(w, c[0]) for w, c in chosen.items()]
            costs.append((-len(chosen), sum(c[2] for c in chosen.values()), chunks_of(matches)))
            return
        choose(word + 1, chosen)
        for candidate in candidates[word]:
            if all(candidate[0] != other[0] for other in chosen.values()):
                choose(word + 1, {**chosen, word: candidate})

    choose(0, {})
    return min(costs)


def cost_of(candidates: list[list[Candidate]], alignment: Alignment) -> Cost:
    """The cost of an alignment, after checking that it is one."""
    matches = [(word, position) for word, position, _ in alignment.matches]
    assert len({word for word, _ in matches}) == len({position for _, position in matches}) == len(matches)
    lost = 0
    for word, position, module in alignment.matches:
        (deficit,) = [c[2] for c in candidates[word] if c[:2] == (position, module)]
        lost += deficit
    assert alignment.chunks == chunks_of(matches)
    return -len(matches), lost, alignment.chunks


def from_words(output: list[str], reference: list[str]) -> list[list[Candidate]]:
    return [[(k, 0, 0) for k, other in enumerate(reference) if other == word] for word in output]


@st.composite
def any_candidates(draw: st.DrawFn) -> list[list[Candidate]]:
    """Any graph of matches: what overlapping synonyms can give, with modules of different weight."""
    reference = range(draw(st.integers(0, 5)))
    modules = st.sampled_from([None, None, (0, 0), (1, 2), (2, 3)])
    return [
        [(k, *module) for k in reference if (module := draw(modules)) is not None]
        for _ in range(draw(st.integers(0, 5)))
    ]


@st.composite
def stem_candidates(draw: st.DrawFn) -> list[list[Candidate]]:
    """Words in two forms: the same form matches for free, the other form of the word costs 1."""
    forms = st.lists(st.sampled_from(["a", "A", "b", "B", "c"]), max_size=6)
    output, reference = draw(forms), draw(forms)
    return [[(k, int(o != r), int(o != r)) for k, r in enumerate(reference) if o.lower() == r.lower()] for o in output]


short = st.lists(st.sampled_from("abc"), max_size=6)


@given(st.builds(from_words, short, short))
@settings(max_examples=300, deadline=None)
def test_repeated_words_have_the_fewest_chunks(candidates: list[list[Candidate]]) -> None:
    alignment = align(candidates)
    assert alignment.exact
    assert cost_of(candidates, alignment) == brute_force(candidates)


@given(st.one_of(any_candidates(), stem_candidates()))
@settings(max_examples=400, deadline=None)
def test_any_matches_are_aligned_best(candidates: list[list[Candidate]]) -> None:
    alignment = align(candidates)
    assert alignment.exact
    assert cost_of(candidates, alignment) == brute_force(candidates)


@given(st.one_of(any_candidates(), stem_candidates(), st.builds(from_words, short, short)))
@settings(max_examples=300, deadline=None)
def test_a_wide_beam_is_exact_too(candidates: list[list[Candidate]]) -> None:
    alignment = align(candidates, budget=-1, beam=10**6)
    assert alignment.exact == (not candidates)
    assert cost_of(candidates, alignment) == brute_force(candidates)


@given(st.one_of(any_candidates(), stem_candidates(), st.builds(from_words, short, short)))
@settings(max_examples=200, deadline=None)
def test_a_narrow_beam_gives_an_alignment_that_is_no_better(candidates: list[list[Candidate]]) -> None:
    cost = cost_of(candidates, align(candidates, budget=-1, beam=1))
    assert cost >= brute_force(candidates)


def test_the_beam_loses_no_match_among_repeated_words() -> None:
    random_words = random.Random(5)
    output, reference = ([random_words.choice("ab") for _ in range(80)] for _ in range(2))
    alignment = align(from_words(output, reference), budget=10)
    assert not alignment.exact
    expected = sum(min(output.count(word), reference.count(word)) for word in "ab")
    assert len(alignment.matches) == expected


def in_words(output: list[str], reference: list[str]) -> list[tuple[Candidate, ...]]:
    """The candidates of words, one sequence for each distinct word."""
    positions: dict[str, list[Candidate]] = {}
    for k, word in enumerate(reference):
        positions.setdefault(word, []).append((k, 0, 0))
    shared = {word: tuple(options) for word, options in positions.items()}
    return [shared.get(word, ()) for word in output]


@given(st.one_of(any_candidates(), stem_candidates(), st.builds(from_words, short, short)))
@settings(max_examples=300, deadline=None)
def test_tiles_are_an_alignment_that_is_no_better(candidates: list[list[Candidate]]) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(_meteor_alignment, "MOST_CANDIDATES", -1)
        alignment = align(candidates)
    assert not alignment.exact
    assert cost_of(candidates, alignment) >= brute_force(candidates)


@given(st.builds(in_words, short, short))
@settings(max_examples=300, deadline=None)
def test_tiles_lose_no_match_among_repeated_words(candidates: list[tuple[Candidate, ...]]) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(_meteor_alignment, "MOST_CANDIDATES", -1)
        tiled = align(candidates)
    assert len(tiled.matches) == len(align(candidates).matches)


def test_very_long_texts_are_aligned_in_bounded_time() -> None:
    random_words = random.Random(4)
    began = time.thread_time()
    for letters, sizes in [("a", (800, 800)), ("a", (5000, 5000)), ("a", (5000, 4000)), ("ab", (5000, 4000))]:
        output, reference = ([random_words.choice(letters) for _ in range(size)] for size in sizes)
        alignment = align(in_words(output, reference))
        assert len(alignment.matches) == sum(min(output.count(x), reference.count(x)) for x in set(letters))
        if letters == "a":
            assert alignment.chunks == 1
    assert time.thread_time() - began < 10


def test_a_moved_half_of_a_long_text_makes_two_chunks() -> None:
    words = [f"w{k % 40}-{k // 400}" for k in range(4000)]
    alignment = align(in_words(words[1500:] + words[:1500], words))
    assert (len(alignment.matches), alignment.exact) == (4000, False)
    assert alignment.chunks == 2


def test_ordinary_texts_are_not_tiled() -> None:
    """Words as frequent as in English, a thousand of them: few enough possible matches to be searched."""
    random_words = random.Random(2)
    kinds = [f"w{k}" for k in range(1, 5000)]
    chances = [1 / k for k in range(1, 5000)]
    output, reference = (random_words.choices(kinds, chances, k=1000) for _ in range(2))
    assert sum(map(len, in_words(output, reference))) < _meteor_alignment.MOST_CANDIDATES


def test_work_is_bounded_on_repeated_words() -> None:
    random_words = random.Random(3)
    began = time.thread_time()
    for letters, size in [("a", 300), ("ab", 150), ("abc", 150), ("abcdefgh", 150)]:
        output, reference = ([random_words.choice(letters) for _ in range(size)] for _ in range(2))
        alignment = align(from_words(output, reference))
        assert len(alignment.matches) == sum(min(output.count(x), reference.count(x)) for x in set(letters))
    # Without a bound this would not end; with it, the four take about a second on a slow machine.
    assert time.thread_time() - began < 20
