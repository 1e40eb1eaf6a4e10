"""The commands of docs/report.md are run, and its pictures and times are what they are said to be."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hulltune import write
from hulltune.cli import main
from hulltune.simulate import simulated_task
from tests.pages import DOCS, ROOT, Page, measured

PAGE = Page("docs/report.md")


def test_the_examples_for_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(simulated_task(sentences=20, candidates=10, seed=1).lists, "dev.jsonl")
    for words in PAGE.commands():
        assert main(words) == 0, (words, capsys.readouterr().err)
    made = {path.name for path in tmp_path.iterdir()}
    assert made == {"dev.jsonl", "weights.json", "tuned.html", "page.html"}


def test_the_pictures_are_small_and_those_of_the_example() -> None:
    names = re.findall(r"\]\(pictures/(report-\w+)\.png\)", PAGE.text)
    assert len(names) == 5
    script = (ROOT / "examples" / "report.py").read_text(encoding="utf-8")
    for name in names:
        assert f'"{name}"' in script
        assert (DOCS / "pictures" / f"{name}.png").stat().st_size < 150_000


def test_the_times_are_those_that_were_measured() -> None:
    found = measured("report")
    assert f"is written in {found['seconds']:.1f} s of CPU time" in PAGE.text
    assert f"takes {found['step_ms']:.0f} ms" in PAGE.text
    assert found["seconds"] < 3
    assert found["typical_bytes"] <= 1_500_000
    assert f"The code is {found['code_bytes'] / 1000:.0f} kB" in PAGE.text
    assert found["code_bytes"] <= 150_000
    assert found["step_ms"] < 50
