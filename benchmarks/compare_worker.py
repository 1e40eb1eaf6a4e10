"""One measurement for compare.py: a part, timed in this process with the version of hulltune that PYTHONPATH names.

Run by compare.py in a folder with its files: python -m benchmarks.compare_worker PART NUMBER FILE. Writes JSON to FILE:
the name of each thing measured, with its value and unit. All times are CPU times of one thread.
"""

from __future__ import annotations

import gzip
import importlib
import inspect
import json
import math
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.compare_data import ARCS, FORESTS, HYPOTHESES, LATTICES, SENTENCES, SPAN_EDGES, SPAN_WORDS
from tests.results import files
from tests.results.cases import all_cases
from tests.results.driver import run
from tests.results.running import ASKS

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
DIRECTIONS = 16
TURNS = 5
Floats = NDArray[np.float64]
Measured = dict[str, tuple[float, str]]


# What differs between versions. Modules are looked up by name, as each has names that the other does not know.


def room(name: str) -> Any:
    """A module of hulltune, or hulltune itself."""
    return importlib.import_module(f"hulltune.{name}" if name else "hulltune")


def read(source: Any, references: Any = None, *, forests: bool = True, **options: Any) -> Any:
    """Forests, or else lists, with their references, if any are given: then they are ready for ``problem``."""
    hulltune = room("")
    if hasattr(hulltune, "read"):
        return hulltune.read(source, references, **options)
    found = (hulltune.read_forests if forests else hulltune.read_lists)(source, **options)
    return found if references is None else room("tuning.inputs").tuning_data(found, references)


def problem(data: Any, metric: str) -> Any:
    """What a search works on, fresh: no outputs and no statistics are known."""
    if hasattr(data, "problem"):
        return replace(data).problem(metric)
    made = room("metrics").get_metric(metric)
    return room("search.problem").Problem.of(data, made)


def searching(data: Any, searched: Any) -> Callable[[Floats, Floats], object]:
    """The public line search over data and the problem that they pose, as a function of origin and direction."""
    line_search = room("").line_search
    if "statistics" not in inspect.signature(line_search).parameters:
        return partial(line_search, searched, threads=1)
    metric = searched.metric
    statistics = metric.prepare(data.references).statistics
    # The problem of lists has a corpus without texts, which would be outputs that are all the same.
    corpus = room("tuning.inputs").as_forests(data.lists).corpus if hasattr(data, "lists") else searched.corpus
    return partial(line_search, corpus, statistics=statistics, loss=metric.loss, threads=1)


# Tools.


def command(*arguments: str) -> dict[str, Any]:
    """The JSON that a command answers."""
    code, out, err = run([*arguments, "--json", "--quiet", "--threads", "1"])
    if code != 0:
        raise RuntimeError(f"hulltune {' '.join(arguments)}: exit code {code}: {err}")
    found: dict[str, Any] = json.loads(out)
    return found


def best(call: Callable[[], object], *, seconds: float = 1.0) -> float:
    """The least CPU seconds of a call, after one that does not count: of TURNS calls or more, if they are quick."""
    call()
    least, spent, turn = math.inf, 0.0, 0
    while spent < (0.4 if turn >= TURNS else seconds):
        before = time.process_time()
        call()
        taken = time.process_time() - before
        least, spent, turn = min(least, taken), spent + taken, turn + 1
    return least


def peak() -> float:
    """The most memory that this process has had, in MB. ru_maxrss would not do: it begins with that of the parent."""
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    if found is None:
        raise RuntimeError("this system does not tell the peak memory of a process")
    return int(found[1]) / 1024


def corpora() -> Iterator[tuple[str, Any, str]]:
    """Real and made-up forests, each with its metric."""
    if DATA.is_dir():
        names = (DATA / "asr_tts/ids.txt").read_text(encoding="utf-8").split()
        lattices = [DATA / f"asr_tts/slf/{name}.slf.gz" for name in names]
        russian, german = DATA / "ru_en_lattices", DATA / "de_en"
        yield "ru_en lattices", read(russian, russian / "refs", ids="name1"), "bleu:tokenize=none"
        yield "de_en forests", read(german / "forests", german / "refs.txt", ids="name"), "bleu"
        yield "asr_tts lattices", read(lattices, DATA / "asr_tts/refs.txt"), "wer"
    for name, file in (("lattices, 10k edges", "layers.forest"), ("parse forests, 10k edges", "forests.forest")):
        yield name, read(file, Path("forests.ref")), "bleu:tokenize=none"


