"""Lines of tokens as arrays, which kernels take as one argument. Importing this loads no kernel."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hulltune.arrays import Int32s, Int64s


class Tokens(NamedTuple):
    """Lines end to end: ``ids[offsets[i]:offsets[i + 1]]`` are the tokens of line i, as ids or code points."""

    ids: Int32s
    offsets: Int64s

    @property
    def lengths(self) -> Int64s:
        """The number of tokens of each line."""
        return np.diff(self.offsets)
