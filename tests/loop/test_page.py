"""The examples of docs/loop.md are run, and what it says of options and files is so."""

from __future__ import annotations

import doctest
import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from hulltune.cli import main
from hulltune.cli.commands import COMMANDS, command_parser
from hulltune.decoder import FEATURES, START_WEIGHTS
from hulltune.decoder.grammar import TEMPLATES, built_in_grammar
from hulltune.loop.command import PLACES
from hulltune.loop.result import REASONS
from hulltune.loop.weights_template import WeightsFormat, fill_template

PAGE = Path(__file__).parents[2] / "docs" / "loop.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_the_examples_in_python() -> None:
    results = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert results.attempted >= 9
    assert results.failed == 0


def test_the_examples_for_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for line in re.findall(r"^\$ hulltune (.+)$", TEXT, flags=re.MULTILINE):
        words = [word.replace("python -m", f"{shlex.quote(sys.executable)} -m") for word in shlex.split(line)]
        if words[0] == "loop":
            words += ["--restarts", "1", "--directions", "4", "--iterations", "1"]
        if words[0] == "demo":
            words += ["--sentences", "12", "--iterations", "1"]
        assert main(words) == 0, (line, capsys.readouterr().err)
    said = capsys.readouterr()
    assert "iteration 1: decoded" in said.err
    assert said.out.count("tuning set") == 5
    assert said.out.count("held out") >= 2
    names = {path.name for path in (tmp_path / "demo").iterdir()}
    assert names == {
        "dev.de", "dev.en", "heldout.de", "heldout.en", "demo.surface.png", "demo.weights.json", "loop",
    }  # fmt: skip
    assert {path.name for path in (tmp_path / "first").iterdir()} >= {"state.json", "iter-001", "heldout-iter-001"}
    assert list((tmp_path / "third" / "iter-001").glob("output.nbest"))


def test_what_the_page_names_exists() -> None:
    parsers = [command_parser(name)[0] for name in COMMANDS]
    known = {option for parser in parsers for action in parser._actions for option in action.option_strings}
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", TEXT)) <= known
    for place in PLACES:
        assert f"`{{{place}}}`" in TEXT
    for name in FEATURES:
        assert f"`{name}`" in TEXT
    assert set(re.findall(r"^- \*\*(.+?)\*\*", TEXT, flags=re.MULTILINE)) == set(REASONS) - {"interrupted"}
    assert 55 <= len(TEMPLATES.strip().splitlines()) <= 65
    assert 250 <= len(built_in_grammar([]).by_word) <= 350


def test_the_template_of_the_page_can_be_filled() -> None:
    block = re.search(r"^    \[model\]\n(?:    .+\n)+", TEXT, flags=re.MULTILINE)
    assert block is not None
    filled = fill_template(re.sub("^    ", "", block[0], flags=re.MULTILINE), START_WEIGHTS)
    assert 'options = {"swaps": 0.0, "joins": 0.0, "unknown": 0.0}' in filled


def test_weights_as_json_are_what_the_page_says(tmp_path: Path) -> None:
    block = re.search(r'^    (\{"weights": .+)$', TEXT, flags=re.MULTILINE)
    assert block is not None
    WeightsFormat("json").write({"lm": 0.5, "words": -0.25}, tmp_path / "weights.json")
    assert json.loads(block[1]) == json.loads((tmp_path / "weights.json").read_text())


def test_the_table_of_contents() -> None:
    headings = re.findall(r"^## (.+)$", TEXT, flags=re.MULTILINE)
    entries = re.findall(r"^\d+\. \[(.+?)\]\(#(.+?)\)$", TEXT, flags=re.MULTILINE)
    assert [title for title, _ in entries] == headings
    for title, anchor in entries:
        assert anchor == re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
    for page in re.findall(r"\]\((\w+\.md)\)", TEXT):
        assert (PAGE.parent / page).exists(), page
