"""Compare the speed of two source trees of hulltune: both take turns in one run, each measurement in its own process.

Run: python -m benchmarks.compare --before FOLDER --after FOLDER [--parts NAME,…] [--repetitions N]
A folder is the ``src`` of a checkout. Prints a table and writes benchmarks/results/compare.json. Every value is better
when smaller, so that a ratio above 1 says that the tree after is slower (or larger) than the tree before. Times are CPU
times, unless a row says otherwise. Real data come from ../shared/data beside the checkout and are left out where that
is missing.

Parts: lists, forests, line_search, metrics, certified, reading, plain-readers, memory, start, compile.

``compile`` is the CPU time of a run with an empty folder for compiled kernels, less that of the same run once more: the
run is every recorded command line that needs no other data (tests/results/cases.py), which call all kernels.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path

from benchmarks.harness import table, write_json

ROOT = Path(__file__).resolve().parents[1]
TREES = ("before", "after")
PROCESSES = {
    "lists": 1, "forests": 1, "line_search": 1, "metrics": 1, "certified": 1, "reading": 1, "plain-readers": 1,
    "memory": 5, "start": 1, "compile": 1,
}  # fmt: skip
"""The parts, and how many processes each needs (see PARTS of compare_worker.py)."""
SLOWER = 1.05
"""From this ratio on a row is marked."""
Key = tuple[str, str, str]
"""Part, name and unit of what is measured."""


def environment(source: Path, **more: str) -> dict[str, str]:
    """The environment in which hulltune is the one of a source tree, with one thread for matrix products."""
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "1")
    kernels = {"HULLTUNE_KERNELS": "native"}  # of versions that had kernels for other CPUs, too
    return {**os.environ, **threads, **kernels, "PYTHONPATH": f"{source}{os.pathsep}{ROOT}", **more}


def spent(arguments: Sequence[str], source: Path, folder: Path, **more: str) -> tuple[float, float]:
    """CPU seconds and seconds on the wall of a Python process and all its children."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *arguments], cwd=folder, env=environment(source, **more),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stderr.close()
    if process.returncode != 0:
        sys.exit(f"{source}: python {' '.join(arguments)} failed:\n{said}")
    return usage.ru_utime + usage.ru_stime, time.perf_counter() - began


def worker(
    part: str, number: int, source: Path, folder: Path, **more: str
) -> tuple[float, dict[str, tuple[float, str]]]:
    """The CPU seconds of a worker, and what it measured."""
    answer = folder / "measured.json"
    cpu, _ = spent(["-m", "benchmarks.compare_worker", part, str(number), str(answer)], source, folder, **more)
    return cpu, json.loads(answer.read_text(encoding="utf-8"))


def measured(part: str, source: Path, folder: Path) -> Iterator[tuple[Key, float]]:
    """One value of everything that belongs to a part."""
    if part == "start":
        tiny = str(ROOT / "examples/tiny.jsonl")
        for name, arguments in {
            "tune tiny.jsonl": ["tune", tiny, "--metric", "wer", "--quiet"],
            "--help": ["--help"],
        }.items():
            times = [spent(["-m", "hulltune", *arguments], source, folder) for _ in range(4)]
            for unit, seconds in zip(("CPU ms", "ms on the wall"), map(min, zip(*times, strict=True)), strict=True):
                yield (part, name, unit), seconds * 1e3
    else:
        for number in range(PROCESSES[part]):
            _, found = worker(part, number, source, folder)
            for name, (value, unit) in found.items():
                yield (part, name, unit), value


def compare(parts: Sequence[str], sources: dict[str, Path], repetitions: int) -> dict[Key, dict[str, list[float]]]:
    """All values of both trees, which take turns; the one that begins changes from turn to turn."""
    values: dict[Key, dict[str, list[float]]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print("writing files", flush=True)
        subprocess.run(
            [sys.executable, "-m", "benchmarks.compare_data", str(folder)],
            check=True,
            env=environment(sources["after"]),
        )
        for part in parts:
            turns = 1 if part == "compile" else repetitions
            if part != "compile":
                print(f"{part}: compiling", flush=True)
                for source in dict.fromkeys(sources.values()):
                    for _ in measured(part, source, folder):
                        pass
            for turn in range(turns):
                for tree in TREES if turn % 2 == 0 else TREES[::-1]:
                    print(f"{part}: {tree}, {turn + 1} of {turns}", flush=True)
                    for key, value in measured(part, sources[tree], folder):
                        values.setdefault(key, {}).setdefault(tree, []).append(value)
    return values


def show(values: dict[Key, dict[str, list[float]]]) -> None:
    """A table for each part."""
    for part in dict.fromkeys(key[0] for key in values):
        rows = []
        for (_, name, unit), found in ((key, found) for key, found in values.items() if key[0] == part):
            if set(found) != set(TREES):
                rows.append(
                    [name, unit, *(shown(min(found[tree])) if tree in found else "" for tree in TREES), "", "", ""]
                )
                continue
            best, middle = ({tree: how(found[tree]) for tree in TREES} for how in (min, statistics.median))
            ratio, of_medians = best["after"] / best["before"], middle["after"] / middle["before"]
            mark = "slower" if ratio > SLOWER else ""
            rows.append(
                [name, unit, shown(best["before"]), shown(best["after"]), f"{ratio:.3f}", f"{of_medians:.3f}", mark]
            )
        print(table(part, ["", "unit", "before", "after", "after/before", "of medians", ""], rows), flush=True)


def shown(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    for tree in TREES:
        parser.add_argument(f"--{tree}", type=Path, required=True, help="the folder with the package hulltune in it")
    parser.add_argument("--parts", default=",".join(PROCESSES), help="some of: %(default)s")
    parser.add_argument("--repetitions", type=int, default=5, help="turns of each tree, but one for compile [5]")
    options = parser.parse_args()
    sources = {tree: getattr(options, tree).resolve() for tree in TREES}
    for source in sources.values():
        if not (source / "hulltune" / "__main__.py").exists():
            sys.exit(f"{source}: there is no hulltune/__main__.py in it; expected the folder src of a checkout")
    parts = options.parts.split(",")
    for part in parts:
        if part not in PROCESSES:
            sys.exit(f"--parts: there is no part {part!r}; expected some of {', '.join(PROCESSES)}")
    values = compare(parts, sources, options.repetitions)
    show(values)
    result = {
        "python": platform.python_version(),
        "versions": {name: metadata.version(name) for name in ("numpy", "rapidfuzz")},
        "load of the machine": os.getloadavg(),
        "values": [
            {"part": part, "name": name, "unit": unit, **found} for (part, name, unit), found in values.items()
        ],
    }  # fmt: skip
    print(f"\nwritten: {write_json('compare', result).relative_to(ROOT)}")


if __name__ == "__main__":
    main()
