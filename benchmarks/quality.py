"""Compare ways to tune at equal CPU time: the strategies here, CMA-ES, random search and TPE, on six sets of lists,
and on one with 2,000 sparse features the strategies that are made for these.

Run: python -m benchmarks.tuning --compare [--sets A,B] [--ways A|B] [--seeds N]

Seeds 1 to 5 tune on the even sentences of a set and hold out the odd ones; seeds 6 to 10 do it the other way round.
Errors over the seeds of one split do not contain the luck of the split, which on 50 sentences is larger. So a mean is
the mean of both directions, its standard error is that of seeds within each direction, and differences between two
ways are paired by seed; the summary has each direction apart, too.

A run of 8 CPU seconds on one core keeps the time of each new best weights, so that it also tells what 0.5 and 2
seconds give. Each run is stored when it ends, in benchmarks/results/quality_runs.jsonl; a second call does what is
left, seed by seed over all sets and ways, lesser rivals (LESSER) last. The ways in ENDS run to their own end with their
defaults, and the time that they take is told. The summary is benchmarks/results/quality.json, and the picture
quality.png shows the scores over time.
"""

from __future__ import annotations

import json
import os
import threading
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import RESULTS, table, write_json
from benchmarks.lists import synthetic
from benchmarks.phrases import phrase_lists
from benchmarks.rivals import Objective, cma_es, optuna_tpe, random_search
from hulltune.metrics import get_metric
from hulltune.search.climbing import Climbing
from hulltune.search.constraints import Constraints
from hulltune.search.coordinate import Coordinate
from hulltune.search.gradient import GradientClimb
from hulltune.search.line_cma import LineCma
from hulltune.search.powell import Powell
from hulltune.search.problem import Problem
from hulltune.search.random_climb import Climb
from hulltune.search.strategy import Setting
from hulltune.search.whitening import Whitening
from hulltune.tuning.inputs import as_dataset
from hulltune.tuning.regularising import Run

Floats = NDArray[np.float64]
DATA = Path(__file__).resolve().parents[1] / "../shared/data"
BUDGETS = (0.5, 2.0, 8.0)
RUNS = RESULTS / "quality_runs.jsonl"
REAL = {"fr_en": ("nbest.moses.gz", "bleu"), "de_en": ("nbest.txt.gz", "bleu"), "asr_tts": ("nbest.txt.gz", "wer")}
EXCHANGED = 5
"""Seeds up to this one tune on the even sentences and hold out the odd ones; later ones the other way round."""
FOREVER = 2000
"""Restarts that no run gets through before its time is up."""


@dataclass(frozen=True, eq=False)
class Halves:
    """A set of lists: the sentences to tune on, and the others."""

    dev: Problem
    heldout: Problem

    @staticmethod
    def of(name: str) -> Halves | None:
        """The set of this name; None if its files are missing. All statistics are known before a clock starts."""
        problem = _problem(name)
        if problem is None:
            return None
        problem.rows(np.arange(problem.corpus.edges))
        even, odd = (problem.subset(np.arange(first, len(problem.corpus), 2)) for first in (0, 1))
        for half in (even, odd):
            half.score(np.ones(len(problem.feature_names)))  # makes the tables of a first use
        return Halves(even, odd)

    def of_seed(self, seed: int) -> Halves:
        """The halves in the roles that they have for a seed."""
        return self if seed <= EXCHANGED else Halves(self.heldout, self.dev)

    def scores(self, weights: Floats) -> tuple[float, float]:
        """The score on both halves; error rates in percent."""
        scale = 100.0 if self.dev.metric.name == "wer" else 1.0
        return scale * self.dev.score(weights), scale * self.heldout.score(weights)


def _problem(name: str) -> Problem | None:
    bleu = get_metric("bleu")
    if name in REAL:
        file, metric = REAL[name]
        if not (DATA / name / file).exists():
            print(f"{name}: left out, there is no ../shared/data/{name}/{file} beside the checkout")
            return None
        return Problem.of(as_dataset(DATA / name / file, DATA / name / "refs.txt"), metric)
    if name == "synthetic":
        return synthetic(1000, 100, 14, seed=2).problem(bleu, features=14)
    options: dict[str, Any] = {
        "phrases": {"seed": 3},
        "many": {"more": 86, "seed": 5},
        "sparse": {"sparse": 1986, "seed": 7},
    }
    return Problem.of(phrase_lists(1000, 100, **options[name])[0], bleu)


SETS = (*REAL, "synthetic", "phrases", "many", "sparse")


