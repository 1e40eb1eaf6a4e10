"""The examples of docs/theory.md are run, and its links lead somewhere."""

from __future__ import annotations

import re

from tests.pages import ROOT, Page

PAGE = Page("docs/theory.md")


def test_the_examples_are_true() -> None:
    PAGE.assert_examples_hold(at_least=20)


def test_the_table_of_contents_is_complete() -> None:
    PAGE.assert_contents_complete()


def test_the_files_that_it_names_exist() -> None:
    named = re.findall(r"`((?:tests|geometry)/[\w/]+\.py)`", PAGE.text)
    assert named
    for path in named:
        assert (ROOT / path).exists() or (ROOT / "src" / "hulltune" / path).exists(), path
