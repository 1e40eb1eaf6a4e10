"""Every tutorial runs from its first cell to its last, and what it claims about numbers is asserted in its cells."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from tests.notebooks import blocks, run_in_own_process
from tests.pages import DOCS

pytestmark = pytest.mark.docs

TUTORIALS = sorted(page for page in (DOCS / "tutorials").glob("*.md") if page.name != "index.md")
PACKAGES = {"hull-semiring": ("genlm.grammar", "semirings")}
"""What a tutorial imports beside the packages of the tests."""


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: str(page.stem))
def test_a_tutorial_runs(page: Path, tmp_path: Path) -> None:
    for package in PACKAGES.get(page.stem, ()):
        if importlib.util.find_spec(package.partition(".")[0]) is None:
            pytest.skip(f"{package} is not installed (pip install --group docs)")
    ran = run_in_own_process(page, tmp_path)
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-4000:]


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: str(page.stem))
def test_a_tutorial_asserts_what_it_claims(page: Path) -> None:
    cells = [block.text for block in blocks(page) if block.kind == "cell"]
    assert len(cells) >= 6
    assert sum(len(re.findall(r"^ *assert ", cell, flags=re.MULTILINE)) for cell in cells) >= 4


def test_the_index_names_every_tutorial() -> None:
    index = (DOCS / "tutorials" / "index.md").read_text(encoding="utf-8")
    assert TUTORIALS
    assert set(re.findall(r"\]\(([\w-]+)\.md\)", index)) == {page.stem for page in TUTORIALS}
