"""Compiled kernels that are cut off, emptied, or those of another kernel: commands work, if slowly."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import hulltune
from tests.soak.commands import Expected, Line, finish, has_traceback, lines, make_inputs, trials
from tests.soak.findings import Failure, Findings, Task

ABOUT = "compiled kernels on disk that are cut off, emptied or foreign"
SHARE = 0.3
MOST_DAMAGED = 12


def soak(task: Task) -> Findings:
    """Damage compiled kernels until the time is over."""
    chosen = [line for line in lines() if line.name in ("pack", "convert")]  # with few kernels, as damaged ones compile
    return trials(task, trial, chosen)


def trial(task: Task, chosen: list[Line], expected: Expected, number: int) -> Findings:
    """Run a command twice from a copy of the package with damaged kernels: nothing stops it for good."""
    rng = random.Random(f"{task.seed} {number}")
    line = rng.choice(chosen)
    folder = task.folder / f"trial-{number}"
    make_inputs(folder)
    source = folder / "source"
    shutil.copytree(Path(hulltune.__file__).parent, source / "hulltune")
    how = rng.choice(["cut off", "emptied", "foreign", "text"])
    damage(source, how, rng)
    fault = None
    for attempt in ("first", "second"):
        code, said = finish(line, folder, source=source)
        if code or has_traceback(said):
            fault = f"the {attempt} run ended with {code}: {said}"
        elif line.content(folder / line.out) != expected.contents[line.name]:
            fault = f"the {attempt} run gave another result"
        if fault is not None:
            break
    findings = Findings()
    findings.count(f"{line.name}, {how}", "same result" if fault is None else "FAILED")
    if fault is not None:
        findings.failures.append(Failure(f"{line.name} with kernels {how}", fault, f"seed {task.seed}, trial {number}"))
    shutil.rmtree(folder)
    return findings


def damage(source: Path, how: str, rng: random.Random) -> None:
    """Damage some of the files that hold compiled kernels."""
    files = (path for path in source.rglob("*") if path.is_file())
    compiled = sorted(path for path in files if path.suffix not in (".py", ".pyc", ".txt", ".typed", ".json"))
    for path in rng.sample(compiled, min(len(compiled), rng.randint(1, MOST_DAMAGED))):
        data = path.read_bytes()
        if how == "cut off":
            path.write_bytes(data[: rng.randrange(len(data))])
        elif how == "emptied":
            path.write_bytes(b"")
        elif how == "foreign":
            path.write_bytes(rng.choice([each for each in compiled if each.suffix == path.suffix]).read_bytes())
        else:
            path.write_text("no kernel\n")