class Deadline(threading.Event):
    """An event that is set when this process has used so many CPU seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.began = process_time()
        self._end = self.began + seconds

    def is_set(self) -> bool:
        """Whether the time is up, or the event was set."""
        return super().is_set() or process_time() >= self._end


Curve = list[tuple[float, Floats]]
"""The CPU seconds at which better weights were found, and these weights."""


def of_strategy(strategy: Climbing, problem: Problem, seed: int, seconds: float, *, whitened: bool = True) -> Curve:
    """Search for so many CPU seconds."""
    found: Curve = []
    least = np.inf
    decode = type(problem).loss
    stop = Deadline(seconds)

    def watched(weights: Any, **options: Any) -> float:
        nonlocal least
        loss = decode(problem, weights, **options)
        if loss < least:  # a strategy decodes whatever it takes for the best
            least = loss
            found.append((process_time() - stop.began, np.array(weights)))
        return loss

    problem.loss = watched  # type: ignore[method-assign]  # every loss is seen, whatever the strategy
    try:
        setting = replace(Setting.of(problem, Constraints(), None), stop=stop)
        if not whitened:
            setting.__dict__["whitening"] = Whitening(setting.axes, len(setting.units))
        strategy.find(setting, seed=seed, threads=1)
    finally:
        del problem.loss
    return found


def in_time(
    strategy: Climbing, problem: Problem, seed: int, budgets: Sequence[float] = BUDGETS[-1:], *, whitened: bool = True
) -> Curve:
    """Climb with as many restarts as fit into each budget, as a first run tells: their number decides what comes first.

    The curve up to a budget is that of its own run.
    """
    before = process_time()
    of_strategy(replace(strategy, restarts=7), problem, seed, budgets[-1], whitened=whitened)
    each = (process_time() - before) / 8
    curve: Curve = []
    for low, budget in zip((0.0, *budgets), budgets, strict=False):
        wanted = replace(strategy, restarts=max(0, int(budget / each) - 1))
        run = of_strategy(wanted, problem, seed, budget, whitened=whitened)
        last = [(time, weights) for time, weights in run if time <= budget or time == run[0][0]][-1]
        curve += [(time, weights) for time, weights in run if low < time <= budget] or [(low, last[1])]
    return curve


def of_rival(rival: Callable[[Objective, int], None], problem: Problem, seed: int) -> Curve:
    """Let another optimiser run for the largest budget."""
    objective = Objective(problem)
    objective.start(0.01)
    rival(objective, seed)  # imports what it needs before the clock starts
    objective.start(BUDGETS[-1])
    rival(objective, seed)
    return [(time, point * objective.per_unit) for time, point in objective.improvements]


def to_its_end(strategy: Climbing, problem: Problem, seed: int, *, whitened: bool = True) -> Curve:
    """A whole search with the defaults of its strategy: its last weights, and the CPU seconds that it took."""
    before = process_time()
    found = of_strategy(strategy, problem, seed, np.inf, whitened=whitened)
    return [(process_time() - before, found[-1][1])]


def regularised(strategy: Climbing, problem: Problem, seed: int) -> Curve:
    """A whole run of a strategy with regularise="auto"."""
    run = Run(strategy, Constraints(), seed=seed, regularise="auto")
    before = process_time()
    found, _ = run.find(run.setting(problem, None))
    return [(process_time() - before, found.weights)]


WAYS: dict[str, Callable[[Problem, int], Curve]] = {
    "cma (default)": lambda problem, seed: of_strategy(LineCma(restarts=FOREVER), problem, seed, BUDGETS[-1]),
    "random, not whitened (default before)": partial(in_time, Climb(), budgets=BUDGETS, whitened=False),
    "CMA-ES": partial(of_rival, cma_es),
    "CMA-ES, whitened": partial(of_rival, partial(cma_es, whitened=True)),
    "default, to its end": partial(to_its_end, LineCma()),
    "default before, to its end": partial(to_its_end, Climb(), whitened=False),
    "default, regularise auto": partial(regularised, LineCma()),
    "random": partial(in_time, Climb(), budgets=BUDGETS),
    "gradient": partial(in_time, GradientClimb()),
    "coordinate": partial(in_time, Coordinate()),
    "powell": partial(in_time, Powell()),
    "Och's search, 20 starts": lambda problem, seed: of_strategy(Coordinate(restarts=19), problem, seed, BUDGETS[-1]),
    "random search": partial(of_rival, random_search),
    "TPE": partial(of_rival, optuna_tpe),
    "gradient, regularise auto": partial(regularised, GradientClimb()),
}
SPARSE = (
    "random, not whitened (default before)",
    "default before, to its end",
    "gradient",
    "gradient, regularise auto",
)
"""The ways on the set of sparse features, too many to learn how they vary together; the last one is run there only."""
ENDS = ("default, to its end", "default before, to its end", "default, regularise auto", "gradient, regularise auto")
"""The ways that run to their own end, whatever the time."""
LESSER = (
    "random", "gradient", "coordinate", "powell", "Och's search, 20 starts", "random search", "TPE",
    "gradient, regularise auto",
)  # fmt: skip
"""The ways that are run after all others."""
PAIRS = (
    ("cma (default)", "CMA-ES"),
    ("cma (default)", "CMA-ES, whitened"),
    ("cma (default)", "random, not whitened (default before)"),
    ("default, to its end", "default before, to its end"),
    ("default, regularise auto", "default, to its end"),
    ("default, regularise auto", "default before, to its end"),
    ("gradient", "random, not whitened (default before)"),
    ("gradient, regularise auto", "default before, to its end"),
)
"""The ways whose difference, the first less the second, is told."""
SEEDS = (1, 6, 2, 7, 3, 8, 4, 9, 5, 10)
"""The seeds, in an order in which both directions have as many of the first ones (but for one)."""


def runs() -> list[dict[str, Any]]:
    """The runs that are stored so far."""
    lines = RUNS.read_text(encoding="utf-8").splitlines() if RUNS.exists() else []
    return [json.loads(line) for line in lines]


def fits(name: str, way: str) -> bool:
    """Whether a way is run on a set."""
    return way in SPARSE if name == "sparse" else way != SPARSE[-1]


def run_all(sets: Sequence[str], ways: Sequence[str], seeds: Sequence[int]) -> None:
    """Make every run that is not stored yet: all sets and ways in turn with one seed, then with the next; lesser
    rivals come last.
    """
    done = {(run["set"], run["way"], run["seed"]) for run in runs()}
    first = [way for way in ways if way not in LESSER]
    last = [way for way in ways if way in LESSER]
    halves: dict[str, Halves | None] = {}
    for some, seed, name in ((some, seed, name) for some in (first, last) for seed in seeds for name in sets):
        for way in some:
            if (name, way, seed) in done or not fits(name, way):
                continue
            if name not in halves:
                halves[name] = Halves.of(name)
            found = halves[name]
            if found is not None:
                _run(name, found.of_seed(seed), way, seed)


def _run(name: str, halves: Halves, way: str, seed: int) -> None:
    """Make one run and store it."""
    scored = [(time, *halves.scores(weights)) for time, weights in _thinned(WAYS[way](halves.dev, seed))]
    run = {"set": name, "way": way, "seed": seed, "curve": scored, "load": os.getloadavg()[0]}
    with RUNS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(run) + "\n")
    print(f"{name}, {way}, seed {seed}: " + ", ".join(f"{dev:.2f}" for dev, _ in at_budgets(scored)), flush=True)


def _thinned(curve: Curve, points: int = 60) -> Curve:
    """The last improvement before each of some times, evenly spread over their logarithms, and before each budget."""
    ends = np.unique(np.concatenate([np.geomspace(0.02, BUDGETS[-1], points), BUDGETS]))
    times = [time for time, _ in curve]
    kept = sorted({bisect_right(times, end) - 1 for end in ends.tolist()} - {-1} | {0})
    return [curve[k] for k in kept]


def at_budgets(curve: Sequence[Sequence[float]]) -> list[tuple[float, float]]:
    """The dev and held-out scores at each budget; before its first weights a way has those of the first."""
    times = [time for time, _, _ in curve]
    found = [curve[max(bisect_right(times, budget) - 1, 0)] for budget in BUDGETS]
    return [(dev, heldout) for _, dev, heldout in found]


Scores = dict[int, Floats]
"""The scores of a way by seed: a row of dev and held-out scores for each budget, or one row of a whole run."""


def summary() -> dict[str, Any]:
    """What the runs so far tell: scores at equal times, scores of whole runs with the time that they take, and the
    differences of ways in PAIRS, each positive where the first is better.
    """
    by_set: dict[str, dict[str, Scores]] = {}
    seconds: dict[tuple[str, str], list[float]] = {}
    for run in sorted(runs(), key=lambda run: (SETS.index(run["set"]), run["seed"])):
        name, way, curve = run["set"], run["way"], run["curve"]
        scores = [curve[-1][1:]] if way in ENDS else at_budgets(curve)
        by_set.setdefault(name, {}).setdefault(way, {})[run["seed"]] = np.array(scores)
        seconds.setdefault((name, way), []).append(curve[-1][0])
    return {
        "at equal times": {name: _at_equal_times(name, scores) for name, scores in by_set.items()},
        "to the end": {
            name: {
                way: {"seconds": float(np.mean(seconds[name, way])), **_means(scores[way], 0)}
                for way in ENDS
                if way in scores
            }
            for name, scores in by_set.items()
        },
        "differences": {f"{one} − {other}": _differences(by_set, one, other) for one, other in PAIRS},
    }


def _sign(name: str) -> float:
    """1 if more is better on a set, −1 for error rates."""
    return -1.0 if REAL.get(name, ("", ""))[1] == "wer" else 1.0


def _at_equal_times(name: str, scores: dict[str, Scores]) -> dict[str, Any]:
    """For each way and budget: the mean scores, their standard errors, and how often no other was better."""
    timed = {way: scores[way] for way in WAYS if way in scores and way not in ENDS}
    found: dict[str, Any] = {way: {} for way in timed}
    for k, budget in enumerate(BUDGETS):
        best: dict[int, float] = {}
        for of in timed.values():
            for seed, rows in of.items():
                best[seed] = max(best.get(seed, -np.inf), _sign(name) * rows[k, 0])
        for way, of in timed.items():
            wins = sum(_sign(name) * rows[k, 0] >= best[seed] for seed, rows in of.items())
            found[way][f"{budget:g} s"] = {**_means(of, k), "wins": int(wins)}
    return found


def _differences(by_set: dict[str, dict[str, Scores]], one: str, other: str) -> dict[str, Any]:
    """The difference of two ways by budget and set, paired by seed, and the mean over all sets."""
    rows = ["end"] if one in ENDS else [f"{budget:g} s" for budget in BUDGETS]
    found: dict[str, Any] = {}
    for k, row in enumerate(rows):
        paired = {
            name: {seed: _sign(name) * (of[one][seed] - of[other][seed]) for seed in of[one] if seed in of[other]}
            for name, of in by_set.items()
            if one in of and other in of
        }
        found[row] = {name: _means(of, k) for name, of in paired.items() if of}
        cells = list(found[row].values())
        if cells:
            found[row]["mean of the sets"] = _mean_of_sets(cells)
    return found


def _mean_of_sets(cells: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The mean of differences on several sets; BLEU counts like percent of WER."""
    mean: dict[str, Any] = {"seeds": min(cell["seeds"] for cell in cells)}
    for part in ("dev", "heldout"):
        mean[part] = float(np.mean([cell[part] for cell in cells]))
        mean[f"{part} error"] = float(np.linalg.norm([cell[f"{part} error"] for cell in cells]) / len(cells))
    return mean


