"""Lines of tokens as arrays, which kernels take as one argument. Importing this loads no kernel."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hulltune.arrays import Int32Rows, Int32s, Int64s


class Tokens(NamedTuple):
    """Lines end to end: ``ids[offsets[i]:offsets[i + 1]]`` are the tokens of line i, as ids or code points."""

    ids: Int32s
    offsets: Int64s

    @property
    def lengths(self) -> Int64s:
        """The number of tokens of each line."""
        return np.diff(self.offsets)


class KeyedLines(NamedTuple):
    """Lines of words end to end: ``keys[offsets[i]:offsets[i + 1]]`` are the words of line i, each by its keys.

    A word has its form, its stem and its groups of synonyms, a number in a column each, −1 where there is none. Two
    words match in a stage if they share a number of it.
    """

    keys: Int32Rows
    offsets: Int64s
