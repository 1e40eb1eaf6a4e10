"""The commands of docs/forests.md are run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from hulltune import ForestBuilder
from hulltune.cli import main
from hulltune.formats.forest_files import NamedForest
from hulltune.formats.forest_text import write_forest_text
from hulltune.names import WRITERS
from tests.pages import Page

PAGE = Page("docs/forests.md")


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
    assert {words[0] for words in PAGE.commands()} == {"kbest", "score", "convert", "info"}
    for words in PAGE.commands():
        assert main(words) == 0, (words, capsys.readouterr().err)
    assert sorted(entry.name for entry in Path("lattices").iterdir()) == ["one.slf", "two.slf"]
    assert len(Path("sample.nbest").read_text(encoding="utf-8").splitlines()) == 400


def test_every_format_is_on_the_page() -> None:
    for name in WRITERS:
        assert f"`{name}`" in PAGE.text, name
