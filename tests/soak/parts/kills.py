"""Kills at random moments: what is there is whole, and the same command ends as if nothing had happened."""

from __future__ import annotations

import json
import random
import shutil
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from hulltune import TuneResult
from tests.soak.commands import Expected, Line, finish, has_traceback, lines, make_inputs, start, undisturbed
from tests.soak.findings import Failure, Findings, Task

ABOUT = "SIGKILL, SIGTERM and Ctrl-C at random moments of tune, certify, convert (also to a packed file) and loop"
SHARE = 1.0
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
CODES = {signal.SIGKILL: (-9,), signal.SIGTERM: (143, -15), signal.SIGINT: (130, -2)}
"""The exit codes of a run that a signal has ended; a negative one is Python's, if it had not begun yet."""
OLD = b"what was there before\n"
MOST_KILLS = 3


def soak(task: Task) -> Findings:
    """Kill until the time is over."""
    chosen = lines()
    expected = undisturbed(task.folder / "good", chosen)
    findings = Findings()
    number = 0
    with ThreadPoolExecutor(task.jobs) as pool:
        while task.left:
            seeds = range(number, number + 4 * task.jobs)
            for found in pool.map(lambda seed: trial(task, chosen, expected, seed) if task.left else Findings(), seeds):
                findings.add(found)
            number = seeds.stop
    return findings


def trial(task: Task, chosen: list[Line], expected: Expected, number: int) -> Findings:
    """Kill one command up to a few times, then run it to its end."""
    rng = random.Random(f"{task.seed} {number}")
    line = rng.choice(chosen)
    folder = task.folder / f"trial-{number}"
    make_inputs(folder)
    had_old = not line.makes_folder and rng.random() < 0.5
    if had_old:
        (folder / line.out).write_bytes(OLD)
    findings = Findings()
    story = []
    for _ in range(rng.randint(1, MOST_KILLS)):
        number_of_signal, delay = rng.choice(SIGNALS), rng.uniform(0.0, 1.1 * expected.seconds[line.name])
        story.append(f"{number_of_signal.name} after {delay:.2f} s")
        process = start(line, folder)
        time.sleep(delay)
        process.send_signal(number_of_signal)
        said = process.communicate(timeout=600)[1]
        fault = _fault(line, folder, process.returncode, said, number_of_signal, had_old, expected)
        kind = f"{line.name}, {number_of_signal.name}"
        findings.count(kind, "ended before" if process.returncode == 0 else "killed" if fault is None else "FAILED")
        if fault is not None:
            findings.failures.append(_failure(task, number, line, story, fault))
            return findings
        had_old = had_old and (folder / line.out).read_bytes() == OLD
    code, said = finish(line, folder)
    fault = None
    if code:
        fault = f"the same command then failed with {code}: {said}"
    elif line.content(folder / line.out) != expected.contents[line.name]:
        fault = "the same command then gave another result"
    findings.count(f"{line.name}, run again", "same result" if fault is None else "FAILED")
    if fault is not None:
        findings.failures.append(_failure(task, number, line, story, fault))
    else:
        shutil.rmtree(folder)
    return findings


def _failure(task: Task, number: int, line: Line, story: list[str], fault: str) -> Failure:
    return Failure(f"{line.name}: {', '.join(story)}", fault, f"seed {task.seed}, trial {number}")


def _fault(
    line: Line, folder: Path, code: int, said: str, given: signal.Signals, had_old: bool, expected: Expected
) -> str | None:
    """What is wrong after a kill, if anything is."""
    # Python itself prints a traceback if Ctrl-C comes before the program has begun.
    in_start = given is signal.SIGINT and code in (1, -2) and "KeyboardInterrupt" in said
    if code not in (0, *CODES[given]) and not in_start:
        return f"exit code {code}: {said}"
    if has_traceback(said) and not in_start:
        return f"a traceback: {said}"
    left = [path.name for path in folder.glob(".*.unfinished")]
    if left and given is not signal.SIGKILL:
        return f"left behind: {left}"
    out = folder / line.out
    if not out.exists():
        return "the output is missing" if code == 0 or had_old else None
    if had_old and out.read_bytes() == OLD:
        return "the old output is still there" if code == 0 else None
    try:
        if line.content(out) == expected.contents[line.name]:
            return None
        if line.makes_folder:
            return "the folder is not complete"
        found = json.loads(out.read_text(encoding="utf-8"))
    except ValueError as error:
        return f"the output is neither the old nor the new one: {error}"
    if line.name == "loop":
        return None if found["stopped"] == "interrupted" else "the output is not that of an interrupted run"
    return _fault_of_interrupted(line, TuneResult.load(out))


def _fault_of_interrupted(line: Line, result: TuneResult) -> str | None:
    if not result.interrupted:
        return "the output is another one, but not that of an interrupted run"
    if line.name == "certify":
        proof = result.certificate
        if proof is None:
            return "no certificate"
        if not proof.bound <= proof.value == result.score:
            return f"the certificate has bound {proof.bound} and value {proof.value}; the score is {result.score}"
    return None
