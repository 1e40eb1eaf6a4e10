"""The README's examples do what it says, and its links and options exist."""

from __future__ import annotations

import pytest

from tests.pages import ROOT, Page

PAGE = Page("README.md")


def test_readme_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    PAGE.assert_examples_hold(at_least=8)


def test_links_and_options() -> None:
    PAGE.assert_links_lead_somewhere()
    PAGE.assert_options_exist(others={"--strict"})  # of mypy
