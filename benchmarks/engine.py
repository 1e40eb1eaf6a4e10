"""Time the engine: envelopes by every method, growth, threads, start-up and memory, beside a C++ yardstick.

Run: make bench   (or: python -m benchmarks.engine)
Writes benchmarks/results/engine.json. Contenders take turns in one process; the best time of many turns counts.
"""

from __future__ import annotations

import math
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import shapes, yardstick
from benchmarks.harness import finish, interleaved, options_of, table, verdict
from hulltune import Corpus, EdgeScorer, Forest, envelopes
from hulltune.kernels.forests.forest import PassRoom, ScoredForest
from hulltune.kernels.forests.lanes import viterbi_pass
from hulltune.kernels.scores.scores import GridScores
from hulltune.kernels.simd.simd import LANES
from hulltune.lines.compute import BlockEnvelopes, search_block

FIRST_ENVELOPE = """
import time; start = time.perf_counter()
import hulltune; imported = time.perf_counter()
forest = hulltune.Forest.from_nbest(["a", "b"], [[0.0, 1.0], [1.0, 0.0]])
assert hulltune.envelope(forest, [0, 1], [1, 0]).breakpoints.tolist() == [1.0]
print(imported - start, time.perf_counter() - start)
"""
PEAK_MEMORY = """
import re, sys; sys.path.insert(0, {root!r})
from pathlib import Path
from benchmarks import shapes; from benchmarks.engine import Case
def memory(what):  # of this process: getrusage would start at the parent's peak
    return int(re.search(what + r":\\s+(\\d+)", Path("/proc/self/status").read_text()).group(1)) / 1024
small, case = Case(shapes.same_envelope(1000)), Case(shapes.same_envelope({size}))
small.run({method!r})
Path("/proc/self/clear_refs").write_text("5")  # forget the peak of building the forest
before = memory("VmRSS")
case.run({method!r}); print(memory("VmHWM") - before)
"""


LATTICES = {2: (2, 2), 4: (2, 2), 6: (3, 2), 10: (4, 3), 20: (6, 3), 40: (8, 3)}
PARSES = {2: 2, 3: 2, 4: 3, 6: 4, 8: 5, 12: 6}
WHOLE_LINE = np.array([[-math.inf, math.inf]])
Floats = NDArray[np.float64]


class Scored(EdgeScorer):
    """A scorer of one forest that knows the scores along one line."""

    def __init__(self, corpus: Corpus) -> None:
        super().__init__(corpus)
        self.weights = np.array([shapes.ORIGIN, shapes.DIRECTION])
        self.known = super().scores(0, 1, self.weights)

    def scores(self, first: int, last: int, weights: Floats, room: Floats | None = None) -> GridScores:
        """The known scores."""
        return self.known


class Case:
    """A forest with its lines scored, ready to be searched by the kernels."""

    def __init__(self, forest: Forest) -> None:
        self.forest = forest
        self.scorer = Scored(Corpus.pack([forest]))
        self.scores, _ = self.scorer.known
        points = np.concatenate([np.tan(np.linspace(-1.4, 1.4, LANES)), np.ones(LANES)])
        winners = np.empty((2, forest.nodes * LANES))
        self._room = PassRoom(points, winners[0], winners[1], np.empty(4 * LANES))

    def run(self, method: str, *, derivations: bool = False) -> BlockEnvelopes:
        """The envelope by one method."""
        return search_block(
            self.scorer, (0, 1), self.scorer.weights, WHOLE_LINE, method=method, derivations=derivations
        )

    def viterbi(self) -> None:
        """One pass of LANES lanes."""
        forest, (intercepts, slopes) = self.forest, self.scores
        graph = forest.edge_offsets, forest.tail_offsets, forest.tails
        viterbi_pass(ScoredForest(0, forest.nodes, *graph, slopes, intercepts), self._room)


