"""The examples of docs/start.md are run: those for the command line, and those in Python on their files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.pages import Page, link_examples, run_line

PAGE = Page("docs/start.md")


def test_the_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    link_examples(tmp_path)
    commands = PAGE.lines()
    programs = ["examples/decoder", "examples/decoder", "tune", "rerank", "score", "compare", "surface"]
    assert [words[1] for words in commands] == programs
    for words in commands:
        assert run_line(words) == 0, (words, capsys.readouterr().err)
    assert (tmp_path / "surface.png").read_bytes().startswith(b"\x89PNG")
    first = (tmp_path / "dev.nbest").read_text(encoding="utf-8").splitlines()[0]
    (shown,) = [line for line in PAGE.text.splitlines() if line.startswith("    0 ||| ")]
    values = re.findall(r"\w+=\S+", shown)
    assert len(values) == 4
    assert all(value in first for value in values)
    PAGE.assert_examples_hold(at_least=8)
