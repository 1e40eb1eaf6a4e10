"""Bounds on the difference between grid scores of derivations and exact scores (docs/theory.md has the proof)."""

from __future__ import annotations

import math

import numpy as np

from hulltune.arrays import Floats, Int64s
from hulltune.kernels.judging.exact_features import ExactFeatures
from hulltune.kernels.load.jit import borrowing, kernel
from hulltune.kernels.scores.scores import normalised

TINY = 2.0**-960  # normalised bounds below this may have lost terms to underflow
ORDINARY = 400  # exponents of weights and values up to which nothing is lost


@borrowing
def bound_of_sums(terms: int, longest: float) -> float:
    """The bound for ``terms`` products summed and rounded to a whole number on each of ``longest`` edges.

    Rounding an edge's sum costs 1/2. A sum of n products of total size S errs by n 2^-53 S, a decimal by 2^-53 of its
    size; over a derivation sizes sum to at most 2^51 (2^52 with what rounding adds).
    """
    return 0.5 * longest + 0.51 * (terms + 1) + 1.0 if terms else 0.0


@kernel
def dense_bounds(first: int, last: int, weights: Floats, magnitudes: Floats, longest: Floats) -> Floats:
    """Bounds in units of the grid (rows of weights, sentences) for features in a matrix, as score_dense rounds them.

    0 says that all scores are exact; infinity that nothing is known, because numbers are extremely far apart.
    """
    rows, width = weights.shape
    bounds = np.zeros((rows, last - first))
    normal_weights, normal_magnitudes = np.empty(width), np.empty(width)
    for r in range(rows):
        normalised(weights[r], normal_weights)
        for s in range(first, last):
            normalised(magnitudes[s], normal_magnitudes)
            terms, lost, size = 0, 0, 0.0
            for k in range(width):
                if weights[r, k] == 0.0 or magnitudes[s, k] == 0.0:
                    continue
                share = abs(normal_weights[k]) * normal_magnitudes[k]
                size += share
                if share < TINY:
                    lost += 1  # far less than a unit, but it may be nothing on the grid, and something in truth
                else:
                    terms += 1
            if lost or terms:
                bounds[r, s - first] = math.inf if size < TINY else bound_of_sums(terms, longest[s]) + 1.01 * lost
    return bounds


@kernel
def sparse_bounds(
    features: ExactFeatures, sentence_edges: Int64s, first: int, last: int, weights: Floats, longest: Floats
) -> Floats:
    """Bounds in units of the grid (rows of weights, sentences) for sparse features, as score_sparse rounds them."""
    rows = weights.shape[0]
    bounds = np.zeros((rows, last - first))
    for s in range(first, last):
        most = 0
        for e in range(sentence_edges[s], sentence_edges[s + 1]):
            most = max(most, features.row_offsets[e + 1] - features.row_offsets[e])
        for r in range(rows):
            some, extreme = False, False
            for i in range(features.used_offsets[s], features.used_offsets[s + 1]):
                weight = weights[r, features.used[i]]
                if weight == 0.0 or features.tops[i] == -2000:
                    continue
                some = True
                extreme = extreme or abs(math.frexp(weight)[1]) > ORDINARY or abs(features.tops[i]) > ORDINARY
            if extreme:
                bounds[r, s - first] = math.inf
            elif some:
                bounds[r, s - first] = bound_of_sums(most, longest[s])
    return bounds
