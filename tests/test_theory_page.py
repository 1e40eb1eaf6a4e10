"""The examples of docs/theory.md are run, and its links lead somewhere."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "theory.md"


def test_the_examples_are_true() -> None:
    results = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert results.attempted > 20
    assert results.failed == 0


def test_the_table_of_contents_is_complete() -> None:
    text = PAGE.read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+)$", text, flags=re.MULTILINE)
    anchors = re.findall(r"^\d+\. \[(.+?)\]\(#(.+?)\)$", text, flags=re.MULTILINE)
    assert [title for title, _ in anchors] == headings
    assert [anchor for _, anchor in anchors] == [
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings
    ]


def test_the_files_that_it_names_exist() -> None:
    text = PAGE.read_text(encoding="utf-8")
    root = PAGE.parents[1]
    for path in re.findall(r"`((?:tests|geometry)/[\w/]+\.py)`", text):
        assert (root / path).exists() or (root / "src" / "hulltune" / path).exists(), path
