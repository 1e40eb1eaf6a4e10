"""Timing on noisy machines: contenders take turns, and the best of many turns counts."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def interleaved(
    contenders: dict[str, Callable[[], object]],
    *,
    seconds: float = 0.6,
    least: int = 5,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """The best time of each contender, called in turn until ``seconds`` have passed (at least ``least`` turns).

    ``clock`` gives the time; use ``time.process_time`` to compare CPU times.
    """
    best = dict.fromkeys(contenders, float("inf"))
    for call in contenders.values():
        call()  # compile it and warm the cache
    turns, start = 0, time.perf_counter()
    while turns < least or time.perf_counter() - start < seconds:
        for name, call in contenders.items():
            before = clock()
            call()
            best[name] = min(best[name], clock() - before)
        turns += 1
    return best


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Rows as aligned text."""
    cells = [[str(cell) for cell in row] for row in (header, *rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    lines = [
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in cells
    ]
    return "\n".join(["", title, lines[0], "-" * len(lines[0]), *lines[1:]])


def write_json(name: str, result: dict[str, Any]) -> Path:
    """Write the results beside the program."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    unfinished.replace(path)
    return path


def verdict(value: float, target: float, *, at_least: bool = False) -> str:
    """Whether a measured value meets its target."""
    met = value >= target if at_least else value <= target
    return f"{'>=' if at_least else '<='} {target:g} {'ok' if met else 'MISSED'}"
