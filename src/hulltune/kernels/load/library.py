"""The shared library of kernels for this CPU, loaded by ctypes. Its functions are functions of Python: see runtime.c.

Beside the libraries lies ``kernels.json``, which tells their checksums and, in a checkout, the sources that each kernel
was made from: a kernel whose sources have changed since runs by Numba.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import json
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hulltune.errors import InputError, Note

KERNELS = Path(__file__).parents[1]
FOLDER = KERNELS / "compiled"
IS_CHECKOUT = (FOLDER / "objects").is_dir()
"""Whether the library was built here, where sources may change."""
LEVELS = {"v4": 4, "v3": 3, "baseline": 1}
"""The levels of CPUs, the best one first, as ``hulltune_level`` tells them."""
PYTHON = (
    "PyCFunction_NewEx", "PyCapsule_New", "PyCapsule_GetPointer", "PyTuple_New", "PyTuple_Size", "PyTuple_GetItem",
    "PyTuple_SetItem", "PyObject_IsInstance", "PyLong_AsLongLong", "PyFloat_AsDouble", "PyObject_IsTrue",
    "PyLong_FromLongLong", "PyFloat_FromDouble", "PyBool_FromLong", "PyErr_Occurred", "PyErr_Format", "PyErr_Clear",
    "PyEval_SaveThread", "PyEval_RestoreThread", "Py_IncRef", "Py_DecRef", "_Py_NoneStruct", "PyExc_MemoryError",
    "PyExc_TypeError", "PyTuple_Type",
)  # fmt: skip
"""What the library uses of Python, in the order of runtime.c."""


def function_of(name: str, module: str) -> Callable[..., Any] | None:
    """A kernel of the library; None if Numba is to compile it, because the library is missing or older than it."""
    known = about()
    if known is None or (IS_CHECKOUT and any(map(changed, known["sources"].get(module, ())))):
        if importlib.util.find_spec("numba"):
            _tell_of_numba()
            return None
        raise InputError(
            f"{FOLDER}: no compiled kernels for this machine; install a wheel that is made for it, "
            "or let Numba compile them: pip install numba"
        )
    found: Callable[..., Any] = library().hulltune_function(name.encode())
    return found


@functools.cache
def _tell_of_numba() -> None:
    if about() is None:
        warnings.warn(
            Note(f"{FOLDER}: no compiled kernels for this machine; Numba compiles them, for minutes"), stacklevel=2
        )


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
def changed(source: str) -> bool:
    """Whether a file of this room is not the one that the library was made from."""
    try:
        return zlib.crc32((KERNELS / source).read_bytes()) != int((about() or {})["files"][source])
    except (OSError, KeyError):
        return True


@functools.cache
def library() -> ctypes.PyDLL:
    """The library for the level of this CPU. A damaged one must not be loaded: it may end the process."""
    for name, level in LEVELS.items():
        path = FOLDER / f"kernels-{name}.so"
        if path.name in (about() or {})["libraries"]:
            found = opened(path)
            if found.hulltune_level() >= level:
                return found
    raise _damaged(FOLDER, "it has no library for this CPU")


def opened(path: Path) -> ctypes.PyDLL:
    """A library, ready to be asked for its functions."""
    try:
        if zlib.crc32(path.read_bytes()) != (about() or {})["libraries"][path.name]:
            raise OSError("its checksum is wrong")
        found = ctypes.PyDLL(str(path))
    except OSError as error:
        raise _damaged(path, error) from None
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    api = getattr(np, "_core", None) or np.core  # NumPy 1 has it there
    words = [ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, name)) for name in PYTHON]
    words += [pointer(api._multiarray_umath._ARRAY_API, None), object.__basicsize__]
    found.hulltune_begin((ctypes.c_int64 * len(words))(*words))
    found.hulltune_function.restype = ctypes.py_object
    return found


def _damaged(path: Path, reason: object) -> InputError:
    return InputError(f"{path} cannot be used: {reason}; install hulltune again")
