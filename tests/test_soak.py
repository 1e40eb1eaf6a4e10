"""Small slices of the soak (tests/soak), and its driver."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from hulltune import InputError
from tests.pages import Page
from tests.soak.__main__ import all_parts, run_parts
from tests.soak.findings import Failure, Findings, Task
from tests.soak.inputs import Kind
from tests.soak.parts import fuzz
from tests.soak.parts.fuzz import Fuzzer

ROUNDS = 30


@pytest.fixture(scope="module")
def fuzzer(tmp_path_factory: pytest.TempPathFactory) -> Fuzzer:
    return Fuzzer(tmp_path_factory.mktemp("fuzz"), 7, Findings())


def test_mutated_inputs_of_every_kind_are_answered_or_refused(fuzzer: Fuzzer) -> None:
    for name in list(fuzzer.kinds) * ROUNDS:
        fuzzer.try_one(name)
    assert fuzzer.found.failures == []
    assert fuzzer.found.tried == dict.fromkeys(fuzzer.kinds, ROUNDS)
    answered = {key.partition(":")[0] for key in fuzzer.found.ended if key.endswith("answered")}
    refused = {key.partition(":")[0] for key in fuzzer.found.ended if key.endswith("refused")}
    assert refused == set(fuzzer.kinds)
    assert len(answered) > len(fuzzer.kinds) / 2


@pytest.mark.filterwarnings("ignore::hulltune.errors.Note")
def test_good_inputs_are_answered(fuzzer: Fuzzer, tmp_path: Path) -> None:
    """What is mutated must be worth mutating: using it raises nothing, and each kind has some."""
    answered = set()
    for name, kind in fuzzer.kinds.items():
        for data in kind.seeds[: fuzzer.good[name]]:
            (tmp_path / "input").unlink(missing_ok=True)
            (tmp_path / "input").write_bytes(data)
            kind.use(tmp_path / "input", fuzzer.dice)
            answered.add(name)
    assert answered == set(fuzzer.kinds)


@pytest.mark.parametrize(
    ("use", "happened"),
    [
        ("raise KeyError(1)", "KeyError at"),
        ("raise InputError('two\\nlines')", "a message of 9 characters"),
        ("raise InputError('')", "a message of 0 characters"),
        ("warnings.warn('x')", "UserWarning at"),
        ("time.sleep(5)", "LateError at"),
    ],
)
def test_what_breaks_the_promise_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use: str, happened: str
) -> None:
    def run(path: Path, dice: object) -> None:
        exec(use, {"InputError": InputError, "time": time, "warnings": warnings})

    monkeypatch.setattr(fuzz, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(fuzz, "FIRST_LIMIT", 0.2)
    monkeypatch.setattr(fuzz, "all_kinds", lambda folder: {"bad": Kind([b"good"], run)})
    fuzzer = Fuzzer(tmp_path, 1, Findings())
    fuzzer.try_one()
    (failure,) = fuzzer.found.failures
    assert failure.happened.startswith(happened)
    kept = Path(failure.again.removeprefix("the input "))
    assert kept.read_bytes() == (tmp_path / "input").read_bytes()


def test_every_part_has_what_the_driver_needs_and_is_described() -> None:
    parts = all_parts()
    described = re.findall(r"^\| `(\w+)` \|", Page("docs/reliability.md").text, flags=re.MULTILINE)
    assert sorted(described) == sorted(parts)
    for part in parts.values():
        assert part.ABOUT
        assert part.SHARE > 0


def test_parts_share_the_time_and_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    class Counting:
        ABOUT = "counts"
        SHARE = 3.0

        def soak(self, task: Task) -> Findings:
            found = Findings(failures=[Failure("what", "happened", "again")])
            found.count("trial", "refused", round(task.seconds))
            return found

    class Other(Counting):
        SHARE = 1.0

    found = run_parts({"a": Counting(), "b": Other()}, seconds=40, seed=1, jobs=1, folder=tmp_path)
    assert {name: each.tried for name, each in found.items()} == {"a": {"trial": 30}, "b": {"trial": 10}}
    assert "FAILED  what" in capsys.readouterr().out


def test_the_driver_runs_a_part_in_processes(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.soak", "--minutes", "0.05", "--parts", "fuzz", "--jobs", "1", "--seed", "1"]
    root = Path(__file__).parents[1]
    done = subprocess.run(
        [*command, "--out", str(tmp_path / "found.json")],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(root), *filter(None, sys.path)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads((tmp_path / "found.json").read_text())["fuzz"]
    assert sum(found["tried"].values()) > 0
    assert found["failures"] == []
