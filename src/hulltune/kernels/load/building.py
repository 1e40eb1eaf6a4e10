"""Making a library of compiled kernels: for the package when it is built, or for this CPU.

Run: python -m hulltune.kernels.load.building [FOLDER] [--native]

A library holds the calls of calls.txt, which ``python -m tests.results.record --calls`` writes.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import multiprocessing
import os
import platform
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from hulltune.compiling import Listener, listeners
from hulltune.errors import InputError
from hulltune.kernels.load.calls import examples
from hulltune.kernels.load.jit import Kernel, kernels, sources
from hulltune.kernels.load.library import (
    ENDING,
    HERE,
    PACKAGE,
    PYTHON,
    Library,
    Unfit,
    host_cpu,
    host_features,
    own_folders,
    runtime_digest,
    source_digest,
    write_library,
)
from hulltune.kernels.load.trust import is_trusted

CALLS = Path(__file__).with_name("calls.txt")
"""The calls of kernels that commands make, one a line."""
BASELINE = {"x86_64": "x86-64-v3", "AMD64": "x86-64-v3"}
"""The CPU that the package is built for, by the name of the architecture; the least one elsewhere."""
FEATURES = {
    "x86-64-v3": ["avx", "avx2", "bmi", "bmi2", "cx16", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sse4.2", "ssse3"]
}
"""The features that a baseline has, in LLVM's names."""

Tell = Callable[[str, int, int], None]


class Compiled(NamedTuple):
    """The machine code of one call of a kernel."""

    call: str
    entry: dict[str, Any]
    code: bytes


def wanted() -> list[str]:
    """The calls that a library holds."""
    return CALLS.read_text(encoding="utf-8").split("\n")[:-1]


def build(
    folder: Path,
    *,
    native: bool,
    tell: Tell = lambda call, done, of: None,
    calls: Sequence[str] = (),
    cpu: str | None = None,
) -> tuple[Path, int]:
    """Compile calls on all cores, and write them as a library into ``folder``: its path, and the number of calls.

    ``native`` kernels are for the CPU of this machine, others for the baseline of its architecture; or for another
    ``cpu`` that LLVM knows, one of FEATURES or without any. ``tell`` is called with each call that is done, the number
    of those done, and the number of all. Without ``calls`` it is those of calls.txt. What a library in the folder has
    up to date is taken from there. A library that cannot be loaded is an error, and is not left behind.
    """
    own = native and cpu is None
    cpu = cpu or (host_cpu() if native else BASELINE.get(platform.machine(), "generic"))
    features = sorted(host_features()) if own else FEATURES.get(cpu, [])
    path = folder / f"{PYTHON}.{'native-' if native else ''}{cpu}{ENDING}"
    calls = list(calls) or wanted()
    done = _up_to_date(path, calls)
    kept = {each.call for each in done}
    lacking = sorted(set(calls) - kept, key=_weight, reverse=True)
    for each in _compiled_by_many(lacking, None if own else cpu):
        done.append(each)
        tell(each.call, len(done), len(calls))
    if lacking or len(kept) < _size(path):
        header, objects = _joined(sorted(done), native=native, cpu=cpu, features=features)
        with tempfile.TemporaryDirectory(prefix="hulltune-") as trial:
            write_library(Path(trial) / path.name, header, objects)
            if host_features() >= set(features):
                # In a process of its own: machine code that does not fit here can end the process.
                command = [sys.executable, "-m", __spec__.name, "--verify", str(Path(trial) / path.name)]
                subprocess.run(command, check=True, env=_environment())
        write_library(path, header, objects)
    return path, len(done)


def writable_folder() -> Path:
    """The first folder for libraries that this user can write: the package's, Numba's, or the user's own."""
    tried = [PACKAGE, *own_folders()]
    for folder in tried:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=folder) as file:
                if is_trusted(Path(file.name)):
                    return folder
        except OSError:
            continue
    places = ", ".join(map(str, tried))
    raise InputError(
        f"compiled kernels can be kept in none of {places}: you cannot write there, or others can; "
        "set NUMBA_CACHE_DIR to a folder of your own"
    )


def _up_to_date(path: Path, calls: list[str]) -> list[Compiled]:
    """The calls of a library that were made from the sources of today."""
    try:
        library = Library(path)
        found = [Compiled(call, *parts) for call in calls if (parts := library.parts(call)) is not None]
    except (Unfit, OSError):
        return []
    return found


def _size(path: Path) -> int:
    """The number of calls in a library."""
    return len(Library(path).header["kernels"]) if path.exists() else 0


def _compiled_by_many(calls: list[str], cpu: str | None) -> Iterator[Compiled]:
    """Compile calls in as many processes as there are cores; each call as it is done."""
    if not calls:
        return
    with _set_for_numba(cpu):
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(min(_cores(), len(calls)), context, initializer=_begin) as pool:
            try:
                for future in as_completed([pool.submit(_compiled_if_possible, call) for call in calls]):
                    if (found := future.result()) is not None:
                        yield found
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise


