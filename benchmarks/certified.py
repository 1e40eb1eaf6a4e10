"""Time certified search on real lists (seconds, boxes, gap), beside grids and random trials, and its growth.

Run: make bench-certified   (or: python -m benchmarks.certified [--quick])
Writes benchmarks/results/certified.json and certified.png. One core. Seconds are CPU times from lists in memory to the
certificate, the statistics of all candidates that may win among them: the best of several runs, each from scratch.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import finish, options_of, table, verdict
from benchmarks.lists import synthetic
from hulltune import Dataset, read
from hulltune.certified.certify import Certified
from hulltune.formats import read_weights
from hulltune.metrics import get_metric
from hulltune.names import DEFAULT_SEARCH
from hulltune.search.certificate import Certificate
from hulltune.search.constraints import Constraints
from hulltune.search.problem import Problem
from hulltune.search.random_climb import Climb
from hulltune.search.strategy import Setting
from hulltune.tuning.inputs import as_dataset
from hulltune.tuning.strategies import get_strategy

Floats = NDArray[np.float64]
DATA = Path(__file__).resolve().parents[1] / "../shared/data"
RESULTS = Path(__file__).resolve().parent / "results"


@dataclass(frozen=True, eq=False)
class Case:
    """A search: lists, metric, the free weights, and the values of the others."""

    name: str
    data: Dataset
    metric: str
    free: tuple[str, ...]
    held: dict[str, float]
    gap: float
    target: float | None
    seconds: float
    ranges: tuple[tuple[float, float], ...]
    """The interval of each free weight in which grids and random trials look."""

    def problem(self) -> Problem:
        """A new problem, in which no statistics are known."""
        return Problem.of(self.data, self.metric)

    def constraints(self) -> Constraints:
        """Constraints that hold all weights but the free ones."""
        others = {name: 0.0 for name in self.data.feature_names if name not in self.free}
        held = {name: value for name, value in self.held.items() if name not in self.free}
        return Constraints(fix={**others, **held})

    def certify(self, problem: Problem, *, seconds: float | None = None) -> Certificate:
        """Run the certified search."""
        return certify(problem, self.constraints(), Certified(gap=self.gap, time=seconds or self.seconds))


def certify(problem: Problem, constraints: Constraints, search: Certified) -> Certificate:
    """The certificate of a search that begins with equal weights over scaled features."""
    found = search.find(Setting.of(problem, constraints, None), seed=1, threads=1)
    assert found.certificate is not None
    return found.certificate


def cases() -> list[Case]:
    found = []
    if (DATA / "asr_tts").exists():
        speech = as_dataset(DATA / "asr_tts/nbest.txt.gz", DATA / "asr_tts/refs.txt")
        where = {"lm3": (0.0, 20.0), "lm1": (-5.0, 5.0), "words": (-40.0, 40.0), "fillers": (-40.0, 40.0)}
        for count, target in ((2, 0.3), (4, 2.0)):
            free: tuple[str, ...] = ("lm3", "words", "lm1", "fillers")[:count]
            ranges = tuple(where[name] for name in free)
            found.append(Case(f"speech, {len(free)} free", speech, "wer", free, {"am": 1.0}, 0.0, target, 60.0, ranges))
    if (DATA / "de_en").exists():
        german = as_dataset(DATA / "de_en/nbest.txt.gz", DATA / "de_en/refs.txt")
        held = read_weights(DATA / "de_en/decoding.weights")
        names = ("LanguageModel", "WordPenalty", "PhraseModel_0", "PhraseModel_1")
        around = {"LanguageModel": (0.0, 2.0), "WordPenalty": (-5.0, 5.0)}
        for count, seconds in ((2, 0.5), (3, 10.0), (4, None)):
            free = names[:count]
            ranges = tuple(around.get(name, (-2.0, 2.0)) for name in free)
            found.append(Case(f"German, {count} free", german, "bleu", free, held, 0.001, seconds, 60.0, ranges))
    return found


def targets(selected: Sequence[Case], *, repeats: int) -> list[dict[str, Any]]:
    """Value, bound, boxes and seconds of every case."""
    results, rows = [], []
    for case in selected:
        case.certify(case.problem(), seconds=1.0)  # compiled
        best, proof = float("inf"), None
        for _ in range(repeats if case.target is not None else 1):
            problem = case.problem()
            before = time.process_time()
            proof = case.certify(problem)
            best = min(best, time.process_time() - before)
            if best > 5.0:
                break
        assert proof is not None
        results.append(
            {
                "case": case.name, "free": case.free, "metric": proof.metric, "value": proof.value,
                "bound": proof.bound, "gap": proof.gap, "wanted_gap": case.gap, "boxes": proof.boxes,
                "seconds": best, "target": case.target, "stopped": proof.stopped,
            }
        )  # fmt: skip
        met = "" if case.target is None else verdict(best, case.target)
        numbers = (f"{proof.value:.4f}", f"{proof.bound:.4f}", f"{proof.gap:.2g}", f"{proof.boxes:,}", f"{best:.2f}")
        rows.append((case.name, *numbers, met))
        print(f"{case.name}: {best:.2f} s", flush=True)  # the table comes when all are done
    print(table("certified search", ("case", "value", "bound", "gap", "boxes", "CPU s", "target"), rows))
    return results


def trials(case: Case, points: Floats) -> tuple[float, float]:
    """The best score at some weights, and the seconds that the scores take."""
    problem = case.problem()
    fixed = case.constraints().fix
    weights = np.array([fixed.get(name, 0.0) for name in problem.feature_names])
    columns = [problem.feature_names.index(name) for name in case.free]
    before = time.process_time()
    losses = []
    for point in points:
        weights[columns] = point
        losses.append(float(problem.metric.loss(problem.picks(weights).total)))
    sign = -1.0 if problem.metric.higher_is_better else 1.0
    return sign * min(losses), time.process_time() - before


def default_tune(case: Case) -> tuple[float, float]:
    """The result of the default search over the free weights."""
    problem = case.problem()
    before = time.process_time()
    found = get_strategy(DEFAULT_SEARCH).find(Setting.of(problem, case.constraints(), None), seed=1, threads=1)
    return problem.metric.score_of(found.loss), time.process_time() - before


def alternatives(selected: Sequence[Case], certified: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Grids, random trials and the default search over the free weights."""
    results, rows = [], []
    for case, proof in zip(selected, certified, strict=True):
        rng = np.random.default_rng(1)
        lows, highs = np.array(case.ranges).T
        contenders: dict[str, Callable[[], tuple[float, float]]] = {}
        if len(case.free) == 2:
            for side in (6, 24):
                axes = [np.linspace(low, high, side) for low, high in case.ranges]
                points = np.array(np.meshgrid(*axes)).reshape(2, -1).T
                contenders[f"grid of {side * side}"] = partial(trials, case, points)
        contenders["1000 random trials"] = partial(trials, case, rng.uniform(lows, highs, (1000, len(lows))))
        contenders[f"--search {DEFAULT_SEARCH}"] = partial(default_tune, case)
        rows.append((case.name, "certified", f"{proof['value']:.4f}", f"{proof['seconds']:.2f}"))
        for name, run in contenders.items():
            score, seconds = run()
            results.append({"case": case.name, "how": name, "value": score, "seconds": seconds})
            rows.append(("", name, f"{score:.4f}", f"{seconds:.2f}"))
    print(table("beside it, over the same weights", ("case", "search", "value", "CPU s"), rows))
    return results


