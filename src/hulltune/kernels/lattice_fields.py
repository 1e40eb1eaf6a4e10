"""What the text formats of lattices have in common: blanks between fields, and whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.kernels._jit import kernel

_SPACE, _TAB, _RETURN = 32, 9, 13
_TOO_LARGE = 10**17


@kernel
def is_blank(byte: int) -> bool:
    """Whether a byte stands between fields."""
    return byte in (_SPACE, _TAB, _RETURN)


@kernel
def whole_number(data: NDArray[np.uint8], position: int, stop: int) -> Any:
    """The number that digits spell, or −1 where there are none, other bytes, or too many."""
    number = np.int64(0)
    if position == stop:
        return np.int64(-1)
    while position < stop:
        digit = np.int64(data[position]) - 48
        if digit < 0 or digit > 9 or number >= _TOO_LARGE:
            return np.int64(-1)
        number = number * 10 + digit
        position += 1
    return number
