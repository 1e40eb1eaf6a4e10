"""Time whole jobs with 1, 2, 4 … threads: speed-up, the serial share by Amdahl's law, and what runs outside of threads.

Run: make bench-scaling   (or: python -m benchmarks.scaling [--quick] [--only lists forests …] [--threads 1 2 4])
Writes benchmarks/results/scaling.json. Times are wall-clock times, so the machine must be quiet; the numbers of threads
take turns, and the best turn counts. With n threads and a speed-up of s, the serial share by Amdahl's law is
(n / s − 1) / (n − 1); it has in it all that is lost, also to memory that threads share. So beside the jobs stand two
plain loops, one of arithmetic and one over memory: no job can be expected to do better than these. That of arithmetic
takes turns with every job, too, because other users of a machine come and go.

"outside" is the share of the work that is done outside of the parts that threads share; "alone" is what is left of it
without the decisions of climbs that run beside others, whose parts go on meanwhile. It is measured by one thread that
does the parts for MANY threads one after the other; the functions that take most of it are listed. From the seconds of
the parts follows the speed-up that MANY threads would reach if they shared neither memory nor Python's lock, and parts
were handed out for nothing.
"""

from __future__ import annotations

import cProfile
import heapq
import os
import pstats
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from benchmarks.harness import finish, options_of, table, verdict
from benchmarks.lattice_reading import as_slf, made_up
from benchmarks.lists import synthetic
from hulltune import Certified, Climb, Corpus, Dataset, Problem, Vocabulary, read, threads, tune
from hulltune.data.builder import UnpackedForest, pack
from hulltune.data.features import DenseFeatures
from hulltune.data.forest import Forest
from hulltune.formats import forest_reading
from hulltune.search.directions import random_directions
from hulltune.threads import Workers, available_cpus
from hulltune.tuning.inputs import as_dataset

OUTSIDE = 0.015
"""The most of the work of one thread that may be done outside of the parts that threads share."""
TARGETS = {2: 1.8, 16: 8.0}
"""The speed-up to reach with so many threads, for the jobs of JUDGED."""
JUDGED = ("lists", "forests", "forest lines")
MANY = 16
LISTED = 12

Job = Callable[[int], Any]


@dataclass(frozen=True)
class Sizes:
    """The sizes of the data, and how often each job is done."""

    sentences: int
    lattices: int
    files: int
    certified: int
    restarts: int
    turns: int


FULL = Sizes(sentences=8000, lattices=60, files=4000, certified=4000, restarts=2, turns=3)
QUICK = Sizes(sentences=800, lattices=6, files=40, certified=100, restarts=0, turns=2)


# Data.


@cache
def lists(sentences: int, hypotheses: int = 100, features: int = 14) -> Dataset:
    made = synthetic(sentences, hypotheses, features)
    return as_dataset(made.lists, made.references)


def lattice(rng: np.random.Generator, *, positions: int = 40, states: int = 50, arcs: int = 10) -> tuple[Forest, str]:
    """A lattice of layers of states with random arcs between them, about 20,000 edges, and the words of a path."""
    width = states * arcs
    layer = np.repeat(np.arange(positions), width)
    targets = 1 + layer * states + np.tile(np.repeat(np.arange(states), arcs), positions)
    sources = np.where(layer == 0, 0, 1 + (layer - 1) * states + rng.integers(0, states, len(layer)))
    words = rng.integers(0, 500, len(layer)).astype(np.int32)
    reference, node = [], int(rng.integers(0, states)) + 1 + (positions - 1) * states
    right = np.zeros(len(layer))
    while node:
        edge = int(rng.integers(0, arcs)) + (node - 1) * arcs
        right[edge] = 1.0
        reference.append(f"w{words[edge]}")
        node = int(sources[edge])
    root = 1 + positions * states
    heads = np.concatenate([[0], targets, np.full(states, root)])
    tails = np.concatenate([sources, root - 1 - np.arange(states)])
    values = rng.normal(size=(len(heads), 6))
    values[1 : len(right) + 1, :4] += np.outer(right, [3.0, 2.0, 1.0, 0.5])
    has_word = np.concatenate([[False], np.ones(len(words), dtype=bool), np.zeros(states, dtype=bool)])
    sizes = np.where(np.arange(len(heads)) == 0, 0, 1 + has_word)
    label_offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    labels = np.full(int(label_offsets[-1]), -1, dtype=np.int32)
    labels[label_offsets[1:][has_word] - 1] = words
    unpacked = UnpackedForest(
        nodes=root + 1,
        root=root,
        heads=heads.astype(np.int64),
        tail_offsets=np.concatenate([[0], np.arange(len(heads))]).astype(np.int64),
        tails=tails.astype(np.int64),
        features=DenseFeatures(np.asfortranarray(np.round(values, 4))),
        feature_names=tuple(f"f{k}" for k in range(6)),
        label_offsets=label_offsets,
        labels=labels,
        vocabulary=_vocabulary(),
    )
    return pack(unpacked), " ".join(reversed(reference))


