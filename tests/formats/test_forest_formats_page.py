"""The examples of docs/forest-formats.md are run on the files that it shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pages import Page

PAGE = Page("docs/forest-formats.md")


def test_the_examples_are_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(PAGE.write_files(tmp_path)) == 7
    monkeypatch.chdir(tmp_path)
    PAGE.assert_examples_hold(at_least=20)


def test_the_table_of_contents_and_links() -> None:
    PAGE.assert_contents_complete()
    PAGE.assert_links_lead_somewhere()
