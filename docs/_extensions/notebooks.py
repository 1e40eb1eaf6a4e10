"""Tutorials as notebooks to download: beside each page with cells of code lies a .ipynb, and the page links to it."""

from __future__ import annotations

import json
import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

SITE = "https://hulltune.readthedocs.io/en/latest"
CELL = re.compile(r"^```\{code-cell\}[^\n]*\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
FRONT = re.compile(r"\A---\n.*?^---\n", flags=re.DOTALL | re.MULTILINE)
KERNEL = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}


def notebook(text: str, page: str) -> dict[str, Any]:
    """A page with cells as a notebook (nbformat 4.5), without outputs; links to other pages lead to the site."""
    parts = CELL.split(FRONT.sub("", text))
    made = [_code(part) if number % 2 else _prose(part, page) for number, part in enumerate(parts)]
    cells = [{**cell, "id": f"cell-{number}"} for number, cell in enumerate(made) if cell["source"]]
    return {"cells": cells, "metadata": KERNEL, "nbformat": 4, "nbformat_minor": 5}


def _prose(text: str, page: str) -> dict[str, Any]:
    folder = posixpath.dirname(page)

    def absolute(link: re.Match[str]) -> str:
        return f"]({SITE}/{posixpath.normpath(posixpath.join(folder, link[1]))}.html{link[2] or ''})"

    source = re.sub(r"\]\((?!https?:)([\w./-]+)\.md(#[\w-]+)?\)", absolute, text.strip())
    return {"cell_type": "markdown", "metadata": {}, "source": source.splitlines(keepends=True)}


def _code(text: str) -> dict[str, Any]:
    """A cell; a first line `:tags: [hide-input]` is no code, but says how the cell is shown."""
    tags = re.search(r"\A:tags: \[(.*)\]\n", text)
    metadata = {"tags": re.split(r",\s*", tags[1])} if tags else {}
    source = text[tags.end() if tags else 0 :].strip("\n").splitlines(keepends=True)
    return {"cell_type": "code", "execution_count": None, "metadata": metadata, "outputs": [], "source": source}


def link(app: Sphinx, page: str, source: list[str]) -> None:
    """Put a link to the notebook below the title of a page that has one."""
    if CELL.search(source[0]):
        name = f"{posixpath.basename(page)}.ipynb"
        told = f'<p><a href="{name}" download>Download this page as a notebook</a></p>'
        source[0] = re.sub(r"^(# .+)$", rf"\1\n\n{told}", source[0], count=1, flags=re.MULTILINE)


def write(app: Sphinx, error: Exception | None) -> None:
    """Write the notebooks beside their pages."""
    for page in [] if error or app.builder.format != "html" else sorted(app.env.found_docs):
        text = Path(app.env.doc2path(page)).read_text(encoding="utf-8")
        if CELL.search(text):
            made = json.dumps(notebook(text, page), ensure_ascii=False, indent=1)
            (Path(app.outdir) / f"{page}.ipynb").write_text(made + "\n", encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("source-read", link)
    app.connect("build-finished", write)
    return {"version": "1", "parallel_read_safe": True}
