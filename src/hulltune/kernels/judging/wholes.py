"""Whole numbers of any size, as rows of limbs: scores of derivations without rounding.

A number is a row: limbs of BITS bits, the lowest first, then its sign (−1, 0 or 1). Products of two limbs leave 20 bits
for sums, so that carries wait until the end. Numbers of one table have equally many limbs, enough for the largest.
"""

from __future__ import annotations

import math

import numpy as np

from hulltune.arrays import Floats, Int32s, Int64s
from hulltune.kernels.judging.exact_features import DOUBLES, ExactFeatures
from hulltune.kernels.judging.pairs import pair_coefficients, pair_sum, split_rows
from hulltune.kernels.load.jit import borrowing, inlined, kernel
from hulltune.kernels.scores.exact import rounding_error

BITS = 21
MASK = (1 << BITS) - 1
SURE = 2.0**-47  # relative difference from which two products of approximate numbers are surely in order


@inlined
def _settle(table: Int64s, row: int, limbs: int) -> None:
    """Bring a row with unbounded limbs of any sign to its canonical form: carry, and find the sign."""
    for i in range(limbs - 1):
        carry = table[row, i] >> BITS
        table[row, i] -= carry << BITS
        table[row, i + 1] += carry
    if table[row, limbs - 1] < 0:
        for i in range(limbs):
            table[row, i] = -table[row, i]
        for i in range(limbs - 1):
            carry = table[row, i] >> BITS
            table[row, i] -= carry << BITS
            table[row, i + 1] += carry
        table[row, limbs] = -1
        return
    table[row, limbs] = 0
    for i in range(limbs):
        if table[row, i] != 0:
            table[row, limbs] = 1
            break


@kernel
def coefficients(
    features: ExactFeatures, sentence: int, first: Int64s, width: int, weights: Floats
) -> tuple[Int64s, int]:
    """The value of one unit of every digit under some weights: a table of numbers, and the exponent of their unit.

    All values are multiplied by 5^P, where P is the largest number of decimal places in the sentence, so that they are
    whole multiples of a power of two. Limbs leave room for sums of products with vectors.
    """
    begin, end = features.used_offsets[sentence], features.used_offsets[sentence + 1]
    digits = first[end - begin]
    most_places = 0
    for i in range(begin, end):
        most_places = max(most_places, features.places[i])
    lowest, highest = 9999, -9999
    for i in range(begin, end):
        weight = weights[features.used[i]]
        if weight != 0.0:
            exponent = math.frexp(weight)[1] - 53
            exponent += features.lows[i] if features.places[i] == DOUBLES else -features.places[i]
            lowest = min(lowest, exponent)
            highest = max(highest, exponent + width * (first[i - begin + 1] - first[i - begin] - 1))
    if lowest > highest:
        lowest = highest = 0
    limbs = (highest - lowest + 105 + 64 + 20) // BITS + 2
    table = np.zeros((digits, limbs + 1), np.int64)
    for i in range(begin, end):
        weight = weights[features.used[i]]
        if weight == 0.0:
            continue
        fraction, exponent = math.frexp(abs(weight))
        mantissa = np.int64(fraction * 2.0**53)
        five = np.int64(1)
        for _ in range(most_places - max(features.places[i], 0)):
            five *= 5
        exponent += -53 - lowest + (features.lows[i] if features.places[i] == DOUBLES else -features.places[i])
        for digit in range(first[i - begin], first[i - begin + 1]):
            place, shift = exponent // BITS, exponent % BITS
            for j in range(3):
                part = (mantissa >> (BITS * j)) & MASK
                for k in range(3):
                    product = part * ((five >> (BITS * k)) & MASK)
                    table[digit, place + j + k] += (product & MASK) << shift
                    table[digit, place + j + k + 1] += (product >> BITS) << shift
            _settle(table, digit, limbs)
            if weight < 0.0:
                table[digit, limbs] = -table[digit, limbs]
            exponent += width
    return table, lowest


