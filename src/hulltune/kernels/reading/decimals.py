"""Decimal text to the nearest double, equal to the bit to Python's float(), or a sign that Python must read it.

There are two ways. A mantissa up to 2^53 and a power of ten up to 10^22 are both doubles, and one rounding is right
(Clinger 1990). Otherwise the 64-bit mantissa is multiplied by a 128-bit power of five (Lemire 2021, "Number parsing at
a gigabyte per second"), which decides all but a few cases. Those few, mantissas of more than 19 digits, and exponents
beyond 10^±64 are left to the caller.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Bytes
from hulltune.kernels.load.kernel import inlined, part

_SMALLEST, _LARGEST = -64, 64


def _powers_of_five() -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The leading 128 bits of 5^q, top bit set, from _SMALLEST on: truncated, and for q < 0 rounded up."""
    high, low = [], []
    for exponent in range(_SMALLEST, _LARGEST + 1):
        if exponent >= 0:
            power = 5**exponent
            shift = 128 - power.bit_length()
            bits = power << shift if shift >= 0 else power >> -shift
        else:
            power = 5**-exponent
            width = (power - 1).bit_length()
            bits = 2 ** (width + 127) // power + 1 if exponent >= -27 else 2 ** (2 * width + 128) // power + 1
            bits >>= max(bits.bit_length() - 128, 0)
        high.append(bits >> 64)
        low.append(bits & (2**64 - 1))
    return np.array(high, dtype=np.uint64), np.array(low, dtype=np.uint64)


_FIVE_HIGH, _FIVE_LOW = _powers_of_five()
_TEN = np.array([10.0**power for power in range(23)])
# Unsigned constants: in Numba an unsigned number and a plain integer make a float.
_ZERO, _ONE, _THREE, _DIGIT_BASE = (np.uint64(n) for n in (0, 1, 3, 10))
_HALF_WORD, _TOP_BIT, _WORD = np.uint64(32), np.uint64(63), np.uint64(64)
_LOW_HALF, _ALL_ONES = np.uint64(2**32 - 1), np.uint64(2**64 - 1)
_UNSURE_BITS = np.uint64(2**9 - 1)
_DROPPED_BITS = np.uint64(64 - 52 - 3)
_EXACT_INTEGERS = np.uint64(2**53)
_ASCII_ZERO, _NINE = np.uint64(48), np.uint64(9)
_MOST_DIGITS = 19
_TOO_LARGE = 10**17


