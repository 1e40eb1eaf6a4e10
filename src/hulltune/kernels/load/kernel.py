"""The decorators of kernels, which run as machine code: from the shared library, or by Numba where there is none."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast

from hulltune.kernels.load.library import IS_CHECKOUT, function_of

OPTIONS: dict[str, Any] = {"nogil": True, "fastmath": False, "error_model": "python", "cache": not IS_CHECKOUT}
"""How Numba compiles: no GIL; strict floating point; a division by 0 is an error. Its cache sees no change of parts."""

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Make a kernel of ``function`` that Python can call. Its annotations say what it takes.

    The library answers with plain tuples, also where a kernel makes named ones.
    """
    return cast(Function, Kernel(function))


def part(function: Function) -> Function:
    """Make a part of kernels, which other kernels call; in Python, tests alone do, by Numba."""
    return cast(Function, Part(function))


def inlined(function: Function) -> Function:
    """Compile ``function`` into each kernel that calls it: for functions that run for every byte or number of a text.

    It borrows its arrays, as ``borrowing`` functions do. LLVM does the inlining: Numba's own way takes twice the time
    to compile.
    """
    return cast(Function, Part(function, inline=True, borrows=True))


def borrowing(function: Function) -> Function:
    """Make a part of kernels that borrows its arrays: it makes no array, and returns none to a kernel that counts.

    A kernel counts the references to each array that it is given or takes out of a tuple, by two atomic operations of
    some 5 ns: more than the work of a short function. Whoever calls a borrowing function holds the arrays meanwhile, so
    nothing is counted, which also spares half the time to compile.
    """
    return cast(Function, Part(function, borrows=True))


class Part:
    """A function that is compiled by Numba."""

    def __init__(self, function: Callable[..., Any], *, inline: bool = False, borrows: bool = False) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self.module = function.__module__.removeprefix("hulltune.kernels.")
        self.name = f"{self.module}.{function.__name__}"
        # Counting is said of each part, or it would follow the kernel that calls it first.
        self._options = {"forceinline": inline, "_nrt": not borrows}

    def __call__(self, *arguments: Any) -> Any:
        """Run Numba's machine code."""
        return self.dispatcher(*arguments)

    def __reduce__(self) -> str:
        return self.py_func.__qualname__  # to other processes goes the name

    @functools.cached_property
    def dispatcher(self) -> Any:
        """Numba's compiler of this function."""
        import numba

        with _LOCK:
            return numba.njit(self.py_func, **OPTIONS, **self._options)

    @property
    def _numba_type_(self) -> Any:
        """The type by which Numba knows this function when a kernel calls it."""
        from numba import types

        return types.Dispatcher(self.dispatcher)


class Kernel(Part):
    """A function of the shared library."""

    @functools.cached_property
    def machine_code(self) -> Callable[..., Any]:
        """What runs: a function of the library, or Numba's."""
        return function_of(self.name, self.module) or cast(Callable[..., Any], self.dispatcher)

    def __call__(self, *arguments: Any) -> Any:
        """Run the machine code."""
        return self.machine_code(*arguments)


_LOCK = threading.RLock()
