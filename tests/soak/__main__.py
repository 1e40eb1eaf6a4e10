"""Run the soak and print its findings as a table. Ends with status 1 if a promise was broken."""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import cast

from tests.soak import parts
from tests.soak.findings import Findings, Part, Task


def all_parts() -> dict[str, Part]:
    """The parts by name: the modules of tests/soak/parts that have a function ``soak``."""
    names = sorted(module.name for module in pkgutil.iter_modules(parts.__path__))
    modules = {name: importlib.import_module(f"{parts.__name__}.{name}") for name in names}
    return {name: cast(Part, module) for name, module in modules.items() if hasattr(module, "soak")}


def run_parts(chosen: dict[str, Part], *, seconds: float, seed: int, jobs: int, folder: Path) -> dict[str, Findings]:
    """The findings of each part, run one after the other, each with its share of the time."""
    shares = sum(part.SHARE for part in chosen.values())
    found = {}
    for name, part in chosen.items():
        own = folder / name
        own.mkdir()
        print(f"{name}: {part.ABOUT} ({seconds * part.SHARE / shares:.0f} s)", flush=True)
        started = time.monotonic()
        found[name] = part.soak(Task(folder=own, seconds=seconds * part.SHARE / shares, seed=seed, jobs=jobs))
        print_findings(found[name], time.monotonic() - started)
    return found


def print_findings(findings: Findings, seconds: float) -> None:
    """Print the trials, how they ended, and the failures."""
    for end, times in sorted(findings.ended.items()):
        print(f"    {times:>10,}  {end}")
    print(f"    {sum(findings.tried.values()):>10,}  trials in {seconds:.0f} s, {len(findings.failures)} failures")
    for failure in findings.failures[:20]:
        print(f"    FAILED  {failure.what}\n            {failure.happened}\n            again: {failure.again}")
    sys.stdout.flush()


def main() -> int:
    """Run the parts that the command line names."""
    every = all_parts()
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="the time for all parts together (60)")
    parser.add_argument("--parts", nargs="+", choices=list(every), default=list(every), help="some parts (all)")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="seed of all choices (the clock)")
    parser.add_argument("--jobs", type=int, default=2, help="processes beside each other (2)")
    parser.add_argument("--out", type=Path, help="write the findings to this file, as JSON")
    options = parser.parse_args()
    print(f"seed {options.seed}")
    with tempfile.TemporaryDirectory(prefix="hulltune-soak-") as folder:
        found = run_parts(
            {name: every[name] for name in options.parts},
            seconds=60 * options.minutes,
            seed=options.seed,
            jobs=options.jobs,
            folder=Path(folder),
        )
    if options.out:
        options.out.write_text(json.dumps({name: asdict(each) for name, each in found.items()}, indent=1) + "\n")
    return 1 if any(each.failures for each in found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
