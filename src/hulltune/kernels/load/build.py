"""The shared library of kernels: Numba compiles them, a C compiler links them, for each level of CPU.

Run: python -m hulltune.kernels.load.build FOLDER [--architecture NAME]

What has been compiled lies in FOLDER/objects, with the checksums of the sources that it was made from: the next build
uses what they still fit.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import shlex
import shutil
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hulltune.kernels.load.library import KERNELS, are_current, checksum

LEVELS = {
    "x86_64": {"v4": "x86-64-v4", "v3": "x86-64-v3", "baseline": "x86-64"},
    "aarch64": {"baseline": "generic"},
}
"""The levels of CPUs of each architecture, and what LLVM calls them."""
HERE = Path(__file__).parent
MAKERS = (HERE / "build.py", HERE / "compile.py", HERE / "kernel.py", KERNELS.parent / "arrays.py")


def build(folder: Path, architecture: str) -> None:
    """Compile what has changed, on all cores, and link a library for each level into ``folder``."""
    began, objects = time.perf_counter(), folder / "objects"
    objects.mkdir(parents=True, exist_ok=True)
    stems = {module: objects / f"{architecture}.{module}" for module in exporting()}
    lacking = [(module, stem, architecture) for module, stem in stems.items() if not _is_current(stem)]
    os.environ["NUMBA_OPT"] = "0"  # what is optimised is the whole, later
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["hulltune.kernels.load.compile"])
    with context.Pool(maxtasksperchild=1) as pool:  # so that a process imports the sources of one module alone
        for done, module in enumerate(pool.imap_unordered(_compile, lacking), start=1):
            print(f"compiled {module}: {done} of {len(lacking)}", file=sys.stderr, flush=True)
    tables = {module: _table(stem) for module, stem in stems.items()}
    kernels = sorted(tuple(kernel) for table in tables.values() for kernel in table["kernels"])
    libraries = [_link(folder, level, list(stems.values()), kernels) for level in LEVELS[architecture]]
    about = {
        "libraries": {path.name: checksum(path) for path in libraries},
        "sources": {module: table["sources"] for module, table in tables.items()},
    }
    (folder / "kernels.json").write_text(json.dumps(about), encoding="utf-8")
    print(f"linked {len(libraries)} libraries, {time.perf_counter() - began:.0f} s in all", file=sys.stderr)


def exporting() -> list[str]:
    """The modules with kernels that Python calls, the longest first, which take the longest."""
    files = [path for path in KERNELS.rglob("*.py") if "\n@kernel\n" in path.read_text(encoding="utf-8")]
    files.sort(key=lambda path: (-path.stat().st_size, path))
    return [".".join(path.relative_to(KERNELS).with_suffix("").parts) for path in files]


def _table(stem: Path) -> dict[str, Any]:
    table: dict[str, Any] = json.loads(Path(f"{stem}.json").read_text(encoding="utf-8"))
    return table


def _makers() -> list[Any]:
    return [version("numba"), *map(checksum, MAKERS)]


def _is_current(stem: Path) -> bool:
    """Whether what was compiled is what would be compiled now."""
    if not Path(f"{stem}.json").exists():
        return False
    table = _table(stem)
    return table["makers"] == _makers() and are_current(table["sources"])


def _compile(task: tuple[str, Path, str]) -> str:
    """Write the objects of a module and then their table, in a process of its own; returns the module."""
    from hulltune.kernels.load.compile import compile_module

    module, stem, architecture = task
    Path(f"{stem}.json").unlink(missing_ok=True)
    kernels = compile_module(module, stem, architecture, LEVELS[architecture])
    used = [Path(str(each.__file__)) for name, each in sys.modules.items() if name.startswith("hulltune.kernels.")]
    sources = {path.relative_to(KERNELS).as_posix(): checksum(path) for path in used if path.parent != HERE}
    table = {"makers": _makers(), "sources": sources, "kernels": kernels}
    Path(f"{stem}.json").write_text(json.dumps(table), encoding="utf-8")
    return module


def _link(folder: Path, level: str, stems: list[Path], kernels: list[Any]) -> Path:
    """Link the objects of a level by the C compiler that CC names, the machine's, or Zig's, which comes from PyPI."""
    lines = [f"int {symbol}(const int64_t *, void *);" for *_, symbol in kernels]
    lines += ["const Kernel hulltune_kernels[] = {"]
    lines += [f'    {{"{name}", "{takes}", "{gives}", {symbol}}},' for name, takes, gives, symbol in kernels]
    lines += ['    {"", "", "", NULL}};', ""]
    library, source = folder / f"kernels-{level}.so", folder / "kernels.c"
    source.write_text("\n".join([(HERE / "runtime.c").read_text(encoding="utf-8"), *lines]), encoding="utf-8")
    usual = ["cc"] if shutil.which("cc") else [sys.executable, "-m", "ziglang", "cc"]
    compiler = shlex.split(os.environ.get("CC", "")) or usual
    flags = ["-shared", "-fPIC", "-fvisibility=hidden", "-O2", "-s", "-lm"]
    draft = library.with_suffix(".part")
    subprocess.run([*compiler, "-o", draft, source, *(f"{stem}.{level}.o" for stem in stems), *flags], check=True)
    os.replace(draft, library)
    source.unlink()
    return library


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--architecture", default=platform.machine(), choices=LEVELS)
    asked = parser.parse_args()
    build(asked.folder, asked.architecture)
