"""The answers of docs/questions.md name what exists, and their example is run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pages import Page

PAGE = Page("docs/questions.md")


def test_the_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    PAGE.assert_examples_hold(at_least=6)


def test_options_contents_and_links() -> None:
    PAGE.assert_options_exist()
    PAGE.assert_contents_complete()
    PAGE.assert_links_lead_somewhere()
