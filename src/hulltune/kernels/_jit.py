"""The decorator of every kernel: compiled once for this CPU, kept on disk, run without the GIL."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

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


def inlined(function: Function) -> Function:
    """Compile ``function`` into each kernel that calls it: for what is called for every byte or number of a text.

    An array that is passed to a function which stays one costs two atomic operations, a third of the time to read a
    number. Inlined by LLVM: Numba's own way to inline takes twice the time to compile.
    """
    return cast(Function, numba.njit(function, nogil=True, forceinline=True))


def _stamp_with_the_room(compiled: Any) -> None:
    """Make a cached kernel stale when any file of this room changes.

    Numba looks only at the file of the kernel itself, so a kernel would go on calling the old version of a helper
    that has changed in another file. If Numba's internals move, the worst that is lost is this protection.
    """
    cache_file = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if cache_file is not None and hasattr(cache_file, "_source_stamp"):
        cache_file._source_stamp = _room_stamp()


@functools.cache
def _room_stamp() -> tuple[float, int]:
    """Newest change and total size of the files in this room: what Numba's own stamp is for one file."""
    stats = [path.stat() for path in Path(__file__).parent.glob("*.py")]
    return max(stat.st_mtime for stat in stats), sum(stat.st_size for stat in stats)
