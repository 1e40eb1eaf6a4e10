"""Measure tuning on n-best lists: line searches, growth, whole runs, and quality beside other ways to tune.

Run: make bench   (or: python -m benchmarks.tuning [--quick] [--seeds N])
Writes benchmarks/results/tuning.json. One core, unless a row says otherwise. Times are CPU times, like those of the
peers; on a free core they equal wall times.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # one core for the matrix products of the others, too
os.environ["MKL_NUM_THREADS"] = "1"
os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import finish, interleaved, options_of, table, verdict
from benchmarks.lists import Synthetic, synthetic
from benchmarks.peers import LINE_SEARCHES, MEASURED_APART, WHOLE_RUNS, Shape
from benchmarks.quality import SETS, WAYS, compare
from benchmarks.rivals import RIVALS, Objective
from hulltune.metrics import get_metric
from hulltune.names import DEFAULT_SEARCH
from hulltune.search.climbing import Climber
from hulltune.search.constraints import Constraints
from hulltune.search.coordinate import Coordinate
from hulltune.search.directions import feature_units, random_directions
from hulltune.search.problem import Problem
from hulltune.search.random_climb import Climb
from hulltune.search.steps import search_lines
from hulltune.search.strategy import Setting, Strategy
from hulltune.tuning.inputs import as_dataset
from hulltune.tuning.strategies import get_strategy

Floats = NDArray[np.float64]
DATA = Path(__file__).resolve().parents[1] / "../shared/data"

TARGETS: dict[Shape, float] = {(1000, 100, 14): 1300.0, (1000, 1000, 14): 130.0}

PEERS = ["× Moses", "× Z-MERT", "target"]
SAME_TIME = "hulltune, the same time"
OCH = "Och's search from 20 starts"
"""The search of the peers."""


@dataclass(frozen=True, eq=False)
class Lines:
    """Batches of line searches over a problem, like those of a climb."""

    problem: Problem
    batches: list[tuple[Floats, float, list[Floats]]]
    """The weights, their loss and the directions of each batch."""

    @property
    def count(self) -> int:
        """The number of line searches."""
        return sum(len(directions) for _, _, directions in self.batches)

    def searches(self) -> dict[str, Callable[[], object]]:
        """Search all lines, with one call per batch, in one thread."""
        setting = Setting.of(self.problem, Constraints(), None)
        return {
            str(number): partial(search_lines, setting, origin, loss, directions)
            for number, (origin, loss, directions) in enumerate(self.batches)
        }

    def segments(self) -> float:
        """The mean number of segments of an envelope."""
        counts = []
        for origin, _, directions in self.batches:
            found = self.problem.search(origin, np.array(directions), np.array([[-np.inf, np.inf]] * len(directions)))
            counts.append(np.mean([len(line.outputs) for line in found]) / len(self.problem.corpus))
        return float(np.mean(counts))


def lines_of_a_climb(problem: Problem, *, places: int = 4) -> Lines:
    """The lines of a default climb from equal weights: all axes and 16 random directions from its first places."""
    setting, rng = Setting.of(problem, Constraints(), None), np.random.default_rng(1)
    climber = Climber(setting, 0, setting.first, rng)
    first = climber.first_position()
    way = islice(chain([first], Climb().climb(climber, first)), places)
    units = setting.units
    return Lines(
        problem,
        [(place.weights, place.loss, [*climber.axes(), *random_directions(16, units, rng)]) for place in way],
    )


def random_lines(problem: Problem, *, count: int = 32) -> Lines:
    """A fixed number of random directions from equal weights, for any number of features."""
    units, rng = feature_units(problem.corpus), np.random.default_rng(2)
    start = Constraints().compile(problem.feature_names).start(units)
    return Lines(problem, [(start, float("inf"), list(random_directions(count, units, rng)))])


def line_searches(wide: Synthetic, deep: Synthetic, *, seconds: float) -> list[dict[str, Any]]:
    """Line searches per second, with the statistics of all winners known."""
    bleu = get_metric("bleu")
    # Neither peer's lists are at hand: these are of the same sizes. The small ones have 15 features, as the peers' had.
    problems: dict[Shape, Problem] = {
        (1000, 100, 14): wide.problem(bleu, sentences=1000, features=14),
        (1000, 1000, 14): deep.problem(bleu),
        (100, 100, 15): wide.problem(bleu, sentences=100, features=15),
    }
    results, rows = [], []
    lines = {shape: lines_of_a_climb(problem) for shape, problem in problems.items() if _holds(problem, shape)}
    for shape, each in lines.items():
        best = interleaved(each.searches(), seconds=seconds / len(lines), least=3, clock=time.process_time)
        rate = each.count / sum(best.values())
        moses, zmert = LINE_SEARCHES["Moses"][shape], LINE_SEARCHES["Z-MERT"].get(shape)
        target = TARGETS.get(shape)
        segments = each.segments()
        results.append(
            {"sentences": shape[0], "hypotheses": shape[1], "features": shape[2], "searches": each.count,
             "segments a sentence": segments, "searches a second": rate}
        )  # fmt: skip
        rows.append(
            [" × ".join(f"{n:,}" for n in shape), f"{segments:.1f}", f"{rate:,.1f}", f"{moses:g}",
             f"{zmert:g}" if zmert else "", f"{rate / moses:.1f}",
             verdict(rate, target, at_least=True) if target else ""]
        )  # fmt: skip
    header = ["sentences × hypotheses × features", "segments", "searches/s", "Moses", "Z-MERT", "× Moses", "target"]
    print(table(f"Line searches, BLEU, one core (Moses, Z-MERT: {MEASURED_APART})", header, rows), flush=True)
    return results


def _holds(problem: Problem, shape: Shape) -> bool:
    """Whether the lists are as large as this (they are smaller in a quick run)."""
    size = len(problem.corpus), problem.corpus.edges // len(problem.corpus), len(problem.feature_names)
    return size == shape


def growth(wide: Synthetic, deep: Synthetic, *, seconds: float) -> dict[str, Any]:
    """The growth of the time of a line search with each of the three sizes, the other two fixed."""
    bleu = get_metric("bleu")
    most = len(wide.lists)
    sizes = {
        "sentences": [most // 4, most // 2, most],
        "hypotheses": [deep.hypotheses // 10, deep.hypotheses * 3 // 10, deep.hypotheses],
        "features": [7, 14, 28],
    }
    make = {
        "sentences": lambda size: wide.problem(bleu, sentences=size, features=14),
        "hypotheses": lambda size: deep.problem(bleu, hypotheses=size),
        "features": lambda size: wide.problem(bleu, sentences=most // 2, features=size),
    }
    result: dict[str, Any] = {}
    rows = []
    for name, values in sizes.items():
        cases = {str(size): random_lines(make[name](size)) for size in values}
        calls = {size: call for size, lines in cases.items() for call in lines.searches().values()}
        best = interleaved(calls, seconds=seconds, clock=time.process_time)
        milliseconds = [best[size] / lines.count * 1e3 for size, lines in cases.items()]
        exponent = float(np.polyfit(np.log(values), np.log(milliseconds), 1)[0])
        segments = [lines.segments() for lines in cases.values()]
        result[name] = {
            "sizes": values, "milliseconds a search": milliseconds, "segments a sentence": segments,
            "exponent": exponent,
        }  # fmt: skip
        rows.append(
            [name, ", ".join(f"{size:,}" for size in values), ", ".join(f"{each:.3f}" for each in milliseconds),
             ", ".join(f"{each:.1f}" for each in segments), f"{exponent:.3f} {verdict(exponent, 1.05)}"]
        )  # fmt: skip
    header = ["grows", "sizes", "ms a search", "segments", "exponent"]
    print(table("Growth of a line search, one core", header, rows), flush=True)
    return result


def whole_run(data: Synthetic) -> dict[str, Any]:
    """Time whole runs from the text file to the weights, each in a new process, once: at the defaults, and by the
    search of the peers, Och's from twenty starts.
    """
    peers = Coordinate(restarts=19)
    searches = {f"defaults, --search {DEFAULT_SEARCH}": (), OCH: ("--search", peers.name, "--restarts", "19")}
    full = data.lists.corpus.edges == 100_000
    runs, rows = {}, []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _tune_files(synthetic(20, 10, len(data.lists.feature_names)), folder)  # compiles what is not yet compiled
        for search, options in searches.items():
            wall, cpu, found = _tune_files(data, folder, *options)
            runs[search] = {
                "wall seconds": wall, "CPU seconds": cpu, "score": found["score"], "baseline": found["baseline"],
                "line searches": found["line_searches"],
            }  # fmt: skip
            row = [search, f"{found['line_searches']:,}", f"{found['score']:.2f}", f"{wall:.2f}", f"{cpu:.2f}"]
            if full:
                times = WHOLE_RUNS["Moses"] / cpu
                row += [f"{times:.1f}", f"{WHOLE_RUNS['Z-MERT'] / cpu:.1f}"]
                row += [verdict(times, 10.0, at_least=True) if search == OCH else ""]  # like is judged beside like
            rows.append(row)
        megabytes = (folder / "nbest.txt").stat().st_size / 1e6
    cpus = len(os.sched_getaffinity(0))
    title = f"Whole runs, {data.lists.corpus.edges:,} hypotheses, {megabytes:.0f} MB (peers: {MEASURED_APART})"
    header = ["", "line searches", "BLEU", f"wall, {cpus} CPUs", "CPU", *(PEERS if full else [])]
    print(table(title, header, rows), flush=True)
    return {"megabytes of text": megabytes, "cpus": cpus, "runs": runs}


def _tune_files(data: Synthetic, folder: Path, *options: str) -> tuple[float, float, dict[str, Any]]:
    """Write the lists and tune them in another process; return wall seconds, CPU seconds and the result."""
    lists, references, weights = (str(folder / name) for name in ("nbest.txt", "references.txt", "weights.json"))
    data.write(Path(lists), Path(references))
    command = [sys.executable, "-m", "hulltune", "tune", lists, "--ref", references, "--metric", "bleu", *options]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    output = subprocess.run([*command, "--out", weights, "--json"], check=True, capture_output=True, text=True).stdout
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, json.loads(output)


def sets(data: Synthetic) -> dict[str, tuple[Problem, float]]:
    """The problems to compare on, each with the factor that makes its score readable."""
    found: dict[str, tuple[Problem, float]] = {}
    for folder, file, metric in (
        ("fr_en", "nbest.moses.gz", "bleu"), ("de_en", "nbest.txt.gz", "bleu"), ("asr_tts", "nbest.txt.gz", "wer"),
    ):  # fmt: skip
        if not (DATA / folder / file).exists():
            print(f"\n{folder}: left out, there is no ../shared/data/{folder}/{file} beside the checkout")
            continue
        problem = Problem.of(as_dataset(DATA / folder / file, DATA / folder / "refs.txt"), metric)
        found[folder] = problem, 100.0 if metric == "wer" else 1.0
    found["synthetic"] = data.problem(get_metric("bleu"), features=14), 1.0
    return found


def quality(data: Synthetic, seeds: Sequence[int], *, least_seconds: float) -> dict[str, Any]:
    """Compare all contenders, tuned on the sentences with even numbers.

    Each gets ``least_seconds``, or the time of the default run if that is longer. hulltune also runs at its defaults.
    """
    result = {}
    for name, (problem, scale) in sets(data).items():
        problem.rows(np.arange(problem.corpus.edges))  # statistics known to all before the clock starts
        halves = (
            problem.subset(np.arange(0, len(problem.corpus), 2)),
            problem.subset(np.arange(1, len(problem.corpus), 2)),
        )
        halves[0].score(np.ones(len(problem.feature_names)))  # so that nothing has to be made at first use
        runs = [_contenders(*halves, seed, least_seconds) for seed in seeds]
        rows = []
        merged: dict[str, dict[str, Any]] = {}
        for contender in runs[0]:
            means = {
                key: float(np.mean([run[contender][key] for run in runs])) for key in ("dev", "heldout", "seconds")
            }
            trials = int(np.mean([run[contender]["trials"] for run in runs]))
            merged[contender] = {
                **means, "trials": trials, "dev by seed": [run[contender]["dev"] for run in runs],
                "heldout by seed": [run[contender]["heldout"] for run in runs],
            }  # fmt: skip
            scores = [f"{means[key] * scale:.2f}" for key in ("dev", "heldout")]
            rows.append([contender, *scores, f"{trials:,}" if trials else "", f"{means['seconds']:.2f}"])
        sign = 1.0 if problem.metric.higher_is_better else -1.0
        lead = min(sign * (merged[SAME_TIME]["dev"] - merged[rival]["dev"]) for rival in RIVALS) * scale + 0.0  # no −0
        metric = problem.metric.name.upper()
        title = f"{name}: {metric}, tuned on {len(halves[0].corpus)} sentences, {len(seeds)} seed(s), one core"
        print(table(title, ["", "dev", "held-out", "searches or trials", "CPU seconds"], rows))
        print(f"  ahead of the best other by {lead:.2f} {metric}  {verdict(lead, 0.0, at_least=True)}", flush=True)
        result[name] = {
            "metric": problem.metric.signature, "search": DEFAULT_SEARCH, "ahead of the best other": lead,
            "contenders": merged,
        }  # fmt: skip
    return result


def _contenders(dev: Problem, heldout: Problem, seed: int, least_seconds: float) -> dict[str, dict[str, Any]]:
    """The dev and held-out score of each contender, its number of line searches or trials, and its seconds."""
    result: dict[str, dict[str, Any]] = {
        "the list's own first choice": {
            "dev": float(dev.metric.score(dev.baseline().total)),
            "heldout": float(dev.metric.score(heldout.baseline().total)), "trials": 0, "seconds": 0.0,
        },
    }  # fmt: skip

    def run(name: str, strategy: Strategy) -> float:
        began = time.process_time()
        found = strategy.find(Setting.of(dev, Constraints(), None), seed=seed, threads=1)
        seconds = time.process_time() - began
        result[name] = {
            "dev": dev.metric.score_of(found.loss), "heldout": heldout.score(found.weights),
            "trials": found.line_searches, "seconds": seconds,
        }  # fmt: skip
        return seconds

    run(f"hulltune, {OCH}", Coordinate(restarts=19))
    default = get_strategy(DEFAULT_SEARCH)
    assert isinstance(default, Climb)
    seconds = run("hulltune", default)
    budget = max(least_seconds, seconds)
    run(SAME_TIME, replace(default, restarts=int((default.restarts + 1) * budget / seconds) - 1))
    objective = Objective(dev)
    for name, rival in RIVALS.items():
        objective.start(budget)
        rival(objective, seed)
        seconds = time.process_time() - objective.began
        result[name] = {
            "dev": dev.score(objective.weights), "heldout": heldout.score(objective.weights),
            "trials": objective.trials, "seconds": seconds,
        }  # fmt: skip
    return result


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that the program works")
    parser.add_argument("--seeds", type=int, default=1, help="compare over so many seeds [1], with --compare up to 10")
    parser.add_argument(
        "--compare", action="store_true", help="compare ways to tune at equal time: benchmarks/quality.py"
    )
    parser.add_argument("--sets", default=",".join(SETS), help="the sets to compare on [all]")
    parser.add_argument("--ways", default="|".join(WAYS), help="the ways to compare, with | between them [all]")
    options = parser.parse_args()
    if options.compare:
        compare(options.sets.split(",") if options.sets else [], options.ways.split("|"), options.seeds)
        return 0
    quick = options.quick
    seconds = 0.3 if quick else 6.0
    wide = synthetic(200 if quick else 2000, 100, 28)
    deep = synthetic(50 if quick else 1000, 1000, 14)
    whole = synthetic(100 if quick else 1000, 100, 14, seed=2)
    result = {
        "line searches": line_searches(wide, deep, seconds=seconds),
        "growth": growth(wide, deep, seconds=seconds / 2),
        "whole run": whole_run(whole),
        "quality": quality(whole, range(1, 1 + options.seeds), least_seconds=0.3 if quick else 2.0),
        "load of the machine, last minutes": os.getloadavg(),
        "peak memory of this process, MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    if quick:
        print("\nnothing written: these are not the sizes to report")
        return finish(options)
    return finish(options, "tuning", result)


if __name__ == "__main__":
    sys.exit(main())
