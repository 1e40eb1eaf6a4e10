"""The commands of docs/plots.md are run, and its pictures are in the gallery."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hulltune import write
from hulltune.cli import main
from hulltune.simulate import simulated_task
from tests.pages import DOCS, ROOT, Page

PAGE = Page("docs/plots.md")


def test_the_examples_for_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(simulated_task(sentences=20, candidates=10, seed=1).lists, "dev.jsonl")
    for words in PAGE.commands():
        assert main(words) == 0, (words, capsys.readouterr().err)
    made = {path.name for path in tmp_path.iterdir()}
    assert made == {"dev.jsonl", "weights.json", "surface.png", "plane.csv", "sensitivity.png"}


def test_the_pictures_of_the_page_are_in_the_gallery() -> None:
    shown = re.findall(r"!\[.*?\]\(pictures/(\w+)\.png\)", PAGE.text)
    assert len(shown) == 6
    for name in shown:
        assert (DOCS / "pictures" / f"{name}.png").exists()
        assert (ROOT / "examples" / "gallery" / f"{name}.py").exists()
