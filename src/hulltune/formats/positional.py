"""Scores that have a position instead of a name, and named ones after them: what PLF and Moses graphs share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hulltune.formats.source_text import Integers, SourceText


def name_columns(
    source: SourceText,
    columns: NDArray[np.int32],
    values: NDArray[np.float64],
    pending: Integers,
    positional: list[str],
    names: list[str],
) -> tuple[NDArray[np.int32], list[str]]:
    """Columns and names of all features, where −1 − n stands for the named score n.

    A name that is also that of a position would be one feature in two columns: it is refused.
    """
    width = len(positional)
    both = set(positional).intersection(names)
    if both:
        raise source.fault(0, f"feature {min(both)!r} is also the name of a score without a name")
    whole = np.where(columns < 0, width - 1 - columns, columns).astype(np.int32)
    pending = pending.copy()
    pending[:, 3] = np.where(pending[:, 3] < 0, width - 1 - pending[:, 3], pending[:, 3])
    source.settle(pending, values, [*positional, *names])
    return whole, [*positional, *names]


def repeated(value_offsets: Integers, columns: NDArray[np.int32]) -> tuple[int, int] | None:
    """An edge and a named score (its number) that it has twice, if there is one; columns as the kernel has them."""
    named = np.flatnonzero(columns < 0)
    if not len(named):
        return None
    edges = np.searchsorted(value_offsets, named, side="right") - 1
    names = -1 - columns[named].astype(np.int64)
    width = int(names.max()) + 1
    keys = np.sort(edges * width + names)
    twice = np.flatnonzero(keys[1:] == keys[:-1])
    return divmod(int(keys[twice[0]]), width) if len(twice) else None
