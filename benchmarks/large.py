"""Measure work on large inputs: memory, wall and CPU time of whole commands, each in a process of its own.

Run: make bench-large   (or: python -m benchmarks.large [--quick] [--only sparse lattice bomb])
Writes benchmarks/results/large.json. Inputs are written line by line to a temporary folder, so that the program itself
needs no memory; it takes about 1 GB of disk.
"""

from __future__ import annotations

import gzip
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import RESULTS, finish, options_of, table, verdict

ROOT = Path(__file__).resolve().parents[1]
GB = 1e9
RUN = """
import resource, sys
from hulltune.cli.main import entry_point
sys.argv = ["hulltune", *sys.argv[1:]]
try:
    entry_point()
finally:
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(f"\\nused {used.ru_maxrss} {used.ru_utime + used.ru_stime}", file=sys.stderr)
"""


FROM_PYTHON = """
import resource, sys
import numpy as np
from hulltune import Forest, tune
from hulltune.search.random_climb import Climb

def arcs(count, layers=100):
    rng = np.random.default_rng(3)
    each = max(count // 100 // layers, 1)
    for state in range(each):
        yield "start", state, None, [0.0, 0.0]
        yield (layers - 1) * each + state, "end", None, [0.0, 0.0]
    for first in range(0, count, 1 << 16):
        layer = rng.integers(layers - 1, size=1 << 16)
        sources = layer * each + rng.integers(each, size=1 << 16)
        targets = (layer + 1) * each + rng.integers(each, size=1 << 16)
        values, words = rng.normal(size=(1 << 16, 2)).tolist(), rng.integers(1000, size=1 << 16).tolist()
        columns = zip(sources.tolist(), targets.tolist(), words, values)
        yield from ((source, target, f"w{word}", features) for source, target, word, features in columns)

count = int(sys.argv[1])
forest = Forest.from_lattice(arcs(count), start="start", finals=["end"], feature_names=["x", "y"])
result = tune([forest], [["w1 w2 w3"]], metric="wer", search=Climb(restarts=0, max_rounds=1, directions=4))
print(forest, result.score)
used = resource.getrusage(resource.RUSAGE_SELF)
print(f"used {used.ru_maxrss} {used.ru_utime + used.ru_stime}", file=sys.stderr)
"""


def measured(arguments: list[str], *, limit: float | None = None, program: str = RUN) -> dict[str, Any]:
    """Run a command line of hulltune, perhaps with an address space of ``limit`` bytes; its figures and last lines."""

    def limited() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_AS, (int(limit), int(limit)))

    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=environment, capture_output=True, text=True, check=False, preexec_fn=limited if limit else None,
    )  # fmt: skip
    seconds = time.perf_counter() - began
    notes = done.stderr.strip().splitlines()
    peak, cpu = (notes.pop().split()[1:] if notes and notes[-1].startswith("used ") else ("0", "0"))[:2]
    return {
        "exit": done.returncode,
        "peak_gb": round(int(peak) * 1024 / GB, 3),
        "wall_seconds": round(seconds, 1),
        "cpu_seconds": round(float(cpu), 1),
        "notes": len([line for line in notes if line.strip()]),
        "last_note": next((line for line in reversed(notes) if line.strip()), ""),
        "answer": done.stdout.strip().splitlines()[:12],
    }


# Inputs.


