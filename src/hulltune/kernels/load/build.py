"""The shared library of kernels: Numba compiles them, a C compiler links them, for each level of CPU.

Run: python -m hulltune.kernels.load.build FOLDER [--architecture NAME]

Kernels are lowered once, without optimising, and then optimised and emitted for every level; the passes are Numba's.
What lies in FOLDER/objects is used again for modules whose sources have not changed.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import importlib
import itertools
import json
import multiprocessing
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import time
import zlib
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from pathlib import Path
from typing import Any

KERNELS = Path(__file__).parents[1]
LEVELS = {
    "x86_64": {"baseline": "x86-64", "v3": "x86-64-v3", "v4": "x86-64-v4"},
    "aarch64": {"baseline": "generic"},
}
"""The levels of each architecture, and what LLVM calls them."""
Row = tuple[str, str, str, str]
"""A kernel: its name, what it takes and gives (see entries.py), and the symbol of its entry."""


def build(folder: Path, architecture: str) -> None:
    """Compile what has changed, on all cores, and link a library for each level into ``folder``."""
    began, objects = time.perf_counter(), folder / "objects"
    objects.mkdir(parents=True, exist_ok=True)
    stems = {module: objects / f"{module}.{architecture}.{_digest(module)}" for module in exporting()}
    lacking = [module for module, stem in stems.items() if not Path(f"{stem}.json").exists()]
    os.environ["NUMBA_OPT"] = "0"  # what is optimised is the whole, later
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn"), initializer=_prepare) as pool:
        compiling = {pool.submit(_compile, module, stems[module], architecture): module for module in lacking}
        for done, future in enumerate(as_completed(compiling), start=1):
            future.result()
            print(f"compiled {compiling[future]}: {done} of {len(lacking)}", file=sys.stderr, flush=True)
    libraries = [_link(list(stems.values()), level, folder / f"kernels-{level}.so") for level in LEVELS[architecture]]
    paths = {module: [f"{each.replace('.', '/')}.py" for each in sorted(sources(module))] for module in stems}
    about = {
        "libraries": {path.name: zlib.crc32(path.read_bytes()) for path in libraries},
        "sources": paths,
        "files": {each: zlib.crc32((KERNELS / each).read_bytes()) for each in {*itertools.chain(*paths.values())}},
    }
    (folder / "kernels.json").write_text(json.dumps(about), encoding="utf-8")
    for old in {*objects.iterdir()} - {path for stem in stems.values() for path in objects.glob(f"{stem.name}.*")}:
        old.unlink()
    print(f"linked {len(libraries)} libraries, {time.perf_counter() - began:.0f} s in all", file=sys.stderr)


def exporting() -> list[str]:
    """The modules with kernels that Python calls, those that take longest first."""
    files = [path for path in KERNELS.rglob("*.py") if "\n@kernel\n" in path.read_text(encoding="utf-8")]
    names = [".".join(path.relative_to(KERNELS).with_suffix("").parts) for path in files]
    return sorted(names, key=lambda module: (-len(sources(module)), module))


@cache
def sources(module: str) -> frozenset[str]:
    """A module of this room and all those of the room that it imports, directly or not; not those that load kernels."""
    reached, waiting = set[str](), {module}
    while waiting:
        reached |= waiting
        waiting = set().union(*map(_imported, waiting)) - reached
    return frozenset(reached)


@cache
def _imported(module: str) -> set[str]:
    text = (KERNELS / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")
    found = set(re.findall(r"^ *from hulltune\.kernels\.([\w.]+) import", text, re.MULTILINE))
    for package, names in re.findall(r"^ *from hulltune\.kernels\.(\w+) import (.*)", text, re.MULTILINE):
        found |= {f"{package}.{name}" for name in re.findall(r"\w+", names)}
    if "operation(" in text:
        found.add("simd.operations")
    return {each for each in found if (KERNELS / f"{each.replace('.', '/')}.py").is_file() and each[:5] != "load."}


def _digest(module: str) -> str:
    """A hash of all that the machine code of a module depends on."""
    files = [KERNELS / f"{each.replace('.', '/')}.py" for each in sorted(sources(module))]
    files += [KERNELS / "load" / name for name in ("kernel.py", "entries.py", "build.py")]
    files.append(KERNELS.parent / "arrays.py")
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


def _prepare() -> None:
    """Keep Numba from making machine code that runs here: the library's is made of whole kernels."""
    from numba import _dynfunc
    from numba.core.codegen import JITCodeLibrary
    from numba.core.registry import cpu_target

    from hulltune.kernels.load.kernel import OPTIONS

    OPTIONS.update(no_cpython_wrapper=True, no_cfunc_wrapper=True)
    nothing = ctypes.cast(_UNUSED, ctypes.c_void_p).value
    cpu_target.target_context.get_executable = lambda library, fndesc, env: _dynfunc.make_function(
        fndesc.lookup_module(), fndesc.qualname, "", nothing, env, None
    )
    JITCodeLibrary._finalize_specific = lambda library: None


