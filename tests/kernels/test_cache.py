"""Numba's cache: whatever has become of it, kernels run, and one line names the cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hulltune.kernels.scores import exact

ANSWER = "from hulltune.kernels.scores.exact import compare_products; print(compare_products(3.0, 5.0, 2.0, 7.0))"
COMPILING = "hulltune: compiling kernels, first run only\n"


def environment(folder: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "NUMBA_CACHE_DIR": str(folder), "HULLTUNE_KERNELS": "none", **more}


def run(folder: Path, code: str = ANSWER, **more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=environment(folder, **more), capture_output=True, text=True, check=True)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with the kernels of the answer in it."""
    folder = tmp_path_factory.mktemp("filled")
    assert run(folder).stderr == COMPILING
    assert run(folder).stderr == ""
    return folder


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", ["cut off", "garbled", "foreign"])
def test_a_damaged_cache_is_named_once_and_mended(filled: Path, tmp_path: Path, ending: str, damage: str) -> None:
    shutil.copytree(filled, tmp_path, dirs_exist_ok=True)
    for file in tmp_path.rglob(f"*.{ending}"):
        data = file.read_bytes()
        foreign = b"\x80\x04\x8c\x04nums\x8c\x05Other\x93." + data
        changed = {"cut off": data[: len(data) // 2], "garbled": b"\xff" + data[1:], "foreign": foreign}
        file.write_bytes(changed[damage])
    ended = run(tmp_path)
    assert ended.stdout == "1\n"
    notes = [line for line in ended.stderr.splitlines(keepends=True) if line != COMPILING]
    assert len(notes) == 1
    assert notes[0].startswith(f"hulltune: the cache of kernels in {tmp_path}")
    assert run(tmp_path).stderr == ""


def test_a_full_disk_is_named_once(tmp_path: Path) -> None:
    code = (
        "import errno, os\n"
        "from numba.core.caching import IndexDataCacheFile\n"
        "def full(*arguments): raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))\n"
        "IndexDataCacheFile._save_data = full\n"
        f"{ANSWER}\n"
    )
    ended = run(tmp_path, code)
    assert ended.stdout == "1\n"
    assert ended.stderr.startswith(COMPILING)
    note = ended.stderr.removeprefix(COMPILING)
    assert note.startswith(f"hulltune: the cache of kernels in {tmp_path}")
    assert "cannot be written (No space left on device)" in note
    assert note.count("\n") == 1


@pytest.mark.skipif(os.name == "nt", reason="permissions of another kind")
def test_a_cache_that_others_can_write_is_not_read(filled: Path, tmp_path: Path) -> None:
    shutil.copytree(filled, tmp_path, dirs_exist_ok=True)
    (folder,) = {file.parent for file in tmp_path.rglob("*.nbi")}
    folder.chmod(0o777)
    ended = run(tmp_path)
    assert ended.stdout == "1\n"
    assert "others than you can change it" in ended.stderr


def test_kernels_work_where_nothing_can_be_cached(tmp_path: Path) -> None:
    """A read-only install without a writable home compiles in every process instead of failing."""
    code = f"import numba.core.caching as c; c.CacheImpl._locator_classes = []; {ANSWER}"
    assert run(tmp_path, code).stdout == "1\n"


def test_four_processes_can_start_at_the_same_moment(tmp_path: Path) -> None:
    command = [sys.executable, "-c", ANSWER]
    started = [
        subprocess.Popen(command, env=environment(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    answers = [process.communicate() for process in started]
    assert [out for out, _ in answers] == ["1\n"] * 4
    said = {err for _, err in answers}
    assert COMPILING in said
    assert said <= {COMPILING, ""}  # on a busy machine one may start so late that it finds what another has compiled
    assert run(tmp_path).stderr == ""


def test_kernels_are_compiled_even_if_numba_is_told_not_to(tmp_path: Path) -> None:
    """They cannot run as Python. Other functions of the process are left as they are."""
    code = f"{ANSWER}; import numba; print(type(numba.njit(lambda x: x)).__name__)"
    assert run(tmp_path, code, NUMBA_DISABLE_JIT="1").stdout == "1\nfunction\n"


def test_a_cached_kernel_is_marked_by_all_it_may_call() -> None:
    """If this fails, Numba's internals have moved, and a change in one kernel file no longer recompiles the others."""
    from hulltune.kernels.load.jit import kernels, source_stamp

    assert exact.compare_products is not None
    compiled = kernels["scores.exact.compare_products"].dispatcher
    assert compiled._cache._cache_file._source_stamp == source_stamp("scores.exact")
