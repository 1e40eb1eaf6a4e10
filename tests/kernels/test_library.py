"""Libraries of compiled kernels: loaded without Numba where they fit, and compiled anew wherever they do not.

If the fixture ``library`` fails, Numba's internals have moved: kernels can then neither be shipped nor be loaded, and
every first run compiles.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hulltune.kernels.load import building as _building
from hulltune.kernels.load import library as _library
from hulltune.kernels.load.building import build, wanted
from hulltune.kernels.load.jit import sources
from hulltune.kernels.load.library import Library, libraries, write_library

SOURCE = Path(__file__).resolve().parents[2] / "src"
GROUP, COMPARE = "forests.graph.group(i8_1C, int)", "scores.exact.compare_products(float, float, float, float)"
CALLS = [GROUP, COMPARE]
ANSWER = (
    "import sys\n"
    "from hulltune.kernels.scores.exact import compare_products\n"
    "print(compare_products(3.0, 5.0, 2.0, 7.0), 'compiled' if 'numba' in sys.modules else 'loaded')\n"
)
LOADED, COMPILED = "1 loaded\n", "1 compiled\n"
Change = Callable[[dict[str, Any]], None]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of a few kernels for this machine, in a folder of its own."""
    path, count = build(tmp_path_factory.mktemp("cache") / "hulltune", native=True, calls=CALLS)
    assert count == len(CALLS)
    return path


@pytest.fixture
def copied(library: Path, tmp_path: Path) -> Path:
    """A copy of the library that a test may spoil, in a cache folder that is empty otherwise."""
    (tmp_path / "cache" / "hulltune").mkdir(parents=True)
    return Path(shutil.copy(library, tmp_path / "cache" / "hulltune"))