def _joined(
    found: list[Compiled], *, native: bool, cpu: str, features: list[str]
) -> tuple[dict[str, Any], list[bytes]]:
    """The header of a library, and its objects."""
    import numba

    entries, place = {}, 0
    for call, entry, code in found:
        entries[call] = {**entry, "begin": place, "length": len(code), "crc": zlib.crc32(code)}
        place += len(code)
    modules = sorted({module for entry in entries.values() for module in entry["sources"]})
    header = {
        "python": PYTHON,
        "numba": numba.__version__,
        "runtime": runtime_digest(),
        "native": native,
        "cpu": cpu,
        "features": features,
        "sources": {module: source_digest(module) for module in modules},
        "kernels": entries,
    }
    return header, [code for _, _, code in found]


@contextmanager
def _set_for_numba(cpu: str | None) -> Iterator[None]:
    """Have the processes that begin here compile for ``cpu``, or for their own."""
    before = dict(os.environ)
    for name in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_DISABLE_JIT"):
        os.environ.pop(name, None)
    if cpu is not None:
        os.environ |= {"NUMBA_CPU_NAME": cpu, "NUMBA_CPU_FEATURES": ""}
    os.environ["PYTHONPATH"] = _environment()["PYTHONPATH"]
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _environment() -> dict[str, str]:
    """The environment of a process that finds this package."""
    places = [str(HERE.parents[1]), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places))}


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _weight(call: str) -> tuple[int, str]:
    """What long compilations have more of: files that the kernel takes part in; those of a file come together."""
    module = call.partition("(")[0].rpartition(".")[0]
    return len(sources(module)), call


def _begin() -> None:
    """Make this process one that compiles for a library: kernels that others call need no way in from Python."""
    listeners.append(Listener())
    import numba
    from numba import _dynfunc
    from numba.core.codegen import JITCodeLibrary
    from numba.core.registry import cpu_target

    from hulltune.kernels.load import compiler as _compiler

    def dispatcher(kernel: Kernel) -> Any:
        return numba.njit(kernel.py_func, no_cpython_wrapper=True, no_cfunc_wrapper=True, **kernel.options)

    _compiler.dispatcher = dispatcher
    # Nothing runs here, so machine code is made of whole kernels only, and not of each of their parts as well.
    nothing = ctypes.cast(_UNUSED, ctypes.c_void_p).value
    cpu_target.target_context.get_executable = lambda library, fndesc, env: _dynfunc.make_function(
        fndesc.lookup_module(), fndesc.qualname, "", nothing, env, None
    )
    JITCodeLibrary._finalize_specific = lambda library: None


_UNUSED = ctypes.CFUNCTYPE(None)(lambda: None)


def compiled(call: str) -> Compiled:
    """The machine code of a call, compiled in this process (see ``_begin``)."""
    import numba
    from numba.core.compiler_lock import global_compiler_lock

    whole, _, arguments = call.partition("(")
    module, _, name = whole.rpartition(".")
    importlib.import_module(f"hulltune.kernels.{module}")
    kernel = kernels[whole]
    types = tuple(map(numba.typeof, examples(arguments[:-1])))
    entry = numba.njit(kernel.py_func, no_cfunc_wrapper=True, **kernel.options)
    entry.compile(types)
    result = entry.overloads[types]
    with global_compiler_lock:
        result.library._ensure_finalized()  # links the kernels that this one calls, and optimises the whole
    final = result.library._final_module
    described, environment = result.fndesc, result.environment
    symbols = [*final.functions, *final.global_variables]
    for symbol in symbols:  # Numba's names are unique in a process only: nothing else of one object is seen by others
        if not symbol.is_declaration and symbol.name not in (described.llvm_cpython_wrapper_name, environment.env_name):
            symbol.linkage = "internal"
    declared = [symbol.name for symbol in symbols if symbol.is_declaration]
    found = {
        "name": name,
        "wrapper": described.llvm_cpython_wrapper_name,
        "environment": environment.env_name,
        "constants": [constant.str for constant in environment.consts],
        "needs": sorted(name for name in declared if not name.startswith("llvm.")),
        "sources": sources(module),
    }
    return Compiled(call, found, result.library._codegen._tm.emit_object(final))


def _compiled_if_possible(call: str) -> Compiled | None:
    """The machine code of a call; None if the call is one of yesterday's, which kernels no longer take."""
    try:
        return compiled(call)
    except Exception as error:
        print(f"{call} cannot be compiled: {type(error).__name__}", file=sys.stderr)
        return None


def verify(path: Path) -> None:
    """Load every kernel of a library, or raise ``Unfit``."""
    library = Library(path)
    for call in library.header["kernels"]:
        name, _, arguments = call.partition("(")
        if library.kernel(name, arguments[:-1]) is None:
            sys.exit(f"{path}: {call} cannot be loaded")


def main(arguments: Sequence[str] | None = None) -> None:
    """Build a library, or verify one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path, nargs="?", help="by default the first one that can be written")
    parser.add_argument("--native", action="store_true", help="for the CPU of this machine")
    parser.add_argument("--verify", action="store_true", help="the argument is a library: load all of it")
    options = parser.parse_args(arguments)
    if options.verify:
        verify(options.folder)
    else:
        try:
            print(build(options.folder or writable_folder(), native=options.native)[0])
        except InputError as error:
            sys.exit(str(error))


if __name__ == "__main__":
    main()
