"""Libraries of compiled kernels: files of machine code that is loaded without Numba.

Numba takes half a second to import and to get ready, and then 7 ms for each kernel of its own cache. A library needs
only LLVM's linker (from llvmlite) and the few functions in C that Numba's machine code calls for memory, arrays and
errors; a kernel is loaded in half a millisecond. The machine code is the one that Numba makes, wrapper and all.

A library fits if it was made for this Python, this very build of Numba's C functions, and a CPU that has no feature
which this one lacks; and a kernel of it is used only if the sources that it was made from are those of the package.
Whatever does not fit or cannot be read is compiled by Numba instead.

The file: a line that names the format, the length and the checksum of the header, the header (JSON), and the objects.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import importlib.machinery
import importlib.util
import json
import os
import pickle
import sys
import sysconfig
import threading
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from hulltune.compiling import listeners
from hulltune.kernels.load.trust import is_trusted

FORMAT = b"hulltune kernels 1\n"
ENDING = ".kernels"
HERE = Path(__file__).parents[1]
PACKAGE = HERE / "compiled"
"""The folder of the libraries that come with the package."""
CHOICE = "HULLTUNE_KERNELS"
"""The variable of the environment that says which kernels may be used: ``native``, ``shipped``, or ``none`` of the
libraries. By default it is the native ones, then the shipped ones."""
PYTHON = str(sysconfig.get_config_var("SOABI") or sys.implementation.cache_tag)
_RUNTIME = {
    "numba._dynfunc": "_dynfunc",
    "numba._helperlib": "_helperlib",
    "numba.core.runtime._nrt_python": "core/runtime/_nrt_python",
}
"""The modules in C that Numba's machine code needs, and their files in Numba's folder."""


class Unfit(Exception):  # noqa: N818  # it is an answer rather than an error
    """A library that cannot be used here, with the reason; ``telling`` if it should be told to the user."""

    def __init__(self, reason: str, *, telling: bool = False) -> None:
        super().__init__(reason)
        self.telling = telling


_LOCK = threading.RLock()
"""The lock of LLVM's linker: kernels are loaded one after the other."""


class Library:
    """An open library. Kernels are loaded from it when they are asked for."""

    def __init__(self, path: Path) -> None:
        """Open a library, or raise ``Unfit``."""
        self.path = path
        self._sources: dict[str, bool] = {}
        self._loaded: dict[str, Callable[..., Any]] = {}
        if not is_trusted(path):
            raise Unfit(f"{path} is not used: others than you and the administrator can change it", telling=True)
        self.header, self._start = _read_header(path)
        _check(self.header)

    def kernel(self, name: str, call: str) -> Callable[..., Any] | None:
        """The kernel for a call of these types, ready to be called; None if the library has none that is up to date."""
        whole = f"{name}({call})"
        with _LOCK:
            try:
                if whole not in self._loaded and (found := self.parts(whole)) is not None:
                    self._loaded[whole] = _runtime().load(*found)
            except Unfit as error:
                listeners[-1].trouble(f"{error}; its kernels are compiled instead")
            except Exception:  # Numba's or llvmlite's internals have moved: compiling still works, and a test fails
                return None
        return self._loaded.get(whole)

    def parts(self, call: str) -> tuple[dict[str, Any], bytes] | None:
        """The description of a kernel's machine code, and the code; None if there is none that is up to date."""
        entry = self.header["kernels"].get(call)
        if entry is None or not all(map(self._is_unchanged, entry["sources"])):
            return None
        return entry, self._object(entry)

    def _is_unchanged(self, module: str) -> bool:
        """Whether a source file of this room is the one that the library was made from."""
        if module not in self._sources:
            self._sources[module] = source_digest(module) == self.header["sources"].get(module)
        return self._sources[module]

    def _object(self, entry: dict[str, Any]) -> bytes:
        try:
            with open(self.path, "rb") as file:
                file.seek(self._start + entry["begin"])
                data = file.read(entry["length"])
        except OSError as error:
            raise Unfit(f"{self.path} cannot be read ({error})", telling=True) from None
        if len(data) != entry["length"] or zlib.crc32(data) != entry["crc"]:
            raise Unfit(f"{self.path} is damaged", telling=True)
        return data


