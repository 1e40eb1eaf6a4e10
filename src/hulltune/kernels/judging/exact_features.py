"""The numbers that features mean, as vectors of whole numbers whose sums are exact.

A feature whose values in a sentence are all N / 10^p, for one p of at most 22 and whole numbers N below 10^15, means
these decimals: then word penalties and log probabilities that a file gives as decimals add up as on paper, however they
are spread over edges. Any other feature means its doubles, whole multiples of a power of two. Either way a value is a
whole number of units. Units are cut into digits of ``width`` bits, so narrow that no sum over a derivation leaves 63
bits; mostly one digit is enough.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Floats, Int32s, Int64s
from hulltune.kernels.load.jit import borrowing, inlined, kernel

MOST_PLACES = 22  # 10^22 is the largest power of ten that a double holds exactly
DECIMALS = 1e15  # whole numbers below this, over a power of ten, are told apart by doubles
DECIMAL_BITS = 50
DOUBLES = -1  # in place of the number of decimal places: the feature means its doubles
SUM_BITS = 62


class ExactFeatures(NamedTuple):
    """Features of a corpus with what they mean: sentence s uses the features
    ``used[used_offsets[s]:used_offsets[s + 1]]``, in increasing order.
    """

    singles: NDArray[np.float32]
    doubles: Floats
    """The values, in one of the two; the other is empty. So one kernel reads both kinds."""
    length: int
    """The number of edges, if the values are a matrix laid out by column; 0 for sparse rows."""
    row_offsets: Int64s
    row_columns: Int32s
    """Sparse rows: the offsets of rows among the values, and the column of every value."""
    used_offsets: Int64s
    used: Int32s
    places: Int64s
    """Decimal places of each used feature, or DOUBLES."""
    scales: Floats
    """10^places."""
    lows: Int64s
    tops: Int64s
    """The exponents of the unit (of doubles) and of the power of two above all values."""


@inlined
def _trailing_zeros(number: int) -> int:
    return math.frexp(float(number & -number))[1] - 1


@kernel
def _meaning(values: NDArray[Any], begin: int, end: int) -> tuple[int, float, int, int]:
    """Decimal places (or DOUBLES), their power of ten, and the exponents of unit and size of some values."""
    places, scale, largest = 0, 1.0, 0.0
    for i in range(begin, end):
        value = np.float64(values[i])
        largest = max(largest, abs(value))
        while True:
            number = np.rint(value * scale)
            if abs(number) < DECIMALS and number / scale == value:
                break
            places += 1
            scale *= 10.0
            if places > MOST_PLACES or largest * scale > 2.0 * DECIMALS:
                places = DOUBLES
                break
        if places == DOUBLES:
            break
    if places != DOUBLES and np.rint(largest * scale) < DECIMALS:
        return places, scale, 0, math.frexp(largest)[1]
    low, top = 2000, -2000
    for i in range(begin, end):
        value = abs(np.float64(values[i]))
        if value > 0.0:
            fraction, exponent = math.frexp(value)
            top = max(top, exponent)
            low = min(low, exponent - 53 + _trailing_zeros(int(fraction * 2.0**53)))
    return DOUBLES, 1.0, low, top


@kernel
def dense_meanings(
    columns: NDArray[Any], sentence_edges: Int64s
) -> tuple[Int64s, Int32s, Int64s, Floats, Int64s, Int64s]:
    """The last six fields of ExactFeatures for a matrix by column. O(edges × features)."""
    width, sentences = columns.shape[0], sentence_edges.size - 1
    offsets = np.zeros(sentences + 1, np.int64)
    used, places = np.empty(sentences * width, np.int32), np.empty(sentences * width, np.int64)
    scales = np.empty(sentences * width)
    lows, tops = np.empty(sentences * width, np.int64), np.empty(sentences * width, np.int64)
    count = 0
    for s in range(sentences):
        begin, end = sentence_edges[s], sentence_edges[s + 1]
        for k in range(width):
            some = False
            for e in range(begin, end):
                if columns[k, e] != 0.0:
                    some = True
                    break
            if some:
                used[count] = k
                places[count], scales[count], lows[count], tops[count] = _meaning(columns[k], begin, end)
                count += 1
        offsets[s + 1] = count
    return offsets, used[:count], places[:count], scales[:count], lows[:count], tops[:count]


@kernel
def sparse_meanings(
    row_offsets: Int64s, row_columns: Int32s, values: NDArray[Any], sentence_edges: Int64s
) -> tuple[Int64s, Int32s, Int64s, Floats, Int64s, Int64s]:
    """The last six fields of ExactFeatures for sparse rows. O(values), and sorting those of each sentence."""
    sentences = sentence_edges.size - 1
    offsets = np.zeros(sentences + 1, np.int64)
    used, places, scales = np.empty(16, np.int32), np.empty(16, np.int64), np.empty(16)
    lows, tops = np.empty(16, np.int64), np.empty(16, np.int64)
    count = 0
    for s in range(sentences):
        begin, end = row_offsets[sentence_edges[s]], row_offsets[sentence_edges[s + 1]]
        order = np.argsort(row_columns[begin:end], kind="mergesort")
        some_values, some_columns = values[begin:end][order], row_columns[begin:end][order]
        i = 0
        while i < order.size:
            j = i
            while j < order.size and some_columns[j] == some_columns[i]:
                j += 1
            if count == used.size:
                used, places = np.concatenate((used, used)), np.concatenate((places, places))
                scales, lows = np.concatenate((scales, scales)), np.concatenate((lows, lows))
                tops = np.concatenate((tops, tops))
            used[count] = some_columns[i]
            places[count], scales[count], lows[count], tops[count] = _meaning(some_values, i, j)
            count += 1
            i = j
        offsets[s + 1] = count
    return offsets, used[:count], places[:count], scales[:count], lows[:count], tops[:count]


@borrowing
def digit_width(longest: float) -> int:
    """The bits of a digit for derivations of at most so many edges; 0 where there are too many to be judged."""
    bits = SUM_BITS - math.frexp(longest)[1] if longest < 2.0**40 else 0
    return bits if bits >= 24 else 0


@borrowing
def count_digits(features: ExactFeatures, i: int, width: int) -> int:
    """The number of digits of the used feature ``i``, each of ``width`` bits (0 for none)."""
    if width == 0:
        return 0
    bits = DECIMAL_BITS if features.places[i] != DOUBLES else max(features.tops[i] - features.lows[i], 1)
    return (bits + width - 1) // width


@borrowing
def first_digits(features: ExactFeatures, sentence: int, width: int, first: Int64s) -> int:
    """Write the place of the first digit of each feature that a sentence uses, and after them the number of digits,
    which is returned.
    """
    begin, end = features.used_offsets[sentence], features.used_offsets[sentence + 1]
    first[0] = 0
    for i in range(begin, end):
        first[i - begin + 1] = first[i - begin] + count_digits(features, i, width)
    return int(first[end - begin])


@borrowing
def most_digits(features: ExactFeatures, first: int, last: int, longest: Floats) -> tuple[int, int]:
    """The most features that one of the sentences ``first`` to ``last`` uses, and the most digits of one."""
    most_used, most = 0, 0
    for s in range(first, last):
        width, digits = digit_width(longest[s]), 0
        begin, end = features.used_offsets[s], features.used_offsets[s + 1]
        for i in range(begin, end):
            digits += count_digits(features, i, width)
        most_used, most = max(most_used, end - begin), max(most, digits)
    return most_used, most


@inlined
def value_at(features: ExactFeatures, place: int) -> float:
    """The value at a place among the values."""
    return float(features.singles[place]) if features.singles.size else float(features.doubles[place])


@inlined
def _add_value(features: ExactFeatures, i: int, value: float, at: int, width: int, sign: int, vector: Int64s) -> None:
    """Add ``sign`` times a value of the used feature ``i``, whose first digit is ``at``, to a vector."""
    if features.places[i] != DOUBLES:
        rest = np.int64(np.rint(abs(value) * features.scales[i]))
    else:
        fraction, exponent = math.frexp(abs(value))
        rest = np.int64(fraction * 2.0**53)
        shift = exponent - 53 - features.lows[i]
        if shift < 0:
            rest >>= -shift
            shift = 0
        at += shift // width
        shift %= width
        if shift:
            kept = width - shift
            low = (rest & ((np.int64(1) << kept) - 1)) << shift
            vector[at] += -sign * low if value < 0.0 else sign * low
            rest >>= kept
            at += 1
    mask = (np.int64(1) << width) - 1
    while rest:
        digit = rest & mask
        vector[at] += -sign * digit if value < 0.0 else sign * digit
        rest >>= width
        at += 1


@borrowing
def add_edge(
    features: ExactFeatures, sentence: int, edge: int, first: Int64s, width: int, sign: int, vectors: Int64s, row: int
) -> None:
    """Add ``sign`` times the features of an edge (numbered over the corpus) of a sentence to a row of vectors."""
    begin, end = features.used_offsets[sentence], features.used_offsets[sentence + 1]
    vector = vectors[row]
    if features.length > 0:
        for i in range(begin, end):
            value = value_at(features, features.used[i] * features.length + edge)
            if value != 0.0:
                _add_value(features, i, value, first[i - begin], width, sign, vector)
        return
    for j in range(features.row_offsets[edge], features.row_offsets[edge + 1]):
        value = value_at(features, j)
        if value != 0.0:
            i = _place_of(features.used, begin, end, features.row_columns[j])
            _add_value(features, i, value, first[i - begin], width, sign, vector)


@borrowing
def _place_of(used: Int32s, begin: int, end: int, column: int) -> int:
    """The place of a column in a part of ``used``, which is in order and has it. O(log)."""
    while end - begin > 1:
        middle = (begin + end) // 2
        if used[middle] <= column:
            begin = middle
        else:
            end = middle
    return begin
