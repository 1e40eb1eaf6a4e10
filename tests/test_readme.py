"""The README's examples do what it says, and its links and options exist."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.cli.running import run
from tests.pages import ROOT, Page

PAGE = Page("README.md")


def test_readme_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    PAGE.assert_examples_hold(at_least=3)


def test_the_quick_start_can_be_pasted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"^```sh\n(.*?)^```$", PAGE.text, flags=re.DOTALL | re.MULTILINE)
    install, tune, *others = block.splitlines()
    assert install == "pip install ."
    assert [shlex.split(line, comments=True) for line in others] == [["make", "demo"], ["make", "test"]]
    code, _, _ = run(capsys, *shlex.split(tune.removeprefix("hulltune ")))
    assert code == 0
    assert json.loads((tmp_path / "weights.json").read_text(encoding="utf-8"))["score"] == 0.0


def test_links_and_options() -> None:
    PAGE.assert_links_lead_somewhere()
    PAGE.assert_options_exist(others={"--strict"})  # of mypy


def test_it_is_one_screen_with_a_picture_and_a_terminal() -> None:
    assert len(PAGE.text.splitlines()) <= 50  # 1080 pixels at a width of 838, in GitHub's style
    assert max(len(line) for line in PAGE.text.splitlines() if line.startswith(("    ", ">>>"))) <= 104
    pictures = re.findall(r'<img src="(\S+)"', PAGE.text)
    assert pictures == ["docs/pictures/plane.png", "docs/pictures/terminal-scores.svg"]
    assert all((ROOT / picture).is_file() for picture in pictures)
