"""Docstrings in plain text: signs of mathematics such as |E| and a* stand for themselves, not for markup."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

MARKUP = re.compile(r"([\\|*]|(?<=\w)_(?=\W|$))")
PAGE = re.compile(r"\bdocs/([\w-]+)\.md\b")
UNREADABLE = {
    r"TypeAliasForwardRef\('(\w+)'\)": r"\1",
    r"<class '(?:[\w.]+\.)?(\w+)'>": r"\1",
    r"<[^<>]*>": "...",  # what is made anew, functions, and other objects without a spelling
}
"""What Sphinx writes into signatures and cannot parse, and what is put there."""
KEPT = re.compile(r"(``.+?``|`[^`]+`)")


def escaped(line: str) -> str:
    """A line of text with all that is markup elsewhere escaped, except code in backticks; pages are links."""
    parts = KEPT.split(line)
    return "".join(part if number % 2 else _plain(part) for number, part in enumerate(parts))


def _plain(text: str) -> str:
    return PAGE.sub(r":doc:`docs/\1.md </\1>`", MARKUP.sub(r"\\\1", text))


def rewrite(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Escape the text of a docstring, and leave its examples alone."""
    in_example = False
    for number, line in enumerate(lines):
        in_example = line.lstrip().startswith(">>>") or (in_example and bool(line.strip()))
        if not in_example:
            lines[number] = escaped(line)


def readable(
    app: Sphinx, what: str, name: str, obj: object, options: object, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """The signature without what Sphinx cannot parse, so that it shows types by their short names, and links."""
    return _readable(signature), _readable(returned)


def _readable(text: str | None) -> str | None:
    for pattern, written in UNREADABLE.items():
        text = text and re.sub(pattern, written, text)
    return text


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("autodoc-process-docstring", rewrite)
    app.connect("autodoc-process-signature", readable)
    return {"version": "1", "parallel_read_safe": True}
