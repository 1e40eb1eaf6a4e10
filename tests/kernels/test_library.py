"""The shared library of kernels: what it takes and gives, whose sources it follows, and what becomes of a bad one."""

from __future__ import annotations

import gc
import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from hulltune.arrays import Int64s
from hulltune.kernels.certify.choices import first_of_equals
from hulltune.kernels.forests.graph import topological_order
from hulltune.kernels.lists.features import tidy_rows
from hulltune.kernels.load import library
from hulltune.kernels.load.build import exporting

SOURCE = Path(library.__file__).parents[3]
USE = """
import sys
import numpy as np
from hulltune.errors import InputError
from hulltune.kernels.forests.graph import topological_order
try:
    tails = np.array([0])
    print(topological_order(2, np.array([1]), np.array([0, 1]), tails).tolist(), 'numba' in sys.modules)
except InputError as error:
    print(error)
"""
LOADED = "[0, 1] False\n"


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the package, whose library can be damaged."""
    shutil.copytree(SOURCE / "hulltune", tmp_path / "src" / "hulltune", ignore=shutil.ignore_patterns("*.o"))
    return tmp_path / "src" / "hulltune" / "kernels"


def use(kernels: Path, *, without: tuple[str, ...] = ()) -> str:
    """The output of a process that calls a kernel of a copied package, where some modules cannot be imported."""
    hidden = "".join(f"sys.modules[{name!r}] = None\n" for name in without)
    command = [sys.executable, "-W", "ignore", "-c", f"import sys\n{hidden}{USE}"]
    environment = {**os.environ, "PYTHONPATH": str(kernels.parents[1])}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def test_a_kernel_runs_without_numba(copied: Path) -> None:
    assert use(copied) == LOADED


def test_what_is_of_another_type_is_refused() -> None:
    heads, offsets, tails = np.array([1]), np.array([0, 1]), np.array([0])
    wrong: list[tuple[object, ...]] = [
        (2, heads.astype(np.float64), offsets, tails), (2, heads, offsets, tails.astype(np.int32)),
        (2, heads[:, None], offsets, tails), (2, heads, np.zeros(4, dtype=np.int64)[::2], tails),
        (2, heads.astype(">i8"), offsets, tails), (2, heads.tolist(), offsets, tails), (2.5, heads, offsets, tails),
        (2**70, heads, offsets, tails), (2, heads, offsets), (2, heads, offsets, tails, tails), (2, None, None, None),
        (2, heads.astype(object), offsets, tails),
    ]  # fmt: skip
    for arguments in wrong:
        with pytest.raises(TypeError, match=r"forests\.graph\.topological_order takes"):
            topological_order(*arguments)  # type: ignore[arg-type]  # what is wrong is the claim
    assert topological_order(2, heads, offsets, tails).tolist() == [0, 1]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_kernel_is_the_one_for_the_numbers(dtype: type[np.floating]) -> None:
    """A kernel for numbers of several types is chosen by theirs; it writes into the arrays that it is given."""
    columns, values = np.array([1, 0, 1], dtype=np.int32), np.array([2.0, 1.0, 0.5], dtype=dtype)
    changed, offsets = tidy_rows(np.array([0, 3]), columns, values)
    assert (changed, offsets.tolist()) == (True, [0, 2])
    assert (columns[:2].tolist(), values[:2].tolist()) == ([0, 1], [1.0, 2.5])


def chain(nodes: int) -> tuple[int, Int64s, Int64s, Int64s]:
    """The edges of a lattice that is one path, from its last node to its first."""
    tails = np.arange(nodes - 1)
    return nodes, np.arange(1, nodes), np.arange(nodes), tails


def test_an_answer_is_freed_when_nobody_holds_it() -> None:
    forest = chain(1 << 16)
    for _ in range(20):
        topological_order(*forest)
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(1000):  # half a gigabyte, if it were kept
        order = topological_order(*forest)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < before + 20_000
    view = order[-1:]
    del order
    assert view.tolist() == [(1 << 16) - 1]  # the memory lives as long as any view of it


def test_an_answer_can_be_written() -> None:
    order = topological_order(*chain(3))
    order += 1
    assert order.tolist() == [1, 2, 3]


def test_threads_call_kernels_at_once() -> None:
    forest = chain(2000)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: topological_order(*forest).tolist(), range(200)))
    assert all(each == list(range(2000)) for each in found)


def test_memory_that_is_lacking_is_an_error() -> None:
    with pytest.raises(MemoryError, match=r"not enough memory for forests\.graph"):
        topological_order(2**60, *chain(2)[1:])


def test_tables_of_any_kind_of_numbers() -> None:
    empty = np.empty((0, 2))
    assert first_of_equals(empty, np.array([0, 0])).shape == (0,)


# A library that is older than its sources, damaged, or not there.


def test_a_kernel_that_has_changed_is_compiled_by_numba(copied: Path) -> None:
    path = copied / "forests" / "graph.py"
    path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert use(copied) == LOADED.replace("False", "True")


def test_an_installed_package_does_not_look_at_sources(copied: Path) -> None:
    """Only a checkout has the objects that a library is linked of."""
    shutil.rmtree(copied / "compiled" / "objects")
    path = copied / "forests" / "graph.py"
    path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert use(copied) == LOADED


def test_a_kernel_is_made_of_all_that_it_may_call() -> None:
    sources = json.loads((library.FOLDER / "kernels.json").read_text())["sources"]
    assert set(sources) == set(exporting())
    used = set(sources["forests.envelopes"])
    assert {"forests/envelopes.py", "forests/lanes.py", "scores/exact.py", "simd/simd.py", "simd/operations.py"} <= used
    assert not any(name.startswith(("load/", "metrics/")) for name in used)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x15
    path.write_bytes(data)


def _replace(path: Path) -> None:
    path.write_text("not a library")


@pytest.mark.parametrize("damage", [_cut, _flip, _replace, Path.unlink])
def test_a_damaged_library_ends_in_one_line(copied: Path, damage: Callable[[Path], None]) -> None:
    for path in (copied / "compiled").glob("kernels-*"):
        damage(path)
    assert "cannot be used: " in use(copied)
    assert use(copied).endswith("install hulltune again\n")
    assert use(copied).count("\n") == 1


def test_a_damaged_table_ends_in_one_line(copied: Path) -> None:
    (copied / "compiled" / "kernels.json").write_text("{")
    assert "kernels.json cannot be used: " in use(copied)


def test_without_a_library_numba_compiles(copied: Path) -> None:
    shutil.rmtree(copied / "compiled")
    assert use(copied) == LOADED.replace("False", "True")


def test_without_library_and_numba_the_cure_is_told(copied: Path) -> None:
    shutil.rmtree(copied / "compiled")
    told = use(copied, without=("numba",))
    assert "no compiled kernels for this machine" in told
    assert "pip install numba" in told
