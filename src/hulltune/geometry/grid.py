"""Values on a power-of-two grid, so coarse that sums and differences of sums are exact whatever their order.

In plain doubles (a + b) + c and a + (b + c) differ in the last bit: equal derivations then look different,
and an envelope grows segments that are not there. Rounding the terms first, once, to multiples of one power
of two makes every later sum exact, and addition truly associative.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hulltune.errors import InputError

_SMALLEST_EXPONENT = -1074
"""2^-1074 is the smallest positive double; everything is a multiple of it."""


def grid_step(bound: float) -> float:
    """The grid, a power of two, for terms whose magnitudes sum to at most ``bound`` (up to 2^50 terms).

    With bound < 2^e the step is 2^(e−51). A sum of n snapped terms is a whole number of steps, fewer than
    2^51 + n/2, and the difference of two such sums fewer than 2^52 + n: integers below 2^53, which doubles
    hold exactly.
    """
    if not (math.isfinite(bound) and bound >= 0.0):
        raise InputError(f"bound is {bound!r}, expected a finite number ≥ 0")
    _, exponent = math.frexp(bound)
    return math.ldexp(1.0, max(exponent - 51, _SMALLEST_EXPONENT))


def snap(values: ArrayLike, step: float) -> NDArray[np.float64]:
    """The multiples of ``step`` (a power of two) nearest to the values: off by at most step/2."""
    mantissa, exponent = math.frexp(step)
    if mantissa != 0.5:
        raise InputError(f"step is {step!r}, expected a power of two such as grid_step() gives")
    array = np.asarray(values, dtype=np.float64)
    if not np.isfinite(array).all():
        raise InputError("values to snap must be finite, got NaN or infinity")
    fine = np.abs(array) < step * 2.0**52  # larger ones are multiples of the step already, and scaling may overflow
    scaled = np.ldexp(np.where(fine, array, 0.0), 1 - exponent)  # exact; 1/step itself may overflow
    return np.where(fine, np.ldexp(np.rint(scaled), exponent - 1), array) + 0.0
