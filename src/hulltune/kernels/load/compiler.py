"""Numba's compiler for kernels, with a cache that cannot stop a run. Imported only when a kernel has to be compiled."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numba
from numba.core import config
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.event import Event, Listener, register

from hulltune.compiling import listeners
from hulltune.kernels.load.trust import is_trusted

_ROOM = "hulltune.kernels."

if TYPE_CHECKING:
    from hulltune.kernels.load.jit import Kernel


def dispatcher(kernel: Kernel) -> Any:
    """Numba's object that compiles a kernel: strict floating point, no GIL, kept on disk where that is possible."""
    with _compiling_is_on():
        compiled = numba.njit(kernel.py_func, **kernel.options)
    if not kernel.inline:
        # A read-only install without a home has no place for a cache: the kernel is compiled in every process.
        with contextlib.suppress(RuntimeError, OSError):
            compiled._cache = _Cache(kernel.py_func, kernel.module)
    return compiled


def caller(compiled: Any) -> Callable[..., Any]:
    """A function that calls Numba's object, also where NUMBA_DISABLE_JIT is set: kernels cannot run as Python."""
    if not config.DISABLE_JIT:
        return cast(Callable[..., Any], compiled)

    def call(*arguments: Any, **named: Any) -> Any:
        with _compiling_is_on():
            return compiled(*arguments, **named)

    return call


@contextlib.contextmanager
def _compiling_is_on() -> Iterator[None]:
    """Have Numba compile even if it is told not to."""
    before = config.DISABLE_JIT
    config.DISABLE_JIT = 0
    try:
        yield
    finally:
        config.DISABLE_JIT = before


class _File(IndexDataCacheFile):  # type: ignore[misc]  # Numba is taken as untyped
    """The files of one kernel in Numba's cache. They hold pickles, so none is read that others could have written."""

    def _load_index(self) -> Any:
        path = Path(self._index_path)
        if path.exists() and not is_trusted(path):
            raise PermissionError("others than you can change it")
        try:
            return super()._load_index()
        except OSError:
            raise
        except Exception as error:  # damaged, or written by another version: it is replaced
            tell_of_cache(self._cache_path, "cannot be read", error)
            return {}

    def _load_data(self, name: str) -> Any:
        if not is_trusted(Path(self._data_path(name))):
            raise PermissionError("others than you can change it")
        return super()._load_data(name)


class _Cache(FunctionCache):  # type: ignore[misc]  # Numba is taken as untyped
    """Numba's cache of a kernel. A kernel that cannot be loaded is compiled, one that cannot be saved is used unsaved.

    Numba itself marks a kernel by the contents of its own file, so that a kernel would go on calling the old version of
    a helper that has changed in another file; here it is marked by those of all files that it may call.
    """

    def __init__(self, function: Any, module: str) -> None:
        from hulltune.kernels.load.jit import source_stamp

        super().__init__(function)
        self._cache_file = _File(self._cache_path, self._impl.filename_base, source_stamp(module))

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """The compiled kernel for a signature; None if there is none, or if it cannot be loaded."""
        try:
            return super().load_overload(signature, target_context)
        except Exception as error:
            tell_of_cache(self._cache_path, "cannot be read", error)
            return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep a compiled kernel if that is possible."""
        try:
            super().save_overload(signature, compiled)
        except Exception as error:
            tell_of_cache(self._cache_path, "cannot be written", error)


def tell_of_cache(folder: str, what: str, error: Exception) -> None:
    """Tell once that a cache is of no use, whichever kernel it is for."""
    if (folder, what) not in _told:
        _told.add((folder, what))
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        listeners[-1].trouble(
            f"the cache of kernels in {folder} {what} ({' '.join(reason.split())}): kernels are compiled instead"
        )


_told: set[tuple[str, str]] = set()


class _Announcer(Listener):  # type: ignore[misc]  # Numba is taken as untyped
    """A listener that announces each kernel of this room before it is compiled."""

    def __init__(self) -> None:
        self._done = 0
        self._depth = threading.local()

    def on_start(self, event: Event) -> None:
        """Pass on the name of the kernel. Numba also compiles functions of other packages: those are not announced."""
        function = event.data["dispatcher"].py_func
        if _is_kernel(function):
            self._depth.now = getattr(self._depth, "now", 0) + 1
            module = function.__module__.removeprefix(_ROOM)
            listeners[-1].compiling(f"{module}.{function.__name__}", self._done)

    def on_end(self, event: Event) -> None:
        """Count the kernel, and tell the end of the outermost one."""
        if _is_kernel(event.data["dispatcher"].py_func):
            self._done += 1
            self._depth.now -= 1
            if not self._depth.now:
                listeners[-1].ended(self._done)


def _is_kernel(function: Any) -> bool:
    return str(function.__module__).startswith(_ROOM)


register("numba:compile", _Announcer())
