"""The decorator of every kernel: compiled once for this CPU, kept on disk, run without the GIL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile ``function`` with Numba: strict floating point, no GIL, cached on disk where that is possible.

    A cached kernel does not notice a change in a callee of another file: kernels that call each other live in one
    file. Where no cache directory is writable (a read-only install without a home), the kernel is compiled in
    every process instead of failing.
    """
    try:
        return cast(Function, numba.njit(function, nogil=True, cache=True))
    except RuntimeError:
        return cast(Function, numba.njit(function, nogil=True))
