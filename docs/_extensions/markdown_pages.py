"""Pages that code hosts show as well: what they write in the manner of Markdown, in the manner of Sphinx.

A block with a title (text title=dev.nbest) shows the name of its file. A line that is nothing but a link to a script
shows the script, without its docstring. A link to a page of the project outside of docs/ (CHANGELOG.md) leads to its
copy on the site; links to its other files are downloads.
"""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

COPIES = {"../CHANGELOG.md": "changelog.md", "../CONTRIBUTING.md": "contributing.md", "../README.md": "index.md"}
"""Pages of the project that the site has under another name."""
REWRITTEN = {
    r"^```python\n((?:(?!```).*\n)*?)\n```$": r"```python\n\1```",  # a blank line ends an example for doctest
    r"^```text title=(\S+)$": r"```{code-block} text\n:caption: \1\n",
    r"^\[\S+\]\((\S+/(\S+\.py))\)$": r"```{literalinclude} \1\n:lines: 3-\n:caption: {download}`\2 <\1>`\n```",
}
"""What is written in the manner of Sphinx, by what is on the page."""


def rewrite(app: Sphinx, page: str, source: list[str]) -> None:
    """Change the text of a page before it is parsed."""
    for pattern, written in REWRITTEN.items():
        source[0] = re.sub(pattern, written, source[0], flags=re.MULTILINE)
    for path, copy in COPIES.items():
        source[0] = source[0].replace(f"]({path}", f"]({copy}")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("source-read", rewrite)
    return {"version": "1", "parallel_read_safe": True}