def write_sparse_lists(path: Path, *, hypotheses: int, features: int, active: int, size: int = 100) -> Path:
    """Lists of ``size`` hypotheses with ``active`` of the features each; a list has ten times as many in all."""
    rng = np.random.default_rng(1)
    words = [f"w{k}" for k in range(500)]
    values = [f"={value:.3f}" for value in rng.normal(size=1024)]
    references = path.with_suffix(".ref")
    with open(path, "w", encoding="utf-8") as lists, open(references, "w", encoding="utf-8") as texts:
        for sentence in range(hypotheses // size):
            reference = rng.integers(500, size=10)
            texts.write(" ".join(words[k] for k in reference) + "\n")
            own = rng.choice(features, size=10 * active, replace=False)
            starts, draws = rng.integers(9 * active, size=size), rng.integers(1024, size=(size, active))
            errors = np.where(rng.random((size, 10)) < 0.2, rng.integers(500, size=(size, 10)), reference)
            for place in range(size):
                columns = own[starts[place] : starts[place] + active].tolist()
                pairs = " ".join(f"f{k}{values[v]}" for k, v in zip(columns, draws[place].tolist(), strict=True))
                text = " ".join(words[k] for k in errors[place].tolist())
                lists.write(f"{sentence} ||| {text} ||| {pairs} ||| {-place}\n")
    return references


def write_lattice(path: Path, *, arcs: int, layers: int = 100) -> Path:
    """One lattice in the format of HTK: a hundredth as many states as arcs, in layers, with arcs to the next two."""
    rng = np.random.default_rng(2)
    references = path.with_suffix(".ref")
    words = [f"w{k}" for k in range(1000)]
    references.write_text(" ".join(words[k] for k in rng.integers(1000, size=layers)) + "\n", encoding="utf-8")
    each = max(arcs // 100 // layers, 1)
    states = each * layers
    with open(path, "w", encoding="utf-8") as lattice:
        lattice.write(f"VERSION=1.0\nN={states + 2} L={arcs + 2 * each}\n")
        for state in range(states + 2):
            lattice.write(f"I={state} t={(state + each - 1) // each / 100:.2f}\n")
        for k in range(each):  # state 0 is the start, and the last state the end
            lattice.write(f"J={k} S=0 E={1 + k} W=!NULL a=0 l=0\n")
            lattice.write(f"J={each + k} S={states - k} E={states + 1} W=!NULL a=0 l=0\n")
        for first in range(0, arcs, 100_000):
            count = min(100_000, arcs - first)
            layer = rng.integers(layers - 1, size=count)
            begin = layer * each + rng.integers(each, size=count)
            end = np.minimum(layer + rng.integers(1, 3, size=count), layers - 1) * each + rng.integers(each, size=count)
            scores, labels = rng.normal(size=(count, 2)) * [50.0, 2.0], rng.integers(1000, size=count)
            columns = zip(begin.tolist(), end.tolist(), labels.tolist(), scores.tolist(), strict=True)
            for k, (start, stop, label, (a, b)) in enumerate(columns, start=2 * each + first):
                lattice.write(f"J={k} S={start + 1} E={stop + 1} W={words[label]} a={a:.2f} l={b:.3f}\n")
    return references


def write_bomb(path: Path, *, size: int) -> None:
    """A small compressed file of very many equal hypotheses."""
    line = b"0 ||| a b c ||| x=1.0 y=2.0 ||| 0.5\n"
    block = line * (1 << 15)
    with gzip.open(path, "wb", compresslevel=9) as file:
        for _ in range(size // len(block)):
            file.write(block)


# Parts.


def sparse(folder: Path, quick: bool) -> list[dict[str, Any]]:
    """Tune many hypotheses with a few of very many features each."""
    hypotheses, features = (20_000, 20_000) if quick else (1_000_000, 100_000)
    path = folder / "lists.moses"
    references = write_sparse_lists(path, hypotheses=hypotheses, features=features, active=20)
    what = f"{hypotheses:,} hypotheses, 20 active of {features:,} features"
    found = []
    for name, options in {"restarts 0": ["--restarts", "0"], "restarts 4": ["--restarts", "4"]}.items():
        arguments = ["tune", str(path), "--ref", str(references), "--out", str(folder / "weights.json"), *options]
        found.append({"what": f"tune {what}, {name}", "target_gb": 8.0, **measured(arguments)})
    return found


def lattice(folder: Path, quick: bool) -> list[dict[str, Any]]:
    """Tune one lattice of very many arcs."""
    arcs = 50_000 if quick else 5_000_000
    path = folder / "lattice.slf"
    references = write_lattice(path, arcs=arcs)
    found = []
    for command in (["info", str(path)], ["tune", str(path), "--ref", str(references), "--metric", "wer"]):
        arguments = [*command, "--restarts", "0", "--out", str(folder / "weights.json")][
            : None if command[0] == "tune" else 2
        ]
        figures = measured(arguments)
        figures["bytes_per_arc"] = round(figures["peak_gb"] * GB / arcs)
        found.append({"what": f"{command[0]} a lattice of {arcs:,} arcs", "target_gb": 4.0, **figures})
    figures = measured([str(arcs)], program=FROM_PYTHON)
    figures["bytes_per_arc"] = round(figures["peak_gb"] * GB / arcs)
    found.append({"what": f"Forest.from_lattice of {arcs:,} arcs, and tune", "target_gb": 4.0, **figures})
    return found


def bomb(folder: Path, quick: bool) -> list[dict[str, Any]]:
    """Read a compressed file that unpacks to far more than may be used."""
    size = (300 << 20) if quick else (3 << 30)
    path = folder / "bomb.gz"
    write_bomb(path, size=size)
    packed = path.stat().st_size
    found = []
    for limit in (1.5e9,) if quick else (2e9, 4e9):
        what = f"info {packed / 1e6:.1f} MB packed, {size / GB:.1f} GB unpacked, address space {limit / GB:g} GB"
        found.append({"what": what, "target_gb": limit / GB, **measured(["info", str(path)], limit=limit)})
    return found


PARTS: dict[str, Callable[[Path, bool], list[dict[str, Any]]]] = {"sparse": sparse, "lattice": lattice, "bomb": bomb}


def main() -> int:
    """Run the parts and write their figures."""
    parser = options_of(__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller inputs, nothing is written")
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS))
    arguments = parser.parse_args()
    results: dict[str, Any] = {}
    for name in arguments.only:
        with tempfile.TemporaryDirectory(prefix="hulltune-large-") as folder:
            found = PARTS[name](Path(folder), arguments.quick)
            results[name] = json.loads(json.dumps(found).replace(f"{folder}/", ""))
        rows = [
            (
                each["what"], f"{each['peak_gb']:.2f}", f"{each['wall_seconds']:.0f}", f"{each['cpu_seconds']:.0f}",
                str(each["exit"]), verdict(each["peak_gb"], each["target_gb"]),
            )
            for each in results[name]
        ]  # fmt: skip
        print(table(name, ("", "peak GB", "wall s", "CPU s", "exit", "memory"), rows), flush=True)
        for each in results[name]:
            print(f"  {each['last_note']}")
    if arguments.quick:
        return finish(arguments)
    before = RESULTS / "large.json"
    known = json.loads(before.read_text(encoding="utf-8")) if before.exists() else {}
    return finish(arguments, "large", {**known, **results})


if __name__ == "__main__":
    sys.exit(main())