def lattices() -> list[dict[str, Any]]:
    """Two free weights over all paths of word lattices; the pools of outputs are most of the work."""
    folder = DATA / "asr_tts"
    if not folder.exists():
        return []
    names = (folder / "ids.txt").read_text().split()
    forests = read([folder / f"slf/{name}.slf.gz" for name in names])
    data = as_dataset(forests, (folder / "refs.txt").read_text().splitlines())
    best, proof = float("inf"), None
    for _ in range(3):
        problem = Problem.of(data, "wer")
        before = time.process_time()
        proof = certify(problem, Constraints(fix={"acoustic": 1.0}), Certified(gap=0.0))
        best = min(best, time.process_time() - before)
    assert proof is not None
    row = ("speech lattices, 2 free", f"{proof.value:.4f}", f"{proof.gap:.2g}", f"{proof.boxes:,}", f"{best:.2f}")
    print(table("lattices", ("case", "value", "gap", "boxes", "CPU s", "target"), [(*row, verdict(best, 15.0))]))
    return [{"value": proof.value, "bound": proof.bound, "boxes": proof.boxes, "seconds": best, "target": 15.0}]


def growth(*, quick: bool) -> list[dict[str, Any]]:
    """Boxes and seconds by sentences and by free weights, on synthetic lists of 100 hypotheses."""
    most, limit = (300, 5.0) if quick else (1000, 60.0)
    lists = synthetic(most, 100, 8)
    whole = lists.problem(get_metric("bleu"))
    found = Climb(restarts=3).find(Setting.of(whole, Constraints(), None), seed=1, threads=1)
    tuned = dict(zip(whole.feature_names, found.weights.tolist(), strict=True))
    sizes = [size for size in (100, 200, 300, 500, 700, 1000) if size <= most]
    pairs = [(size, 2) for size in sizes] + [(200, count) for count in (1, 2, 3, 4)]
    results = []
    for sentences, count in pairs:
        problem = whole.subset(np.arange(sentences)) if sentences < most else whole
        free = tuple(problem.feature_names[:count])
        held = {name: weight for name, weight in tuned.items() if name not in free}
        before = time.process_time()
        proof = certify(problem, Constraints(fix=held), Certified(gap=0.001, time=limit))
        seconds = time.process_time() - before
        results.append(
            {"sentences": sentences, "free": count, "boxes": proof.boxes, "seconds": seconds, "gap": proof.gap}
        )
    rows = [(r["sentences"], r["free"], f"{r['boxes']:,}", f"{r['seconds']:.2f}", f"{r['gap']:.2g}") for r in results]
    print(table("growth (synthetic, BLEU, gap 0.001)", ("sentences", "free", "boxes", "CPU s", "gap"), rows))
    return results


