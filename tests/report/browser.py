"""A real browser: Debian's Chromium, or another one that is installed, driven by playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = [
    "--no-sandbox", "--headless", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run",
]  # fmt: skip


def executable() -> str | None:
    """The path of a Chromium; that in HULLTUNE_CHROMIUM, if it is set."""
    return os.environ.get("HULLTUNE_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def browser() -> Iterator[Any]:
    """A browser for several pages."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=executable(), args=ARGUMENTS)
        try:
            yield running
        finally:
            running.close()


class Opened:
    """A page that is open, with everything that it asked for and complained about."""

    def __init__(self, running: Any, path: Path, **options: Any) -> None:
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.context = running.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        self.page = self.context.new_page()
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(path.resolve().as_uri())
        self.page.wait_for_function("window.hulltune && window.hulltune.ready")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.page, name)

    def run(self, script: str) -> Any:
        """The value of a script."""
        return self.page.evaluate(script)

    def text(self, selector: str) -> str:
        """The text of an element, as written."""
        found: str = self.page.evaluate("selector => document.querySelector(selector).textContent", selector)
        return found

    def texts(self, selector: str) -> list[str]:
        """The texts of all elements that are shown."""
        return [row[0] for row in self._shown(selector, "e => [e.textContent]")]

    def rows(self, selector: str) -> list[list[str]]:
        """The texts of the cells of all rows that are shown."""
        return self._shown(selector, "e => [...e.cells].map(cell => cell.textContent)")

    def words(self, selector: str, *, without: str) -> list[str]:
        """The words of an element but for those in its children with a tag."""
        nodes = f"[...document.querySelector('{selector}').childNodes].filter(node => node.nodeName !== '{without}')"
        found: str = self.page.evaluate(f"{nodes}.map(node => node.textContent).join(' ')")
        return found.split()

    def _shown(self, selector: str, told: str) -> list[list[str]]:
        elements = f"[...document.querySelectorAll({selector!r})].filter(e => e.offsetParent)"
        found: list[list[str]] = self.page.evaluate(f"{elements}.map({told})")
        return found
