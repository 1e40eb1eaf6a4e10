"""The examples of docs/forest-formats.md are run on the files that it shows."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "forest-formats.md"


def test_the_examples_are_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = re.findall(r"^```text title=(\S+)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL | re.M)
    assert len(files) == 7
    for name, content in files:
        (tmp_path / name).write_text(content, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    results = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert results.attempted > 20
    assert results.failed == 0