@part
def _product(a: np.uint64, b: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The 128-bit product of two 64-bit words, as high and low word."""
    a_high, a_low = a >> _HALF_WORD, a & _LOW_HALF
    b_high, b_low = b >> _HALF_WORD, b & _LOW_HALF
    low, middle, other = a_low * b_low, a_high * b_low, a_low * b_high
    carry = (low >> _HALF_WORD) + (middle & _LOW_HALF) + (other & _LOW_HALF)
    high = a_high * b_high + (middle >> _HALF_WORD) + (other >> _HALF_WORD) + (carry >> _HALF_WORD)
    return high, (carry << _HALF_WORD) | (low & _LOW_HALF)


@part
def _nearest(mantissa: np.uint64, exponent: int) -> tuple[float, bool]:
    """The double nearest to mantissa · 10^exponent and True, or 0 and False where 128 bits do not decide."""
    shift = _ZERO
    word = mantissa
    step = _HALF_WORD
    while step > _ZERO:  # move the top bit up to bit 63
        if word >> (_WORD - step) == _ZERO:
            word <<= step
            shift += step
        step >>= _ONE
    index = exponent - _SMALLEST
    upper, lower = _product(word, _FIVE_HIGH[index])
    if upper & _UNSURE_BITS == _UNSURE_BITS:
        second, _ = _product(word, _FIVE_LOW[index])
        lower += second
        if second > lower:
            upper += _ONE
    if lower == _ALL_ONES and not -27 <= exponent <= 55:
        return 0.0, False
    top = upper >> _TOP_BIT
    kept = upper >> (top + _DROPPED_BITS)
    # Exactly half way between two doubles: round to the even one.
    if lower <= _ONE and -4 <= exponent <= 23 and kept & _THREE == _ONE and kept << (top + _DROPPED_BITS) == upper:
        kept &= ~_ONE
    kept = (kept + (kept & _ONE)) >> _ONE
    binary: Any = ((217706 * exponent) >> 16) + 63 - 52 + np.int64(top) - np.int64(shift)
    return math.ldexp(np.float64(kept), binary), True


@part
def _significant_digits(data: Bytes, start: np.uint64, stop: np.uint64) -> int:
    """The number of digits from the first one other than 0 on."""
    count = 0
    place = start
    while place < stop:
        count += data[place] != 46 and (count > 0 or data[place] != 48)
        place += _ONE
    return count


@inlined
def nearest_double(mantissa: np.uint64, exponent: int) -> tuple[float, bool]:
    """The double nearest to mantissa · 10^exponent, and whether it is certain."""
    value, certain = 0.0, True
    if mantissa <= _EXACT_INTEGERS and -22 <= exponent <= 22:
        value = np.float64(mantissa)
        value = value / _TEN[-exponent] if exponent < 0 else value * _TEN[exponent]
    elif mantissa != _ZERO:
        certain = False
        if _SMALLEST <= exponent <= _LARGEST:
            value, certain = _nearest(mantissa, exponent)
    return value, certain


@inlined
def read_decimal(data: Bytes, position: int | np.int64) -> tuple[float, int, bool]:
    """Read a number at ``position``: its value, its end, and whether the value is certain.

    The grammar is ``[+-] digits [. digits] [e [+-] digits]`` with a digit somewhere in the mantissa. Where the text
    does not fit, the end is ``position``. ``data`` must hold a byte that is no part of a number (a line end) after it.
    """
    place: Any = np.uint64(position)  # unsigned, because Numba checks signed indices for a minus sign
    negative = data[place] == 45  # -
    if negative or data[place] == 43:  # +
        place += _ONE
    begin = place
    mantissa = _ZERO
    digit: Any = np.uint64(data[place]) - _ASCII_ZERO
    while digit <= _NINE:  # a byte below that of 0 has wrapped around to a huge number
        mantissa = mantissa * _DIGIT_BASE + digit
        place += _ONE
        digit = np.uint64(data[place]) - _ASCII_ZERO
    digits: Any = np.int64(place - begin)
    exponent: Any = np.int64(0)
    if data[place] == 46:  # .
        place += _ONE
        point = place
        digit = np.uint64(data[place]) - _ASCII_ZERO
        while digit <= _NINE:
            mantissa = mantissa * _DIGIT_BASE + digit
            place += _ONE
            digit = np.uint64(data[place]) - _ASCII_ZERO
        exponent = -np.int64(place - point)
        digits -= exponent
    is_number = digits > 0
    # With more digits than a word has room for, the mantissa may have overflowed.
    certain = is_number and (digits <= _MOST_DIGITS or _significant_digits(data, begin, place) <= _MOST_DIGITS)
    if is_number and (data[place] == 101 or data[place] == 69):  # e, E
        place += _ONE
        negative_exponent = data[place] == 45
        if negative_exponent or data[place] == 43:
            place += _ONE
        power: Any = np.int64(0)
        first_digit = place
        digit = np.uint64(data[place]) - _ASCII_ZERO
        while digit <= _NINE:
            power = min(power * 10 + np.int64(digit), 100_000)  # far beyond any double
            place += _ONE
            digit = np.uint64(data[place]) - _ASCII_ZERO
        is_number = place > first_digit
        exponent += -power if negative_exponent else power
    value = 0.0
    end: Any = np.int64(position)
    if not is_number:
        certain = False
    else:
        end = np.int64(place)
        if certain:
            value, certain = nearest_double(mantissa, exponent)
    return (-value if negative else value), end, certain


@part
def whole_number(data: Bytes, position: int, stop: int) -> Any:
    """The whole number that the bytes up to ``stop`` spell; −1 for no bytes, for other bytes, and from 10^18 on."""
    number = np.int64(0 if position < stop else -1)
    while position < stop:
        digit = np.int64(data[position]) - 48
        if digit < 0 or digit > 9 or number >= _TOO_LARGE:
            return np.int64(-1)
        number = number * 10 + digit
        position += 1
    return number
