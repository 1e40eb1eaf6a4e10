"""The examples of docs/forests.md are run: those in Python, and those for the command line."""

from __future__ import annotations

import doctest
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from hulltune import ForestBuilder
from hulltune.cli import main
from hulltune.cli.commands import COMMANDS, command_parser
from hulltune.io.convert import WRITERS
from hulltune.io.forest_files import NamedForest
from hulltune.io.forest_text import write_forest_text

PAGE = Path(__file__).parents[2] / "docs" / "forests.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_the_examples_in_python() -> None:
    results = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert results.attempted >= 12
    assert results.failed == 0


def test_the_examples_for_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    forests = []
    for name in ("one", "two"):
        builder = ForestBuilder(feature_names=["am", "lm"])
        builder.add_edge(0, features=[0.0, 0.0], output=[])
        for place in range(4):
            for word in "abc":
                builder.add_edge(place + 1, [place], features=rng.normal(size=2).tolist(), output=[0, word])
        forests.append(NamedForest(builder.build(root=4), name))
    write_forest_text("dev.forest", forests)
    Path("dev.txt").write_text("a b c a\nb b b a\n", encoding="utf-8")
    Path("weights.json").write_text(json.dumps({"am": 1.0, "lm": 0.5}), encoding="utf-8")
    lines = re.findall(r"^\$ hulltune (.+)$", TEXT, flags=re.MULTILINE)
    assert {line.split()[0] for line in lines} == {"kbest", "oracle", "convert", "pack"}
    for line in lines:
        assert main(shlex.split(line)) == 0, (line, capsys.readouterr().err)
    assert sorted(entry.name for entry in Path("lattices").iterdir()) == ["one.slf", "two.slf"]
    assert len(Path("sample.nbest").read_text(encoding="utf-8").splitlines()) == 400


def test_every_option_and_format_of_the_page_exists() -> None:
    parsers = [command_parser(name)[0] for name in COMMANDS]
    known = {option for parser in parsers for action in parser._actions for option in action.option_strings}
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", TEXT)) <= known
    for name in WRITERS:
        assert f"`{name}`" in TEXT, name


def test_the_table_of_contents() -> None:
    headings = re.findall(r"^## (.+)$", TEXT, flags=re.MULTILINE)
    entries = re.findall(r"^\d+\. \[(.+?)\]\(#(.+?)\)$", TEXT, flags=re.MULTILINE)
    assert [title for title, _ in entries] == headings
    for title, anchor in entries:
        assert anchor == re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
    for page in re.findall(r"\]\((\w+\.md)\)", TEXT):
        assert (PAGE.parent / page).exists(), page
