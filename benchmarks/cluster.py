"""Time rounds of line searches over workers: overhead, traffic, what a second worker brings, and the cost model.

Run: python benchmarks/cluster.py [speed | model]
Writes benchmarks/results/cluster_speed.json and cluster_model.json. A round is 16 directions from one origin. Its
overhead is its time without that of the slowest worker's own work, question by question: the driver's decisions and the
way there and back. The model is fitted to few sentences and compared with what 10,000 and 100,000 take.
"""

from __future__ import annotations

import statistics
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks import forest_tuning, lists, shapes
from benchmarks.timing import table, write_json
from hulltune import Constraints, Dataset, Policy, Problem
from hulltune.search.cluster.driver import Driver
from hulltune.search.cluster.starting import driver_of
from hulltune.search.directions import feature_units
from hulltune.search.steps import search_lines
from hulltune.tuning.inputs import as_dataset

DIRECTIONS = 16
WARM, ROUNDS = 4, 8
LISTS, LATTICES = (2_500, 10_000, 100_000), (1_000, 10_000)
"""The sizes of the model's data: it is fitted to the first, and checked at the others."""


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
    """Bytes and seconds of a round with two workers: fitted to few sentences, predicted and measured for more."""
    rows: list[dict[str, Any]] = []
    for kind, make, sizes in (
        ("lists of 30", lambda count: made_lists(count, 30), LISTS),
        ("lattices of 230 edges", made_lattices, LATTICES),
    ):
        fitted = None
        for sentences in sizes:
            problem = Problem.of(make(sentences), "bleu")
            with driver_of(problem, "processes", workers=2) as driver:
                contender = Rounds(problem, driver)
                rounds = [contender.run() for _ in range(ROUNDS if sentences < 10_000 else 3)]
            measured = Round(median(rounds, "seconds"), median(rounds, "worked"), int(median(rounds, "received")))
            fitted = fitted or (measured, overhead(rounds))
            work = fitted[0].worked * sentences / sizes[0]
            rows.append(
                {
                    "kind": kind,
                    "sentences": sentences,
                    "seconds": measured.seconds,
                    "predicted seconds": work + fitted[1],
                    "overhead": overhead(rounds),
                    "bytes": measured.received,
                    "predicted bytes": fitted[0].received,
                }
            )
    shown = [
        [
            row["kind"], f"{row['sentences']:,}", f"{row['seconds']:.3f}", f"{row['predicted seconds']:.3f}",
            f"{1e3 * row['overhead']:.1f}", f"{row['bytes'] / 1e6:.2f}", f"{row['predicted bytes'] / 1e6:.2f}",
        ]
        for row in rows
    ]  # fmt: skip
    header = ("data", "sentences", "s a round", "predicted", "overhead, ms", "MB a round", "predicted")
    print(table("two workers, BLEU, 16 directions a round", header, shown))
    write_json("cluster_model", {"rows": rows})


def main() -> None:
    parts = {"speed": speed, "model": model}
    for name in sys.argv[1:] or parts:
        parts[name]()


if __name__ == "__main__":
    main()
