"""The numbers of the README, of pages in docs/ and of the paper are those of benchmarks/results."""

from __future__ import annotations

import re

import pytest

from benchmarks import pages
from tests.pages import Page

PAGE = Page("docs/benchmarks.md")


@pytest.mark.parametrize("name", pages.PAGES)
def test_the_numbers_are_those_that_were_measured(name: str) -> None:
    text = Page(name).text
    assert pages.BLOCK.search(text)
    assert pages.updated(text) == text, "the numbers have changed: run python -m benchmarks.pages"


def test_every_block_is_on_some_page() -> None:
    text = "".join(Page(name).text for name in pages.PAGES)
    assert set(re.findall(r"<!-- numbers: ([\w ]+) -->", text)) == set(pages.BLOCKS)


def test_other_numbers_would_be_written_anew() -> None:
    changed = PAGE.text.replace("| CKY, 40 words | 9,624 |", "| CKY, 40 words | 9,625 |")
    assert changed != PAGE.text
    assert pages.updated(changed) == PAGE.text


def test_contents_and_links() -> None:
    PAGE.assert_contents_complete()
    PAGE.assert_links_lead_somewhere()
