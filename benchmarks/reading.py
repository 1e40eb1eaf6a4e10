"""Time the reading of candidate lists: Moses lists in three styles beside a plain Python parser, memory, packed files.

Run: python -m benchmarks.reading
Writes benchmarks/results/reading.json. Contenders take turns in one process; the best time of several turns counts.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import finish, interleaved, options_of, table, verdict
from hulltune import Dataset, read
from hulltune.data.lists import lists_of_texts
from hulltune.formats import open_packed, pack

HYPOTHESES, LIST, FEATURES = 200_000, 100, 14
SHARE = 10  # the plain parser reads this part of the lines, so that the turns do not take minutes
TARGET = 400_000
TURNS = 12  # on a shared machine, a quiet moment takes many turns
# The peak is VmHWM, reset just before. ru_maxrss is wrong here: a child process starts with the peak of its parent.
PEAK_MEMORY = """
import re, sys; sys.path.insert(0, {root!r})
from pathlib import Path
from benchmarks.reading import array_bytes, read
def status(name): return 1024 * int(re.search(name + r":\\s+([0-9]+)", Path("/proc/self/status").read_text())[1])
read({small!r})  # kernels are loaded
Path("/proc/self/clear_refs").write_text("5"); before = status("VmRSS")
assert status("VmHWM") < before + 2**20
lists = read({large!r}); print((status("VmHWM") - before) / array_bytes(lists))
"""


def moses_style(rng: np.random.Generator) -> str:
    """Six names with 14 values, as Moses writes them."""
    v = rng.normal(-5, 3, FEATURES)
    return (
        f"LexicalReordering0= {v[0]:.5f} {v[1]:.5f} {v[2]:.5f} {v[3]:.5f} {v[4]:.5f} {v[5]:.5f} "
        f"Distortion0= {v[6]:.5g} LM0= {v[7]:.4f} WordPenalty0= {v[8]:.0f} PhrasePenalty0= {v[9]:.0f} "
        f"TranslationModel0= {v[10]:.5f} {v[11]:.5f} {v[12]:.5f} {v[13]:.5f}"
    )


def sparse_style(rng: np.random.Generator) -> str:
    """14 names, each left out by every fifth hypothesis, so that hardly a line has the names of the one before."""
    values, kept = rng.normal(0, 1, FEATURES), rng.random(FEATURES) > 0.2
    return " ".join(f"f{k}={value:.6g}" for k, value in enumerate(values) if kept[k])


def full_precision(rng: np.random.Generator) -> str:
    """14 names and all the digits that a double has."""
    return " ".join(f"f{k}= {value!r}" for k, value in enumerate(rng.normal(0, 1, FEATURES).tolist()))


STYLES = {"name= v v v": moses_style, "name=v, a fifth left out": sparse_style, "17 digits": full_precision}


def generate(path: Path, style: str, count: int = HYPOTHESES) -> None:
    rng = np.random.default_rng(5)
    vocabulary = [f"word{k}" for k in range(1000)]
    with path.open("w", encoding="utf-8") as file:
        for row in range(count):
            text = " ".join(vocabulary[k] for k in rng.integers(0, 1000, 20).tolist())
            file.write(f"{row // LIST} ||| {text} ||| {STYLES[style](rng)} ||| {rng.normal():.4f}\n")


def plain_parser(path: Path) -> dict[int, list[tuple[str, dict[str, float], float]]]:
    """A parser as one writes it in an afternoon: no checks, a dict per hypothesis."""
    lists: dict[int, list[tuple[str, dict[str, float], float]]] = {}
    with path.open(encoding="utf-8") as file:
        for line in file:
            number, text, features, score = line.split(" ||| ")
            values: dict[str, float] = {}
            name, k = "", 0
            for token in features.split():
                if token.endswith("="):
                    name, k = token[:-1], 0
                elif "=" in token:
                    key, value = token.split("=")
                    values[key] = float(value)
                else:
                    values[f"{name}_{k}"] = float(token)
                    k += 1
            lists.setdefault(int(number), []).append((text, values, float(score)))
    return lists


def array_bytes(lists: Dataset) -> int:
    """The bytes that a reader has to keep, without the arrays that are equal for all lists."""
    corpus, (text, offsets) = lists.corpus, lists.corpus.vocabulary.as_packed()
    arrays = (corpus.edge_offsets, corpus.features.values, text, offsets, lists.scores, lists.copies)
    return sum(values.nbytes for values in arrays if values is not None) + corpus.edge_ids.nbytes // 2


def speed(folder: Path) -> dict[str, Any]:
    rows: list[list[str]] = []
    result: dict[str, Any] = {}
    for style in STYLES:
        large, part = folder / "large", folder / "part"
        generate(large, style)
        generate(part, style, HYPOTHESES // SHARE)
        best = interleaved({"hulltune": partial(read, large), "plain": partial(plain_parser, part)}, least=TURNS)
        cpu = min(cpu_seconds(partial(read, large)) for _ in range(TURNS))
        ours, plain = HYPOTHESES / best["hulltune"], HYPOTHESES / SHARE / best["plain"]
        megabytes = large.stat().st_size / best["hulltune"] / 1e6
        cells = [f"{ours:,.0f}", f"{plain:,.0f}", f"{ours / plain:.0f}×", f"{megabytes:.0f}"]
        per_cpu = HYPOTHESES / cpu
        rows.append([style, *cells, verdict(ours, TARGET, at_least=True), f"{per_cpu:,.0f}"])
        result[style] = {"hypotheses/s": ours, "per CPU second": per_cpu, "plain Python": plain, "MB/s": megabytes}
    result["load"] = os.getloadavg()[0]
    header = ["", "hypotheses/s", "plain Python", "ratio", "MB/s", "target", "per CPU second"]
    print(table(f"Moses lists of {HYPOTHESES:,} hypotheses with {FEATURES} features, one core", header, rows))
    print(f"  load of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs")
    return result


def cpu_seconds(call: Callable[[], object]) -> float:
    before = time.process_time()
    call()
    return time.process_time() - before


def memory(folder: Path) -> dict[str, float]:
    if not Path("/proc/self/clear_refs").exists():
        print("\nPeak memory: not measured, as this system cannot set back the peak of a process")
        return {}
    rows, result = [], {}
    for style in STYLES:
        generate(folder / "large", style)
        generate(folder / "small", style, 1000)
        root = str(Path(__file__).resolve().parents[1])
        code = PEAK_MEMORY.format(root=root, small=str(folder / "small"), large=str(folder / "large"))
        output = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
        result[style] = float(output)
        rows.append([style, f"{result[style]:.2f}", verdict(result[style], 2)])
    print(table("Peak memory of reading, as a multiple of the packed arrays", ["", "ratio", "target"], rows))
    return result


def packed(folder: Path) -> dict[str, float]:
    """Time packed files of a million hypotheses: the lists five times, as five times as many sentences."""
    generate(folder / "large", "name= v v v")
    one = read(folder / "large")
    times = 5
    offsets = np.arange(times * len(one) + 1, dtype=np.int64) * LIST
    assert one.scores is not None
    lists = lists_of_texts(
        range(times * len(one)),
        offsets,
        one.texts(np.arange(one.corpus.edges)) * times,
        np.tile(one.corpus.features.matrix(), (times, 1)),
        one.feature_names,
        scores=np.tile(one.scores, times),
    )
    pack(lists, folder / "packed")
    best = interleaved({"open": partial(open_packed, folder / "packed")})["open"]
    rows = [[f"open {lists.corpus.edges:,} hypotheses", f"{best:.4f}", verdict(best, 0.2)]]
    print(table("Packed file, its pages in the cache of the system", ["", "seconds", "target"], rows))
    return {"seconds to open a million hypotheses": best}


def main() -> int:
    options = options_of(__doc__).parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        result = {"speed": speed(folder), "memory": memory(folder), "packed": packed(folder)}
    return finish(options, "reading", result)


if __name__ == "__main__":
    sys.exit(main())
