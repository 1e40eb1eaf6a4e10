"""Small slices of the soak of whole runs: kills, full disks, and two runs at once (all of it: ``make soak``)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.soak.commands import lines, undisturbed
from tests.soak.findings import Findings, Task
from tests.soak.parts import disks, kills, two_runs


def assert_kept(findings: Findings) -> None:
    """Fail with what happened if a promise was broken."""
    assert not findings.failures, "\n".join(f"{each.what}: {each.happened}" for each in findings.failures)
    assert findings.tried


@pytest.mark.parametrize("name", ["tune", "loop"])
def test_a_few_kills(tmp_path: Path, name: str) -> None:
    chosen = [line for line in lines() if line.name == name]
    expected = undisturbed(tmp_path / "good", chosen)
    assert_kept(kills.trial(Task(tmp_path, seconds=1.0, seed=2), chosen, expected, 1))


@pytest.mark.parametrize("name", ["pack", "loop"])
def test_a_full_disk(tmp_path: Path, name: str) -> None:
    chosen = [line for line in lines() if line.name == name]
    expected = undisturbed(tmp_path / "good", chosen)
    assert_kept(disks.trial(Task(tmp_path, seconds=1.0, seed=3), chosen, expected, 1))


def test_two_loops_at_once(tmp_path: Path) -> None:
    chosen = [line for line in lines() if line.name == "loop"]
    expected = undisturbed(tmp_path / "good", chosen)
    assert_kept(two_runs.trial(Task(tmp_path, seconds=1.0, seed=4), chosen, expected, 1))
