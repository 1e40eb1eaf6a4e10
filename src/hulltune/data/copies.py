"""Copies of long arrays, made in parts that threads share: most of their time goes into memory that is fresh."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Bools, Int32s, Int64s
from hulltune.threads import Workers

AT_ONCE = 1 << 14
"""Numbers that are copied as one part of the work."""


def parts_of(count: int, width: int = 1) -> list[slice]:
    """So many rows, each of ``width`` numbers, in parts of up to AT_ONCE numbers."""
    rows = max(AT_ONCE // max(width, 1), 1)
    return [slice(first, min(first + rows, count)) for first in range(0, count, rows)]


def filled(count: int, value: int, workers: Workers) -> Int64s:
    """An array of ``count`` times the same number."""
    array = np.empty(count, dtype=np.int64)
    workers.map(lambda part: array[part].fill(value), parts_of(count))
    return array


def copy_rows(source: NDArray[Any], target: NDArray[Any], workers: Workers) -> None:
    """Copy a table to the beginning of a longer one."""

    def copy(part: slice) -> None:
        target[part] = source[part]

    workers.map(copy, parts_of(*source.shape))


def taken(array: NDArray[Any], places: Int64s | Int32s, workers: Workers) -> NDArray[Any]:
    """``array[places]``, numbers or rows, for places of 0 or more that the array has."""
    found = np.empty((len(places), *array.shape[1:]), dtype=array.dtype)

    def take(part: slice) -> None:
        np.take(array, places[part], axis=0, out=found[part], mode="clip")  # "raise" would copy into a buffer first

    workers.map(take, parts_of(*found.shape))
    return found


def places_of(marked: Bools, workers: Workers) -> Int64s:
    """``np.flatnonzero(marked)``."""
    parts = parts_of(len(marked))
    counts = workers.map(lambda part: int(np.count_nonzero(marked[part])), parts)
    ends = np.cumsum(counts, dtype=np.int64).tolist()
    places = np.empty(ends[-1] if ends else 0, dtype=np.int64)

    def write(number: int) -> None:
        first, last = ends[number] - counts[number], ends[number]
        np.add(np.flatnonzero(marked[parts[number]]), parts[number].start, out=places[first:last])

    workers.map(write, range(len(parts)))
    return places
