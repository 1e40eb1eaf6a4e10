"""The examples of docs/metrics.md and the worked example are run here, so that they stay true."""

from __future__ import annotations

import doctest
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hulltune.metrics import registry

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/metrics.md"
EXAMPLE = ROOT / "examples/person_as_metric.py"
_BLOCK = re.compile(r"^```python([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def test_every_block_of_the_page(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The blocks are one session."""
    monkeypatch.setattr(registry, "_registered", {})
    names: dict[str, Any] = {}
    runner = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    blocks = list(_BLOCK.finditer(PAGE.read_text(encoding="utf-8")))
    run = 0
    for block in blocks:
        line = PAGE.read_text(encoding="utf-8")[: block.start(2)].count("\n")
        test = doctest.DocTestParser().get_doctest(block[2], names, "docs/metrics.md", str(PAGE), line)
        assert test.examples
        runner.run(test, clear_globs=False)
        names.update(test.globs)
        run += 1
    assert runner.summarize().failed == 0, capsys.readouterr().out
    assert run >= 10


def test_error_messages_of_the_page_are_real() -> None:
    """doctest does not compare the text of errors with their module, so the messages are compared here."""
    text = PAGE.read_text(encoding="utf-8")
    shown = re.findall(r'>>> get_metric\("([^"\n]*)"\)\nTraceback[^\n]*\n[\w.]*InputError: ([^\n]*)\n', text)
    assert len(shown) == 2
    for expression, message in shown:
        with pytest.raises(ValueError, match=re.escape(message) + "$"):
            registry.get_metric(expression)


def test_every_metric_is_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name in registry._BUILT_IN:
        assert f"`{name}`" in text
    for name in ("meteor", "fmeasure", "aer", "accuracy", "exact_match", "given", "ask"):
        assert f"`{name}`" in text


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


def test_the_person_in_one_go() -> None:
    result = run_example()
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("no answer yet") == 2
    assert result.stdout.endswith("12 of 18 candidates had to be rated\n")


def test_the_example_explains_itself() -> None:
    result = run_example("dance")
    assert result.returncode == 2
    assert "run FOLDER" in result.stderr