def four_shapes(reference: yardstick.Yardstick | None) -> list[dict[str, Any]]:
    results = []
    rows = []
    for name, forest in shapes.four_shapes().items():
        case = Case(forest)
        contenders: dict[str, Callable[[], object]] = {}
        for method in ("hull", "lanes", "auto"):
            contenders[method] = partial(case.run, method)
        contenders["lanes kernel"] = case.viterbi
        if reference is not None:
            contenders["C++ hull"] = partial(reference.hull_inside, forest, case.scores[1], case.scores[0])
            for lanes in (LANES, 64):
                etas, best = np.tan(np.linspace(-1.4, 1.4, lanes)), np.empty((2, forest.nodes, lanes))
                contenders[f"C++ lanes, {lanes}"] = partial(
                    reference.lanes, forest, case.scores[1], case.scores[0], etas, best
                )
        best_times = interleaved(contenders)
        found = case.run("lanes")
        result: dict[str, Any] = {
            "shape": name, "nodes": forest.nodes, "edges": forest.edges, "segments": len(found.lines),
            "passes": found.passes,
            "milliseconds": {key: value * 1e3 for key, value in best_times.items()},
            "lanes kernel, ns per edge and lane": best_times["lanes kernel"] / forest.edges / LANES * 1e9,
        }  # fmt: skip
        row = [name, forest.edges, len(found.lines), found.passes]
        row += [f"{best_times[method] * 1e3:.2f}" for method in ("hull", "lanes", "auto")]
        row += [f"{result['lanes kernel, ns per edge and lane']:.2f}"]
        if reference is not None:
            yard = best_times["C++ hull"]
            yard_lane = min(best_times[f"C++ lanes, {lanes}"] / lanes for lanes in (LANES, 64))
            ratios = {
                "hull / C++ hull": best_times["hull"] / yard,
                "auto / C++ hull": best_times["auto"] / yard,
                "lane / C++ lane": best_times["lanes kernel"] / LANES / yard_lane,
            }
            result["ratios"] = ratios
            row += [f"{yard * 1e3:.2f}", *(f"{ratio:.3f}" for ratio in ratios.values())]
        results.append(result)
        rows.append(row)
    header = ["shape", "edges", "segments", "passes", "hull ms", "lanes ms", "auto ms", "ns/edge/lane"]
    if reference is not None:
        header += ["C++ hull ms", "hull/C++", "auto/C++", "lane/C++ lane"]
    print(table("Envelope of one forest, one core", header, rows))
    if reference is not None:
        for key, target in (("hull / C++ hull", 0.7), ("auto / C++ hull", 0.35), ("lane / C++ lane", 1.3)):
            worst = max(result["ratios"][key] for result in results)
            print(f"  worst {key}: {worst:.3f}  {verdict(worst, target)}")
    return results


def small_to_large() -> list[dict[str, Any]]:
    """Times of the methods by the size of the forest: the choice of "auto" rests on them."""
    rng = np.random.default_rng(5)
    forests = {f"lattice, {n} positions": shapes.lattice(n, *width, rng) for n, width in LATTICES.items()}
    forests |= {f"CKY, {n} words": shapes.cky(n, edges, rng) for n, edges in PARSES.items()}
    results, rows = [], []
    for name, forest in forests.items():
        case = Case(forest)
        methods = ("hull", "lanes")
        best = interleaved({m: partial(case.run, m, derivations=True) for m in methods}, seconds=0.2, least=50)
        found = case.run("lanes")
        micro = {method: best[method] * 1e6 for method in methods}
        results.append({"forest": name, "edges": forest.edges, "segments": len(found.lines), "microseconds": micro})
        rows.append(
            [name, forest.edges, len(found.lines), found.passes, *(f"{micro[method]:.1f}" for method in methods)]
        )
    print(
        table(
            "Small to large, with derivations", ["forest", "edges", "segments", "passes", "hull µs", "lanes µs"], rows
        )
    )
    return results


