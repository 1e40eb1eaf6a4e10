"""Every page of the documentation: its contents, its links, the options that it names, and its examples in Python.

What a page says beside these is tested in the room that it is about.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.pages import DOCS, ROOT, Page

PAGES = {
    name: Page(name)
    for name in ["README.md", *sorted(path.relative_to(ROOT).as_posix() for path in DOCS.rglob("*.md"))]
}
WITH_LINKS = [name for name, page in PAGES.items() if re.search(r"\]\((?!https?:)", page.text)]
WITH_CONTENTS = [name for name, page in PAGES.items() if re.search(r"^1\. \[.+\]\(#", page.text, flags=re.MULTILINE)]
WITH_OPTIONS = [name for name, page in PAGES.items() if re.search(r"(?<![\w-])--[a-z]", page.text)]
WITH_FILES = [name for name, page in PAGES.items() if page.files()]
OTHERS = {
    "README.md": {"--strict"},
    "docs/forest-formats.md": {"--show"},
    "docs/formats.md": {"--alignment", "--word-scores"},
    "docs/loop.md": {"--output", "--lattice", "--forest", "--beam"},
    "docs/recipes/index.md": {"--weight"},
    "docs/recipes/speech.md": {"--inv-acoustic-scale", "--word-ins-penalty"},
    "docs/recipes/translation.md": {
        "--normalize", "--lenpen", "--score-reference", "--weight", "--beam-size", "--lm-weight", "--n-best-feature",
        "--n-best", "--show",
    },
    "docs/reference/errors.md": {"--version"},
    "docs/reliability.md": {"--minutes", "--parts"},
    "docs/report.md": {"--pictures"},
    "docs/speech-formats.md": {"--filename", "--fst"},
    "docs/start.md": {"--input", "--output"},
    "docs/benchmarks.md": {"--check"},
    "docs/tuning.md": {"--compare"},
    "docs/tutorials/loop.md": {"--output", "--inv-acoustic-scale", "--forest"},
}  # fmt: skip
"""The options on a page that other programs have."""
EXAMPLES = {
    "docs/forest-formats.md": (20, 7),
    "docs/forests.md": (12, 0),
    "docs/formats.md": (30, 12),
    "docs/loop.md": (12, 0),
    "docs/plots.md": (25, 0),
    "docs/questions.md": (12, 0),
    "docs/report.md": (7, 0),
    "docs/speech-formats.md": (20, 4),
    "docs/theory.md": (20, 0),
    "docs/tuning.md": (15, 0),
}
"""The pages with examples that need nothing but the files that the page shows: how many examples there are, and how
many files, at least.
"""


def test_most_pages_have_contents_and_options() -> None:
    assert len(WITH_CONTENTS) >= 14
    assert len(WITH_OPTIONS) >= 14


@pytest.mark.parametrize("name", WITH_LINKS)
def test_links_lead_somewhere(name: str) -> None:
    PAGES[name].assert_links_lead_somewhere()


@pytest.mark.parametrize("name", WITH_CONTENTS)
def test_the_table_of_contents_has_all_sections(name: str) -> None:
    PAGES[name].assert_contents_complete()


@pytest.mark.parametrize("name", WITH_OPTIONS)
def test_options_exist(name: str) -> None:
    PAGES[name].assert_options_exist(others=OTHERS.get(name, set()))


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_in_python(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    examples, files = EXAMPLES[name]
    assert len(PAGES[name].write_files(tmp_path)) >= files
    monkeypatch.chdir(tmp_path)
    PAGES[name].assert_examples_hold(at_least=examples)


@pytest.mark.parametrize("name", WITH_FILES)
def test_the_files_that_a_page_names_exist(name: str) -> None:
    assert [path for path in PAGES[name].files() if not (ROOT / path).exists()] == []
