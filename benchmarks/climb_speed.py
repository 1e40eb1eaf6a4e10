"""Line searches a second in the real climb, beside those of another source tree: both take turns.

Run: python benchmarks/climb_speed.py [--before FOLDER] [--turns N] [--sets NAME;…]
A folder is the ``src`` of a checkout. Its default search, and random climbs, tune on fr_en, on de_en, on synthetic
lists (1000 × 100 × 14) and on lists with 100 features (300 × 100 × 100) for BLEU, in one thread; statistics are all
known, so that searching alone is measured. Times are CPU times; the best turn counts. Then come CPU seconds from text
to weights of ``hulltune tune`` with its defaults on the synthetic lists. Writes benchmarks/results/climb_speed.json.
Real data come from ../shared/data beside the checkout and are left out where that is missing.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.compare import environment
from benchmarks.timing import table, write_json

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
SYNTHETIC = {"synthetic": (1000, 100, 14), "wide": (300, 100, 100)}
FILES = {"fr_en": ("nbest.moses.gz", "refs.txt"), "de_en": ("nbest.txt.gz", "refs.txt")}
NAMES = (*FILES, *SYNTHETIC)
RESTARTS = {"fr_en": 40, "de_en": 20, "synthetic": 10, "wide": 10}
RANDOM = "random"
WHOLE = "text to weights"


def problem(name: str) -> Any:
    """The problem of a set, all statistics known."""
    import numpy as np

    import hulltune
    from hulltune.metrics import Bleu
    from hulltune.search.problem import Problem

    if name in SYNTHETIC:
        from benchmarks.lists import synthetic

        found = synthetic(*SYNTHETIC[name], seed=2).problem(Bleu())
    else:
        lists, references = (DATA / name / file for file in FILES[name])
        found = Problem.of(hulltune.read(lists, references), "bleu")
    found.rows(np.arange(found.corpus.edges))
    return found


def measure(name: str) -> dict[str, float]:
    """CPU seconds of a climb in this process, the best of three, and its line searches and loss."""
    from hulltune import defaults
    from hulltune.search.constraints import Constraints
    from hulltune.search.strategy import Setting
    from hulltune.tuning.strategies import get_strategy

    name, _, search = name.partition(", ")
    search = search or getattr(defaults, "DEFAULT_SEARCH", RANDOM)
    setting = Setting.of(problem(name), Constraints(), None)
    climb: Any = get_strategy(search, restarts=RESTARTS[name] if search == RANDOM else RESTARTS[name] // 2)
    seconds = []
    for _ in range(4):  # the first warms the caches
        began = time.process_time()
        found = climb.find(setting, seed=1, threads=1)
        seconds.append(time.process_time() - began)
    return {"seconds": min(seconds[1:]), "lines": found.line_searches, "loss": found.loss}


def spent(arguments: list[str], source: Path, answer: Path | None = None) -> float:
    """CPU seconds of a Python process with a source tree."""
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [sys.executable, *arguments],
            env=environment(source, HULLTUNE_KERNELS="shipped"),
            stdout=subprocess.DEVNULL if answer is None else answer.open("w"),
            stderr=errors,
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            sys.exit(f"{source}: python {' '.join(arguments)} failed:\n{errors.read().decode()}")
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--before", type=Path, help="the folder src of another checkout")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--sets", default=";".join([*NAMES, *(f"{name}, {RANDOM}" for name in NAMES), WHOLE]))
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure)))
        return
    trees = {"after": ROOT / "src"}
    if options.before:
        trees = {"before": options.before.resolve(), **trees}
    missing = [name for name in FILES if not (DATA / name).exists()]
    sets = [name for name in options.sets.split(";") if name.partition(", ")[0] not in missing]
    found: dict[str, dict[str, list[dict[str, float]]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        answer, lists, references = (Path(folder) / name for name in ("answer", "lists.moses", "references"))
        if WHOLE in sets:
            from benchmarks.lists import synthetic

            synthetic(*SYNTHETIC["synthetic"], seed=2).write(lists, references)
        for turn in range(options.turns):
            for name in sets:
                for tree in list(trees) if turn % 2 == 0 else list(trees)[::-1]:
                    if name == WHOLE:
                        command = ["-m", "hulltune", "tune", str(lists), "--ref", str(references), "--threads", "1"]
                        value = {"seconds": spent([*command, "--quiet"], trees[tree])}
                    else:
                        spent([str(Path(__file__).resolve()), "--measure", name], trees[tree], answer)
                        value = json.loads(answer.read_text(encoding="utf-8"))
                    found.setdefault(name, {}).setdefault(tree, []).append(value)
    rows = []
    for name, by_tree in found.items():
        best = {tree: min(each["seconds"] for each in values) for tree, values in by_tree.items()}
        if name == WHOLE:
            rows.append([name, *(f"{best[tree]:.2f} s" for tree in trees)])
        else:
            rates = {tree: by_tree[tree][0]["lines"] / best[tree] for tree in trees}
            rows.append([name, *(f"{rates[tree]:,.0f} lines/s" for tree in trees)])
        if len(trees) > 1:
            ratio = best["before"] / best["after"]
            if name != WHOLE:
                ratio *= by_tree["after"][0]["lines"] / by_tree["before"][0]["lines"]
            rows[-1].append(f"{ratio:.2f}")
    print(table("the climb", ["", *trees, *(["times as fast"] if len(trees) > 1 else [])], rows))
    print(f"\nwritten: {write_json('climb_speed', {'sets': found}).relative_to(ROOT)}")


if __name__ == "__main__":
    main()
