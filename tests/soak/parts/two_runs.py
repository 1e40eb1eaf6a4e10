"""Two runs at once on the same files: one is refused, or both write whole files with the same result."""

from __future__ import annotations

import random
import shutil
import time

from tests.soak.commands import Expected, Line, finish, has_traceback, lines, make_inputs, start, trials
from tests.soak.findings import Failure, Findings, Task

ABOUT = "two runs at once in one folder, with one output, one store, one run of a loop"
SHARE = 0.5


def soak(task: Task) -> Findings:
    """Start pairs of runs until the time is over."""
    return trials(task, trial, lines())


def trial(task: Task, chosen: list[Line], expected: Expected, number: int) -> Findings:
    """Start a command twice, a moment apart."""
    rng = random.Random(f"{task.seed} {number}")
    line = rng.choice(chosen)
    folder = task.folder / f"trial-{number}"
    make_inputs(folder)
    delay = rng.uniform(0.0, 0.5) * expected.seconds[line.name]
    first = start(line, folder)
    time.sleep(delay)
    second = start(line, folder)
    ends = [(process.communicate(timeout=600)[1], process.returncode) for process in (first, second)]
    fault = None
    refused = [said for said, code in ends if code == 2]
    if any(code not in (0, 2) or has_traceback(said) for said, code in ends):
        fault = f"ended with {ends}"
    elif refused and (line.name != "loop" or "another loop is at work" not in refused[0] or len(refused) > 1):
        fault = f"was refused: {refused}"
    elif line.content(folder / line.out) != expected.contents[line.name]:
        fault = "the result is another one"
    else:
        code, said = finish(line, folder)
        if code or line.content(folder / line.out) != expected.contents[line.name]:
            fault = f"a third run ended with {code}: {said}"
    findings = Findings()
    findings.count(line.name, "FAILED" if fault else "one refused" if refused else "both done")
    if fault is not None:
        again = f"seed {task.seed}, trial {number}"
        findings.failures.append(Failure(f"{line.name} twice, {delay:.2f} s apart", fault, again))
    shutil.rmtree(folder)
    return findings
