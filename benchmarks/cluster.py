"""Time rounds of line searches over workers: overhead, traffic, what a second worker brings, and the cost model; and
the decoding of a loop by two jobs.

Run: python benchmarks/cluster.py [speed | model | whole | jobs]
Writes benchmarks/results/cluster_speed.json, cluster_model.json, cluster_whole.json and loop_jobs.json. A round is 16
directions from one origin. Its overhead is its time without that of the slowest worker's own work, question by
question: the driver's decisions and the way there and back. The model is fitted to few sentences and compared with what
10,000 and 100,000 take.
"""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks import forest_tuning, lists, shapes
from benchmarks.timing import table, write_json
from hulltune import Constraints, Dataset, Policy, Problem
from hulltune.demo import START_WEIGHTS, built_in_task
from hulltune.search.cluster.bins import FEW, FIRST, MOST
from hulltune.search.cluster.driver import Driver
from hulltune.search.cluster.protocol import Further, Start
from hulltune.search.cluster.shard_files import cuts
from hulltune.search.cluster.starting import driver_of
from hulltune.search.directions import feature_units
from hulltune.search.steps import search_lines
from hulltune.tuning.inputs import as_dataset

DIRECTIONS = 16
WARM, ROUNDS = 4, 8
LISTS, LATTICES = (2_500, 10_000, 100_000), (1_000, 10_000)
"""The sizes of the model's data: it is fitted to the first, and checked at the others."""
SIZES = (500, 1_000, 2_000, 4_000, 8_000, 16_000)
WORKERS = 2
OPEN = 1 / 16
"""The share of the changes of split bins that is in parts which may still hold the best interval."""
DECODED = 24
"""The sentences of the loop."""


@dataclass(frozen=True)
class Round:
    """The seconds of a round, those of the slowest worker's own work in it, and the bytes of all answers."""

    seconds: float
    worked: float
    received: int


class Rounds:
    """Rounds of one driver over a problem, each in new directions."""

    def __init__(self, problem: Problem, driver: Driver) -> None:
        self.problem, self.driver = problem.searched_by(driver), driver
        self.units = feature_units(problem.corpus)
        self.weights = np.where(self.units > 0.0, 1.0 / np.maximum(self.units, 1e-9), 1.0)
        self.limits = Constraints().compile(problem.feature_names)
        self.rng = np.random.default_rng(1)
        self.loss = self.problem.loss(self.weights)
        for _ in range(WARM):
            self.run()

    def run(self) -> Round:
        """One round."""
        directions = self.rng.normal(size=(DIRECTIONS, len(self.weights))) * self.weights
        fleet = self.driver.fleet
        worked, received, began = fleet.worked, fleet.received, time.perf_counter()
        search_lines(self.problem, self.weights, self.loss, directions, self.limits, Policy())
        seconds = time.perf_counter() - began
        return Round(seconds, fleet.worked - worked, fleet.received - received)


def made_lists(sentences: int, hypotheses: int) -> Dataset:
    made = lists.synthetic(sentences, hypotheses, 14)
    return as_dataset(made.lists, made.references)


def made_lattices(sentences: int) -> Dataset:
    """Lattices of 230 edges; beyond the first 1,000 sentences the same ones again, with other features."""
    base = forest_tuning.synthetic(lambda rng: shapes.lattice(12, 5, 4, rng), min(sentences, LATTICES[0]))
    if sentences <= LATTICES[0]:
        return base
    copies = base.take(np.arange(sentences) % LATTICES[0])
    noise = np.random.default_rng(2).normal(size=copies.corpus.features.shape)
    features = replace(copies.corpus.features, values=np.asfortranarray(copies.corpus.features.values + noise))
    return replace(copies, corpus=replace(copies.corpus, features=features), ids=tuple(range(sentences)))


def median(rounds: list[Round], name: str) -> float:
    return float(statistics.median(getattr(each, name) for each in rounds))


def overhead(rounds: list[Round]) -> float:
    return float(statistics.median(each.seconds - each.worked for each in rounds))