def growth() -> dict[str, Any]:
    sizes = (1_000, 10_000, 100_000)
    result: dict[str, Any] = {}
    rows = []
    for method, make in (("hull", shapes.same_envelope), ("lanes", shapes.same_envelope), ("scan", shapes.nbest)):
        cases = {size: Case(make(size)) for size in sizes}
        segments = {size: len(case.run(method).lines) for size, case in cases.items()}
        assert len(set(segments.values())) == 1, segments
        best = interleaved({str(size): partial(case.run, method) for size, case in cases.items()}, seconds=1.5)
        edges = [cases[size].forest.edges for size in sizes]
        times = [best[str(size)] for size in sizes]
        exponent = float(np.polyfit(np.log(edges), np.log(times), 1)[0])
        memory = {str(size): _peak_memory(method, size) for size in sizes[1:]} if method != "scan" else {}
        result[method] = {
            "edges": edges, "segments": segments[sizes[0]], "milliseconds": [t * 1e3 for t in times],
            "exponent": exponent, "peak memory, MB": memory,
        }  # fmt: skip
        per_edge = [f"{t / e * 1e9:.1f}" for t, e in zip(times, edges, strict=True)]
        peak = ", ".join(f"{value:.1f}" for value in memory.values())
        rows.append([method, segments[sizes[0]], *per_edge, f"{exponent:.3f} {verdict(exponent, 1.1)}", peak])
    header = [
        "method",
        "segments",
        *(f"ns/edge at {size:,}" for size in sizes),
        "growth exponent",
        "peak MB at 10k, 100k",
    ]
    print(table("Growth in edges at a fixed number of segments, one core", header, rows))
    return result


def _peak_memory(method: str, size: int) -> float:
    """The peak memory that a search adds to a process that has loaded the forest and the kernels, in MB."""
    if not Path("/proc/self/status").exists():
        return math.nan
    code = PEAK_MEMORY.format(root=str(Path(__file__).resolve().parents[1]), size=size, method=method)
    return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)


def threads() -> dict[str, Any]:
    rng = np.random.default_rng(4)
    corpus = Corpus.pack([shapes.lattice(30, 12, 8, rng) for _ in range(96)])
    scorer = EdgeScorer(corpus)
    directions = rng.standard_normal((2, 2))

    def run(count: int) -> None:
        envelopes(corpus, shapes.ORIGIN, directions, threads=count, scorer=scorer)

    best = interleaved({"1": partial(run, 1), "2": partial(run, 2)}, seconds=3.0)
    speedup = best["1"] / best["2"]
    cpus = len(os.sched_getaffinity(0))
    work = corpus.edges * len(directions)
    rows = [
        [f"{count} thread(s)", f"{best[count] * 1e3:.1f}", f"{best[count] / work * 1e9:.1f}"] for count in ("1", "2")
    ]
    print(
        table(f"A corpus of {len(corpus)} lattices, {corpus.edges:,} edges, 2 directions", ["", "ms", "ns/edge"], rows)
    )
    print(f"  2 threads are {speedup:.2f}× as fast as 1 on {cpus} CPUs  {verdict(speedup, 1.7, at_least=True)}")
    return {"milliseconds": {key: value * 1e3 for key, value in best.items()}, "speedup": speedup, "cpus": cpus}


def start_up() -> dict[str, float]:
    def run() -> tuple[float, float]:
        command = [sys.executable, "-c", FIRST_ENVELOPE]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        imported, first = (float(number) for number in output.split())
        return imported, first

    runs = [run() for _ in range(5)]
    result = {"import": min(imported for imported, _ in runs), "first": min(first for _, first in runs)}
    rows = [
        ["import hulltune", f"{result['import']:.3f}", verdict(result["import"], 0.15)],
        ["first envelope", f"{result['first']:.2f}", verdict(result["first"], 0.3)],
    ]
    print(table("Start of a process", ["", "seconds", "target"], rows))
    return result


def main() -> int:
    options = options_of(__doc__).parse_args()
    reference = yardstick.build()
    result = {
        "four shapes": four_shapes(reference),
        "small to large": small_to_large(),
        "growth": growth(),
        "threads": threads(),
        "start": start_up(),
        "peak memory of this process, MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    return finish(options, "engine", result)


if __name__ == "__main__":
    sys.exit(main())
