"""Small FSTs, binary and text, as forests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hulltune.data import Forest
from hulltune.formats.openfst import read_openfst, read_openfst_text
from tests.formats.lattice_oracles import BinaryArc, BinaryState, binary_fst, floats, read_all, sparse_tuple

INFINITY = float("inf")


def binary(file: Path, content: bytes, **options: Any) -> Forest:
    (named,) = read_all(read_openfst, file, content, **options)
    assert named.name is None
    return named.forest


def text(file: Path, content: str, **options: Any) -> Forest:
    (named,) = read_all(read_openfst_text, file, content, **options)
    return named.forest


def small(arc_type: str = "standard", **options: Any) -> bytes:
    """0 -5/0.5-> 1 -0/2-> 2, and 0 -6/1-> 2; the final weight of 2 is 0.25."""
    arcs = [BinaryArc(5, floats(0.5), 1), BinaryArc(6, floats(1), 2)]
    states = [
        BinaryState(floats(INFINITY), arcs),
        BinaryState(floats(INFINITY), [BinaryArc(0, floats(2), 2)]),
        BinaryState(floats(0.25)),
    ]
    return binary_fst(arc_type, states, **options)


SMALL_PATHS = {(("5",), ((-0.5,), (-2.0,), (-0.25,))): 1, (("6",), ((-1.0,), (-0.25,))): 1}


def tuple_states(keys: dict[int, float]) -> list[BinaryState]:
    arcs = [BinaryArc(1, sparse_tuple({}), 1), BinaryArc(9, sparse_tuple(keys), 1)]
    return [BinaryState(sparse_tuple({}, INFINITY), arcs), BinaryState(sparse_tuple({2: 8.0}))]


def patched(data: bytes, old: bytes, new: bytes) -> bytes:
    assert old in data
    return data.replace(old, new, 1)