def speed() -> None:
    """One worker and two, in turn, on 20,000 × 100 lists, over processes and Ray."""
    problem = Problem.of(made_lists(20_000, 100), "bleu")
    rows: list[dict[str, Any]] = []
    for cluster in ("processes", "ray"):
        with ExitStack() as stack:
            drivers = [stack.enter_context(driver_of(problem, cluster, workers=count)) for count in (1, 2)]
            contenders = [Rounds(problem, driver) for driver in drivers]
            found: list[list[Round]] = [[], []]
            for _ in range(ROUNDS):
                for rounds, contender in zip(found, contenders, strict=True):
                    rounds.append(contender.run())
        for count, rounds in zip((1, 2), found, strict=True):
            rows.append(
                {
                    "cluster": cluster,
                    "workers": count,
                    "seconds": median(rounds, "seconds"),
                    "best": min(each.seconds for each in rounds),
                    "overhead": overhead(rounds),
                    "bytes a direction": median(rounds, "received") / DIRECTIONS,
                }
            )
        one, two = rows[-2:]
        two["speed-up"], two["speed-up of the best"] = one["seconds"] / two["seconds"], one["best"] / two["best"]
    shown = [
        [
            row["cluster"], row["workers"], f"{1e3 * row['seconds']:.0f}", f"{1e3 * row['best']:.0f}",
            f"{row.get('speed-up', 1.0):.2f}", f"{1e3 * row['overhead']:.1f}", f"{row['bytes a direction'] / 1e3:.0f}",
        ]
        for row in rows
    ]  # fmt: skip
    header = ("cluster", "workers", "ms a round", "best", "speed-up", "overhead, ms", "kB a direction")
    print(table("lists of 20,000 × 100 × 14, BLEU, 16 directions a round", header, shown))
    write_json("cluster_speed", {"rows": rows})


def model() -> None:
    """Bytes and seconds of a round with two workers: predicted from few sentences, and measured for more."""
    rows: list[dict[str, Any]] = []
    for kind, make, sizes in (
        ("lists of 30", lambda count: made_lists(count, 30), LISTS),
        ("lattices of 230 edges", made_lattices, LATTICES),
    ):
        fitted: dict[str, Any] | None = None
        for sentences in sizes:
            problem = Problem.of(make(sentences), "bleu")
            with driver_of(problem, "processes", workers=WORKERS) as driver:
                contender = Rounds(problem, as_told(problem, driver, 0))
                with counted(contender.driver) as found:
                    rounds = [contender.run() for _ in range(ROUNDS if sentences < 10_000 else 3)]
            each = len(rounds) * DIRECTIONS
            row: dict[str, Any] = {
                "kind": kind,
                "sentences": sentences,
                "seconds": median(rounds, "seconds"),
                "overhead": overhead(rounds),
                "bytes": median(rounds, "received"),
                "questions": found.questions / len(rounds),
                "bins a direction": found.bins / each,
                "fetched a direction": found.fetched / each,
            }
            fitted = fitted or row
            work = (fitted["seconds"] - fitted["overhead"]) * sentences / sizes[0]
            row["predicted seconds"] = work + fitted["overhead"]
            changes = fitted["fetched a direction"] * sentences / sizes[0]
            row["predicted bytes"] = predicted_bytes(len(problem.metric.columns), changes)
            rows.append(row)
    shown = [
        [
            row["kind"], f"{row['sentences']:,}", f"{row['seconds']:.3f}", f"{row['predicted seconds']:.3f}",
            f"{1e3 * row['overhead']:.1f}", f"{row['bytes'] / 1e6:.2f}", f"{row['predicted bytes'] / 1e6:.2f}",
            f"{row['questions']:.1f}", f"{row['bins a direction']:.0f}", f"{row['fetched a direction']:.0f}",
        ]
        for row in rows
    ]  # fmt: skip
    header = (
        "data", "sentences", "s a round", "predicted", "overhead, ms", "MB a round", "predicted", "questions",
        "bins a direction", "changes fetched",
    )  # fmt: skip
    print(table("two workers, BLEU, 16 directions a round", header, shown))
    write_json("cluster_model", {"rows": rows})


def predicted_bytes(columns: int, changes: float) -> float:
    """The bytes of all answers of a round: bins and parts of bins, from each worker, as 16-bit numbers; and the changes
    that are fetched, from all together.

    The first bins of a line that may hold its best interval have so many ``changes`` on average, and lines differ like
    exponential variables. Those of more than FEW are split into MOST parts, of which an OPEN share is left.
    """
    of_bin, of_change = 2 + 3 * 2 * columns, 2 + 8 + 2 * columns
    bins, fetched, lines = float(FIRST), 0.0, 1.0
    while lines > 1e-3:
        above = math.exp(-FEW / changes)
        fetched += lines * (changes - above * (changes + FEW))
        lines *= above
        bins += lines * MOST
        changes = (changes + FEW) * OPEN
    return DIRECTIONS * (WORKERS * of_bin * bins + of_change * fetched)


@dataclass
class Counted:
    """What a driver has asked for and got."""

    questions: int = 0
    bins: int = 0
    fetched: int = 0