def write_library(path: Path, header: dict[str, Any], objects: list[bytes]) -> None:
    """Write a library; the entries of ``header["kernels"]`` name the places of the objects. It appears as a whole."""
    text = json.dumps(header).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(draft, "wb") as file:
            file.write(FORMAT + b"%d %d\n" % (len(text), zlib.crc32(text)) + text)
            file.writelines(objects)
        os.chmod(draft, os.stat(draft).st_mode & ~0o022)  # what others can write is not loaded
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def _read_header(path: Path) -> tuple[dict[str, Any], int]:
    """The header of a library, and the place of the first object."""
    try:
        with open(path, "rb") as file:
            if file.readline(100) != FORMAT:
                raise Unfit(f"{path} is damaged, or of another version", telling=True)
            length, checksum = map(int, file.readline(100).split())
            text = file.read(length)
            if zlib.crc32(text) != checksum:
                raise Unfit(f"{path} is damaged", telling=True)
            return json.loads(text), file.tell()
    except (OSError, ValueError) as error:
        raise Unfit(f"{path} is damaged or cannot be read ({error})", telling=True) from None


def _check(header: dict[str, Any]) -> None:
    """Raise ``Unfit`` if a library was made for another Python, another Numba, or for a CPU with more features."""
    if header["python"] != PYTHON:
        raise Unfit(f"made for {header['python']}")
    if header["runtime"] != runtime_digest():
        raise Unfit(f"made for another build of numba than the one installed (it was {header['numba']})")
    lacking = set(header["features"]) - host_features()
    if lacking:
        raise Unfit(f"made for a CPU with {', '.join(sorted(lacking))}")


@functools.cache
def libraries() -> tuple[Library, ...]:
    """The libraries that fit, those for this very CPU first."""
    choice = os.environ.get(CHOICE, "")
    if choice == "none":
        return ()
    found = []
    for path in _files():
        try:
            found.append(Library(path))
        except Unfit as error:
            if error.telling:
                listeners[-1].trouble(f"{error}; kernels are compiled instead")
        except Exception:  # a header of tomorrow, or Numba's or llvmlite's internals have moved: compiling still works
            continue
    wanted = {"native": (True,), "shipped": (False,)}.get(choice, (True, False))
    found = [library for library in found if library.header["native"] in wanted]
    return tuple(sorted(found, key=lambda each: (not each.header["native"], each.header["cpu"] != host_cpu())))


def _files() -> Iterator[Path]:
    """The files of libraries for this Python."""
    for folder in (PACKAGE, *own_folders()):
        try:
            yield from sorted(folder.glob(f"{PYTHON}.*{ENDING}"))
        except OSError:
            continue


def own_folders() -> list[Path]:
    """The folders for kernels that this user compiles, besides the package: Numba's, if it is named, and the user's."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    if named:
        return [Path(named) / "hulltune"]
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", "")
    elif sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME", "") or os.path.expanduser("~/.cache")
    return [Path(base) / "hulltune"] if os.path.isabs(base) else []


@functools.cache
def source_digest(module: str) -> str:
    """A hash of a source file of this room; empty if there is none."""
    try:
        return hashlib.sha256((HERE / f"{module.replace('.', '/')}.py").read_bytes()).hexdigest()
    except OSError:
        return ""


@functools.cache
def _runtime_files() -> dict[str, Path]:
    """The files of the modules in C, by the names of the modules. Numba is not imported for it."""
    spec = importlib.util.find_spec("numba")
    if spec is None or spec.origin is None:
        raise Unfit("there is no numba")
    found = {}
    for name, file in _RUNTIME.items():
        paths = [Path(spec.origin).parent / f"{file}{suffix}" for suffix in importlib.machinery.EXTENSION_SUFFIXES]
        found[name] = next((path for path in paths if path.exists()), paths[0])
    return found


@functools.cache
def runtime_digest() -> str:
    """A hash of the C modules of Numba that kernels call: another build of them is another runtime."""
    digest = hashlib.sha256()
    for path in _runtime_files().values():
        try:
            digest.update(path.read_bytes())
        except OSError:
            raise Unfit(f"{path} is missing") from None
    return digest.hexdigest()


@functools.cache
def host_cpu() -> str:
    """The name that LLVM gives to this CPU."""
    from llvmlite import binding

    return str(binding.get_host_cpu_name())


@functools.cache
def host_features() -> frozenset[str]:
    """The features of this CPU, in LLVM's names."""
    from llvmlite import binding

    return frozenset(name for name, has in binding.get_host_cpu_features().items() if has)


