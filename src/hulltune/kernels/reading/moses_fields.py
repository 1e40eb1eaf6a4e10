"""Bounds of the fields and tokens of a Moses line: blanks, bars and line ends.

Every search stops at the line end, which the data must have.
"""

from __future__ import annotations

from hulltune.arrays import Bytes
from hulltune.kernels.load.jit import kernel
from hulltune.kernels.reading.blanks import is_blank
from hulltune.kernels.reading.moses_tables import BAR, NEWLINE


@kernel
def skip_blanks(data: Bytes, position: int) -> int:
    """The position of the next byte that is no white space."""
    while is_blank(data[position]):
        position += 1
    return position


@kernel
def at_bars(data: Bytes, position: int) -> bool:
    """Whether ``|||`` stands at this position."""
    return bool(data[position] == BAR and data[position + 1] == BAR and data[position + 2] == BAR)


@kernel
def field_end(data: Bytes, position: int) -> int:
    """The position of the next ``|||`` or line end."""
    while data[position] != NEWLINE and not (data[position] == BAR and at_bars(data, position)):
        position += 1
    return position


@kernel
def ends_token(data: Bytes, position: int) -> bool:
    """Whether a token that reaches up to this position ends there."""
    byte = data[position]
    return is_blank(byte) or byte == NEWLINE or (byte == BAR and at_bars(data, position))
