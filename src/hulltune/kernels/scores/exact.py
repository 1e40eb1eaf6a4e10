"""Exact comparisons of products of doubles, for the rare cases in which rounding hides the answer.

Coordinates are integers of magnitude at most 2^53 (see scores.py), so differences are exact, a product has at most 106
bits, and nothing over- or underflows. Rounding is monotone: two products whose rounded values differ are ordered like
these values. Only where the rounded values are equal are the rounding errors compared, and these are exact (Dekker
1971).
"""

from __future__ import annotations

from hulltune.arrays import Floats
from hulltune.kernels.load.kernel import borrowing

SPLITTER = 134217729.0  # 2^27 + 1: cuts a double into two halves whose products are exact

FAR = 2.0**54
"""Farther than any crossing of two lines (at most 2^53 / 1): at ±FAR the winner is the winner at ±infinity."""

NEAR = 2.0**-54
"""Nearer to 0 than any crossing other than 0 itself (at least 1 / 2^53): at NEAR the winner is that just right of 0."""


@borrowing
def rounding_error(a: float, b: float, product: float) -> float:
    """``a * b - product``, exactly, where ``product`` is a * b rounded."""
    t = SPLITTER * a
    a_high = t - (t - a)
    a_low = a - a_high
    t = SPLITTER * b
    b_high = t - (t - b)
    b_low = b - b_high
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@borrowing
def compare_products(a: float, b: float, c: float, d: float) -> int:
    """The sign of a * b − c * d, exactly: −1, 0 or 1."""
    left = a * b
    right = c * d
    if left == right:
        left = rounding_error(a, b, left)
        right = rounding_error(c, d, right)
    return int(left > right) - int(left < right)


@borrowing
def clip(slopes: Floats, intercepts: Floats, count: int, low: float, high: float) -> tuple[int, int]:
    """The range, in the first ``count`` lines of an envelope, of the winners strictly between ``low`` and ``high``."""
    begin, end = 0, count
    while begin + 1 < end:
        fall, run = intercepts[begin] - intercepts[begin + 1], slopes[begin + 1] - slopes[begin]
        if compare_products(low, run, 1.0, fall) < 0:
            break
        begin += 1
    while end - 1 > begin:
        fall, run = intercepts[end - 2] - intercepts[end - 1], slopes[end - 1] - slopes[end - 2]
        if compare_products(high, run, 1.0, fall) > 0:
            break
        end -= 1
    return begin, end