_UNUSED = ctypes.CFUNCTYPE(None)(lambda: None)


def _compile(module: str, stem: Path, architecture: str) -> None:
    """Write the objects of a module's kernels, one for each level of an architecture, and then their table."""
    from llvmlite import binding

    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    bitcode, rows = _lowered(module)
    for level, cpu in LEVELS[architecture].items():
        target = binding.Target.from_triple(f"{architecture}-unknown-linux-gnu")
        machine = target.create_target_machine(cpu=cpu, opt=3, reloc="pic", codemodel="default")
        code = binding.parse_bitcode(bitcode)
        code.triple, code.data_layout = machine.triple, str(machine.target_data)
        _optimise(code, machine)
        Path(f"{stem}.{level}.o").write_bytes(machine.emit_object(code))
    Path(f"{stem}.json").write_text(json.dumps(rows), encoding="utf-8")


def _lowered(module: str) -> tuple[bytes, list[Row]]:
    """The bitcode of the entries of a module's kernels and all that they call, not optimised; and the table of them."""
    from llvmlite import binding
    from numba.core.compiler_lock import global_compiler_lock

    from hulltune.kernels.load.entries import entries
    from hulltune.kernels.load.kernel import Kernel

    whole, rows = binding.parse_assembly(""), []
    for kernel in vars(importlib.import_module(f"hulltune.kernels.{module}")).values():
        if not isinstance(kernel, Kernel) or kernel.module != module:
            continue
        for variant, (made, takes, gives) in enumerate(entries(kernel)):
            symbol = f"{kernel.module.replace('.', '_')}_{kernel.py_func.__name__}_{variant}"
            rows.append((f"{kernel.module}.{kernel.py_func.__name__}", takes, gives, symbol))
            (overload,) = made.overloads.values()
            with global_compiler_lock:
                overload.library._ensure_finalized()  # links the parts that the kernel calls
            code = binding.parse_assembly(overload.library.get_llvm_str())
            for each in itertools.chain(code.functions, code.global_variables):
                if each.name == overload.fndesc.llvm_func_name:
                    each.name, each.visibility = symbol, "hidden"
                elif not each.is_declaration:  # Numba's names are unique in a process only
                    each.linkage = "internal"
            whole.link_in(code)
    return whole.as_bitcode(), rows


def _optimise(code: Any, machine: Any) -> None:
    """Run Numba's passes: cheap ones that inline, so that pairs of counting up and down go, and then all."""
    from llvmlite import binding

    for speed in (0, 3):
        options = binding.create_pipeline_tuning_options(speed_level=speed)
        options.loop_vectorization, options.slp_vectorization = speed > 0, False
        builder = binding.create_pass_builder(machine, options)
        passes = builder.getModulePassManager()
        if speed == 0:
            passes.add_loop_rotate_pass()
            passes.add_instruction_combine_pass()
            passes.add_jump_threading_pass()
        passes.add_refprune_pass()
        passes.run(code, builder)


def _link(stems: list[Path], level: str, library: Path) -> Path:
    """Link the objects of a level by the C compiler that CC names, the machine's, or Zig's, which comes from PyPI."""
    rows = sorted(tuple(row) for stem in stems for row in json.loads(Path(f"{stem}.json").read_text(encoding="utf-8")))
    lines = [f"int {symbol}(int64_t *, void **, const int64_t *, int64_t *);" for *_, symbol in rows]
    lines += ["const Kernel hulltune_kernels[] = {"]
    lines += [f'    {{"{name}", "{takes}", "{gives}", {symbol}}},' for name, takes, gives, symbol in rows]
    lines += ["};", f"const int hulltune_kernel_count = {len(rows)};", ""]
    source, draft = library.with_suffix(".c"), library.with_suffix(".part")
    source.write_text("\n".join([Path(__file__).with_name("runtime.c").read_text(encoding="utf-8"), *lines]))
    usual = ["cc"] if shutil.which("cc") else [sys.executable, "-m", "ziglang", "cc"]
    compiler = shlex.split(os.environ.get("CC", "")) or usual
    flags = ["-shared", "-fPIC", "-fvisibility=hidden", "-O2", "-s"]
    objects = [f"{stem}.{level}.o" for stem in stems]
    subprocess.run([*compiler, *flags, "-o", str(draft), str(source), *objects, "-lm"], check=True)
    os.replace(draft, library)
    source.unlink()
    return library


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--architecture", default=platform.machine(), choices=LEVELS)
    asked = parser.parse_args()
    build(asked.folder, asked.architecture)