def _directions(values: dict[int, Floats]) -> list[Floats]:
    """The values of the seeds of each direction of the split that has any, seeds × values."""
    sides = [[row for seed, row in values.items() if (seed > EXCHANGED) == exchanged] for exchanged in (False, True)]
    return [np.array(side) for side in sides if side]


def _over_seeds(values: dict[int, Floats]) -> tuple[Floats, Floats]:
    """The mean of values over both directions of the split, and the standard error of seeds within directions."""
    sides = _directions(values)
    mean = np.mean([side.mean(axis=0) for side in sides], axis=0)
    squares = [side.var(axis=0, ddof=1) / len(side) for side in sides if len(side) > 1]
    return mean, np.sqrt(sum(squares, start=np.zeros_like(mean))) / len(sides)


def _means(scores: Scores, row: int) -> dict[str, Any]:
    """The mean of dev and held-out scores over seeds (``_over_seeds``), with the means and numbers of seeds of each
    direction of the split.
    """
    values = {seed: np.array(rows[row]) for seed, rows in scores.items()}
    mean, error = _over_seeds(values)
    return {
        "dev": float(mean[0]), "dev error": float(error[0]), "heldout": float(mean[1]),
        "heldout error": float(error[1]), "seeds": len(scores),
        "each direction": [[len(side), *map(float, side.mean(axis=0))] for side in _directions(values)],
    }  # fmt: skip


