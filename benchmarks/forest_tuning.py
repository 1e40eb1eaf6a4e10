"""Time whole line searches over forests: edge scores, envelopes, outputs, statistics (BLEU or WER) and the sweep.

Run: make bench   (or: python -m benchmarks.forest_tuning)
Writes benchmarks/results/forest_tuning.json. Real lattices and forests come from ../shared/data beside the checkout and
are left out where that is missing; synthetic ones are those of shapes.py with words on their edges. Times are CPU times
of the thread, the best of several searches; "first" is a search in which every output is new, "later" one in which
most are known. Peers: see peers.py.
"""

from __future__ import annotations

import math
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import shapes
from benchmarks.harness import finish, options_of, table, verdict
from benchmarks.peers import FORESTS, MEASURED_APART
from hulltune import Dataset, Forest, Vocabulary, read
from hulltune.search import shards
from hulltune.search.directions import feature_units, random_directions
from hulltune.search.problem import Problem
from hulltune.tuning.inputs import as_dataset

DATA = Path(__file__).resolve().parents[2] / "shared/data"
DIRECTIONS = 16
TURNS = 5
PARTS = ("scores", "envelopes", "outputs", "statistics", "sweep")
TARGETS = {"ru_en lattices": 60.0, "CKY, 10k": 400.0, "lattice, 10k": 250.0}
Floats = NDArray[np.float64]


def with_words(forest: Forest, rng: np.random.Generator, words: int = 500) -> Forest:
    """The forest with a word added to the output of each edge, after its tails."""
    vocabulary = Vocabulary(f"w{i}" for i in range(words))
    slots = np.diff(forest.label_offsets)
    offsets = np.concatenate([[0], np.cumsum(slots + 1)])
    labels = np.empty(int(offsets[-1]), dtype=np.int32)
    ends = offsets[1:] - 1
    labels[ends] = rng.integers(0, words, forest.edges)
    rest = np.ones(len(labels), dtype=bool)
    rest[ends] = False
    labels[rest] = forest.labels
    return replace(forest, label_offsets=offsets, labels=labels, vocabulary=vocabulary)


def synthetic(make: Callable[[np.random.Generator], Forest], sentences: int) -> Dataset:
    """A corpus of forests of one shape; references are outputs of others, so that BLEU has something to count."""
    rng = np.random.default_rng(7)
    forests = read([with_words(make(rng), rng) for _ in range(sentences)])
    references = [" ".join(f"w{i}" for i in rng.integers(0, 500, 40)) for _ in range(sentences)]
    return as_dataset(forests, references)


def real() -> dict[str, tuple[Dataset, str]]:
    """The corpora of the shared data that exist, each with its metric."""
    if not DATA.exists():
        print(f"no data in {DATA.parent.name}/{DATA.name} beside the checkout: real lattices and forests are left out")
        return {}
    names = (DATA / "asr_tts/ids.txt").read_text(encoding="utf-8").split()
    return {
        "ru_en lattices": (
            as_dataset(read(DATA / "ru_en_lattices", ids="name1"), DATA / "ru_en_lattices/refs"),
            "bleu:tokenize=none",
        ),
        "de_en forests": (
            as_dataset(read(DATA / "de_en/forests", ids="name"), DATA / "de_en/refs.txt"), "bleu",
        ),
        "asr_tts lattices": (
            as_dataset(
                read([DATA / f"asr_tts/slf/{name}.slf.gz" for name in names]), DATA / "asr_tts/refs.txt"
            ),
            "wer",
        ),
    }  # fmt: skip


