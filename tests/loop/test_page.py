"""The commands of docs/loop.md are run, and what it says of files is so."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from decoder import FEATURES, START_WEIGHTS
from decoder.grammar import TEMPLATES, made_grammar

from hulltune.loop.command import PLACES
from hulltune.loop.result import REASONS
from hulltune.loop.weights_template import WeightsFormat, fill_template
from tests.pages import ROOT, Page, link_examples, run_line

PAGE = Page("docs/loop.md")


def test_the_examples_for_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    link_examples(tmp_path)
    quickly = {
        "loop": ["--restarts", "1", "--directions", "4", "--iterations", "1"],
        "examples/decoder/demo.py": ["--sentences", "12", "--iterations", "1"],
    }
    for words in PAGE.lines():
        assert run_line(words, *quickly.get(words[1], [])) == 0, (words, capsys.readouterr().err)
    said = capsys.readouterr()
    assert "iteration 1: decoded" in said.err
    assert said.out.count("tuning set") == 5
    assert said.out.count("held out") >= 1
    names = {path.name for path in (tmp_path / "demo").iterdir()}
    assert names == {
        "dev.de", "dev.en", "heldout.de", "heldout.en", "demo.surface.png", "demo.weights.json", "loop",
    }  # fmt: skip
    assert {path.name for path in (tmp_path / "first").iterdir()} >= {"state.json", "iter-001", "heldout-iter-001"}
    assert list((tmp_path / "third" / "iter-001").glob("output.nbest"))
    assert len(list((tmp_path / "fifth" / "iter-001").glob("piece-*/output"))) == 2


@pytest.mark.docs
def test_the_demo_begins_as_the_page_shows(tmp_path: Path) -> None:
    shown = [line.strip().partition("…")[0] for line in PAGE.text.splitlines() if line.startswith("    iteration ")]
    assert len(shown) == 2
    demo = [sys.executable, str(ROOT / "examples/decoder/demo.py"), str(tmp_path / "demo"), "--iterations", "2"]
    said = subprocess.run(demo, check=True, capture_output=True, text=True).stderr.splitlines()
    for start in shown:
        assert any(line.startswith(start) for line in said), start


def test_what_the_page_names_exists() -> None:
    for place in PLACES:
        assert f"`{{{place}}}`" in PAGE.text
    for name in FEATURES:
        assert f"`{name}`" in PAGE.text
    assert set(re.findall(r"^- \*\*(.+?)\*\*", PAGE.text, flags=re.MULTILINE)) == set(REASONS) - {"interrupted"}
    assert 55 <= len(TEMPLATES.strip().splitlines()) <= 65
    assert 250 <= len(made_grammar([]).by_word) <= 350


def test_the_template_of_the_page_can_be_filled() -> None:
    block = re.search(r"^    \[model\]\n(?:    .+\n)+", PAGE.text, flags=re.MULTILINE)
    assert block is not None
    filled = fill_template(re.sub("^    ", "", block[0], flags=re.MULTILINE), START_WEIGHTS)
    assert 'options = {"swaps": 0.0, "joins": 0.0, "unknown": 0.0}' in filled


def test_weights_as_json_are_what_the_page_says(tmp_path: Path) -> None:
    block = re.search(r'^    (\{"weights": .+)$', PAGE.text, flags=re.MULTILINE)
    assert block is not None
    WeightsFormat("json").write({"lm": 0.5, "words": -0.25}, tmp_path / "weights.json")
    assert json.loads(block[1]) == json.loads((tmp_path / "weights.json").read_text())