@cache
def _vocabulary() -> Vocabulary:
    return Vocabulary(f"w{k}" for k in range(500))


@cache
def forests(count: int) -> Dataset:
    rng = np.random.default_rng(3)
    made = [lattice(rng) for _ in range(count)]
    return as_dataset(Corpus.pack([forest for forest, _ in made]), [[text] for _, text in made])


def write_lattices(folder: Path, count: int) -> None:
    """Files of HTK's format, 3,000 arcs each, one in ten of them different."""
    rng = np.random.default_rng(4)
    texts = [as_slf(made_up(3000, rng), "u") for _ in range(count // 10)]
    for number in range(count):
        (folder / f"{number}.slf").write_bytes(texts[number % len(texts)])


# Jobs.


def tune_lists(sizes: Sizes, count: int) -> float:
    """A whole tuning at defaults: oracle, search, description."""
    return tune(lists(sizes.sentences), threads=count, **_options(sizes)).score


def tune_forests(sizes: Sizes, count: int) -> float:
    """A tuning of lattices by random climbs."""
    search = Climb(restarts=sizes.restarts)
    return tune(forests(sizes.lattices), search=search, threads=count, also=()).score


def forest_lines(sizes: Sizes, count: int) -> int:
    """Sixteen lines over lattices whose outputs are not known yet: envelopes, outputs, statistics and surfaces."""
    problem = Problem.of(forests(sizes.lattices), "bleu")
    lines = np.array(random_directions(16, np.ones(6), np.random.default_rng(1)))
    ends = np.tile([-np.inf, np.inf], (16, 1))
    found = problem.surfaces(np.ones(6), lines, ends, workers=Workers(count))
    return sum(len(surface.breakpoints) for surface in found)


def certify_lists(sizes: Sizes, count: int) -> float:
    """A proof that no three weights are better."""
    made = lists(sizes.certified, 100, 3)
    found = tune(made, search=Certified(gap=0.01), threads=count, also=(), oracle=False)
    return found.score


def count_statistics(sizes: Sizes, count: int) -> int:
    """The statistics of BLEU of every hypothesis."""
    problem = Problem.of(lists(sizes.sentences), "bleu")
    return int(problem.rows(np.arange(problem.corpus.edges), workers=Workers(count)).max())


def read_folder(folder: Path, sizes: Sizes, count: int) -> int:
    """A folder of lattices, read and packed."""
    return read(folder, threads=count).corpus.edges


def _options(sizes: Sizes) -> dict[str, Any]:
    return {} if sizes is FULL else {"search": Climb(restarts=sizes.restarts)}


# Plain loops.


def arithmetic(count: int) -> None:
    """Sines of numbers in the cache, about a second of them."""
    numbers = np.linspace(0.0, 1.0, 1 << 13)

    def work(_: int) -> None:
        room = np.empty_like(numbers)
        for _ in range(300):
            np.sin(numbers, out=room)

    threads.Workers(count).map(work, range(64))


def memory(count: int) -> None:
    """Copies of arrays that fit into no cache."""
    source, target = _large()
    share = len(source) // 64

    def work(part: int) -> None:
        some = slice(part * share, (part + 1) * share)
        np.copyto(target[some], source[some])

    for _ in range(4):
        threads.Workers(count).map(work, range(64))


@cache
def _large() -> tuple[Any, Any]:
    return np.ones(1 << 25), np.zeros(1 << 25)


# Measurements.


def timed(jobs: Sequence[Job], counts: Sequence[int], turns: int) -> list[dict[int, float]]:
    """The best time of each job with each number of threads, all of which take turns; results must be equal."""
    best = [dict.fromkeys(counts, float("inf")) for _ in jobs]
    answers: list[set[Any]] = [set() for _ in jobs]
    for job in jobs:
        job(counts[-1])  # kernels are loaded, and threads begun
    for _ in range(turns):
        for count in counts:
            for job, times, given in zip(jobs, best, answers, strict=True):
                began = time.perf_counter()
                given.add(job(count))
                times[count] = min(times[count], time.perf_counter() - began)
    for given in answers:
        if len(given) > 1:
            sys.exit(f"the answer depends on the number of threads: {given}")
    return best


def speed_ups(seconds: dict[int, float]) -> dict[int, float]:
    """How many times as fast as one thread each number of threads is."""
    return {count: seconds[1] / each for count, each in seconds.items()}


@dataclass
class Part:
    """A part of a work: CPU seconds of its own, and the works within it, which threads share in turn."""

    seconds: float = 0.0
    works: list[Work] = field(default_factory=list)

    @property
    def total(self) -> float:
        """The seconds with all works within."""
        return self.seconds + sum(work.total for work in self.works)

    @property
    def outside(self) -> float:
        """The seconds that are in no part without further works: those of one thread."""
        return self.seconds + sum(part.outside for work in self.works for part in work.parts if part.works)

    def at_best(self, count: int) -> float:
        """The seconds with so many threads that do nothing else."""
        return self.seconds + sum(work.at_best(count) for work in self.works)


@dataclass
class Work:
    """A work whose parts up to ``lanes`` threads take at a time."""

    lanes: int = 1
    parts: list[Part] = field(default_factory=list)

    @property
    def total(self) -> float:
        """The seconds of all parts."""
        return sum(part.total for part in self.parts)

    def at_best(self, count: int) -> float:
        """The seconds that so many threads would take for all parts: one that is done takes the next.

        Parts with works of their own, such as climbs, share the threads: none is faster than with all of them, and
        all together are no faster than their sum allows.
        """
        busy = [0.0] * min(self.lanes, count)
        for part in self.parts:
            heapq.heapreplace(busy, busy[0] + part.at_best(count))
        return max(max(busy), self.total / count)


class Meter:
    """The CPU seconds of a job, by its works: one thread does all parts, one after the other.

    A profile is of what is outside of parts; ``like`` is then a meter that has measured the same job before, and knows
    which parts have works within them.
    """

    def __init__(self, profile: cProfile.Profile | None = None, like: Meter | None = None) -> None:
        self.job = Part()
        self.works: list[Work] = []
        """All works, in the order in which they were begun."""
        self._profile = profile
        self._watching = profile is not None
        self._like = like
        self._open = [self.job]
        self._last = time.thread_time()

    def parts_of(self, places: Iterator[int], lanes: int) -> Iterator[int]:
        """The places of a work, each of which is a part of it until the next one is asked for."""
        work = Work(lanes)
        has_works = self._like is not None and any(part.works for part in self._like.works[len(self.works)].parts)
        self.works.append(work)
        self._open[-1].works.append(work)
        self._open.append(self._open[-1])
        for place in places:
            self._go_on_with(Part())
            work.parts.append(self._open[-1])
            if not has_works:
                self._watch(False)
            yield place
        self.count()
        self._open.pop()
        self._watch(True)

    def count(self) -> None:
        """Count the time until now to the part that is done."""
        now = time.thread_time()
        self._open[-1].seconds += now - self._last
        self._last = now

    def _go_on_with(self, part: Part) -> None:
        self.count()
        self._open[-1] = part

    def _watch(self, on: bool) -> None:
        if self._profile is not None and on != self._watching:  # Python 3.12 refuses to enable a profile twice
            self._profile.enable() if on else self._profile.disable()
            self._watching = on


@contextmanager
def metered(meter: Meter) -> Iterator[None]:
    """Do all work in the calling thread, part by part as for many threads, and measure the parts."""

    class Measured(threads.Work[Any, Any]):
        helpers = 0
        begun = False

        def help(self, *, own: bool = False) -> None:
            self.begun = True
            if len(self._parts) > 1:
                self._places = meter.parts_of(self._places, self.helpers + own)
            super().help(own=own)

        def is_done(self, seconds: float | None = None) -> bool:
            if not self.begun:  # nobody else would do it
                self.help()
            return super().is_done(seconds)

    class Here(threads._Pool):
        def __init__(self) -> None:
            super().__init__()
            self.calls = self  # type: ignore[assignment]  # a queue that does not call what is put into it

        def have(self, count: int) -> None:
            pass

        def put(self, call: Any) -> None:
            call.__self__.helpers += 1

    kept = threads.Work, threads._pool, forest_reading.PER_PROCESS
    threads.Work, threads._pool = Measured, Here()  # type: ignore[misc]  # for a while
    forest_reading.PER_PROCESS = sys.maxsize  # the work of other processes would not be seen
    meter.count()
    meter.job.seconds = 0.0
    try:
        yield
    finally:
        meter.count()
        threads.Work, threads._pool, forest_reading.PER_PROCESS = kept  # type: ignore[misc]  # a class is put back


def outside(job: Job) -> dict[str, Any]:
    """The share of the work outside of the parts that threads share, the best speed-up of MANY threads, and the
    functions that take most of the time outside.
    """
    meter = Meter()
    with metered(meter):
        job(MANY)
    profile = cProfile.Profile()
    with metered(Meter(profile, like=meter)), profile:
        job(MANY)
    seconds = meter.job.total
    return {
        "share": meter.job.outside / seconds,
        "alone": meter.job.seconds / seconds,
        "seconds": meter.job.outside,
        "best_speed_up": seconds / meter.job.at_best(MANY),
        "most": _most(profile),
    }


def _most(profile: cProfile.Profile) -> list[tuple[str, float]]:
    rows = []
    for (file, _, name), (_, _, own, *_) in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]  # not in its stubs
        where = Path(file).stem if file != "~" else ""
        rows.append((f"{where}.{name}" if where else name, own))
    return sorted(rows, key=lambda row: -row[1])[:LISTED]


def amdahl(speed_up: float, count: int) -> float | None:
    """The serial share that explains a speed-up."""
    return None if count == 1 else (count / speed_up - 1.0) / (count - 1.0)


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--quick", action="store_true", help="small data: to see that it works")
    parser.add_argument("--only", nargs="+", help="some of the jobs")
    parser.add_argument("--threads", nargs="+", type=int, help="numbers of threads (1, 2, 4 … up to the CPUs)")
    options = parser.parse_args()
    sizes = QUICK if options.quick else FULL
    cpus = available_cpus()
    counts = sorted({1, *(options.threads or [*(2**k for k in range(1, 11) if 2**k < cpus), cpus])})
    with tempfile.TemporaryDirectory() as folder:
        jobs: dict[str, Job] = {
            "lists": partial(tune_lists, sizes),
            "forests": partial(tune_forests, sizes),
            "forest lines": partial(forest_lines, sizes),
            "certified": partial(certify_lists, sizes),
            "statistics": partial(count_statistics, sizes),
            "reading": partial(read_folder, Path(folder), sizes),
        }
        write_lattices(Path(folder), sizes.files)
        found: dict[str, Any] = {}
        for name, job in {"arithmetic": arithmetic, "memory": memory, **jobs}.items():
            if options.only and name not in options.only and name in jobs:
                continue
            best, *beside = timed([job, arithmetic] if name in jobs else [job], counts, sizes.turns)
            found[name] = {"seconds": best, "speed_up": speed_ups(best)}
            if name in jobs:
                found[name] |= {"beside": speed_ups(beside[0]), "outside": outside(job)}
            show(name, found[name], counts)
    return finish(options, "scaling", {"cpus": cpus, "quick": options.quick, "jobs": found})


def show(name: str, figures: dict[str, Any], counts: Sequence[int]) -> None:
    """Print the figures of a job."""
    rows = []
    for count in counts:
        speed_up = figures["speed_up"][count]
        serial = amdahl(speed_up, count)
        judged = verdict(speed_up, TARGETS[count], at_least=True) if name in JUDGED and count in TARGETS else ""
        share = "" if serial is None else f"{serial:.1%}"
        beside = f"{figures['beside'][count]:.2f}" if "beside" in figures else ""
        rows.append([count, f"{figures['seconds'][count]:.3f}", f"{speed_up:.2f}", beside, share, judged])
    print(table(name, ["threads", "seconds", "speed-up", "arithmetic beside", "serial share", "target"], rows))
    if "outside" in figures:
        share, alone, best = (figures["outside"][what] for what in ("share", "alone", "best_speed_up"))
        print(f"outside of what threads share: {share:.2%} of the work, alone {alone:.2%}  {verdict(share, OUTSIDE)}")
        print(f"speed-up of {MANY} threads at best: {best:.1f}")
        print("   " + ", ".join(f"{what} {seconds * 1e3:.0f} ms" for what, seconds in figures["outside"]["most"]))
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
