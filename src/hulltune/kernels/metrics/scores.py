"""Scores of many rows of summed statistics, equal to the last bit to the scalar code of the original tools.

Every score is made of the same floating-point operations in the same order as the original's. Logarithms and
exponentials are the C library's, one at a time: NumPy's vectorised ones differ in the last bit.

Profiled: the four logarithms and one or two exponentials of BLEU take about 20 of 25 ns a row. The rest is done in
blocks of rows that the compiler can vectorise. np.divide has no check for zero, and slices that begin at 0 have no
negative indices: both checks would stop it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hulltune.arrays import Floats, Int64s, Statistics
from hulltune.kernels.load.kernel import borrowing, kernel

Int = Any  # a Python int or a NumPy integer: the same thing once compiled
Float = Any

NO_SMOOTHING, FLOOR, ADD_K, EXPONENTIAL = range(4)

_BLOCK = 64

Rows = Int64s  # or float64


@borrowing
def _mean_log(logs: Floats, first: Int, order: Int) -> Float:
    """The mean of ``order`` logarithms from ``first`` on, added from left to right.

    sacrebleu adds them with Python's sum(), which did so up to Python 3.11 and compensates for rounding since.
    Following it would give scores, and so paths of a search, that depend on the version of Python.
    """
    total = 0.0
    for n in range(order):
        total += logs[first + n]
    return total / order


@borrowing
def _brevity_penalty(length: float, reference_length: float) -> float:
    if length >= reference_length:
        return 1.0
    return math.exp(1 - reference_length / length) if length > 0 else 0.0


@borrowing
def _smoothed_bleu(
    row: Rows,
    order: Int,
    smoothing: Int,
    value: float,
    effective_order: bool,
    logs: Floats,
) -> float:
    """BLEU of any row. The smoothing methods are 0 to 3 of Chen and Cherry (2014)."""
    matched = False
    for n in range(order):
        matched = matched or row[2 + n] != 0
    if not matched:
        return 0.0
    halvings, used = 1.0, order
    for n in range(order):
        matches, ngrams = float(row[2 + n]), float(row[2 + order + n])
        if smoothing == ADD_K and n > 0:
            matches += value
            ngrams += value
        if ngrams == 0:
            # The orders from here on have precision 0, unless they are left out.
            if n == 0 or not effective_order:
                return 0.0
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
        # sacrebleu takes -9999999999 for the logarithm of 0, whose exponential is 0 for every order.
        if precision == 0.0:
            return 0.0
        logs[n] = math.log(precision)
    penalty = _brevity_penalty(float(row[0]), float(row[1]))
    return penalty * math.exp(_mean_log(logs, 0, used))


@borrowing
def _fill_precisions(columns: Rows, order: Int, quotients: Floats) -> None:
    """Write 100 * columns[j] / columns[j + order] for every j of a block: at the places of matches, the precisions.

    The quotients at other places mean nothing, but neighbours without a gap are divided eight at a time.
    """
    below = columns[order:]
    for j in range(len(below)):
        quotients[j] = np.divide(100.0 * columns[j], float(below[j]))


@borrowing
def _fill_mean_logs(quotients: Floats, count: Int, order: Int, logs: Floats, means: Floats) -> None:
    width = 2 + 2 * order
    for k in range(count):
        for n in range(order):
            logs[k * order + n] = math.log(quotients[k * width + 2 + n])
    for k in range(count):
        means[k] = _mean_log(logs, k * order, order)


@kernel
def bleu_scores(rows: Statistics, order: int, smoothing: int, value: float, effective_order: bool) -> Floats:
    """BLEU of each (length, reference length, matches per order, n-grams per order), O(order) each.

    Rows that have matches of every order and need no smoothing go through in blocks, the others one by one.
    """
    width = 2 + 2 * order
    columns = rows.reshape(-1)
    scores = np.empty(len(rows), np.float64)
    quotients = np.empty(_BLOCK * width, np.float64)
    logs = np.empty(_BLOCK * order, np.float64)
    means = np.empty(_BLOCK, np.float64)
    short = np.empty(_BLOCK, np.int64)
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        count = len(block)
        _fill_precisions(columns[start * width : (start + count) * width], order, quotients)
        if order == 4:  # a constant, for which the compiler unrolls the loops
            _fill_mean_logs(quotients, count, 4, logs, means)
        else:
            _fill_mean_logs(quotients, count, order, logs, means)
        shorts = 0  # collected without a branch: which rows are short is as good as random
        for k in range(count):
            scores[start + k] = math.exp(means[k])
            short[shorts] = k
            shorts += block[k, 0] < block[k, 1]
        for j in range(shorts):
            k = short[j]
            scores[start + k] *= _brevity_penalty(float(block[k, 0]), float(block[k, 1]))
        any_special = smoothing == ADD_K
        for k in range(count):
            any_special |= not abs(means[k]) < np.inf
        for k in range(count if any_special else 0):
            if smoothing == ADD_K or not abs(means[k]) < np.inf:
                scores[start + k] = _smoothed_bleu(block[k], order, smoothing, value, effective_order, logs)
    return scores


@kernel
def ter_scores(rows: Statistics) -> Floats:
    """100 * edits / reference length of each row; 100 for edits without a reference, 0 for no edits."""
    scores = np.empty(len(rows), np.float64)
    for k in range(len(rows)):
        edits, length = float(rows[k, 0]), float(rows[k, 1])
        some = 1.0 if edits > 0 else 0.0
        scores[k] = 100 * (np.divide(edits, length) if length > 0 else some)
    return scores


@kernel
def error_rates(rows: Statistics, count_insertions: bool) -> Floats:
    """Edits divided by length of each (hits, substitutions, deletions, insertions); the edits where the length is 0.

    The length is that of the reference, or that of the alignment if insertions count into it.
    """
    rates = np.empty(len(rows), np.float64)
    for k in range(len(rows)):
        edits = float(rows[k, 1] + rows[k, 2] + rows[k, 3])
        length = float(rows[k, 0] + rows[k, 1] + rows[k, 2])
        if count_insertions:
            length += rows[k, 3]
        rates[k] = np.divide(edits, length) if length > 0 else edits
    return rates


@borrowing
def _fill_rates(triples: Rows, precisions: Floats, recalls: Floats, counted: Floats) -> None:
    """Precision and recall of (output n-grams, reference n-grams, matches), 0 where one side has none."""
    for j in range(len(triples) // 3):
        n_output, n_reference = float(triples[3 * j]), float(triples[3 * j + 1])
        n_match = float(triples[3 * j + 2])
        both = 1.0 if (n_output > 0) & (n_reference > 0) else 0.0
        precisions[j] = np.divide(n_match, n_output if n_output > 0 else 1.0) * both
        recalls[j] = np.divide(n_match, n_reference if n_reference > 0 else 1.0) * both
        counted[j] = both


@borrowing
def _fill_sums(terms: Floats, count: Int, orders: Int, sums: Floats) -> None:
    for k in range(count):
        total = 0.0
        for n in range(orders):
            total += terms[k * orders + n]
        sums[k] = total


@kernel
def chrf_scores(rows: Statistics, orders: int, beta: float) -> Floats:
    """chrF of each row of (output n-grams, reference n-grams, matches) per order: O(orders) each.

    Orders that one side is too short for are left out of the means: adding their 0 changes no bit.
    """
    factor = beta**2
    triples = rows.reshape(-1)
    scores = np.empty(len(rows), np.float64)
    precisions = np.empty(_BLOCK * orders, np.float64)
    recalls = np.empty(_BLOCK * orders, np.float64)
    counted = np.empty(_BLOCK * orders, np.float64)
    precision_sums = np.empty(_BLOCK, np.float64)
    recall_sums = np.empty(_BLOCK, np.float64)
    effective = np.empty(_BLOCK, np.float64)
    for start in range(0, len(rows), _BLOCK):
        count = min(_BLOCK, len(rows) - start)
        _fill_rates(triples[3 * orders * start : 3 * orders * (start + count)], precisions, recalls, counted)
        if orders == 6:  # a constant, for which the compiler unrolls the loops
            _fill_sums(precisions, count, 6, precision_sums)
            _fill_sums(recalls, count, 6, recall_sums)
            _fill_sums(counted, count, 6, effective)
        else:
            _fill_sums(precisions, count, orders, precision_sums)
            _fill_sums(recalls, count, orders, recall_sums)
            _fill_sums(counted, count, orders, effective)
        block = scores[start : start + count]
        for k in range(count):
            orders_counted = effective[k] if effective[k] > 0 else 1.0
            precision = np.divide(precision_sums[k], orders_counted)
            recall = np.divide(recall_sums[k], orders_counted)
            score = (1 + factor) * precision * recall
            score = np.divide(score, factor * precision + recall)
            block[k] = 100 * score if precision + recall > 0 else 0.0
    return scores


@borrowing
def _fill_f_scores(triples: Rows, factor: float, f_scores: Floats) -> None:
    """The F-score of each (output n-grams, reference n-grams, matches), where 0 / 0 is 1e-16."""
    eps = 1e-16
    for j in range(len(triples) // 3):
        n_output, n_reference = float(triples[3 * j]), float(triples[3 * j + 1])
        n_match = float(triples[3 * j + 2])
        precision = np.divide(n_match, n_output) if n_output > 0 else eps
        recall = np.divide(n_match, n_reference) if n_reference > 0 else eps
        denominator = factor * precision + recall
        f_score = np.divide((1 + factor) * precision * recall, denominator)
        f_scores[j] = f_score if denominator > 0 else eps


@kernel
def chrf_eps_scores(rows: Statistics, orders: int, beta: float) -> Floats:
    """chrF with epsilon smoothing: the mean of the F-scores of all orders."""
    triples = rows.reshape(-1)
    scores = np.empty(len(rows), np.float64)
    f_scores = np.empty(_BLOCK * orders, np.float64)
    for start in range(0, len(rows), _BLOCK):
        count = min(_BLOCK, len(rows) - start)
        _fill_f_scores(triples[3 * orders * start : 3 * orders * (start + count)], beta**2, f_scores)
        block = scores[start : start + count]
        _fill_sums(f_scores, count, orders, block)
        for k in range(count):
            block[k] = 100 * block[k] / orders
    return scores