def lines(searched: Any, seed: int) -> tuple[Floats, Floats, Floats]:
    """Equal weights over scaled features, random directions from there, and intervals without ends."""
    from hulltune.search.directions import feature_units, random_directions

    units = feature_units(searched.corpus)
    weights = np.divide(1.0, units, out=np.zeros_like(units), where=units > 0.0)
    directions = random_directions(DIRECTIONS, units, np.random.default_rng(seed))
    return weights, directions, np.tile([-math.inf, math.inf], (DIRECTIONS, 1))


def one_batch(searched: Any, seed: int) -> float:
    """CPU seconds of the surfaces along DIRECTIONS directions, and of the lowest loss on each."""
    given = lines(searched, seed)
    before = time.process_time()
    for surface in searched.surfaces(*given):
        searched.metric.lowest(surface.statistics)
    return time.process_time() - before


# The parts.


def lists() -> Measured:
    """Line searches over lists: within a tuning run, and the problem's own call for a batch of directions."""
    measured: Measured = {}
    small = ("tune", "lists.dense", "--ref", "lists.ref", "--metric", "bleu", "--restarts", "3")
    for name, options in {"tune": (), "tune, no oracle": ("--no-oracle", "--also", "wer")}.items():
        results = [command(*small, *options) for _ in range(2)]
        searching, describing = (min(each["timings"][part] for each in results) for part in ("searching", "describing"))
        measured[f"{name}: a line search"] = searching / results[0]["line_searches"] * 1e3, "ms"
        measured[f"{name}: describing"] = describing, "s"
    data = read("lists.dense", Path("lists.ref"), forests=False)
    fresh = [problem(data, "bleu") for _ in range(3)]
    measured["surfaces: first batch"] = min(one_batch(each, 0) for each in fresh) / DIRECTIONS * 1e3, "ms/direction"
    later = min(one_batch(fresh[0], seed % 3) for seed in range(4 * TURNS))
    measured["surfaces: later batch"] = later / DIRECTIONS * 1e3, "ms/direction"
    return measured


def forests() -> Measured:
    """Line searches over forests: ns per edge and direction, where every output is new, and where most are known."""
    measured: Measured = {}
    for name, data, metric in corpora():
        one_batch(problem(data, metric), 0)  # compiled
        fresh = [problem(data, metric) for _ in range(TURNS)]
        work = fresh[0].corpus.edges * DIRECTIONS / 1e9
        measured[f"{name}: first batch"] = min(one_batch(each, 1) for each in fresh) / work, "ns/edge"
        later = min(one_batch(fresh[0], 1 + seed % 3) for seed in range(2 * TURNS))
        measured[f"{name}: later batch"] = later / work, "ns/edge"
    return measured


def line_search() -> Measured:
    """The public line search, one direction a call, over lists and forests."""
    measured: Measured = {}
    given = [("lists", read("lists.dense", Path("lists.ref"), forests=False), "bleu"), *corpora()]
    for name, data, metric in given:
        searched = problem(data, metric)
        search = searching(data, searched)
        weights, directions, _ = lines(searched, 1)
        seconds = best(lambda: search(weights, directions[0]), seconds=3.0)  # noqa: B023  # called at once
        measured[name] = seconds / searched.corpus.edges * 1e9, "ns/edge"
    return measured


