"""Scores of derivations as pairs of doubles, of 100 bits, with bounds on their errors: a filter before whole numbers.

The value of one unit of a digit (exact_features.py) is a weight times a power of five, which a pair holds exactly. Sums
of products lose little; a quotient is rounded correctly unless its error reaches to the middle of two doubles.
"""

from __future__ import annotations

import math

import numpy as np

from hulltune.arrays import Floats, Int64s
from hulltune.kernels.judging.exact_features import DOUBLES, MOST_PLACES, ExactFeatures
from hulltune.kernels.load.jit import borrowing, inlined, kernel
from hulltune.kernels.simd.simd import multiply_add_one

MOST_SHIFT = 300  # beyond, numbers are too far apart for doubles
FIVES = np.array([float(5**places) for places in range(MOST_PLACES + 1)])  # below 2^53, so exact
HALVES = np.array([2.0**-shift for shift in range(MOST_SHIFT + 1)])


@kernel
def split_rows(weights: Floats) -> tuple[Floats, Int64s]:
    """Rows of weights as fractions of at least 1/2 and exponents of two."""
    fractions, exponents = np.empty(weights.shape), np.empty(weights.shape, np.int64)
    for row in range(weights.shape[0]):
        for k in range(weights.shape[1]):
            fractions[row, k], exponents[row, k] = math.frexp(weights[row, k])
    return fractions, exponents


@borrowing
def pair_coefficients(
    features: ExactFeatures, sentence: int, first: Int64s, width: int, fractions: Floats, exponents: Int64s,
    pairs: Floats, row: int,
) -> int:  # fmt: skip
    """Write the value of one unit of every digit under some weights (see split_rows) into rows ``row`` and
    ``row + 1`` of ``pairs``; returns the exponent of their unit. Where numbers are too far apart they are NaN, so that
    no filter passes.
    """
    begin, end = features.used_offsets[sentence], features.used_offsets[sentence + 1]
    most_places, highest, lowest = 0, -9999, 9999
    for i in range(begin, end):
        most_places = max(most_places, features.places[i])
        if fractions[features.used[i]] != 0.0:
            exponent = exponents[features.used[i]]
            exponent += features.lows[i] if features.places[i] == DOUBLES else -features.places[i]
            lowest = min(lowest, exponent)
            highest = max(highest, exponent + width * (first[i - begin + 1] - first[i - begin] - 1))
    too_far = highest - lowest > MOST_SHIFT
    for i in range(begin, end):
        fraction, below = fractions[features.used[i]], highest - exponents[features.used[i]]
        below -= features.lows[i] if features.places[i] == DOUBLES else -features.places[i]
        five = FIVES[most_places - max(features.places[i], 0)]
        high = fraction * five
        low = multiply_add_one(fraction, five, -high)
        for digit in range(first[i - begin], first[i - begin + 1]):
            unit = 0.0
            if fraction != 0.0:
                unit = math.nan if too_far else HALVES[below]
            pairs[row, digit], pairs[row + 1, digit] = high * unit, low * unit
            below -= width
    return highest if lowest <= highest else 0


@inlined
def pair_sum(pairs: Floats, row: int, vectors: Int64s, a: int, b: int, digits: int) -> tuple[float, float, float]:
    """The value of the difference of vectors ``a`` and ``b`` of so many digits as a pair, and a bound on its error.

    With n terms of total size S, each product errs by 2^-105 of its size, and the n sums of the low parts, which are
    below (n + 2) 2^-53 S, by 2^-53 of these.
    """
    total, rest, size = 0.0, 0.0, 0.0
    terms = 2
    for j in range(digits):
        difference = vectors[a, j] - vectors[b, j]
        if difference == 0:
            continue
        number = float(difference)
        beyond = float(difference - np.int64(number))
        high = pairs[row, j]
        product = high * number
        error = multiply_add_one(high, number, -product) + (pairs[row + 1, j] * number + high * beyond)
        before = total
        total = before + product
        other = total - before
        rest += ((before - (total - other)) + (product - other)) + error
        size += abs(product)
        terms += 1
    high = total + rest
    return high, (total - high) + rest, float(terms * terms) * size * 2.0**-103


@inlined
def pair_quotient(
    n_high: float, n_low: float, n_error: float, d_high: float, d_low: float, d_error: float, shift: int
) -> tuple[bool, float]:
    """Whether d is surely positive and n / d · 2^shift is surely rounded correctly, and this quotient."""
    if not d_high > d_error * 16.0:
        return False, 0.0
    if n_error == 0.0 and n_high == 0.0:
        return True, 0.0
    if not abs(n_high) > n_error * 16.0:
        return False, 0.0
    first = n_high / d_high
    product = first * d_high
    rest = ((n_high - product) - multiply_add_one(first, d_high, -product)) + (n_low - first * d_low)
    second = rest / d_high
    result = first + second
    error = (first - result) + second
    slack = abs(result) * (2.0**-98 + 2.0 * n_error / abs(n_high) + 2.0 * d_error / abs(d_high))
    if result + (error + slack) != result or result + (error - slack) != result:
        return False, 0.0
    exponent = math.frexp(result)[1] + shift
    if not -1000 < exponent < 1000:
        return False, 0.0
    return True, math.ldexp(result, shift)
