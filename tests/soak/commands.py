"""Command lines for the soak: small inputs, what each line writes, and what it must have written in the end."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.loop.decoders import START, references
from tests.soak.findings import Findings, Task
from tests.tuning.corpora import random_records

ROOT = Path(__file__).parents[2]
TIMES = ("seconds", "seconds_decoding", "seconds_tuning", "timings")
DECODER = """
import sys, time
sys.path.insert(0, {root!r})
from tests.loop.decoders import main
time.sleep({seconds})
main(*sys.argv[1:3])
"""
PROGRAM = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "  # a soak in the background ignores it
    "from hulltune.cli.main import entry_point; entry_point()"
)
Content = Callable[[Path], object]


@dataclass(frozen=True)
class Line:
    """A command line, the file that it writes, and a function from this file to what must not change."""

    name: str
    arguments: tuple[str, ...]
    out: str
    content: Content
    makes_folder: bool = False
    """Whether the output is a folder, which is new: it appears as a whole."""


def files_in(folder: Path) -> object:
    """The contents of the files of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def without_times(path: Path) -> object:
    """The JSON of a result without the times that it tells."""

    def cleaned(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: cleaned(each) for name, each in value.items() if name not in TIMES}
        return [cleaned(each) for each in value] if isinstance(value, list) else value

    return cleaned(json.loads(path.read_text(encoding="utf-8")))


def lines() -> list[Line]:
    """The command lines that write something."""
    decoder = f"{shlex.quote(sys.executable)} decode.py {{weights}} {{output}}"
    tune = ("tune", "lists.jsonl", "--metric", "wer", "--threads", "1", "--out", "w.json")
    return [
        Line("tune", (*tune, "--restarts", "8", "--store", "store.db"), "w.json", without_times),
        Line("certify", (*tune, "--certify", "--gap", "0", "--fix", "f0=1"), "w.json", without_times),
        Line("pack", ("convert", "lists.jsonl", "p.hull"), "p.hull", Path.read_bytes),
        Line("convert", ("convert", "lists.jsonl", "c.moses", "--to", "moses"), "c.moses", Path.read_bytes),
        Line("to a folder", ("convert", "lists.jsonl", "slf", "--to", "slf"), "slf", files_in, makes_folder=True),
        Line(
            "loop",
            (
                "loop", "--decoder", decoder, "--input", "input", "--ref", "refs", "--weights", "start.json",
                "--metric", "wer", "--restarts", "2", "--iterations", "3", "--threads", "1", "--run", "run",
                "--out", "loop.json",
            ),
            "loop.json",
            without_times,
        ),
    ]  # fmt: skip


def make_inputs(folder: Path, *, decoding: float = 0.1) -> None:
    """Write what the command lines read."""
    folder.mkdir(parents=True, exist_ok=True)
    records = random_records(1, sentences=40, candidates=12)
    (folder / "lists.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    (folder / "refs").write_text("".join(f"{line}\n" for line in references()), encoding="utf-8")
    (folder / "input").write_text("\n" * len(references()), encoding="utf-8")
    (folder / "start.json").write_text(json.dumps({"weights": START}), encoding="utf-8")
    (folder / "decode.py").write_text(DECODER.format(root=str(ROOT), seconds=decoding), encoding="utf-8")


def environment(source: Path | None = None) -> dict[str, str]:
    """The environment in which hulltune runs from ``source``, by default from where this process has it."""
    import hulltune

    package = Path(hulltune.__file__).parents[1] if source is None else source
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(package), str(ROOT)])}


def start(line: Line, folder: Path, *, source: Path | None = None, **options: Any) -> subprocess.Popen[str]:
    """A process that runs the line in a folder."""
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *line.arguments], cwd=folder, env=environment(source), text=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **options,
    )  # fmt: skip


def finish(line: Line, folder: Path, *, source: Path | None = None, patience: float = 30.0) -> tuple[int, str]:
    """The exit code and the messages of the line, run to its end.

    A loop that was killed may have left its decoder at work, and a new loop waits for no one: it is started again.
    """
    end = time.monotonic() + patience
    while True:
        process = start(line, folder, source=source)
        said = process.communicate(timeout=600)[1]
        if process.returncode != 2 or "at work" not in said or time.monotonic() > end:
            return process.returncode, said
        time.sleep(0.1)


@dataclass(frozen=True)
class Expected:
    """What each line writes when nothing happens to it, and the seconds that it takes."""

    contents: Mapping[str, object]
    seconds: Mapping[str, float]


_known: dict[str, tuple[object, float]] = {}


def undisturbed(folder: Path, chosen: list[Line]) -> Expected:
    """The answers of all lines on a good day, found once for all parts of a soak."""
    for line in chosen:
        if line.name not in _known:
            own = folder / line.name
            make_inputs(own)
            began = time.monotonic()
            code, said = finish(line, own)
            if code:
                raise RuntimeError(f"{line.name} fails on a good day: {said}")
            _known[line.name] = line.content(own / line.out), time.monotonic() - began
            shutil.rmtree(own)
    return Expected(
        {line.name: _known[line.name][0] for line in chosen}, {line.name: _known[line.name][1] for line in chosen}
    )


def has_traceback(said: str) -> bool:
    """Whether a command has shown a traceback; that of a decoder, whose log is shown, is its own."""
    return any("Traceback" in line for line in said.splitlines() if not line.startswith("  | "))


Trial = Callable[[Task, list[Line], Expected, int], Findings]


def trials(task: Task, trial: Trial, chosen: list[Line]) -> Findings:
    """Try one of the commands after the other, each beside what it answers undisturbed, until the time is over."""
    expected = undisturbed(task.folder / "good", chosen)
    findings = Findings()
    number = 0
    while task.left:
        findings.add(trial(task, chosen, expected, number))
        number += 1
    return findings