def plot(results: list[dict[str, Any]]) -> None:
    """Boxes and seconds against sentences, and against free weights."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    by_size = [r for r in results if r["free"] == 2]
    by_weights = [r for r in results if r["sentences"] == 200]
    for axes, chosen, key, label in (
        (left, by_size, "sentences", "sentences (2 free weights)"),
        (right, by_weights, "free", "free weights (200 sentences)"),
    ):
        chosen = sorted({r[key]: r for r in chosen}.values(), key=lambda r: r[key])
        places = [r[key] for r in chosen]
        axes.plot(places, [r["boxes"] for r in chosen], "o-", color="#0072b2", label="boxes")
        axes.plot(places, [r["seconds"] for r in chosen], "s--", color="#d55e00", label="CPU seconds")
        axes.set_yscale("log")
        axes.set_xlabel(label)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
    right.set_xticks([1, 2, 3, 4])
    figure.savefig(RESULTS / "certified.png", dpi=110)


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repeats and smaller lists")
    options = parser.parse_args()
    quick = options.quick
    selected = cases()
    certified = targets(selected, repeats=2 if quick else 5)
    result = {"targets": certified, "alternatives": alternatives(selected, certified), "growth": growth(quick=quick)}
    result["lattices"] = lattices()
    plot(result["growth"])
    return finish(options, "certified", result)


if __name__ == "__main__":
    sys.exit(main())