def _cell(cell: dict[str, Any]) -> str:
    wins = f" ({cell['wins']})" if "wins" in cell else ""
    dev, heldout = (f"{cell[part]:.2f} ± {cell[f'{part} error']:.2f}" for part in ("dev", "heldout"))
    return f"{dev}{wins}  {heldout}"


def show(found: dict[str, Any]) -> None:
    """Print the summary as tables."""
    for name, ways in found["at equal times"].items():
        rows = [[way, *map(_cell, cells.values()), str(cells["8 s"]["seeds"])] for way, cells in ways.items()]
        title = f"{name}: dev ± standard error (wins), held-out ± standard error, by CPU seconds"
        print(table(title, ["", *(f"{budget:g} s" for budget in BUDGETS), "seeds"], rows))
    rows = [
        [name, way, _cell(cell), f"{cell['seconds']:.2f}", str(cell["seeds"])]
        for name, ways in found["to the end"].items()
        for way, cell in ways.items()
    ]
    print(table("whole runs", ["", "", "dev, held-out", "CPU seconds", "seeds"], rows))
    for pair, times in found["differences"].items():
        rows = [
            [time, name, _cell(cell), *(" ".join(f"{part:+.2f}" for part in side[1:]) for side in _sides(cell))]
            for time, cells in times.items()
            for name, cell in cells.items()
        ]
        print(table(pair, ["", "", "dev, held-out", "even → odd", "odd → even"], rows))


