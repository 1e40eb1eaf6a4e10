"""Measure the HTML report: the time to write it, its size, and the time of a step of the handle in a browser.

Run: python -m benchmarks.report
Writes benchmarks/results/report.json, in about a minute. The times to write are CPU seconds beyond tuning, best of
several; the step needs Chromium and playwright (`make browser`), and is left out without them.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.harness import finish, options_of, table, verdict
from hulltune import Climb, tune, write_report
from hulltune.report.html.page import code_size
from hulltune.simulate import simulated_task
from tests.report.browser import Opened, browser, executable
from tests.report.subjects import large_lists

TURNS = 3
STEPS = """() => {
    const times = [];
    for (let k = 0; k < 100; k++) {
        const before = performance.now();
        hulltune.moveTo(0, 0.4 + 0.02 * k);
        document.body.getBoundingClientRect();
        times.push(performance.now() - before);
    }
    return times.sort((a, b) => a - b);
}"""
"""A hundred steps of the handle, each with the layout that follows it."""


def typical(folder: Path, metric: str) -> dict[str, Any]:
    """The page of 1,000 lists of 100 candidates, in CPU seconds beyond tuning, and its size."""
    task = simulated_task(sentences=1000, candidates=100, seed=1)
    result = tune(task.lists, metric=metric, search=Climb(restarts=2))
    seconds, size = [], 0
    for _ in range(TURNS):
        before = time.process_time()
        size = result.report(folder / "typical.html").stat().st_size
        seconds.append(time.process_time() - before)
    return {"seconds": min(seconds), "bytes": size}


def large(folder: Path) -> dict[str, Any]:
    """The largest page, and the steps of its handle in milliseconds."""
    lists = large_lists(2000)
    weights = dict.fromkeys(lists.feature_names, 1.0)
    path = write_report(weights, folder / "large.html", data=lists, metric="wer", also=[], megabytes=5.0)
    found: dict[str, Any] = {"bytes": path.stat().st_size}
    if executable() is not None:
        with browser() as running:
            before = time.perf_counter()
            page = Opened(running, path)
            found["open_s"] = time.perf_counter() - before
            for part, prefix in (("#chart", ""), ("#sentences", "sentences_")):
                page.run(f"document.querySelector('{part}').scrollIntoView()")
                page.wait_for_timeout(300)
                times = page.run(STEPS)
                found |= {f"{prefix}step_ms": times[len(times) // 2], f"{prefix}fastest_ms": times[0]}
    return found


def main() -> int:
    options = options_of(__doc__).parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pages = {metric: typical(folder, metric) for metric in ("wer", "bleu")}
        biggest = large(folder)
    seconds = max(page["seconds"] for page in pages.values())
    size = max(page["bytes"] for page in pages.values())
    result = {
        "code_bytes": code_size(),
        "seconds": seconds,
        "typical_bytes": size,
        "typical": pages,
        "large_bytes": biggest["bytes"],
        **{key: value for key, value in biggest.items() if key != "bytes"},
    }
    rows = [
        ("code, bytes", f"{result['code_bytes']:,}", verdict(result["code_bytes"], 150_000)),
        ("1,000 × 100 lists, CPU s", f"{seconds:.2f}", verdict(seconds, 3.0)),
        ("1,000 × 100 lists, bytes", f"{size:,}", verdict(size, 1_500_000)),
        ("largest page, bytes", f"{biggest['bytes']:,}", verdict(biggest["bytes"], 5_000_000)),
    ]
    if "step_ms" in biggest:
        for name, key in (("chart", "step_ms"), ("sentences", "sentences_step_ms")):
            rows.append((f"a step, {name} in view, ms (median)", f"{biggest[key]:.1f}", verdict(biggest[key], 50)))
    print(table("The HTML report", ("", "measured", "target"), rows))
    return finish(options, "report", result)


if __name__ == "__main__":
    sys.exit(main())
