"""Cholesky's factor of a small matrix, added up in a fixed order."""

from __future__ import annotations

import math

import numpy as np

from hulltune.arrays import Floats
from hulltune.kernels.load.jit import kernel


@kernel
def cholesky(matrix: Floats) -> tuple[bool, Floats]:
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