@borrowing
def evaluate(table: Int64s, vectors: Int64s, row: int, out: Int64s, out_row: int) -> None:
    """Write the sum of coefficients times the digits of a vector as a number. ``out`` has at least as many limbs."""
    limbs, out_limbs = table.shape[1] - 1, out.shape[1] - 1
    out[out_row, :] = 0
    for j in range(table.shape[0]):
        digit = vectors[row, j]
        sign = table[j, limbs]
        if digit == 0 or sign == 0:
            continue
        if digit < 0:
            digit, sign = -digit, -sign
        low, middle, high = sign * (digit & MASK), sign * ((digit >> BITS) & MASK), sign * (digit >> (2 * BITS))
        for i in range(limbs - 2):
            limb = table[j, i]
            out[out_row, i] += limb * low
            out[out_row, i + 1] += limb * middle
            out[out_row, i + 2] += limb * high
    _settle(out, out_row, out_limbs)


@inlined
def subtract_numbers(table: Int64s, a: int, b: int, out: Int64s, row: int) -> None:
    """Write the difference of numbers ``a`` and ``b`` of a table as a row of ``out``, with as many limbs."""
    limbs = table.shape[1] - 1
    sign_a, sign_b = table[a, limbs], table[b, limbs]
    for i in range(limbs):
        out[row, i] = sign_a * table[a, i] - sign_b * table[b, i]
    _settle(out, row, limbs)


@inlined
def compare_numbers(table: Int64s, a: int, b: int) -> int:
    """The sign of the difference of numbers ``a`` and ``b``."""
    limbs = table.shape[1] - 1
    sign = table[a, limbs]
    if sign != table[b, limbs]:
        return 1 if sign > table[b, limbs] else -1
    for i in range(limbs - 1, -1, -1):
        if table[a, i] != table[b, i]:
            return int(sign if table[a, i] > table[b, i] else -sign)
    return 0


@inlined
def _approximate(table: Int64s, row: int) -> tuple[float, int]:
    """A magnitude as a double below 2^63 and the exponent of its unit, right to 2^-50 of it."""
    top = table.shape[1] - 2
    while top > 3 and table[row, top] == 0:
        top -= 1
    top = max(top, 3)
    whole = (table[row, top] << (2 * BITS)) + (table[row, top - 1] << BITS) + table[row, top - 2]
    return float(whole) + float(table[row, top - 3]) / 2.0**BITS, BITS * (top - 2)


@kernel
def compare_cross(a: Int64s, a_row: int, b: Int64s, b_row: int, c: Int64s, c_row: int, d: Int64s, d_row: int) -> int:
    """The sign of a · b − c · d, for rows of tables with equally many limbs: by doubles, exactly if these are close."""
    limbs = a.shape[1] - 1
    left, right = a[a_row, limbs] * b[b_row, limbs], c[c_row, limbs] * d[d_row, limbs]
    if left != right or left == 0:
        return int(left > right) - int(left < right)
    a_size, a_exponent = _approximate(a, a_row)
    b_size, b_exponent = _approximate(b, b_row)
    c_size, c_exponent = _approximate(c, c_row)
    d_size, d_exponent = _approximate(d, d_row)
    shift = a_exponent + b_exponent - c_exponent - d_exponent
    if shift > 500 or shift < -500:
        return int(left if shift > 0 else -left)
    one, other = math.ldexp(a_size * b_size, shift), c_size * d_size
    if abs(one - other) > SURE * (one + other):
        return int(left if one > other else -left)
    products = np.zeros((2, 2 * limbs + 2), np.int64)
    for i in range(limbs):
        for j in range(limbs):
            products[0, i + j] += a[a_row, i] * b[b_row, j]
            products[1, i + j] += c[c_row, i] * d[d_row, j]
    _settle(products, 0, 2 * limbs + 1)
    _settle(products, 1, 2 * limbs + 1)
    return int(left * compare_numbers(products, 0, 1))


