"""The measured numbers of the README, of pages in docs/ and of the paper, written from benchmarks/results.

Run: python -m benchmarks.pages [--check]

A page has a pair of comments for each block of numbers, ``<!-- numbers: NAME -->`` and ``<!-- end of numbers -->``;
what is between them is written anew. With ``--check`` nothing is written, and the exit code says whether all pages are
up to date.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.peers import FORESTS, LINE_SEARCHES, MEASURED_APART, WHOLE_RUNS

ROOT = Path(__file__).parents[1]
PAGES = (
    "README.md",
    "docs/benchmarks.md",
    "docs/questions.md",
    "docs/scaling.md",
    "docs/tuning.md",
    "paper/paper.md",
)
BLOCK = re.compile(r"(<!-- numbers: ([\w ]+) -->\n).*?(<!-- end of numbers -->)", flags=re.DOTALL)
TASKS = {"fr_en": "French–English", "de_en": "German–English", "asr_tts": "speech", "ru_en": "Russian–English"}
"""The names on the pages of the data in the results."""


def updated(text: str) -> str:
    """A page with all of its blocks written anew."""
    return BLOCK.sub(lambda found: found[1] + BLOCKS[found[2]]().strip() + "\n" + found[3], text)


def measured(name: str) -> Any:
    """The stored results of a benchmark."""
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text(encoding="utf-8"))


def fast() -> str:
    """The paragraph of the README: the search of the peers, which is like theirs, beside the default one."""
    runs, proven = measured("tuning")["whole run"]["runs"], measured("certified")["targets"][0]
    own, peers = (next(run for name, run in runs.items() if name.startswith(start)) for start in ("defaults", "Och"))
    moses = f"Moses' `mert`: {WHOLE_RUNS['Moses']:.0f} s, {MEASURED_APART}"
    words = [
        f"**[Fast](docs/benchmarks.md)**: 1,000 × 100 candidates tuned for BLEU in {own['CPU seconds']:.1f} s;",
        f"by Och's search from 20 starts {peers['CPU seconds']:.1f} s ({moses});",
        f"two weights proven best in {_digits(proven['seconds'])} s.",
    ]
    return _wrapped(" ".join(words))


def engine() -> str:
    """Envelopes of forests beside C++."""
    return _table(
        ("forest", "edges", "segments", "hulltune, ms", "C++ hull semiring, ms", "times"),
        (
            (
                found["shape"],
                f"{found['edges']:,}",
                str(found["segments"]),
                _digits(found["milliseconds"]["auto"]),
                _digits(found["milliseconds"]["C++ hull"]),
                f"{found['milliseconds']['C++ hull'] / found['milliseconds']['auto']:.0f}",
            )
            for found in measured("engine")["four shapes"]
        ),
    )


def line_searches() -> str:
    """Line searches over lists beside Moses and Z-MERT."""
    rows = []
    for found in measured("tuning")["line searches"]:
        shape, rate = (found["sentences"], found["hypotheses"], found["features"]), found["searches a second"]
        moses, zmert = LINE_SEARCHES["Moses"][shape], LINE_SEARCHES["Z-MERT"].get(shape)
        name = f"{shape[0]:,} × {shape[1]:,}"
        others = (_digits(moses), _digits(zmert) if zmert else "–", f"{rate / moses:.0f}")
        rows.append((name, str(shape[2]), _digits(rate), *others))
    head = ("lists", "features", "hulltune, searches a second", "Moses", "Z-MERT", "times Moses")
    return f"{_table(head, rows)}\n\nMoses, Z-MERT: {MEASURED_APART}."


def whole_run() -> str:
    """The time from a text file to weights."""
    found = measured("tuning")["whole run"]
    rows = [
        (f"hulltune, {_search(name)}", f"{run['line searches']:,}", f"{run['score']:.2f}", f"{run['CPU seconds']:.1f}")
        for name, run in found["runs"].items()
    ]
    rows += [
        (f"{name}, Och's search from 20 starts", "–", "–", f"{seconds:.1f}") for name, seconds in WHOLE_RUNS.items()
    ]
    size = f"{found['megabytes of text']:.0f} MB, 1,000 lists of 100 candidates, 14 features"
    shown = _table(("", "line searches", "BLEU", "CPU seconds"), rows)
    return f"From the text file ({size}) to tuned weights:\n\n{shown}\n\n{', '.join(WHOLE_RUNS)}: {MEASURED_APART}."


def _search(name: str) -> str:
    """The name of a run, with its option as code."""
    return re.sub(r"(--search \w+)", r"`\1`", name)


def quality() -> str:
    """Scores on tuning and held-out data beside other optimisers."""
    found = measured("tuning")["quality"]
    names = list(next(iter(found.values()))["contenders"])
    head = ["", *(f"{TASKS.get(task, task)}, {part}" for task in found for part in ("tuned on", "held out")), "seconds"]
    rows = []
    for name in names:
        scores = [
            _score(task["contenders"][name][part], task["metric"])
            for task in found.values()
            for part in ("dev", "heldout")
        ]
        seconds = [task["contenders"][name]["seconds"] for task in found.values()]
        rows.append([name, *scores, f"{min(seconds):.2g} to {max(seconds):.2g}" if max(seconds) else "0"])
    searches = " and ".join(sorted({task["search"] for task in found.values()}))
    return f"{_table(head, rows)}\n\nThe rows of hulltune are those of `--search {searches}`."


def _mean(cell: Mapping[str, Any], part: str) -> str:
    """A mean over seeds with its standard error, if there are several."""
    return f"{cell[part]:.2f}" + (f" ± {cell[part + ' error']:.2f}" if cell["seeds"] > 1 else "")


def ways() -> str:
    """Scores of all ways to tune at equal times: the mean over seeds and its standard error."""
    rows = [
        [
            TASKS.get(task, task), way, *(f"{_mean(cell, 'dev')} ({cell['wins']})" for cell in cells.values()),
            *(_mean(cell, "heldout") for cell in cells.values()), str(min(cell["seeds"] for cell in cells.values())),
        ]
        for task, found in measured("quality")["at equal times"].items()
        for way, cells in found.items()
    ]  # fmt: skip
    times = ("0.5 s", "2 s", "8 s")
    columns = [f"dev, {time} (wins)" for time in times] + [f"held out, {time}" for time in times]
    head = ("data", "way", *columns, "seeds")
    return _table(head, rows)


def ends() -> str:
    """Scores of whole runs with their defaults, and the time that they take."""
    rows = [
        [
            TASKS.get(task, task), way, _mean(cell, "dev"), _mean(cell, "heldout"), _digits(cell["seconds"]),
            str(cell["seeds"]),
        ]
        for task, found in measured("quality")["to the end"].items()
        for way, cell in found.items()
    ]  # fmt: skip
    return _table(("data", "way", "dev", "held out", "CPU seconds", "seeds"), rows)


def differences(part: str) -> str:
    """Paired differences of ways to tune on "dev" or "heldout" sentences, one row a pair and time, one column a set."""
    found = measured("quality")["differences"]
    tasks = list(dict.fromkeys(task for times in found.values() for cells in times.values() for task in cells))
    tasks.sort(key=lambda task: task == "mean of the sets")  # the mean comes last
    rows = [
        [pair, "whole runs" if time == "end" else time, *(_difference(cells.get(task), part) for task in tasks)]
        for pair, times in found.items()
        for time, cells in times.items()
    ]
    return _table(("difference", "time", *(TASKS.get(task, task) for task in tasks)), rows)


def _difference(cell: Mapping[str, Any] | None, part: str) -> str:
    """A difference with its standard error, if there is any."""
    return f"{cell[part]:+.2f} ± {cell[part + ' error']:.2f}" if cell else "–"


def many_features() -> str:
    """Scores with 100 and 2,000 features, after 8 s or at the end of whole runs."""
    found = measured("quality")
    rows = []
    for way in ("random, not whitened (default before)", "cma (default)", "gradient", "default before, to its end",
                "default, to its end", "default, regularise auto", "gradient, regularise auto"):  # fmt: skip
        row = [way]
        for task in ("many", "sparse"):
            timed, whole = found["at equal times"].get(task, {}).get(way), found["to the end"].get(task, {}).get(way)
            cell = timed["8 s"] if timed else whole
            row += (
                [_mean(cell, "dev"), _mean(cell, "heldout"), _digits(whole["seconds"]) if whole else "8"]
                if cell
                else ["–"] * 3
            )
        rows.append(row)
    head = ("way", *(f"{task}, {part}" for task in ("100", "2,000") for part in ("dev", "held out", "CPU seconds")))
    return _table(head, rows)


def certified() -> str:
    """Certified search, and what other searches find in the region."""
    found = measured("certified")
    rows = []
    for case in found["targets"]:
        others = [other for other in found["alternatives"] if other["case"] == case["case"]]
        rows.append(
            (
                case["case"],
                case["metric"].partition("|")[0].upper(),
                _score(case["value"], case["metric"]),
                "0" if case["gap"] == 0 else f"{case['gap']:.1g}",
                f"{case['boxes']:,}",
                _digits(case["seconds"]),
                "; ".join(f"{_as_code(other['how'])} {_score(other['value'], case['metric'])}" for other in others),
            )
        )
    head = ("data, free weights", "metric", "best there is", "gap", "boxes", "seconds", "what others find")
    return _table(head, rows)


def metrics() -> str:
    """Statistics of metrics beside the programs that people trust."""
    rows: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for found in measured("metrics")["results"]:
        rows.setdefault((found["what"], found["baseline"]), []).append(found)
    return _table(
        ("what", "beside", "hulltune, µs", "times as fast"),
        (
            (
                what,
                beside,
                _digits(1e6 * min(one["seconds"] for one in found)),
                _span([one["speedup"] for one in found]),
            )
            for (what, beside), found in rows.items()
        ),
    )


def reading() -> str:
    """The speed of readers."""
    lists = measured("reading")["speed"]
    lattices = measured("lattice_reading")
    forests = measured("forest_reading")
    rows = [
        (
            f"Moses list, `{name}`" if "=" in name else f"Moses list, {name}",
            f"{found['hypotheses/s'] / 1e3:,.0f},000 candidates",
            f"{found['MB/s']:.0f}",
        )
        for name, found in lists.items()
        if isinstance(found, dict)
    ]
    rows += [
        (name, f"{1e9 / found['ns/arc'] / 1e6:.1f} million arcs", f"{found['MB/s']:.0f}")
        for name, found in lattices.items()
        if isinstance(found, dict) and ("10,000" in name or "Pocket" in name or "ucam" in name)
    ]
    rows += [
        (
            name,
            f"{1e6 / found['us per edge'] / 1e3:,.0f},000 edges",
            f"{found['bytes per edge'] / found['us per edge']:.0f}",
        )
        for name, found in forests.items()
        if isinstance(found, dict)
    ]
    return _table(("format", "a second", "MB/s"), rows)


def forests() -> str:
    """Line searches over forests."""
    found = measured("forest_tuning")
    rows = [
        (
            " ".join(TASKS.get(word, word) for word in corpus["name"].split(" ")),
            str(corpus["sentences"]),
            _round(corpus["edges per sentence"], 0),
            f"{corpus['segments']:.0f}",
            _digits(corpus["later, ns"]),
            FORESTS.get(corpus["name"], "–"),
        )
        for corpus in found["corpora"]
    ]
    head = ("data", "sentences", "edges a sentence", "segments", "hulltune, ns an edge", "others, ns an edge")
    return f"{_table(head, rows)}\n\nOthers: {MEASURED_APART}."


def large() -> str:
    """Memory and time of very large inputs."""
    found = measured("large")
    rows = [
        (
            one["what"],
            f"{one['peak_gb']:.1f}",
            f"{one['cpu_seconds']:.0f}",
            "refused in a line" if one["exit"] else "done",
        )
        for part in found.values()
        for one in part
    ]
    return _table(("what", "peak memory, GB", "CPU seconds", ""), rows)


def sentences() -> str:
    """Gains on held-out sentences by the number of sentences that were tuned on."""
    rows = []
    for found in measured("sentences")["sets"]:
        unit = 100.0 if found["metric"] == "wer" else 1.0
        for row in found["rows"]:
            gains = [
                f"{unit * row[key]:+.1f} ± {unit * row[f'{key}, deviation']:.1f}"
                for key in ("tuned on", "tuned", "equal weights")
            ]
            name = f"{found['data']}, {found['features']} features, {found['metric'].upper()}"
            rows.append((name, str(row["sentences"]), *gains))
    head = ("data", "sentences tuned on", "gain on them", "gain on held-out ones", "equal weights on held-out ones")
    return _table(head, rows)


JOBS = {
    "lists": "tuning lists, 8000 × 100",
    "forests": "tuning forests, over 10^6 edges",
    "forest lines": "16 lines over forests of 10^6 edges",
    "certified": "certified search, 4000 × 100 × 3",
    "statistics": "statistics of 800,000 outputs",
    "reading": "reading a folder of 4,000 lattices (SLF), and packing",
    "arithmetic": "a plain loop of arithmetic",
    "memory": "a plain loop over memory",
}
"""The jobs of benchmarks/scaling.py, as people would call them."""


def threads() -> str:
    """Whole jobs with the most threads that were measured, and what their parts would allow."""
    rows = []
    for name, found in measured("scaling")["jobs"].items():
        outside = found.get("outside")
        most = max(found["seconds"], key=int)
        rows.append(
            (
                JOBS[name],
                f"{found['seconds']['1']:.2f}",
                f"{found['speed_up'][most]:.2f}",
                f"{found['beside'][most]:.2f}" if "beside" in found else "–",
                *(f"{outside[what]:.1%}".replace("%", " %") if outside else "–" for what in ("share", "alone")),
                f"{outside['best_speed_up']:.1f}" if outside else "–",
            )
        )
    head = (
        "", "seconds, 1 thread", f"{most} threads", "arithmetic beside", "outside of shared parts", "alone",
        "16 threads at best",
    )  # fmt: skip
    return _table(head, sorted(rows, key=lambda row: list(JOBS.values()).index(row[0])))


BLOCKS: dict[str, Callable[[], str]] = {
    "sentences": sentences,
    "fast": fast,
    "engine": engine,
    "line searches": line_searches,
    "whole run": whole_run,
    "quality": quality,
    "ways": ways,
    "ends": ends,
    "dev differences": partial(differences, "dev"),
    "held out differences": partial(differences, "heldout"),
    "many features": many_features,
    "certified": certified,
    "metrics": metrics,
    "reading": reading,
    "forests": forests,
    "large": large,
    "threads": threads,
}
"""The blocks by name."""


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; columns of numbers are flushed right."""
    lines = list(rows)
    numeric = [
        all(line[column].lstrip("+-–")[:1].isdecimal() or line[column] == "–" for line in lines)
        for column in range(len(head))
    ]
    rule = "|" + "|".join("--:" if is_number else "---" for is_number in numeric) + "|"
    first, *others = ("| " + " | ".join(line) + " |" for line in (head, *lines))
    return "\n".join([first, rule, *others])


