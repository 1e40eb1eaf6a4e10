"""Every tutorial runs from its first cell to its last, and what it claims about numbers is asserted in its cells."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.notebooks import blocks, run_in_own_process
from tests.pages import DOCS

TUTORIALS = sorted(page for page in (DOCS / "tutorials").glob("*.md") if page.name != "index.md")
PACKAGES = {"hull-semiring": ("genlm.grammar", "semirings")}
"""What a tutorial imports beside the packages of the tests."""
INSTALLED_AS = {"genlm": "genlm-grammar"}
"""Packages that are installed by another name than that of their module."""


@pytest.mark.docs
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


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: str(page.stem))
def test_a_tutorial_names_the_packages_that_it_imports(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    (told,) = re.findall(r"^Packages: (.+)$", text.partition("\n## ")[0], flags=re.MULTILINE)
    code = "\n".join(
        re.sub(r"^!.*$", "", each.text, flags=re.MULTILINE) for each in blocks(page) if each.kind == "cell"
    )
    nodes = list(ast.walk(ast.parse(code)))
    modules = {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
    modules |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
    packages = {module.partition(".")[0] for module in modules} - set(sys.stdlib_module_names) - {"hulltune", "numpy"}
    named = set(re.findall(r"[\w-]+", told))
    assert {INSTALLED_AS.get(package, package) for package in packages} <= named
    assert "figures" in named or not re.search(r"\bplot_\w+\(", code)
    assert "certify" in named or "Certified" not in code


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: str(page.stem))
def test_a_tutorial_can_be_downloaded_as_a_notebook(page: Path) -> None:
    extension = _notebooks()
    made = extension.notebook(page.read_text(encoding="utf-8"), f"tutorials/{page.stem}")
    assert json.loads(json.dumps(made)) == made
    assert (made["nbformat"], made["nbformat_minor"]) == (4, 5)
    cells = made["cells"]
    assert len({cell["id"] for cell in cells}) == len(cells)
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    page_cells = [block.text.strip("\n") for block in blocks(page) if block.kind == "cell"]
    assert ["".join(cell["source"]) for cell in code] == page_cells
    assert page.read_text(encoding="utf-8").count("\n:tags: ") == sum("tags" in cell["metadata"] for cell in code)
    prose = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    assert prose.startswith("# ")
    for address in re.findall(r"\]\(([^)]+)\)", prose):  # away from its neighbours
        assert address.startswith("https://"), address
    for name in re.findall(rf"{re.escape(extension.SITE)}/([\w/-]+)\.html", prose):
        assert (DOCS / f"{name}.md").exists()


def test_the_page_links_to_its_notebook() -> None:
    source = ["# Title\n\n```{code-cell}\n1\n```\n"]
    _notebooks().link(None, "tutorials/speech", source)
    assert source[0].startswith('# Title\n\n<p><a href="speech.ipynb" download>')
    without = ["# Title\n"]
    _notebooks().link(None, "about", without)
    assert without == ["# Title\n"]


def _notebooks() -> Any:
    """The extension of the site that makes notebooks."""
    spec = importlib.util.spec_from_file_location("notebooks", DOCS / "_extensions" / "notebooks.py")
    assert spec is not None
    assert spec.loader is not None
    extension = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(extension)
    return extension
