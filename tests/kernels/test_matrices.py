"""Small matrices: right within rounding, and the same bits in whatever order a library adds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hulltune.kernels.directions.matrices import (
    BITS,
    inverse_of_lower,
    lines_of_draws,
    lower_factor,
    product,
    rounded,
    square_sum,
    weighted_samples,
)

SEEDS = st.integers(0, 10**6)


def spread_out(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Normal numbers times powers of 2 far apart."""
    return np.ldexp(rng.standard_normal(shape), rng.integers(-30, 31, shape))


@given(SEEDS, st.integers(0, 40))
def test_a_product_does_not_depend_on_the_order_of_sums(seed: int, inner: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = spread_out(rng, 5, inner), spread_out(rng, inner, 4)
    found = product(a, b)
    order = rng.permutation(inner)
    assert np.array_equal(product(a[:, order], b[order]), found)
    one_by_one = np.zeros((5, 4))
    for k in range(inner):
        one_by_one += rounded(a)[:, k, None] * rounded(b)[k]
    assert np.array_equal(one_by_one, found)
    tolerance = inner * 2.0**-20 * np.max(np.abs(a), initial=0.0) * np.max(np.abs(b), initial=0.0)
    assert np.all(np.abs(found - a @ b) <= tolerance)


@given(SEEDS)
def test_rounding_is_relative_to_the_largest_entry(seed: int) -> None:
    values = spread_out(np.random.default_rng(seed), 3, 7)
    largest = np.max(np.abs(values))
    assert np.max(np.abs(rounded(values) - values)) <= largest * 2.0**-22
    assert np.array_equal(rounded(rounded(values)), rounded(values))
    assert np.array_equal(rounded(np.ldexp(values, 9)), np.ldexp(rounded(values), 9))
    assert not np.any(rounded(np.zeros((2, 2))))


def plain_factor(matrix: np.ndarray) -> np.ndarray:
    """Cholesky's factor, column by column."""
    left, factor = matrix.copy(), np.zeros_like(matrix)
    for k in range(len(matrix)):
        factor[k:, k] = left[k:, k] / np.sqrt(left[k, k])
        column = factor[k + 1 :, k]
        left[k + 1 :, k + 1 :] -= column[:, None] * column
    return factor


@given(SEEDS, st.integers(1, 12))
def test_factors_are_cholesky_s(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((2 * count, count))
    matrix = rows.T @ rows + 0.01 * np.eye(count)
    factor = lower_factor(matrix)
    assert factor is not None
    assert np.array_equal(factor, plain_factor(matrix))
    np.testing.assert_allclose(factor, np.linalg.cholesky(matrix), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(inverse_of_lower(factor) @ factor, np.eye(count), atol=1e-9)
    np.testing.assert_allclose(square_sum(rows), np.sum(rows**2))


@given(SEEDS, st.integers(1, 20), st.integers(2, 12), st.booleans())
def test_an_evolution_adds_up_what_matrices_say(seed: int, count: int, width: int, nasty: bool) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((2 * width, width))
    covariance = rows.T @ rows + 0.01 * np.eye(width)
    drawn = spread_out(rng, count, width) if nasty else rng.standard_normal((count, width))
    is_positive, lines = lines_of_draws(drawn, covariance, BITS)
    assert is_positive
    assert np.array_equal(lines, product(drawn, plain_factor(covariance).T))
    lengths = np.sort(rng.standard_normal(8))
    best = rng.permutation(8 * count)[: 4 * count]
    shares = rng.random(len(best))
    mean, of_drawn, squares = weighted_samples(best, shares, lengths, lines, drawn, BITS)
    line, place = np.divmod(best, 8)
    pull, square = np.zeros((2, count))
    np.add.at(pull, line, shares * lengths[place])
    np.add.at(square, line, shares * lengths[place] * lengths[place])
    spread = rounded(np.sqrt(square)[:, None] * lines)
    assert np.array_equal(mean, np.sum(pull[:, None] * lines, axis=0))
    assert np.array_equal(of_drawn, np.sum(pull[:, None] * drawn, axis=0))
    assert np.array_equal(squares, spread.T @ spread)


def test_nothing_is_drawn_with_a_matrix_that_is_no_covariance() -> None:
    assert not lines_of_draws(np.ones((3, 2)), np.array([[1.0, 2.0], [2.0, 1.0]]), BITS)[0]
    nothing = np.zeros((1, 2))
    assert not np.any(weighted_samples(np.array([0]), np.ones(1), np.ones(1), nothing, nothing, BITS)[2])


def test_what_is_not_positive_definite_has_no_factor() -> None:
    assert lower_factor(np.array([[1.0, 2.0], [2.0, 1.0]])) is None
    assert lower_factor(np.zeros((2, 2))) is None
    assert lower_factor(np.full((2, 2), np.nan)) is None