def run(copied: Path, code: str = ANSWER, **more: str) -> subprocess.CompletedProcess[str]:
    """Run Python where only this library and an empty cache are found."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(copied.parents[1]), "HULLTUNE_KERNELS": "native", **more}
    environment.setdefault("PYTHONPATH", str(SOURCE))
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)


def rewrite(path: Path, change: Change) -> None:
    """Write a library again with a changed header."""
    header, start = _library._read_header(path)
    objects = path.read_bytes()[start:]
    change(header)
    write_library(path, header, [objects])


def test_a_kernel_is_loaded_without_numba(copied: Path) -> None:
    ended = run(copied)
    assert (ended.stdout, ended.stderr) == (LOADED, "")


def test_it_can_be_told_to_compile(copied: Path) -> None:
    assert run(copied, HULLTUNE_KERNELS="none").stdout == COMPILED
    assert run(copied, HULLTUNE_KERNELS="shipped").stdout in (LOADED, COMPILED)


def test_other_types_and_other_kernels_are_compiled_beside_it(copied: Path) -> None:
    """Numba comes into a process in which kernels of a library have run, and both go on working."""
    code = (
        f"{ANSWER}"
        "import numpy as np\n"
        "from hulltune.kernels.forests.graph import group\n"
        "print(compare_products(3, 5, 2, 7))\n"
        "import numba\n"
        "print(numba.njit(lambda x: np.arange(x).sum())(4))\n"
        "print(*(part.tolist() for part in group(np.array([1, 0]), 2)), compare_products(3.0, 5.0, 5.0, 3.0))\n"
    )
    assert run(copied, code).stdout == f"{LOADED}1\n6\n[0, 1, 2] [1, 0] 0\n"


def test_an_error_in_a_kernel_is_the_one_that_numba_raises(copied: Path) -> None:
    code = (
        "import numpy as np\n"
        "from hulltune.kernels.forests.graph import group\n"
        "try: group(np.zeros(0, np.int64), -9)\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    told = run(copied, code).stdout
    assert told == run(copied, code, HULLTUNE_KERNELS="none").stdout == "ValueError negative dimensions not allowed\n"


def test_threads_can_load_and_call_at_once(library: Path) -> None:
    opened = Library(library)

    def work(number: int) -> list[list[int]]:
        group = opened.kernel("forests.graph.group", "i8_1C, int")
        assert group is not None
        return [part.tolist() for part in group(np.array([number % 2, 0]), 2)]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(work, range(64)))
    assert found == [[[0, 2, 2], [0, 1]], [[0, 1, 2], [1, 0]]] * 32


@pytest.mark.parametrize("left", [0, 7, 300, 5000])
def test_a_truncated_library_is_not_used(copied: Path, left: int) -> None:
    copied.write_bytes(copied.read_bytes()[:left])
    ended = run(copied)
    assert ended.stdout == COMPILED
    assert ended.stderr.splitlines()[0].startswith(f"hulltune: {copied} is damaged")


@pytest.mark.parametrize("place", ["format", "length", "header", "object"])
def test_a_garbled_library_is_not_used(copied: Path, place: str) -> None:
    header, start = _library._read_header(copied)
    code = start + header["kernels"][COMPARE]["begin"]
    data = bytearray(copied.read_bytes())
    data[{"format": 3, "length": len(_library.FORMAT), "header": start - 9, "object": code + 99}[place]] ^= 0x15
    copied.write_bytes(data)
    ended = run(copied)
    assert ended.stdout == COMPILED
    assert str(copied) in ended.stderr.splitlines()[0]


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header.update(python="cpython-399-of-tomorrow"),
        lambda header: header.update(runtime="0" * 64),
        lambda header: header["features"].append("avx1024"),
        lambda header: header["sources"].update({"scores.exact": "0" * 64}),
        lambda header: header["sources"].pop("load.options"),
    ],
    ids=["another Python", "another numba", "another CPU", "another source", "another option"],
)
def test_a_library_for_something_else_is_not_used(copied: Path, change: Change) -> None:
    rewrite(copied, change)
    ended = run(copied)
    assert ended.stdout == COMPILED
    assert str(copied) not in ended.stderr


def test_a_package_upgraded_in_place_does_not_run_old_kernels(copied: Path, tmp_path: Path) -> None:
    ignored = shutil.ignore_patterns("__pycache__", "compiled")
    shutil.copytree(SOURCE / "hulltune", tmp_path / "new" / "hulltune", ignore=ignored)
    folder = tmp_path / "new" / "hulltune" / "kernels"
    place = {"PYTHONPATH": str(tmp_path / "new")}
    assert run(copied, **place).stdout == LOADED
    text = (folder / "scores" / "exact.py").read_text(encoding="utf-8")
    assert "    return int(left > right) - int(left < right)\n" in text
    (folder / "scores" / "exact.py").write_text(text.replace("int(left > right) - ", "8 - "), encoding="utf-8")
    assert run(copied, **place).stdout == "8 compiled\n"
    # The cache of Numba does not give the old answer, either, nor the new one to the old package.
    assert run(copied, **place).stdout == "8 compiled\n"


def test_a_kernel_is_marked_by_all_files_that_it_may_call() -> None:
    assert {"forests.lanes", "scores.exact", "simd.simd", "simd.operations", "load.options"} <= set(
        sources("forests.lanes")
    )
    assert "load.library" not in sources("forests.lanes")


def test_symbols_that_are_lacking_do_not_end_the_process(copied: Path) -> None:
    rewrite(copied, lambda header: header["kernels"][COMPARE]["needs"].append("a_function_of_tomorrow"))
    assert run(copied).stdout == COMPILED


@pytest.mark.skipif(os.name == "nt", reason="permissions of another kind")
def test_a_library_that_others_can_write_is_not_used(copied: Path) -> None:
    copied.parent.chmod(0o777)
    ended = run(copied)
    assert ended.stdout == COMPILED
    assert f"{copied} is not used: others than you" in ended.stderr


def test_nothing_is_written_to_use_a_library(copied: Path, tmp_path: Path) -> None:
    """So it works where the package is read-only, and without a home."""
    before = sorted(tmp_path.rglob("*"))
    ended = run(copied, HOME="/nowhere", XDG_CACHE_HOME="/nowhere", PYTHONDONTWRITEBYTECODE="1")
    assert ended.stdout == LOADED
    assert sorted(tmp_path.rglob("*")) == before


def test_the_package_comes_with_all_calls() -> None:
    """What ``make kernels`` or an install has compiled is up to date, and complete."""
    shipped = [each for each in libraries() if not each.header["native"] and each.path.parent == _library.PACKAGE]
    if not shipped:
        pytest.skip("no kernels are compiled for this checkout, or none that fit here: make kernels")
    assert [call for call in wanted() if shipped[0].parts(call) is None] == []


INTERRUPTED = """
import signal, sys
import numpy as np
from hulltune.kernels.surfaces.rows import without_row