class Clock:
    """CPU seconds by part of a search. Time that a part spends inside another part counts for the other alone."""

    def __init__(self, problem: Problem) -> None:
        self.seconds: dict[str, float] = {}
        self._spent_within: list[float] = []
        self._wrap(problem.scorer, "scores", "scores")
        self._wrap(problem.outputs, "of_derivations", "outputs")
        self._wrap(problem.memory, "row_of", "statistics")
        self._wrap(problem, "surface", "sweep")
        self._module: Any = shards
        self._search_block = self._module.search_block
        self._wrap(self._module, "search_block", "envelopes")

    def _wrap(self, owner: Any, name: str, part: str) -> None:
        setattr(owner, name, self._timed(getattr(owner, name), part))

    def _timed(self, function: Callable[..., Any], part: str) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            self._spent_within.append(0.0)
            before = time.thread_time()
            answer = function(*arguments, **options)
            spent = time.thread_time() - before
            self.seconds[part] = self.seconds.get(part, 0.0) + spent - self._spent_within.pop()
            if self._spent_within:
                self._spent_within[-1] += spent
            return answer

        return call

    def stop(self) -> None:
        """Restore the modules."""
        self._module.search_block = self._search_block


def lines(problem: Problem, seed: int) -> tuple[Floats, Floats, Floats]:
    """Equal weights over scaled features, and random directions from there."""
    units = feature_units(problem.corpus)
    weights = np.divide(1.0, units, out=np.zeros_like(units), where=units > 0.0)
    directions = random_directions(DIRECTIONS, units, np.random.default_rng(seed))
    return weights, directions, np.tile([-math.inf, math.inf], (DIRECTIONS, 1))


def one_search(problem: Problem, seed: int) -> float:
    """CPU seconds of the surfaces along DIRECTIONS directions, and of their losses."""
    weights, directions, intervals = lines(problem, seed)
    before = time.thread_time()
    for surface in problem.surfaces(weights, directions, intervals):
        problem.metric.losses(surface.statistics)
    return time.thread_time() - before


def measure(name: str, data: Dataset, metric: str) -> dict[str, Any]:
    """Nanoseconds per edge and direction of a first search and of later ones, and the parts of the latter."""
    work = data.corpus.edges * DIRECTIONS
    one_search(Problem.of(data, metric), 0)  # compiled
    first = min(one_search(Problem.of(data, metric), 1) for _ in range(3))
    problem = Problem.of(data, metric)
    later = [one_search(problem, seed) for seed in range(1, TURNS + 2)][1:]
    found = problem.search(*lines(problem, 1))
    clock = Clock(problem)
    whole = one_search(problem, TURNS + 2)
    clock.stop()
    return {
        "name": name,
        "sentences": len(data),
        "edges per sentence": data.corpus.edges / len(data),
        "segments": sum(len(line.outputs) for line in found) / DIRECTIONS / len(data),
        "first, ns": first / work * 1e9,
        "later, ns": min(later) / work * 1e9,
        "parts, ns": {part: clock.seconds.get(part, 0.0) / work * 1e9 for part in PARTS},
        "rest, ns": (whole - sum(clock.seconds.values())) / work * 1e9,
        "outputs": len(problem.outputs),
    }


def corpora() -> list[dict[str, Any]]:
    cases: dict[str, tuple[Dataset, str]] = real()
    cases["CKY, 1k"] = synthetic(lambda rng: shapes.cky(13, 11, rng), 40), "bleu:tokenize=none"
    cases["CKY, 10k"] = synthetic(lambda rng: shapes.cky(40, 12, rng), 6), "bleu:tokenize=none"
    cases["lattice, 1k"] = synthetic(lambda rng: shapes.lattice(15, 10, 7, rng), 40), "bleu:tokenize=none"
    cases["lattice, 10k"] = synthetic(lambda rng: shapes.lattice(60, 17, 10, rng), 6), "bleu:tokenize=none"
    results = [measure(name, data, metric) for name, (data, metric) in cases.items()]
    header = ["corpus", "sentences", "edges", "segments", "first", "later", *PARTS, "rest"]
    rows = [
        [
            result["name"], result["sentences"], f"{result['edges per sentence']:.0f}", f"{result['segments']:.1f}",
            f"{result['first, ns']:.1f}", f"{result['later, ns']:.1f}",
            *(f"{result['parts, ns'][part]:.1f}" for part in PARTS), f"{result['rest, ns']:.1f}",
        ]
        for result in results
    ]  # fmt: skip
    print(table(f"A line search, ns per edge and direction, {DIRECTIONS} directions, one core", header, rows))
    for result in results:
        if result["name"] in TARGETS:
            print(f"  {result['name']}, first: {verdict(result['first, ns'], TARGETS[result['name']])}")
    print(f"  others, ns an edge, {MEASURED_APART}:")
    for name, peers in FORESTS.items():
        print(f"    {name}: {peers}")
    return results


