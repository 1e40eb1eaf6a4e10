"""The examples of docs/formats.md are run on the files that it shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from hulltune.formats import BUILTIN_FEATURES, FORMATS
from tests.pages import Page

PAGE = Page("docs/formats.md")


def test_the_examples_are_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(PAGE.write_files(tmp_path)) > 12
    monkeypatch.chdir(tmp_path)
    PAGE.assert_examples_hold(at_least=30)


def test_every_format_and_feature_is_described() -> None:
    for name in (*FORMATS, *BUILTIN_FEATURES):
        assert f"`{name}`" in PAGE.text, name


def test_the_table_of_contents_and_links() -> None:
    PAGE.assert_contents_complete()
    PAGE.assert_links_lead_somewhere()
