"""White space within a line, for all text formats."""

from __future__ import annotations

from hulltune.kernels.load.kernel import inlined

_SPACE, _TAB, _RETURN = 32, 9, 13


@inlined
def is_blank(byte: int) -> bool:
    """Whether a byte separates fields."""
    return byte in (_SPACE, _TAB, _RETURN)
