"""The library of kernels cut off, emptied, or that of another level: commands work, or say in a line what to do."""

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
    chosen = [line for line in lines() if line.name in ("pack", "convert")]  # the quick ones
    return trials(task, trial, chosen)


def trial(task: Task, chosen: list[Line], expected: Expected, number: int) -> Findings:
    """Run a command from a copy of the package with damaged kernels: the result is the same, or one line refuses."""
    rng = random.Random(f"{task.seed} {number}")
    line = rng.choice(chosen)
    folder = task.folder / f"trial-{number}"
    make_inputs(folder)
    source = folder / "source"
    shutil.copytree(Path(hulltune.__file__).parent, source / "hulltune", ignore=shutil.ignore_patterns("objects"))
    how = rng.choice(["cut off", "emptied", "foreign", "text"])
    damage(source, how, rng)
    fault = None
    code, said = finish(line, folder, source=source)
    refused = code == 2 and "cannot be used: " in said and said.rstrip().endswith("install hulltune again")
    if has_traceback(said) or (code and not refused):
        fault = f"the run ended with {code}: {said}"
    elif not refused and line.content(folder / line.out) != expected.contents[line.name]:
        fault = "the run gave another result"
    findings = Findings()
    ended = "refused in one line" if refused else "same result"
    findings.count(f"{line.name}, {how}", ended if fault is None else "FAILED")
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
