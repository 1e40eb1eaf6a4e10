"""The sums of an evolution: lines that are drawn with a covariance, and what the best samples on them say.

Every sum is exact, or added up in the order of the lines, so that all processors give the same bits.
"""

from __future__ import annotations

import math

import numpy as np

from hulltune.arrays import Floats, Int64s
from hulltune.kernels.directions.cholesky import cholesky
from hulltune.kernels.load.jit import kernel


@kernel
def _rounded(matrix: Floats, bits: int) -> Floats:
    """The matrix on a grid of 2^−bits of its largest entry (see search.matrices.rounded)."""
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
def lines_of_draws(drawn: Floats, covariance: Floats, bits: int) -> tuple[bool, Floats]:
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
    best: Int64s, shares: Floats, lengths: Floats, lines: Floats, drawn: Floats, bits: int
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
