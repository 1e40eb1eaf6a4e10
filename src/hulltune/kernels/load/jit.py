"""The decorator of every kernel: machine code from a library, or compiled by Numba and kept on disk.

Numba is imported when a kernel has to be compiled, and not before.
"""

from __future__ import annotations

import functools
import hashlib
import re
import threading
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from hulltune.interrupts import interrupts_deferred
from hulltune.kernels.load.calls import described
from hulltune.kernels.load.library import HERE, libraries, source_digest
from hulltune.kernels.load.options import OPTIONS

_IMPORT = re.compile(r"^ *from hulltune\.kernels(?:\.([\w.]+))? import (\([^)]*\)|.*)", re.MULTILINE)
_LARGEST = 2**63

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Make a kernel of ``function``: strict floating point, no GIL."""
    return cast(Function, Kernel(function))


def inlined(function: Function) -> Function:
    """Compile ``function`` into each kernel that calls it: for functions that run for every byte or number of a text.

    It borrows its arrays, as ``borrowing`` functions do. LLVM does the inlining: Numba's own way takes twice the time
    to compile.
    """
    return cast(Function, Kernel(function, inline=True, borrows=True))


def borrowing(function: Function) -> Function:
    """Make a part of kernels that borrows its arrays: it makes no array, and returns none to a kernel that counts.

    A kernel counts the references to each array that it is given or takes out of a tuple, by two atomic operations of
    some 5 ns: more than the work of a short function. Whoever calls a borrowing function holds the arrays meanwhile, so
    nothing is counted, which also spares half the time to compile.
    """
    return cast(Function, Kernel(function, borrows=True))


def operation(name: str) -> Any:
    """An operation of simd_operations.py, for kernels to call."""
    return _Operation(name)


kernels: dict[str, Kernel] = {}
"""All kernels of the modules imported so far, by module and name."""


def calls() -> dict[str, bool]:
    """Each kernel with each kind of call so far, and whether its machine code came from a library."""
    return {
        f"{kernel.name}({call})": call not in kernel.compiled
        for kernel in list(kernels.values())
        for call in list(kernel.calls)
    }


class Kernel:
    """A function that runs as machine code."""

    def __init__(self, function: Callable[..., Any], *, inline: bool = False, borrows: bool = False) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self.module = function.__module__.removeprefix("hulltune.kernels.")
        self.name = f"{self.module}.{function.__name__}"
        self.inline = inline
        self.borrows = borrows
        self.calls: dict[str | None, Callable[..., Any]] = {}
        """The machine code by the types of the calls so far."""
        self.compiled: set[str | None] = set()
        """The calls so far that no library had."""
        self._ready: dict[tuple[Any, ...], Callable[..., Any]] = {}
        self._dispatcher: Any = None
        kernels[self.name] = self

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Run the machine code of a call of these types, found or made at the first."""
        if named:
            return self._compiled(None)(*arguments, **named)
        key: list[Any] = []
        for value in arguments:
            kind = type(value)
            if kind is np.ndarray:
                key += (value.dtype, value.ndim, value.flags.num)
            elif kind is int:
                key.append(int if -_LARGEST <= value < _LARGEST else None)
            elif isinstance(value, (tuple, np.ndarray)):
                key.append(_key(value))
            else:
                key.append(kind)
        ready = self._ready.get(found := tuple(key))
        return self._first_call(found, arguments) if ready is None else ready(*arguments)

    def __reduce__(self) -> str:
        return self.py_func.__qualname__  # to other processes goes the name

    def _first_call(self, key: tuple[Any, ...], arguments: tuple[Any, ...]) -> Any:
        """The answer to the first call with arguments of these types.

        Machine code that makes an array asks Python for the class of arrays, and dies if it gets none because a Ctrl-C
        was raised there. The answer is remembered in C, so that only the first call runs Python at all.
        """
        call, ready = self._find(arguments)
        self._ready[key] = ready
        if call in self.compiled:  # Numba compiles it first, for seconds in which Ctrl-C should work
            return ready(*arguments)
        with interrupts_deferred():
            return ready(*arguments)

    def _find(self, arguments: tuple[Any, ...]) -> tuple[str | None, Callable[..., Any]]:
        """The types of these arguments, and their machine code: of the first library that has it, or else Numba's."""
        call = described(arguments)
        if call not in self.calls:
            ready = (library.kernel(self.name, call) for library in libraries()) if call is not None else iter(())
            self.calls[call] = next((each for each in ready if each is not None), None) or self._compiled(call)
        return call, self.calls[call]

    def _compiled(self, call: str | None) -> Callable[..., Any]:
        """Numba's object, which compiles what it is called with."""
        from hulltune.kernels.load.compiler import caller

        self.compiled.add(call)
        return caller(self.dispatcher)

    @property
    def options(self) -> dict[str, Any]:
        """What Numba is told. Counting is said of each kernel, or it would follow the kernel that calls it first."""
        return OPTIONS | {"forceinline": self.inline, "_nrt": not self.borrows}

    @property
    def dispatcher(self) -> Any:
        """Numba's compiler of this kernel."""
        if self._dispatcher is None:
            from hulltune.kernels.load.compiler import dispatcher

            with _LOCK:
                if self._dispatcher is None:
                    self._dispatcher = dispatcher(self)
        return self._dispatcher

    @property
    def _numba_type_(self) -> Any:
        """The type by which Numba knows this kernel when another one calls it."""
        from numba import types

        return types.Dispatcher(self.dispatcher)


_LOCK = threading.RLock()


def _key(value: Any) -> Any:
    """A value that is equal for arguments of equal types."""
    if isinstance(value, tuple):
        return (type(value), *map(_key, value))
    if isinstance(value, np.ndarray):
        return (type(value), value.dtype, value.ndim, value.flags.num)
    return None if type(value) is int and not -_LARGEST <= value < _LARGEST else type(value)


class _Operation:
    """The name of an operation, which stands for Numba's object of it."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def _numba_type_(self) -> Any:
        from numba.core.registry import cpu_target

        from hulltune.kernels.simd import operations as simd_operations

        cpu_target.typing_context.refresh()  # or it does not know operations that have just been imported
        return cpu_target.typing_context.resolve_value_type(getattr(simd_operations, self.name))


@functools.cache
def source_stamp(module: str) -> str:
    """A hash of the contents of a module of this room and of all those that it imports, directly or not."""
    digest = hashlib.sha256()
    for name in sources(module):
        digest.update(f"{name} {source_digest(name)}\n".encode())
    return digest.hexdigest()


@functools.cache
def sources(module: str) -> tuple[str, ...]:
    """A module of this room and all those of the room that it imports, directly or not."""
    reached: set[str] = set()
    waiting = {module}
    while waiting:
        reached |= waiting
        waiting = set().union(*(_imported(name) for name in waiting)) - reached
    return tuple(sorted(reached))


@functools.cache
def _imported(module: str) -> frozenset[str]:
    """The modules of this room that a module imports, found by a pattern: a parser takes ten times as long."""
    file = HERE / f"{module.replace('.', '/')}.py"
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    found = {"load.options"}
    if 'operation("' in text:
        found.add("simd.operations")
    for name, names in _IMPORT.findall(text):
        is_folder = (HERE / name.replace(".", "/")).is_dir()
        found.update([f"{name}.{each}" for each in re.findall(r"\w+", names)] if is_folder else [name])
    return frozenset(name for name in found if name == "load.options" or not name.startswith("load."))
