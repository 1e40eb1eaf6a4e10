"""The note on compiling comes with the first run of a command, and with no other."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from hulltune.compiling import listeners, told_of_compiling

COMPILING = "hulltune: compiling kernels, first run only\n"


def test_the_first_run_says_that_it_compiles_and_the_second_does_not(folder: Path) -> None:
    arguments = [sys.executable, "-m", "hulltune", "rerank", "good", "--weights", "w.txt"]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")}

    def said(*more: str) -> str:
        ended = subprocess.run([*arguments, *more], env=environment, capture_output=True, text=True, check=True)
        return ended.stderr

    assert said() == COMPILING
    assert said() == ""


def test_quiet_runs_do_not_mention_it(folder: Path) -> None:
    arguments = [sys.executable, "-m", "hulltune", "rerank", "good", "--weights", "w.txt", "--quiet"]
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")}
    assert subprocess.run(arguments, env=environment, capture_output=True, text=True, check=True).stderr == ""


def test_whoever_listens_is_told_the_names_of_kernels() -> None:
    """If this fails, Numba's events have moved, and first runs are silent."""
    code = (
        "from hulltune.compiling import told_of_compiling\n"
        "import numba.core.caching as c; c.CacheImpl._locator_classes = []\n"  # nothing is cached here
        "names = []\n"
        "with told_of_compiling(names.append):\n"
        "    from hulltune.kernels.exact import compare_products\n"
        "    compare_products(3.0, 5.0, 2.0, 7.0)\n"
        "print(names)\n"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "'exact.compare_products'" in told


def test_a_listener_leaves_when_it_is_done() -> None:
    def tell(name: str) -> None:
        raise AssertionError(name)

    with told_of_compiling(tell):
        assert tell in listeners
    assert tell not in listeners