@contextmanager
def counted(driver: Driver) -> Iterator[Counted]:
    """Count the questions of a driver, the bins in them, and the changes that it gets."""
    found, ask = Counted(), driver.fleet.ask

    def asked(question: Any, *others: Any) -> Any:
        answers = ask(question, *others)
        found.questions += 1
        found.bins += len(question.bins.lows) if isinstance(question, Start) else 0
        if isinstance(question, Further):
            found.bins += len(question.sums.lows)
            found.fetched += sum(len(answer.fetched.places) for answer in answers)
        return answers

    driver.fleet.ask = asked  # type: ignore[method-assign, assignment]  # for the time of a measurement
    yield found
    driver.fleet.ask = ask  # type: ignore[method-assign]  # as it was


def as_told(problem: Problem, driver: Driver, most_whole: int) -> Driver:
    """A driver of the same workers that has all changes sent up to so many sentences."""
    return Driver(problem, driver.fleet, cuts(problem.corpus.sentence_edges, WORKERS), most_whole=most_whole)


def whole() -> None:
    """Everything at once beside bins, for lists of 100: seconds and bytes of a round with two workers, in turn."""
    rows: list[dict[str, Any]] = []
    every = made_lists(SIZES[-1], 100)
    for sentences in SIZES:
        problem = Problem.of(every.take(np.arange(sentences)), "bleu")
        with driver_of(problem, "processes", workers=WORKERS) as started:
            contenders = [Rounds(problem, as_told(problem, started, most)) for most in (0, sentences)]
            found: list[list[Round]] = [[], []]
            for _ in range(ROUNDS):
                for rounds, contender in zip(found, contenders, strict=True):
                    rounds.append(contender.run())
        row: dict[str, Any] = {"sentences": sentences}
        for name, rounds in zip(("in bins", "whole"), found, strict=True):
            row[name] = {
                "seconds": median(rounds, "seconds"),
                "best": min(each.seconds for each in rounds),
                "bytes": median(rounds, "received"),
            }
        rows.append(row)
    shown = [
        [
            f"{row['sentences']:,}",
            *(f"{1e3 * row[name][which]:.0f}" for which in ("seconds", "best") for name in ("whole", "in bins")),
            *(f"{row[name]['bytes'] / 1e6:.2f}" for name in ("whole", "in bins")),
        ]
        for row in rows
    ]  # fmt: skip
    header = ("lists of 100", "ms whole", "in bins", "best whole", "in bins", "MB whole", "in bins")
    print(table("two workers over processes, BLEU, 16 directions a round", header, shown))
    write_json("cluster_whole", {"rows": rows})


def jobs() -> None:
    """A loop with the built-in decoder as a command, by one job and by two: the seconds of decoding."""
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        task = built_in_task(DECODED, seed=5)
        (folder / "dev.de").write_text("".join(f"{line}\n" for line in task.sources), encoding="utf-8")
        (folder / "dev.en").write_text("".join(f"{line}\n" for line in task.references), encoding="utf-8")
        (folder / "weights.json").write_text(json.dumps(dict(START_WEIGHTS)), encoding="utf-8")
        decoder = f"{sys.executable} -m hulltune.demo --input {{input}} --weights {{weights}} --output {{output}}"
        for count in (1, 2) * 2:
            run = folder / f"run-{len(rows)}"
            command = [
                sys.executable, "-m", "hulltune", "loop", "--jobs", str(count), "--decoder", f"{decoder} --beam 50",
                "--input", "dev.de", "--ref", "dev.en", "--weights", "weights.json", "--iterations", "2",
                "--restarts", "1", "--quiet", "--json", "--run", str(run),
            ]  # fmt: skip
            told = subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True)
            result = json.loads(told.stdout)
            decoding = sum(iteration["seconds_decoding"] for iteration in result["iterations"])
            rows.append({"jobs": count, "decoding": decoding, "score": result["score"]})
    assert len({row["score"] for row in rows}) == 1
    best = {count: min(row["decoding"] for row in rows if row["jobs"] == count) for count in (1, 2)}
    shown = [[row["jobs"], f"{row['decoding']:.2f}"] for row in rows]
    print(table(f"decoding {DECODED} sentences, 3 times", ("jobs", "seconds of decoding"), shown))
    print(f"speed-up of two jobs: {best[1] / best[2]:.2f}")
    write_json("loop_jobs", {"sentences": DECODED, "rows": rows, "speed-up": best[1] / best[2]})


def main() -> None:
    parts = {"speed": speed, "model": model, "whole": whole, "jobs": jobs}
    for name in sys.argv[1:] or parts:
        parts[name]()


if __name__ == "__main__":
    main()
