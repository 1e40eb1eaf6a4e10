"""Runs of loops for tests: their command lines, and places where they are killed."""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hulltune.loop.folder import RunFolder
from hulltune.loop.processes import is_at_work
from tests.loop.decoders import START, references

ROOT = Path(__file__).parents[2]
PYTHON = shlex.quote(sys.executable)
PROGRAM = f"env PYTHONPATH={shlex.quote(os.pathsep.join([str(ROOT), str(ROOT / 'src')]))} {PYTHON}"
"""Python with the modules of tests."""
DECODER = f"{PROGRAM} -m tests.loop.decoders {{weights}} {{output}}"


def loop_line(room: Path, decoder: str = DECODER, *more: str) -> list[str]:
    """The words of a command, with the files that it names in a folder; the run is in ``run``."""
    (room / "refs").write_text("\n".join(references()) + "\n")
    if not (room / "in.txt").exists():
        (room / "in.txt").write_text("\n" * len(references()))
    (room / "start.json").write_text(json.dumps({"weights": START}))
    return [
        "loop", "--decoder", decoder, "--input", str(room / "in.txt"), "--ref", str(room / "refs"),
        "--weights", str(room / "start.json"), "--metric", "wer", "--iterations", "2", "--restarts", "1",
        "--search", "random", "--directions", "4", "--run", str(room / "run"), *more,
    ]  # fmt: skip


class Killed(BaseException):
    """Ends a loop as abruptly as can be done within a process."""


def told_places(monkeypatch: pytest.MonkeyPatch, run: Callable[[], Any]) -> tuple[list[str], Any]:
    """The places that a run reaches, and its answer."""
    told: list[str] = []
    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "reached", staticmethod(told.append))
        return told, run()


def kill_at(monkeypatch: pytest.MonkeyPatch, number: int, run: Callable[[], Any]) -> None:
    """Kill a run at the place with this number."""
    passed: list[str] = []

    def kill(place: str) -> None:
        passed.append(place)
        if len(passed) == number + 1:
            raise Killed(place)

    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "reached", staticmethod(kill))
        with pytest.raises(Killed):
            run()


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def wait_for_the_decoder(folder: Path) -> None:
    """Wait until no decoder is at work in the folder of a run."""
    wait_until(lambda: not any(is_at_work(each) for each in folder.glob("*.unfinished")))


def is_running(process: int) -> bool:
    """Whether a process runs: not one that has ended, and that nobody has waited for."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return False
        status = Path(f"/proc/{process}/stat")
        if status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z":
            return False
        time.sleep(0.05)
    return True
