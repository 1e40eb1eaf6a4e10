"""The examples of docs/metrics.md and the worked example are run here, so that they stay true."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hulltune.metrics import registry
from hulltune.names import METRICS
from tests.pages import ROOT, Page

PAGE = Page("docs/metrics.md")
EXAMPLE = ROOT / "examples/person_as_metric.py"


def test_the_examples_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", {})  # the page registers a metric
    PAGE.assert_examples_hold(at_least=40)


def test_every_metric_is_on_the_page() -> None:
    for name in METRICS:
        assert f"`{name}`" in PAGE.text


def run_example(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, str(EXAMPLE), *arguments]
    return subprocess.run(command, capture_output=True, encoding="utf-8", env=environment, timeout=120)


def test_the_person_step_by_step(tmp_path: Path) -> None:
    folder = str(tmp_path)
    rounds = []
    while (result := run_example("run", folder)).returncode == 3:
        assert "no answer yet" in result.stderr
        questions = [json.loads(line) for line in (tmp_path / "questions.jsonl").read_text("utf-8").splitlines()]
        assert all(question["answer"] is None and question["source"] for question in questions)
        rounds.append({question["output"] for question in questions})
        assert run_example("answer", folder).returncode == 0
        assert run_example("import", folder).returncode == 0
        assert len(rounds) < 5
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[1:] == [
        "weights [1.0, 1.216, 1.651]: mean rating 5.00",
        "12 of 18 candidates had to be rated",
    ]
    # Nothing is asked twice, and the second line search asked only for what the first had not.
    assert [len(outputs) for outputs in rounds] == [9, 3]
    assert not rounds[0] & rounds[1]


def test_the_example_explains_itself() -> None:
    result = run_example("dance")
    assert result.returncode == 2
    assert "run FOLDER" in result.stderr
