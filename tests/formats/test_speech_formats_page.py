"""The examples of docs/speech-formats.md are run on the files that it shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from hulltune.formats import word_rules
from hulltune.formats.fst_binary import arc_types
from tests.pages import Page, measured

PAGE = Page("docs/speech-formats.md")


def test_the_examples_are_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(PAGE.write_files(tmp_path)) == 4
    monkeypatch.chdir(tmp_path)
    PAGE.assert_examples_hold(at_least=20)


def test_every_rule_arc_type_and_word_is_described() -> None:
    rules = (word_rules.MARKS, word_rules.MARKS_1_2, word_rules.SPEECH)
    for name in (*arc_types(), *(rule.name for rule in rules), *(word_rules.MARKS.words | word_rules.SILENCE)):
        assert f"`{name}`" in PAGE.text, name


def test_the_speeds_are_those_that_were_measured() -> None:
    results = {name: found for name, found in measured("lattice_reading").items() if name != "load"}
    assert PAGE.table_rows("## Speed") == [[name, f"{found['ns/arc']:.0f}"] for name, found in results.items()]
