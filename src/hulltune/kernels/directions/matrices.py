"""Small matrices whose every bit is the same on all processors.

Libraries add up products in an order that depends on the processor. Here numbers are first rounded, so that all sums
are exact and their order does not matter, or they are added one by one.
"""

from __future__ import annotations

import math

import numpy as np

from hulltune.arrays import FloatRows, Floats, Int64s
from hulltune.kernels.load.kernel import kernel, part

BITS = 22
"""The bits to which factors are rounded: products of two have 44, and sums of up to 2⁹ of them are exact doubles."""


def rounded(matrix: Floats, bits: int = BITS) -> Floats:
    """The matrix on a grid of 2^−bits of its largest entry (or twice as fine)."""
    grid = math.ldexp(1.0, math.frexp(float(np.max(np.abs(matrix), initial=0.0)))[1] - bits)
    on_grid: Floats = np.rint(matrix / grid) * grid if grid > 0.0 else matrix
    return on_grid


def product(a: Floats, b: Floats) -> Floats:
    """The product of two matrices, both rounded first; the sums are exact for up to 2⁹ columns of the first."""
    exact: Floats = rounded(a) @ rounded(b)
    return exact


def lower_factor(matrix: Floats) -> Floats | None:
    """Cholesky's factor L with L Lᵀ = matrix, in order; None if the matrix is not positive definite. O(n³)."""
    is_positive, factor = cholesky(matrix)
    return factor if is_positive else None


def inverse_of_lower(factor: Floats) -> Floats:
    """The inverse of a lower triangular matrix. O(n³)."""
    inverse = np.eye(len(factor))
    for k in range(len(factor)):
        inverse[k] /= factor[k, k]
        inverse[k + 1 :] -= factor[k + 1 :, k, None] * inverse[k]
    return inverse


def square_sum(values: Floats) -> float:
    """The sum of the squares of all entries, rounded once."""
    return math.fsum((values * values).ravel().tolist())


@kernel
def cholesky(matrix: FloatRows) -> tuple[bool, Floats]:
    """Whether a matrix is positive definite, and its lower factor L with L Lᵀ = matrix, which else means nothing.

    Only the lower triangle is read. O(n³).
    """
    n = len(matrix)
    left, factor = matrix.copy(), np.zeros((n, n))
    for k in range(n):
        if not left[k, k] > 0.0:
            return False, factor
        root = math.sqrt(left[k, k])
        for i in range(k, n):
            factor[i, k] = left[i, k] / root
        for i in range(k + 1, n):
            for j in range(k + 1, i + 1):
                left[i, j] -= factor[i, k] * factor[j, k]
    return True, factor


@part
def _rounded(matrix: Floats, bits: int) -> Floats:
    """The matrix on a grid of 2^−bits of its largest entry (see ``rounded``)."""
    largest = 0.0
    for value in matrix.flat:
        largest = max(largest, abs(value))
    grid = math.ldexp(1.0, math.frexp(largest)[1] - bits)
    found = matrix.copy()
    if grid > 0.0:
        for i in range(matrix.shape[0]):
            for j in range(matrix.shape[1]):
                found[i, j] = np.rint(matrix[i, j] / grid) * grid
    return found


@kernel
def lines_of_draws(drawn: FloatRows, covariance: FloatRows, bits: int) -> tuple[bool, Floats]:
    """Whether the covariance is positive definite, and the lines that its factor makes of numbers, a row each."""
    is_positive, factor = cholesky(covariance)
    numbers, factor = _rounded(drawn, bits), _rounded(factor, bits)
    count, width = drawn.shape
    lines = np.zeros((count, width))
    for i in range(count):
        for j in range(width):
            for k in range(j + 1):
                lines[i, j] += numbers[i, k] * factor[j, k]
    return is_positive, lines


@kernel
def weighted_samples(
    best: Int64s, shares: Floats, lengths: Floats, lines: FloatRows, drawn: FloatRows, bits: int
) -> tuple[Floats, Floats, Floats]:
    """The weighted mean of the ``best`` samples, that of the numbers they were drawn by, and their mean square matrix.

    Sample i is on line i // points, as far as ``lengths`` says for the point i % points of each line.
    """
    count, width = lines.shape
    pull, square = np.zeros(count), np.zeros(count)
    for i in range(best.size):
        line, length = best[i] // lengths.size, lengths[best[i] % lengths.size]
        pull[line] += shares[i] * length
        square[line] += shares[i] * length * length
    mean, of_drawn, spread_out = np.zeros(width), np.zeros(width), np.empty((count, width))
    for i in range(count):
        for j in range(width):
            mean[j] += pull[i] * lines[i, j]
            of_drawn[j] += pull[i] * drawn[i, j]
            spread_out[i, j] = math.sqrt(square[i]) * lines[i, j]
    spread_out = _rounded(spread_out, bits)
    squares = np.zeros((width, width))
    for i in range(count):
        for j in range(width):
            for k in range(width):
                squares[j, k] += spread_out[i, j] * spread_out[i, k]
    return mean, of_drawn, squares