def metrics() -> Measured:
    """Statistics of texts, from raw text to rows."""
    from hulltune.metrics import get_metric

    measured: Measured = {}
    texts = _outputs()
    for name, metric, most in (
        ("translation", "bleu", 10_000), ("translation", "bleu:tokenize=none", 10_000), ("translation", "chrf", 3000),
        ("translation", "chrf++", 3000), ("translation", "ter", 600), ("translation", "meteor", 600),
        ("speech", "wer", 10_000), ("speech", "cer", 10_000),
    ):  # fmt: skip
        sentences, outputs, references = texts[name]
        step = max(1, len(outputs) // most)
        asked, chosen = sentences[::step], outputs[::step]
        prepared = get_metric(metric).prepare([[reference] for reference in references])
        seconds = best(lambda: prepared.statistics(asked, chosen))  # noqa: B023  # called at once
        measured[f"{metric} statistics, {name}"] = seconds / len(chosen) * 1e6, "µs/text"
        rows = prepared.statistics(asked, chosen)
        sums = np.random.default_rng(1).permutation(np.cumsum(rows, axis=0))
        many = np.ascontiguousarray(np.resize(sums, (20_000, rows.shape[1])))
        scored = get_metric(metric)
        measured[f"{metric} scores"] = best(lambda: scored.score(many)) / len(many) * 1e9, "ns/row"  # noqa: B023  # at once
    return measured


def _outputs() -> dict[str, tuple[NDArray[np.int64], list[str], list[str]]]:
    """Distinct outputs with the numbers of their sentences, and the references: real ones if there are any."""
    found = {}
    for name, folder in (("translation", "fr_en"), ("speech", "asr_tts")):
        (file,) = list((DATA / folder).glob("nbest.*")) or [Path("lists.dense")]
        references = DATA / folder / "refs.txt" if DATA.is_dir() else Path("lists.ref")
        with gzip.open(file, "rt", encoding="utf-8") if file.suffix == ".gz" else file.open(encoding="utf-8") as stream:
            pairs = list(dict.fromkeys(tuple(line.split(" ||| ")[:2]) for line in stream))
        numbers = np.array([int(number) for number, _ in pairs])
        lines = references.read_text(encoding="utf-8").split("\n")
        found[name] = numbers, [text for _, text in pairs], lines[: int(numbers.max()) + 1]
    return found


def certified() -> Measured:
    """Certified searches, from the problem to the certificate, as the certificate tells it."""
    measured: Measured = {}
    cases: dict[str, tuple[str, ...]] = {
        "lists, 2 free": (
            "lists.dense",
            "--ref",
            "lists.ref",
            "--free",
            "f0,f1",
            "--start",
            "lists.w",
            "--gap",
            "0.01",
        ),
    }
    if DATA.is_dir():
        speech = (str(DATA / "asr_tts/nbest.txt.gz"), "--ref", str(DATA / "asr_tts/refs.txt"), "--metric", "wer")
        held = "--gap", "0", "--fix", "am=1"
        german = (str(DATA / "de_en/nbest.txt.gz"), "--ref", str(DATA / "de_en/refs.txt"))
        start = "--start", str(DATA / "de_en/decoding.weights"), "--free"
        lattices = (str(DATA / "asr_tts/slf"), "--ids", str(DATA / "asr_tts/ids.txt"))
        cases |= {
            "speech, 2 free": (*speech, *held, "--fix", "lm1=0", "--fix", "fillers=0"),
            "speech, 4 free": (*speech, *held),
            "German, 2 free": (*german, *start, "LanguageModel,WordPenalty"),
            "German, 3 free": (*german, *start, "LanguageModel,WordPenalty,PhraseModel_0"),
            "speech lattices, 2 free": (*lattices, *speech[1:], "--gap", "0", "--fix", "acoustic=1"),
        }
    Path("lists.w").write_text("".join(f"f{k} {1.0 / (1 + k // 2) if k % 2 == 0 else 0.0}\n" for k in range(14)))
    for name, arguments in cases.items():
        seconds = [_certified_seconds(arguments)]
        while len(seconds) < TURNS and sum(seconds) < 3.0:
            seconds.append(_certified_seconds(arguments))
        measured[name] = min(seconds), "s"
    return measured


def _certified_seconds(arguments: tuple[str, ...]) -> float:
    found = command("tune", *arguments, "--certify", "--no-oracle", "--also", "wer")
    return float(found["certificate"]["seconds"])


def reading() -> Measured:
    """Reading of the formats that people have much of: lists, SLF, OpenFst, Kaldi."""
    hypotheses, arcs = SENTENCES * HYPOTHESES, LATTICES * ARCS
    measured: Measured = {}
    for style in ("dense", "sparse", "digits"):
        seconds = best(lambda: read(f"lists.{style}", forests=False), seconds=3.0)  # noqa: B023  # called at once
        measured[f"Moses lists, {style}"] = seconds / hypotheses * 1e6, "µs/hypothesis"
    for source in ("slf", "openfst-text", "openfst", "kaldi.txt", "kaldi.ark"):
        options: dict[str, Any] = {"format": "kaldi"} if source.startswith("kaldi") else {}
        seconds = best(lambda: read(source, **options), seconds=3.0)  # noqa: B023  # called at once
        measured[source] = seconds / arcs * 1e9, "ns/arc"
    if DATA.is_dir():
        names = (DATA / "asr_tts/ids.txt").read_text(encoding="utf-8").split()
        real: dict[str, tuple[Any, dict[str, Any]]] = {
            "asr_tts, SLF": ([DATA / f"asr_tts/slf/{name}.slf.gz" for name in names], {}),
            "ru_en, OpenFst": (DATA / "ru_en_lattices", {"ids": "name1"}),
        }
        for name, (place, options) in real.items():
            edges = read(place, **options).corpus.edges
            seconds = best(lambda: read(place, **options), seconds=3.0)  # noqa: B023  # called at once
            measured[name] = seconds / edges * 1e9, "ns/arc"
        seconds = best(lambda: read(DATA / "de_en/nbest.txt.gz", forests=False))
        measured["de_en, Moses list"] = seconds * 1e3, "ms"
    return measured


def plain_readers() -> Measured:
    """Reading of the formats of older decoders."""
    edges = FORESTS * SPAN_EDGES * SPAN_WORDS * (SPAN_WORDS + 1) // 2
    measured: Measured = {}
    for source, count in (
        ("cdec", edges), ("travatar.json", edges), ("joshua", edges), ("forests.forest", edges),
        ("lattices.osg", LATTICES * ARCS), ("lattices.plf", LATTICES * ARCS),
    ):  # fmt: skip
        seconds = best(lambda: read(source), seconds=4.0)  # noqa: B023  # called at once
        measured[source] = seconds / count * 1e6, "µs/edge"
    if DATA.is_dir():
        count = read(DATA / "de_en/forests", ids="name").corpus.edges
        seconds = best(lambda: read(DATA / "de_en/forests", ids="name"), seconds=4.0)
        measured["de_en forest text"] = seconds / count * 1e6, "µs/edge"
    return measured


def memory_of_tuning_lists() -> Measured:
    """Peak memory of a process that tunes on lists."""
    command("tune", "lists.dense", "--ref", "lists.ref", "--metric", "bleu", "--restarts", "1")
    return {"tune lists": (peak(), "MB")}


def memory_of_tuning_forests() -> Measured:
    """Peak memory of a process that tunes on lattices."""
    command("tune", "layers.forest", "--ref", "forests.ref", "--metric", "bleu", "--restarts", "0")
    return {"tune lattices": (peak(), "MB")}


def memory_of_reading_lists() -> Measured:
    """Peak memory of a process that reads lists."""
    read("lists.digits", forests=False)
    return {"read lists": (peak(), "MB")}


def memory_of_reading_forests() -> Measured:
    """Peak memory of a process that reads lattices and hypergraphs."""
    read("slf")
    read("forests.forest")
    return {"read forests": (peak(), "MB")}


def memory_of_starting() -> Measured:
    """Peak memory of a process that does next to nothing."""
    command("tune", str(ROOT / "examples/tiny.jsonl"), "--metric", "wer")
    return {"tune tiny.jsonl": (peak(), "MB")}


def everything() -> Measured:
    """All that has a kernel: every recorded command line that needs no other data, and the semirings.

    Measured is the time of the process, which compare.py takes: with kernels to compile, and without.
    """
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        files.write_all(Path())
        for case in all_cases():
            if not case.needs and not case.exhaustive:
                for arguments in case.commands:
                    code, _, err = run(list(arguments))
                    if code not in (0, ASKS):
                        raise RuntimeError(f"hulltune {' '.join(arguments)}: exit code {code}: {err}")
        os.chdir(ROOT)
    from hulltune import Forest, envelope, inside, outside
    from hulltune.semirings import Hull, HullSemiring, LogSemiring

    arcs = [(0, 1, "a", {"x": 1.0}), (0, 1, "b", {"x": 2.0}), (1, 2, "c", {"x": 0.5})]
    forest = Forest.from_lattice(arcs, start=0, finals=[2], feature_names=["x"])
    for method in ("hull", "lanes"):
        envelope(forest, [1.0], [1.0], method=method)
    values = [0.5] * forest.edges
    outside(forest, LogSemiring(), values, inside_values=inside(forest, LogSemiring(), values))
    inside(forest, HullSemiring(), [Hull.from_lines([(float(edge), 1.0)]) for edge in range(forest.edges)])
    return {}


PARTS: dict[str, tuple[Callable[[], Measured], ...]] = {
    "lists": (lists,),
    "forests": (forests,),
    "line_search": (line_search,),
    "metrics": (metrics,),
    "certified": (certified,),
    "reading": (reading,),
    "plain-readers": (plain_readers,),
    "memory": (
        memory_of_tuning_lists, memory_of_tuning_forests, memory_of_reading_lists, memory_of_reading_forests,
        memory_of_starting,
    ),
    "compile": (everything,),
}  # fmt: skip
"""The parts that a worker measures; each function in a process of its own."""


def main() -> None:
    time.perf_counter = time.process_time  # before hulltune is imported: the times that it tells are CPU times, too
    part, number, out = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    out.write_text(json.dumps(PARTS[part][number]()), encoding="utf-8")


if __name__ == "__main__":
    main()
