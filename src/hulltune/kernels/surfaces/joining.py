"""Segments of sentences along many lines, joined from several answers."""

from __future__ import annotations

from hulltune.arrays import Floats, Int32s, Int64s
from hulltune.kernels.load.jit import kernel


@kernel
def copy_segments(
    lefts: Floats,
    outputs: Int32s,
    begins: Int64s,
    ends: Int64s,
    places: Int64s,
    all_lefts: Floats,
    all_outputs: Int32s,
) -> None:
    """Copy segments ``begins[d]`` to ``ends[d]`` of every line d to place ``places[d]`` and those after it."""
    for d in range(begins.size):
        place, count = places[d], ends[d] - begins[d]
        all_lefts[place : place + count] = lefts[begins[d] : ends[d]]
        all_outputs[place : place + count] = outputs[begins[d] : ends[d]]


@kernel
def renumber(outputs: Int32s, begins: Int64s, ends: Int64s, numbers: Int32s) -> None:
    """Replace the outputs of every line's segments by their numbers."""
    for d in range(begins.size):
        for i in range(begins[d], ends[d]):
            outputs[i] = numbers[outputs[i]]
