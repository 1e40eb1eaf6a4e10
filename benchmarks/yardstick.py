"""A plain C++ implementation to time beside ours, if it lies beside the checkout and g++ is installed."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hulltune import Forest

SOURCE = Path(__file__).resolve().parents[2] / "shared" / "reference" / "engine_reference.cpp"
Floats = NDArray[np.float64]


class Yardstick:
    """The two C++ functions on a packed forest."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        library.hull_inside.restype = ctypes.c_int64

    def hull_inside(self, forest: Forest, slopes: Floats, intercepts: Floats) -> int:
        """The number of segments of the root's envelope."""
        capacity = 1 << 16
        out = np.empty((2, capacity))
        kept = np.zeros(1, dtype=np.int64)
        return int(
            self._library.hull_inside(
                ctypes.c_int64(forest.nodes), *self._graph(forest), _pointer(slopes), _pointer(intercepts),
                _pointer(out[0]), _pointer(out[1]), ctypes.c_int64(capacity), _pointer(kept),
            )
        )  # fmt: skip

    def lanes(self, forest: Forest, slopes: Floats, intercepts: Floats, etas: Floats, best: Floats) -> None:
        """The best line of every node at each η, into ``best`` (2, nodes, lanes)."""
        self._library.lanes(
            ctypes.c_int64(forest.nodes), *self._graph(forest), _pointer(slopes), _pointer(intercepts),
            _pointer(etas), ctypes.c_int64(len(etas)), _pointer(best[0]), _pointer(best[1]),
        )  # fmt: skip

    @staticmethod
    def _graph(forest: Forest) -> tuple[ctypes.c_void_p, ...]:
        return _pointer(forest.edge_offsets), _pointer(forest.tail_offsets), _pointer(forest.tails)


def _pointer(array: NDArray[np.generic]) -> ctypes.c_void_p:
    return array.ctypes.data_as(ctypes.c_void_p)


def build() -> Yardstick | None:
    """Compile the C++ code and load it; None, after printing the reason, where that is not possible."""
    compiler = shutil.which("g++")
    if compiler is None or not SOURCE.exists():
        print(f"no C++ column: {'g++ is not installed' if compiler is None else 'the reference source is not there'}")
        return None
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "reference.so"
        command = [compiler, "-O3", "-march=native", "-shared", "-fPIC", str(SOURCE), "-o", str(library)]
        subprocess.run(command, check=True)
        return Yardstick(ctypes.CDLL(str(library)))
