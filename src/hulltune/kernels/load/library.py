"""The shared library of kernels for this CPU, loaded by ctypes. Its functions are functions of Python: see runtime.c.

Beside the libraries lies ``kernels.json``, which tells their checksums and, in a checkout, those of the sources that
each module's kernels were made from: kernels whose sources have changed since run by Numba.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import json
import sys
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args, get_origin

import numpy as np

from hulltune.errors import InputError, Note

KERNELS = Path(__file__).parents[1]
FOLDER = KERNELS / "compiled"
IS_CHECKOUT = (FOLDER / "objects").is_dir()
"""Whether the library was built here, where sources may change."""
V3 = {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"}
LEVELS = {"v4": V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}, "v3": V3, "baseline": set[str]()}
"""The levels of CPUs, the best one first, and what they need to have, in Linux' words."""


def function_of(name: str, module: str) -> Callable[..., Any] | None:
    """A kernel of the library; None if Numba is to compile it: there is no library, or its source has changed since."""
    known = about()
    if known is None or (IS_CHECKOUT and not are_current(known["sources"].get(module))):
        _expect_numba()
        return None
    found: Callable[..., Any] = library().hulltune_function(name.encode())
    kernel = vars(sys.modules[f"hulltune.kernels.{module}"])[name.rpartition(".")[2]].py_func
    answer = eval(kernel.__annotations__["return"], kernel.__globals__)
    if not any(hasattr(each, "_fields") for each in (answer, *get_args(answer))):
        return found
    return lambda *arguments: _named(found(*arguments), answer)  # the library knows plain tuples alone


def _named(value: Any, kind: Any) -> Any:
    """A value with the named tuples of its type in the place of plain ones."""
    if hasattr(kind, "_fields"):
        return kind(*value)
    return tuple(map(_named, value, get_args(kind))) if get_origin(kind) is tuple else value


@functools.cache
def _expect_numba() -> None:
    told = f"{FOLDER}: no compiled kernels for this machine"
    if importlib.util.find_spec("numba") is None:
        raise InputError(f"{told}; install a wheel that is made for it, or let Numba compile them: pip install numba")
    if about() is None:
        warnings.warn(Note(f"{told}; Numba compiles them, for minutes"), stacklevel=2)


@functools.cache
def about() -> dict[str, Any] | None:
    """What kernels.json tells; None if there is no library for this machine."""
    try:
        told: dict[str, Any] = json.loads((FOLDER / "kernels.json").read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise _damaged(FOLDER / "kernels.json", error) from None
    return told


@functools.cache
def checksum(path: Path) -> int:
    """The checksum of a file as it was when this process first read it."""
    return zlib.crc32(path.read_bytes())


def are_current(sources: dict[str, int] | None) -> bool:
    """Whether files of this room still have these checksums; False if none are known."""
    try:
        return sources is not None and all(checksum(KERNELS / source) == known for source, known in sources.items())
    except OSError:
        return False


@functools.cache
def library() -> ctypes.PyDLL:
    """The library for the best level that this CPU has."""
    return opened(next(FOLDER / f"kernels-{level}.so" for level in LEVELS if is_runnable(level)))


def is_runnable(level: str) -> bool:
    """Whether there is a library of a level, and this CPU can run it."""
    return LEVELS[level] <= _features() and f"kernels-{level}.so" in (about() or {})["libraries"]


@functools.cache
def _features() -> set[str]:
    """What the CPU has and the system lets programs use; of others than x86, nothing is asked."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next((set(line.split()) for line in lines if line.startswith("flags")), set())
    except OSError:
        return set()


def opened(path: Path) -> ctypes.PyDLL:
    """A library, ready to be asked for its functions. A damaged one must not be loaded: it may end the process."""
    try:
        if checksum(path) != (about() or {})["libraries"][path.name]:
            raise OSError("its checksum is wrong")
        found = ctypes.PyDLL(str(path))
    except OSError as error:
        raise _damaged(path, error) from None
    core = getattr(np, "_core", None) or np.core  # NumPy 1 has it there
    found.hulltune_begin.argtypes = (ctypes.py_object, ctypes.c_ssize_t)
    found.hulltune_begin(core._multiarray_umath._ARRAY_API, object.__basicsize__)
    found.hulltune_function.restype = ctypes.py_object
    return found


def _damaged(path: Path, reason: object) -> InputError:
    return InputError(f"{path} cannot be used: {reason}; install hulltune again")
