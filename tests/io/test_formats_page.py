"""The examples of docs/formats.md are run on the files that it shows."""

from __future__ import annotations

import doctest
import re
import warnings
from pathlib import Path

import pytest

from hulltune.io import BUILTIN_FEATURES, FORMATS

PAGE = Path(__file__).parents[2] / "docs" / "formats.md"


def test_the_examples_are_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = re.findall(r"^```text title=(\S+)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL | re.M)
    assert len(files) > 12
    for name, content in files:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # the page opens a file in passing, to show it
        results = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert results.attempted > 30
    assert results.failed == 0


def test_every_format_and_feature_is_described() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name in (*FORMATS, *BUILTIN_FEATURES):
        assert f"`{name}`" in text, name


def test_the_table_of_contents_is_complete() -> None:
    text = PAGE.read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+)$", text, flags=re.MULTILINE)
    anchors = re.findall(r"^\d+\. \[(.+?)\]\(#(.+?)\)$", text, flags=re.MULTILINE)
    assert [title for title, _ in anchors] == headings
    assert [anchor for _, anchor in anchors] == [heading.lower().replace(" ", "-") for heading in headings]