def _digits(value: float) -> str:
    """A number with two or three digits, and no more."""
    if value >= 100:
        return _round(value, 1 - len(str(int(value))) + 1)
    return f"{value:.2g}"


def _round(value: float, digits: int) -> str:
    return f"{round(value, digits):,.0f}"


def _score(value: float, metric: str) -> str:
    return f"{100 * value:.2f} %" if metric.startswith("wer") else f"{value:.2f}"


def _as_code(name: str) -> str:
    return f"`{name}`" if name.startswith("--") else name


def _span(values: Sequence[float]) -> str:
    low, high = (_digits(value) for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def _wrapped(text: str, width: int = 128) -> str:
    lines, line = [], ""
    for word in text.split():
        if len(line) + len(word) >= width:
            lines.append(line)
            line = ""
        line = f"{line} {word}".strip()
    return "\n".join([*lines, line])


def main(arguments: Sequence[str]) -> int:
    stale = []
    for name in PAGES:
        text = (ROOT / name).read_text(encoding="utf-8")
        if updated(text) != text:
            stale.append(name)
            if "--check" not in arguments:
                (ROOT / name).write_text(updated(text), encoding="utf-8")
    print(*(f"{name}: numbers {'differ' if '--check' in arguments else 'written'}" for name in stale), sep="\n")
    return int(bool(stale) and "--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