def _same_envelope(size: int, _: np.random.Generator) -> Forest:
    return shapes.same_envelope(size)


def growth() -> dict[str, Any]:
    """Growth in edges at a fixed number of segments, and the memory that a search adds."""
    sizes = (1_000, 10_000, 100_000)
    times, edges, memory = [], [], []
    for size in sizes:
        data = synthetic(partial(_same_envelope, size), 1)
        problem = Problem.of(data, "bleu:tokenize=none")
        times.append(min(one_search(problem, seed) for seed in range(1, 8)) / DIRECTIONS)
        edges.append(data.corpus.edges)
        memory.append(_peak_memory(size))
    exponent = float(np.polyfit(np.log(edges), np.log(times), 1)[0])
    rows = [
        [f"{size:,}", f"{seconds * 1e6:.0f}", f"{seconds / count * 1e9:.1f}", f"{peak:.1f}"]
        for size, seconds, count, peak in zip(sizes, times, edges, memory, strict=True)
    ]
    print(table("Growth at a fixed number of segments", ["edges", "µs/direction", "ns/edge", "peak MB"], rows))
    print(f"  growth exponent: {exponent:.3f}  {verdict(exponent, 1.1)}")
    return {"edges": edges, "microseconds": [t * 1e6 for t in times], "exponent": exponent, "peak memory, MB": memory}


PEAK_MEMORY = """
import re, sys; sys.path.insert(0, {root!r})
from pathlib import Path
from benchmarks import forest_tuning as bench, shapes
def memory(what):
    return int(re.search(what + r":\\s+(\\d+)", Path("/proc/self/status").read_text()).group(1)) / 1024
small = bench.Problem.of(bench.synthetic(lambda rng: shapes.same_envelope(1000), 1), "bleu:tokenize=none")
bench.one_search(small, 1)
problem = bench.Problem.of(bench.synthetic(lambda rng: shapes.same_envelope({size}), 1), "bleu:tokenize=none")
problem.scorer.prepare(); bench.lines(problem, 1)
Path("/proc/self/clear_refs").write_text("5")  # forget the peak of building the forest
before = memory("VmRSS")
bench.one_search(problem, 1); print(memory("VmHWM") - before)
"""


def _peak_memory(size: int) -> float:
    """The peak memory that a search adds to a process that has loaded the forest and the kernels, in MB."""
    if not Path("/proc/self/status").exists():
        return math.nan
    code = PEAK_MEMORY.format(root=str(Path(__file__).resolve().parents[1]), size=size)
    return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)


def two_threads() -> dict[str, float]:
    """The time of two climbs at once on one problem, as in tuning."""
    data = synthetic(lambda rng: shapes.lattice(30, 12, 8, rng), 48)
    problem = Problem.of(data, "bleu:tokenize=none")
    one_search(problem, 0)

    def run(count: int) -> float:
        workers = [threading.Thread(target=one_search, args=(problem, seed)) for seed in range(1, count + 1)]
        before = time.perf_counter()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return (time.perf_counter() - before) / count

    run(2)
    alone, together = min(run(1) for _ in range(TURNS)), min(run(2) for _ in range(TURNS))
    print(f"\nTwo searches at once take {together / alone:.2f} of the time of two in turn (0.5 would be perfect)")
    return {"seconds alone": alone, "seconds each of two": together, "speedup": alone / together}


def main() -> int:
    options = options_of(__doc__).parse_args()
    result = {"corpora": corpora(), "growth": growth(), "threads": two_threads()}
    return finish(options, "forest_tuning", result)


if __name__ == "__main__":
    sys.exit(main())