class Interrupt(Exception): pass

def interrupt(number, frame):
    raise Interrupt

outputs, row_of = np.arange(1000), np.full(1000, -1)
without_row(outputs, row_of)
signal.signal(signal.SIGALRM, interrupt)

# A function of its own: from Python 3.12 on, some jumps to the head of a loop are outside of a try around it.
def run_until_interrupted():
    signal.setitimer(signal.ITIMER_REAL, 0.002)
    while True:
        assert len(without_row(outputs, row_of)) == 1000

for _ in range(100):
    try:
        run_until_interrupted()
    except Interrupt:
        pass
print("numba" in sys.modules)
"""


@pytest.mark.parametrize("kernels", ["shipped", "none"])
def test_an_exception_of_a_signal_waits_for_the_end_of_a_kernel(kernels: str) -> None:
    """A kernel asks for the class of the array that it makes: a Ctrl-C raised there once ended the process."""
    if kernels == "shipped" and not any(each.path.parent == _library.PACKAGE for each in libraries()):
        pytest.skip("no kernels are compiled for this checkout, or none that fit here: make kernels")
    environment = {**os.environ, _library.CHOICE: kernels}
    ended = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], env=environment, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (0, f"{kernels == 'none'}\n"), ended.stderr


def test_a_second_build_takes_what_is_up_to_date(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def compiled(calls: list[str], cpu: str | None) -> list[Any]:
        assert calls == []
        return []

    monkeypatch.setattr(_building, "_compiled_by_many", compiled)
    assert build(copied.parent, native=True, calls=CALLS) == (copied, len(CALLS))


def test_kernels_are_compiled_for_this_cpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "calls.txt").write_text(f"{GROUP}\n", encoding="utf-8")
    monkeypatch.setattr(_building, "CALLS", tmp_path / "calls.txt")
    monkeypatch.setattr(_building, "PACKAGE", tmp_path / "file" / "no folder")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "file").write_text("", encoding="utf-8")
    _building.main(["--native"])
    path = Path(capsys.readouterr().out.strip())
    assert path.parent == tmp_path / "cache" / "hulltune"
    assert Library(path).kernel("forests.graph.group", "i8_1C, int") is not None


def test_building_says_where_it_cannot_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setattr(_building, "PACKAGE", tmp_path / "file" / "no folder")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    with pytest.raises(SystemExit, match="set NUMBA_CACHE_DIR to a folder of your own"):
        _building.main(["--native"])


def test_kernels_for_this_very_cpu_come_first(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = copied.with_name(copied.name.replace("native-", "native-a-"))
    shutil.copy(copied, other)
    rewrite(other, lambda header: header.update(cpu="a-cpu"))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(copied.parents[1]))
    monkeypatch.setenv("HULLTUNE_KERNELS", "native")
    monkeypatch.setattr(_library, "PACKAGE", copied.parent / "nothing")
    assert [each.path for each in libraries.__wrapped__()] == [copied, other]


def test_the_header_says_what_a_library_is_for(library: Path) -> None:
    header = Library(library).header
    assert header["native"]
    assert json.loads(json.dumps(header)) == header
    assert sorted(header["kernels"]) == CALLS


def test_memory_of_kernels_is_freed_as_it_was_taken() -> None:
    """With Python's allocator for debugging, which ends the process where another one's memory is freed."""
    program = (
        "import hulltune\n"
        "forest = hulltune.Forest.from_nbest(['a b', 'c d'], [[1.0, 2.0], [2.0, 1.0]])\n"
        "kept = hulltune.envelopes([forest], [1.0, 0.0], [[0.0, 1.0]])\n"
        "import numba\n"
        "numba.njit(lambda number: number + 1)(1)\n"
        "del kept\n"
        "print('fine')\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONMALLOC": "debug"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=300)
    assert (done.stdout, done.returncode) == ("fine\n", 0)
