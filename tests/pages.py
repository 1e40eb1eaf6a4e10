"""Checks of the pages of the documentation: a page's examples, files, commands, options, contents and links."""

from __future__ import annotations

import doctest
import json
import re
import shlex
import subprocess
import sys
import warnings
from collections.abc import Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from hulltune.cli import main
from hulltune.cli.command import load
from hulltune.cli.commands import COMMANDS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


@dataclass(frozen=True)
class Page:
    """A page of the documentation, by its path from the root of the project."""

    name: str

    @property
    def path(self) -> Path:
        return ROOT / self.name

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    def assert_examples_hold(self, *, at_least: int) -> None:
        """Run all examples in Python as one session in the current folder; there must be `at_least` so many."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # pages open files in passing, to show them
            results = doctest.testfile(str(self.path), module_relative=False, encoding="utf-8")
        assert results.failed == 0
        assert results.attempted >= at_least

    def write_files(self, folder: Path) -> list[str]:
        """Write the files that the page shows (blocks with a title) below `folder`, and return their names."""
        shown = re.findall(r"^```text title=(\S+)\n(.*?)^```$", self.text, flags=re.DOTALL | re.MULTILINE)
        for name, content in shown:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        return [name for name, _ in shown]

    def commands(self) -> list[list[str]]:
        """The words of every `$ hulltune …` on the page, without the `hulltune`."""
        return [shlex.split(line) for line in re.findall(r"^\$ hulltune (.+)$", self.text, flags=re.MULTILINE)]

    def lines(self) -> list[list[str]]:
        """The words of every `$ …` on the page."""
        return [shlex.split(line) for line in re.findall(r"^\$ (.+)$", self.text, flags=re.MULTILINE)]

    def files(self) -> list[str]:
        """The files of the project that the page names in code, such as tests and examples."""
        return re.findall(r"`(?:python )?((?:benchmarks|examples|src|tests)/[\w/.]+\.\w+)`", self.text)

    def assert_options_exist(self, *, others: Set[str] = frozenset()) -> None:
        """Check that every option on the page is one of some command, except `others`, which other programs have."""
        known = {option for name in COMMANDS for param in load(name).params for option in param.opts} | {"--help"}
        named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", self.text))
        assert named
        assert named - others <= known, named - known

    def assert_contents_complete(self) -> None:
        """Check that the table of contents has every section, in order, with the anchor that a browser gives it."""
        entries = re.findall(r"^\d+\. \[(.+?)\]\(#(.+?)\)$", self.text, flags=re.MULTILINE)
        headings = self._headings("##")
        assert headings
        assert entries == [(heading, _anchor(heading)) for heading in headings]

    def assert_links_lead_somewhere(self) -> None:
        """Check that every link within the project names a file, and a heading of it where it has an anchor."""
        links = re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)", self.text)
        assert links
        for target, anchor in links:
            path = (self.path.parent / target).resolve() if target else self.path
            assert path.exists(), target
            if anchor:
                page = Page(path.relative_to(ROOT.resolve()).as_posix()) if target else self
                assert anchor in {_anchor(heading) for heading in page._headings("##+")}, (target, anchor)

    def table_rows(self, heading: str, number: int = 0) -> list[list[str]]:
        """The cells of the rows of a table under a heading (the first has number 0), without its own head."""
        section = self.text.split(f"\n{heading}\n", 1)[1].split("\n#", 1)[0]
        table = re.findall(r"(?:^\|.*\|\n)+", section, flags=re.MULTILINE)[number]
        return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]

    def _headings(self, level: str) -> list[str]:
        outside_of_blocks = re.sub(r"^```.*?^```$", "", self.text, flags=re.DOTALL | re.MULTILINE)
        return re.findall(rf"^{level} (.+)$", outside_of_blocks, flags=re.MULTILINE)


def run_line(line: list[str], *more: str) -> int:
    """The exit code of `hulltune …`, run in this process, or of `python examples/…`, run where a link has this name."""
    words = [word.replace("python examples", f"{shlex.quote(sys.executable)} examples") for word in (*line, *more)]
    if words[0] == "hulltune":
        return main(words[1:])
    assert words[0] == "python"
    return subprocess.run([sys.executable, *words[1:]], check=False).returncode


def link_examples(folder: Path) -> None:
    """Let a folder look like a clone to those who look for examples."""
    (folder / "examples").symlink_to(ROOT / "examples")


def measured(name: str) -> Any:
    """The stored results of a benchmark, from which the numbers on the pages come."""
    return json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text(encoding="utf-8"))


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