def _sides(cell: dict[str, Any]) -> list[list[float]]:
    """The means of each direction of the split, or two empty ones."""
    return [*cell.get("each direction", []), [], []][:2]


def draw(path: Path) -> None:
    """Draw the mean dev score over time of each way, a panel for each set."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    stored = runs()
    names = [name for name in SETS if name != "sparse" and any(run["set"] == name for run in stored)]
    shown = [way for way in WAYS if way in DRAWN]
    figure, panels = plt.subplots(2, -(-len(names) // 2), figsize=(13, 7.5), squeeze=False)
    times = np.geomspace(0.1, BUDGETS[-1], 80)
    for name, panel in zip(names, panels.flat, strict=False):
        for way in shown:
            curves = {run["seed"]: run["curve"] for run in stored if (run["set"], run["way"]) == (name, way)}
            if curves:
                mean, error = _over_seeds({seed: np.array(_values(curve, times)) for seed, curve in curves.items()})
                (line,) = panel.plot(times, mean, label=way, linewidth=2.2 if way.startswith("cma") else 1.3)
                panel.fill_between(times, mean - error, mean + error, color=line.get_color(), alpha=0.15, linewidth=0)
        final = [float(line.get_ydata()[-1]) for line in panel.lines if line.get_label() not in FAR]
        if final:
            spread = _sign(name) * (max(final) - min(final) or 1.0)
            best, worst = (max(final), min(final)) if spread > 0.0 else (min(final), max(final))
            panel.set_ylim(worst - 2.0 * spread, best + 0.2 * spread)
        panel.set(xscale="log", title=name, xlabel="CPU seconds")
        panel.set_xticks([0.1, 0.5, 2.0, 8.0], ["0.1", "0.5", "2", "8"])
        panel.minorticks_off()
        panel.grid(alpha=0.3)
        panel.set_ylabel("WER, % (better is up)" if REAL.get(name, ("", ""))[1] == "wer" else "BLEU")
    for panel in list(panels.flat)[len(names) :]:
        panel.axis("off")
    handles, labels = panels.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=4, frameon=False)
    figure.suptitle(
        "Score on the data that were tuned on, over time on one core: mean, and standard error of seeds\n"
        f"Not seen where they are below a panel: {' and '.join(FAR)}"
    )
    figure.tight_layout(rect=(0.0, 0.08, 1.0, 1.0))
    figure.savefig(path, dpi=110)


DRAWN = ("cma (default)", "random, not whitened (default before)", "random", "CMA-ES", "CMA-ES, whitened",
         "random search", "TPE")  # fmt: skip
FAR = ("random search", "TPE")
"""Ways that end so far below the others that a panel with room for them would show no other difference."""


def _values(curve: Sequence[Sequence[float]], times: Floats) -> list[float]:
    starts = [time for time, _, _ in curve]
    return [curve[max(bisect_right(starts, time) - 1, 0)][1] for time in times.tolist()]


def compare(sets: Sequence[str], ways: Sequence[str], seeds: int) -> None:
    """Make the runs that are left, then write and show the summary and the picture."""
    run_all(sets, ways, SEEDS[:seeds])
    found = summary()
    show(found)
    write_json("quality", found)
    draw(RESULTS / "quality.png")