@kernel
def _compare_quotient(n: Int64s, n_row: int, d: Int64s, d_row: int, shift: int, factor: int, exponent: int) -> int:
    """The sign of |n| / |d| · 2^shift − factor · 2^exponent, exactly; 0 < factor < 2^62."""
    limbs = n.shape[1] - 1
    shift -= exponent
    up, down = max(shift, 0), max(-shift, 0)
    size = limbs + 4 + max(up, down) // BITS + 2
    sides = np.zeros((2, size + 1), np.int64)
    for i in range(limbs):
        sides[0, i + up // BITS] += (n[n_row, i] << (up % BITS)) & MASK
        sides[0, i + up // BITS + 1] += (n[n_row, i] << (up % BITS)) >> BITS
        for j in range(3):
            product = d[d_row, i] * ((factor >> (BITS * j)) & MASK)
            sides[1, i + j + down // BITS] += (product & MASK) << (down % BITS)
            sides[1, i + j + down // BITS + 1] += (product >> BITS) << (down % BITS)
    _settle(sides, 0, size)
    _settle(sides, 1, size)
    return compare_numbers(sides, 0, 1)


@inlined
def _leading(table: Int64s, row: int) -> tuple[float, float, int]:
    """The first 85 bits or more of a magnitude, as the unevaluated sum of two doubles, and the exponent of its unit."""
    top = table.shape[1] - 2
    while top > 4 and table[row, top] == 0:
        top -= 1
    top = max(top, 4)
    upper = float((table[row, top] << BITS) + table[row, top - 1]) * 2.0 ** (2 * BITS)
    lower = float((table[row, top - 2] << BITS) + table[row, top - 3])
    total = upper + lower
    rest = ((upper - total) + lower) + float(table[row, top - 4]) / 2.0**BITS
    high = total + rest
    return high, (total - high) + rest, BITS * (top - 3)


@borrowing
def quotient(n: Int64s, n_row: int, d: Int64s, d_row: int, shift: int) -> float:
    """n / d · 2^shift, correctly rounded, for d ≠ 0; beyond the largest double, infinity."""
    limbs = n.shape[1] - 1
    sign = float(n[n_row, limbs] * d[d_row, limbs])
    if sign == 0.0:
        return 0.0
    n_high, n_low, n_exponent = _leading(n, n_row)
    d_high, d_low, d_exponent = _leading(d, d_row)
    first = n_high / d_high
    product = first * d_high
    rest = ((n_high - product) - rounding_error(first, d_high, product)) + n_low - first * d_low
    second = rest / d_high
    result = first + second
    error = (first - result) + second
    slack = result * 2.0**-78
    exponent = math.frexp(result)[1] + shift + n_exponent - d_exponent
    if exponent > 1024:
        return sign * math.inf
    sure = result + (error + slack) == result and result + (error - slack) == result
    if exponent < -1080:
        return sign * 0.0 if exponent < -1090 else sign * _corrected(5e-324, n, n_row, d, d_row, shift)
    rounded = math.ldexp(result, shift + n_exponent - d_exponent)
    if sure and exponent > -1020:
        return sign * rounded
    return sign * _corrected(rounded, n, n_row, d, d_row, shift)


@borrowing
def _corrected(guess: float, n: Int64s, n_row: int, d: Int64s, d_row: int, shift: int) -> float:
    """The double nearest to |n| / |d| · 2^shift, from a double beside it; of two equally near ones the even one."""
    if guess == math.inf:
        guess = 1.7976931348623157e308
    while True:
        fraction, exponent = math.frexp(guess)
        if guess < 2.0**-1022:  # multiples of 2^-1074
            exponent, mantissa = -1074, int(guess / 5e-324)
        else:
            exponent, mantissa = exponent - 53, int(fraction * 2.0**53)
        above = _compare_quotient(n, n_row, d, d_row, shift, 2 * mantissa + 1, exponent - 1)
        if above > 0 or (above == 0 and mantissa & 1):
            larger = float(np.nextafter(guess, math.inf))
            if larger == math.inf:
                return math.inf
            guess = larger
            continue
        if mantissa == 0:
            return guess
        # Below a power of two, doubles are twice as dense.
        is_power = mantissa == 1 << 52 and exponent > -1074
        below = _compare_quotient(
            n, n_row, d, d_row, shift, 4 * mantissa - 1 if is_power else 2 * mantissa - 1, exponent - 2 + (not is_power)
        )
        if below < 0 or (below == 0 and mantissa & 1):
            guess = float(np.nextafter(guess, -math.inf))
            continue
        return guess


@kernel
def sign_of_vector(
    features: ExactFeatures, sentence: int, first: Int64s, width: int, weights: Floats, vectors: Int64s
) -> int:
    """The sign of the score of the first vector under weights: by pairs of doubles, exactly if these are close."""
    zero = True
    for j in range(vectors.shape[1]):
        zero = zero and vectors[0, j] == 0
    if zero:
        return 0
    digits = vectors.shape[1]
    pairs, beside_zero = np.empty((2, digits)), np.zeros((2, digits), np.int64)
    fractions, exponents = split_rows(weights.reshape(1, -1))
    pair_coefficients(features, sentence, first, width, fractions[0], exponents[0], pairs, 0)
    beside_zero[0] = vectors[0]
    high, _, error = pair_sum(pairs, 0, beside_zero, 0, 1, digits)
    if abs(high) > 2.0 * error:
        return 1 if high > 0.0 else -1
    table, _ = coefficients(features, sentence, first, width, weights)
    value = np.empty((1, table.shape[1]), np.int64)
    evaluate(table, vectors, 0, value, 0)
    return int(value[0, table.shape[1] - 1])


@inlined
def _earlier(edges: Int32s, places: Int64s, a: int, b: int) -> bool:
    """Whether derivation ``a`` comes before ``b``: by their edges in preorder, or by place if there are no edges."""
    if edges.size == 0:
        return bool(places[a] < places[b])
    i, j = places[a], places[b]
    while edges[i] == edges[j] and edges[i] >= 0:
        i += 1
        j += 1
    return bool(edges[i] < edges[j])


@kernel
def exact_hull(slopes: Int64s, intercepts: Int64s, count: int, edges: Int32s, places: Int64s, order: Int64s) -> int:
    """Write the lines of the upper envelope of ``count`` lines by increasing slope into ``order``, which begins with
    all lines in about this order; returns their number. Of equal lines the first derivation stays.
    """
    for i in range(1, count):
        new = order[i]
        j = i
        while j > 0:
            old = order[j - 1]
            sign = compare_numbers(slopes, new, old)
            if sign == 0:
                sign = -compare_numbers(intercepts, new, old)
            if sign > 0 or (sign == 0 and not _earlier(edges, places, new, old)):
                break
            order[j] = old
            j -= 1
        order[j] = new
    width = slopes.shape[1]
    work = np.empty((4, width), np.int64)
    kept = 0
    for i in range(count):
        new = order[i]
        if kept and compare_numbers(slopes, new, order[kept - 1]) == 0:
            continue
        while kept >= 2:
            # The last line stays if it is above the crossing of its neighbours.
            before, last = order[kept - 2], order[kept - 1]
            subtract_numbers(intercepts, before, new, work, 0)
            subtract_numbers(slopes, last, before, work, 1)
            subtract_numbers(intercepts, before, last, work, 2)
            subtract_numbers(slopes, new, before, work, 3)
            if compare_cross(work, 0, work, 1, work, 2, work, 3) > 0:
                break
            kept -= 1
        order[kept] = new
        kept += 1
    return kept
