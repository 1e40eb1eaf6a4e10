"""Scores of many rows of summed statistics, equal to the last bit to the scalar code of the original tools.

The logarithms and exponentials are the C library's, one at a time: NumPy's vectorised ones differ in the last bit.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hulltune.kernels._jit import kernel

NO_SMOOTHING, FLOOR, ADD_K, EXPONENTIAL = range(4)


@kernel
def bleu_scores(
    rows: NDArray[np.int64], order: int, smoothing: int, value: float, effective_order: bool, compensated: bool
) -> NDArray[np.float64]:
    """BLEU of each (length, reference length, matches per order, n-grams per order), O(order) each.

    ``compensated`` adds the logarithms as Python's sum() does since 3.12, with Neumaier's correction; before, it
    was plain. The smoothing methods are 0, 1, 2 and 3 of Chen and Cherry (2014).
    """
    scores = np.zeros(len(rows), np.float64)
    for k in range(len(rows)):
        row = rows[k]
        matched = False
        for n in range(order):
            matched = matched or row[2 + n] != 0
        if not matched:
            continue
        total_log, correction, halvings, used = 0.0, 0.0, 1.0, order
        zero = False
        for n in range(order):
            matches, ngrams = float(row[2 + n]), float(row[2 + order + n])
            if smoothing == ADD_K and n > 0:
                matches += value
                ngrams += value
            if ngrams == 0:
                # No n-grams this long: orders from here on have precision 0, unless they are left out.
                zero = zero or n == 0 or not effective_order
                break
            if effective_order:
                used = n + 1
            if matches != 0:
                precision = 100.0 * matches / ngrams
            elif smoothing == EXPONENTIAL:
                halvings *= 2
                precision = 100.0 / (halvings * ngrams)
            elif smoothing == FLOOR:
                precision = 100.0 * value / ngrams
            else:
                precision = 0.0
            if precision == 0.0:
                zero = True
                continue
            term = math.log(precision)
            if compensated:
                partial = total_log + term
                if abs(total_log) >= abs(term):
                    correction += (total_log - partial) + term
                else:
                    correction += (term - partial) + total_log
                total_log = partial
            else:
                total_log += term
        if zero:
            continue
        length, reference_length = float(row[0]), float(row[1])
        brevity_penalty = 1.0
        if length < reference_length:
            brevity_penalty = math.exp(1 - reference_length / length) if length > 0 else 0.0
        scores[k] = brevity_penalty * math.exp((total_log + correction) / used)
    return scores


@kernel
def edit_rates(
    rows: NDArray[np.int64],
    edits_from: int,
    edits_to: int,
    length_from: int,
    length_to: int,
    scale: float,
    cap_without_reference: bool,
) -> NDArray[np.float64]:
    """``scale`` times edits by length, each a sum of neighbouring columns.

    Without any reference length the rate is the number of edits, or at most 1 if ``cap_without_reference``.
    """
    rates = np.empty(len(rows), np.float64)
    for k in range(len(rows)):
        row = rows[k]
        edits, length = 0.0, 0.0
        for column in range(edits_from, edits_to):
            edits += row[column]
        for column in range(length_from, length_to):
            length += row[column]
        if length > 0:
            rate = edits / length
        elif cap_without_reference and edits > 0:
            rate = 1.0
        else:
            rate = edits
        rates[k] = scale * rate
    return rates
