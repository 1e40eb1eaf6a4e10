"""Small matrices whose every bit is the same on all processors.

Libraries add up products in an order that depends on the processor. Here numbers are first rounded, so that all sums
are exact and their order does not matter, or they are added one by one.
"""

from __future__ import annotations

import math

import numpy as np

from hulltune.arrays import Floats

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
    from hulltune.kernels.directions.cholesky import cholesky

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