@functools.cache
def _runtime() -> _Runtime:
    return _Runtime()


class _Runtime:
    """LLVM's linker, with the functions in C that kernels call."""

    def __init__(self) -> None:
        from llvmlite import binding

        self._binding = binding
        modules = {name: _c_module(name, path) for name, path in _runtime_files().items()}
        # As Numba does when it is imported: whoever frees the memory of a kernel takes it for Python's.
        modules["numba.core.runtime._nrt_python"].memsys_use_cpython_allocator()
        self._dynamic = modules["numba._dynfunc"]
        helpers = modules["numba._helperlib"].c_helpers
        memory = modules["numba.core.runtime._nrt_python"].c_helpers
        self._symbols: dict[str, int] = {f"numba_{name}": address for name, address in helpers.items()}
        self._symbols |= {name if name[0] == "_" else f"NRT_{name}": address for name, address in memory.items()}
        # Numba's own function for this would import all of Numba. The cache is a function in C: when it knows a
        # constant, no Python runs, in which a Ctrl-C could be raised (see Kernel.__call__).
        self._unpickler = _UNPICKLER(functools.cache(_unpickled))
        self._symbols["numba_unpickle"] = ctypes.cast(self._unpickler, ctypes.c_void_p).value or 0
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        target = binding.Target.from_default_triple().create_target_machine()
        names = [name for name in self._symbols if name.isidentifier()]
        module = binding.parse_assembly("\n".join(f"declare void @{name}()" for name in names))
        self._engine = binding.create_mcjit_compiler(module, target)
        for name in names:  # for these kernels alone: Numba's code in this process keeps its own
            self._engine.add_global_mapping(module.get_function(name), self._symbols[name])
        self._kept: list[Any] = []

    def load(self, entry: dict[str, Any], code: bytes) -> Callable[..., Any]:
        """Link an object, and return its kernel as a function of Python.

        A name that cannot be found would end the process inside LLVM, so all are looked for first.
        """
        for name in entry["needs"]:
            if name not in self._symbols and not self._binding.address_of_symbol(name):
                raise Unfit(f"kernels need {name}, which is not here")
        engine = self._engine
        engine.add_object_file(self._binding.ObjectFileRef.from_data(code))
        engine.finalize_object()
        environment = self._dynamic.Environment({})
        environment.consts.extend(map(np.dtype, entry["constants"]))
        place = engine.get_global_value_address(entry["environment"])
        wrapper = engine.get_function_address(entry["wrapper"])
        if not wrapper or not place:
            raise Unfit(f"an object lacks {entry['name']}", telling=True)
        ctypes.c_void_p.from_address(place).value = id(environment)
        self._kept.append(environment)
        kernel: Callable[..., Any] = self._dynamic.make_function(
            sys.modules[__name__], entry["name"], "", wrapper, environment, (engine,)
        )
        return kernel


def _c_module(name: str, path: Path) -> Any:
    """A module of Numba's that is written in C, without importing Numba; if Numba comes later, it finds it there."""
    if name in sys.modules:
        return sys.modules[name]
    loader = importlib.machinery.ExtensionFileLoader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    loader.exec_module(module)
    return module


_UNPICKLER = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)


def _unpickled(address: int, length: int, digest: int) -> Any:
    """A constant of a kernel: a type that it returns, or an error that it raises."""
    return pickle.loads(ctypes.string_at(address, length))
