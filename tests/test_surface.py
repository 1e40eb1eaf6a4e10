"""Error surfaces: sums are exact on every interval."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hulltune import ErrorSurface, InputError

points = st.lists(st.integers(-5, 5).map(float), max_size=5, unique=True).map(sorted)


@st.composite
def sentences(draw: st.DrawFn, numbers: st.SearchStrategy[float]) -> tuple[list[float], list[list[float]]]:
    ends = draw(points)
    row = st.lists(numbers, min_size=2, max_size=2)
    return ends, draw(st.lists(row, min_size=len(ends) + 1, max_size=len(ends) + 1))


def total_at(corpus: list[tuple[list[float], list[list[float]]]], eta: float) -> list[Fraction]:
    chosen = [rows[sum(end <= eta for end in ends)] for ends, rows in corpus]
    return [sum((Fraction(row[k]) for row in chosen), Fraction(0)) for k in range(2)]


@given(st.lists(sentences(st.integers(-9, 9)), min_size=1, max_size=6))
def test_integer_statistics_are_exact_integers(corpus: list[tuple[list[float], list[list[float]]]]) -> None:
    surface = ErrorSurface.from_sentences([ends for ends, _ in corpus], [np.array(rows) for _, rows in corpus])
    assert surface.statistics.dtype == np.int64
    for eta in np.arange(-6, 6.5, 0.5):
        assert surface.at(eta).tolist() == total_at(corpus, eta)
    # Neighbouring intervals differ, so that every breakpoint is one.
    assert all(np.any(surface.statistics[i] != surface.statistics[i + 1]) for i in range(len(surface) - 1))
    assert np.all(np.diff(surface.breakpoints) > 0)


@given(
    st.lists(sentences(st.floats(-1e6, 1e6) | st.sampled_from([1e-9, 0.1, 1e15])), min_size=1, max_size=6),
    st.randoms(use_true_random=False),
)
def test_real_statistics_do_not_depend_on_order(
    corpus: list[tuple[list[float], list[list[float]]]], random: Random
) -> None:
    def build(parts: list[tuple[list[float], list[list[float]]]]) -> ErrorSurface:
        return ErrorSurface.from_sentences([ends for ends, _ in parts], [np.array(rows) for _, rows in parts])

    surface = build(corpus)
    size = [sum(max(abs(row[k]) for row in rows) for _, rows in corpus) for k in range(2)]
    for eta in np.arange(-6, 6.5, 0.5):
        for got, exact, bound in zip(surface.at(eta), total_at(corpus, eta), size, strict=True):
            assert abs(Fraction(float(got)) - exact) <= Fraction(bound) * len(corpus) * Fraction(1, 2**52)
    shuffled = list(corpus)
    random.shuffle(shuffled)
    again = build(shuffled)
    assert np.array_equal(surface.breakpoints, again.breakpoints)
    assert np.array_equal(surface.statistics, again.statistics)


def test_sentence_without_segments_adds_nothing() -> None:
    surface = ErrorSurface.from_sentences([[1.0], []], [np.array([[1], [2]]), np.empty((0, 1), dtype=int)])
    assert surface.breakpoints.tolist() == [1.0]
    assert surface.statistics.tolist() == [[1], [2]]
    assert repr(surface) == "ErrorSurface(2 intervals, 1 statistic)"


def test_many_sentences_change_at_one_point() -> None:
    surface = ErrorSurface.from_sentences([[0.5]] * 3, [np.array([[1], [2]])] * 3)
    assert surface.breakpoints.tolist() == [0.5]
    assert surface.statistics.tolist() == [[3], [6]]


def test_losses_are_checked() -> None:
    surface = ErrorSurface.from_sentences([[0.5]], [np.array([[0, 1], [1, 2]])])
    assert surface.losses(lambda rows: rows[:, 0] / rows[:, 1]).tolist() == [0.0, 0.5]
    with pytest.raises(InputError, match="loss: expected 2 values"):
        surface.losses(lambda rows: np.zeros(3))
    with pytest.raises(InputError, match=r"loss: got NaN for the statistics \[0, 1\]"):
        surface.losses(lambda rows: np.full(len(rows), math.nan))


def test_errors_say_which_sentence() -> None:
    with pytest.raises(InputError, match="one entry for each of 1 sentences, got 2"):
        ErrorSurface.from_sentences([[]], [np.ones((1, 1)), np.ones((1, 1))])
    with pytest.raises(InputError, match=r"sentence 1: expected a row of statistics for each of its 2 segments"):
        ErrorSurface.from_sentences([[], [1.0]], [np.ones((1, 1)), np.ones((3, 1))])
    with pytest.raises(InputError, match="sentence 0: breakpoints must be finite and strictly increase"):
        ErrorSurface.from_sentences([[1.0, 1.0]], [np.ones((3, 1))])
    with pytest.raises(InputError, match=r"sentence 1 has \[nan\]"):
        ErrorSurface.from_sentences([[], []], [np.ones((1, 1)), np.full((1, 1), math.nan)])
    with pytest.raises(InputError, match="sentence 0: breakpoints must be finite"):
        ErrorSurface.from_sentences([[math.nan]], [np.ones((2, 1))])
    with pytest.raises(InputError, match="sentence 1 has 2 statistics, but sentence 0 has 1"):
        ErrorSurface.from_sentences([[], []], [np.ones((1, 1)), np.ones((1, 2))])
    with pytest.raises(InputError, match=r"sums exceed 2\^62"):
        ErrorSurface.from_sentences([[]] * 3, [np.array([[2**62]])] * 3)
    with pytest.raises(InputError, match="expected integers that fit 64 bits, or real numbers, got object"):
        ErrorSurface.from_sentences([[0.0]], [np.array([[2**70], [1]])])
    with pytest.raises(InputError, match="at least one sentence"):
        ErrorSurface.from_sentences([], [])
