"""The decorator of every kernel: compiled once for this CPU, kept on disk, run without the GIL."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core.event import Event, Listener, register

from hulltune.compiling import listeners

_IMPORT = re.compile(r"^ *from hulltune\.kernels(?:\.(\w+))? import (\([^)]*\)|.*)", re.MULTILINE)

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile ``function`` with Numba: strict floating point, no GIL, cached on disk where that is possible.

    Where no cache directory is writable (a read-only install without a home), the kernel is compiled in every
    process instead of failing.
    """
    try:
        compiled = numba.njit(function, nogil=True, cache=True)
    except RuntimeError:
        return cast(Function, numba.njit(function, nogil=True))
    _stamp_with_the_room(compiled)
    return cast(Function, compiled)


class _Announcer(Listener):  # type: ignore[misc]  # Numba is taken as untyped
    """A listener that announces each kernel of this room before it is compiled."""

    def on_start(self, event: Event) -> None:
        """Pass on the name of the kernel. Numba also compiles functions of other packages: those are not announced."""
        function = event.data["dispatcher"].py_func
        if function.__module__.startswith(__package__ or ""):
            for tell in list(listeners):
                tell(f"{function.__module__.rpartition('.')[2]}.{function.__name__}")

    def on_end(self, event: Event) -> None:
        """Do nothing: only the start of a compilation is announced."""


register("numba:compile", _Announcer())


def inlined(function: Function) -> Function:
    """Compile ``function`` into each kernel that calls it: for functions that run for every byte or number of a text.

    An array that is passed to a function which is not inlined costs two atomic operations, a third of the time to read
    a number. LLVM does the inlining: Numba's own way takes twice the time to compile.
    """
    return cast(Function, numba.njit(function, nogil=True, forceinline=True))


def _stamp_with_the_room(compiled: Any) -> None:
    """Make a cached kernel stale when a file of this room that it may call changes.

    Numba checks only the file of the kernel itself, so a kernel would go on calling the old version of a helper that
    has changed in another file. If Numba's internals change, only this protection is lost.
    """
    cache_file = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if cache_file is not None and hasattr(cache_file, "_source_stamp"):
        cache_file._source_stamp = source_stamp(Path(compiled.py_func.__code__.co_filename).stem)


@functools.cache
def source_stamp(module: str) -> str:
    """A hash of the contents of a module of this room and of all those that it imports, directly or not."""
    reached: set[str] = set()
    waiting = {module}
    while waiting:
        reached |= waiting
        waiting = set().union(*(_imported(name) for name in waiting)) - reached
    digest = hashlib.sha256()
    for name in sorted(reached):
        digest.update(f"{name}\n".encode() + _source(name) + b"\0")
    return digest.hexdigest()


@functools.cache
def _source(module: str) -> bytes:
    file = Path(__file__).parent / f"{module}.py"
    return file.read_bytes() if file.exists() else b""


@functools.cache
def _imported(module: str) -> frozenset[str]:
    """The modules of this room that a module imports, found by a pattern: a parser takes ten times as long."""
    found = {"_jit"}
    for name, names in _IMPORT.findall(_source(module).decode()):
        found.update([name] if name else re.findall(r"\w+", names))
    return frozenset(found)
