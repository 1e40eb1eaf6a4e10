"""The examples of docs/speech-formats.md are run on the files that it shows."""

from __future__ import annotations

import doctest
import re
import warnings
from pathlib import Path

import pytest

from hulltune.io import word_rules
from hulltune.io.fst_binary import arc_types

PAGE = Path(__file__).parents[2] / "docs" / "speech-formats.md"


def test_the_examples_are_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = re.findall(r"^```text title=(\S+)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL | re.M)
    assert len(files) == 4
    for name, content in files:
        (tmp_path / name).write_text(content, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # the page opens files in passing
        results = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert results.attempted > 20
    assert results.failed == 0


def test_every_rule_arc_type_and_word_is_described() -> None:
    text = PAGE.read_text(encoding="utf-8")
    rules = (word_rules.MARKS, word_rules.MARKS_1_2, word_rules.SPEECH)
    for name in (*arc_types(), *(rule.name for rule in rules), *(word_rules.MARKS.words | word_rules.SILENCE)):
        assert f"`{name}`" in text, name
