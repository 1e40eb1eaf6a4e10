"""Whether kernels have to be compiled first: a glance at the files of Numba's cache, without importing it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import hulltune
from hulltune.cli.answers import note
from hulltune.cli.options import DataOptions

TUNING_LISTS = ("list_lines.list_lines",)
TUNING_FORESTS = ("envelopes.envelopes",)
"""Kernels that every tuning needs, of those that take long."""


def say_if_compiling(quiet: bool, *kernels: Sequence[str]) -> None:
    """Explain the wait of the first run of a command that needs these kernels; of several sets, one or another."""
    if not quiet and all(map(needs_compiling, kernels)):
        note("compiling kernels, first run only")


def say_if_compiling_for(options: DataOptions, quiet: bool, *, lists: Sequence[str], forests: Sequence[str]) -> None:
    """Explain the wait of the first run of a command that needs other kernels for lists than for forests."""
    if not quiet:
        from hulltune.formats.read_forests import has_forests

        say_if_compiling(False, forests if has_forests(list(options.lists), options.format) else lists)


RERANKING = ("list_envelopes.list_envelopes",)
_RERANK = "from hulltune import Forest, decode; decode(Forest.from_nbest(['a', 'b'], [[0.0], [1.0]]), [1.0])"


@contextmanager
def compiling_ahead() -> Iterator[None]:
    """Where it has to be compiled, compile what reranking needs in a process of its own, on another CPU.

    Nobody waits for it: its result is in Numba's cache if it is done in time, and is compiled as ever if not.
    """
    if not needs_compiling(RERANKING):
        yield
        return
    nothing = subprocess.DEVNULL
    process = subprocess.Popen([sys.executable, "-c", _RERANK], stdin=nothing, stdout=nothing, stderr=nothing)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def needs_compiling(kernels: Sequence[str]) -> bool:
    """Whether one of these kernels has no cache file for this Python that is newer than the sources of the kernels."""
    room = Path(hulltune.__file__).parent / "kernels"
    changed = max(path.stat().st_mtime for path in room.glob("*.py"))
    python = f"py{sys.version_info[0]}{sys.version_info[1]}"
    folders = list(_cache_folders(room))
    return not all(
        any(index.stat().st_mtime >= changed for folder in folders for index in folder.glob(f"{name}-*.{python}.nbi"))
        for name in kernels
    )


def _cache_folders(room: Path) -> Iterator[Path]:
    """Where Numba keeps compiled code: the directory that the environment names, beside the source, or the user's."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    if named:
        yield from Path(named).glob(f"{room.name}_*")
        return
    yield room / "__pycache__"
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    for base in (Path(home) / "numba", Path.home() / "Library/Caches/numba", Path.home() / "AppData/Local/numba/Cache"):
        yield from base.glob(f"{room.name}_*")
