"""The site: every page is in it, and once it is built, everything that its pages point to is there, on the disk."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.pages import DOCS, ROOT

SITE = ROOT / "out" / "site"
FETCHED = {
    ("script", "src"),
    ("link", "href"),
    ("img", "src"),
    ("iframe", "src"),
    ("source", "src"),
    ("object", "data"),
}
"""What a browser fetches when it shows a page."""
STANDARD = {"search.html", "genindex.html", "py-modindex.html"}
"""Pages that Sphinx makes, without a source."""


class Parsed(HTMLParser):
    """The anchors of a page, its links, and all that it fetches."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value is None:
                continue
            if name == "id":
                self.anchors.add(value)
            if (tag, name) == ("a", "href"):
                self.links.append(value)
            if (tag, name) in FETCHED:
                self.fetched.append(value)


def test_every_page_is_in_the_contents() -> None:
    found: set[Path] = set()
    _collect(DOCS / "index.md", found)
    assert found == set(DOCS.rglob("*.md"))


def _collect(page: Path, found: set[Path]) -> None:
    """Add a page and all pages below it; a page has one place."""
    assert page not in found, f"{page} is in the contents twice"
    found.add(page)
    for block in re.findall(r"^```\{toctree\}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
        for name in block.split():
            if not name.startswith(":"):
                _collect((page.parent / f"{name}.md").resolve(), found)


@pytest.fixture(scope="module")
def site() -> dict[Path, Parsed]:
    if not (SITE / "index.html").exists():
        pytest.skip("the site is not built; `make docs` builds it")
    return {path: Parsed(path) for path in SITE.rglob("*.html")}


@pytest.mark.docs
def test_the_site_has_every_page(site: dict[Path, Parsed]) -> None:
    pages = {path.relative_to(SITE).as_posix() for path in site} - STANDARD
    assert pages == {path.relative_to(DOCS).with_suffix(".html").as_posix() for path in DOCS.rglob("*.md")}


@pytest.mark.docs
def test_every_link_leads_somewhere(site: dict[Path, Parsed]) -> None:
    checked = 0
    for path, page in site.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme:
                assert parts.scheme in {"https", "http", "mailto"}, (path.name, link)
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.is_file(), (path.name, link)
            if parts.fragment and target.suffix == ".html":
                assert unquote(parts.fragment) in site[target].anchors | {"top"}, (path.name, link)
            checked += 1
    assert checked > 1_000


@pytest.mark.docs
def test_nothing_is_fetched_from_elsewhere(site: dict[Path, Parsed]) -> None:
    for path, page in site.items():
        for address in page.fetched:
            if address.startswith(("data:", "#")):
                continue
            parts = urlsplit(address)
            assert not parts.scheme, (path.name, address)
            assert not parts.netloc, (path.name, address)
            assert (path.parent / unquote(parts.path)).resolve().is_file(), (path.name, address)
    for style in [*SITE.rglob("*.css"), *SITE.rglob("*.svg")]:
        text = style.read_text(encoding="utf-8")
        assert not re.search(r"(?:url\(|@import|href=)\s*[\"']?(?:https?:)?//", text), style


@pytest.mark.docs
def test_the_search_finds_functions_options_and_words(site: dict[Path, Parsed]) -> None:
    text = (SITE / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))
    pages = index["docnames"]
    assert {pages[entry[0]] for entry in index["objects"]["hulltune"] if entry[4] == "tune"} == {"reference/tuning"}
    for word, page in {"heldout": "reference/commands", "minkowski": "theory", "kaldi": "speech-formats"}.items():
        places = [index[kind].get(word, []) for kind in ("terms", "titleterms")]
        assert pages.index(page) in {number for found in places for number in _numbers(found)}, word


@pytest.mark.docs
def test_a_browser_searches_from_the_disk(site: dict[Path, Parsed]) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("there is no chromium to search with")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=10000", "--dump-dom"]
    address = f"{(SITE / 'search.html').as_uri()}?q=minkowski"
    shown = subprocess.run([browser, *options, address], capture_output=True, text=True, timeout=120, check=True).stdout
    assert "theory.html" in shown.split('id="search-results"', 1)[1]


def _numbers(found: int | list[int]) -> list[int]:
    """The numbers of pages: the index has one number, or several."""
    return found if isinstance(found, list) else [found]
