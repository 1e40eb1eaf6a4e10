"""Shared by all benchmarks: timing by turns, tables, targets, stored results, and the options of every program.

A program prints its figures beside their targets and stores them in benchmarks/results. With ``--check`` a target that
is missed is also an exit code of 1, for continuous integration.
"""

from __future__ import annotations

import argparse
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


_missed: list[str] = []
"""The targets that this program has missed so far."""


def verdict(value: float, target: float, *, at_least: bool = False) -> str:
    """Whether a measured value meets its target, in words; ``finish`` counts those that do not."""
    if value >= target if at_least else value <= target:
        return f"{'>=' if at_least else '<='} {target:g} ok"
    _missed.append(f"{value:.4g}, expected {'at least' if at_least else 'at most'} {target:g}")
    return f"{'>=' if at_least else '<='} {target:g} MISSED"


def options_of(about: str | None) -> argparse.ArgumentParser:
    """The parser of a program's options, with ``--check``; the first line of ``about`` is its help."""
    parser = argparse.ArgumentParser(description=(about or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")
    return parser


def finish(options: argparse.Namespace, name: str | None = None, result: dict[str, Any] | None = None) -> int:
    """Store the results, if there are any to store, and return the exit code."""
    if name is not None and result is not None:
        print(f"\nwritten: {write_json(name, result).relative_to(RESULTS.parents[1])}")
    for miss in _missed:
        print(f"target missed: {miss}")
    return int(bool(_missed) and options.check)
