"""Run notebooks that are written as Markdown, without Jupyter: `python -m tests.notebooks FILE… [--pictures FOLDER]`.

A notebook is a page whose ```{code-cell} blocks are Python. Here they run as one program in a fresh process, in an
empty folder, with the line numbers of the page in tracebacks; what a cell ends with is turned into text or a picture,
as a notebook would. No kernel is needed for that: it starts in no time, and what fails is an ordinary exception.
Lines of cells that begin with `!` are commands for a shell, as in Jupyter. Lines `$ hulltune …` in ```console blocks
are run, too, where they stand; no cell may depend on these, because Jupyter only shows them.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```(\{code-cell\}|console)[^\n]*\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
REPRESENTATIONS = ("_repr_html_", "_repr_svg_", "_repr_png_")


@dataclass(frozen=True)
class Block:
    """A cell or some commands of a page; `line` is the number of the first line of its text."""

    kind: Literal["cell", "commands"]
    text: str
    line: int


def blocks(page: Path) -> Iterator[Block]:
    """The cells and the blocks of commands of a page, in order. Options of cells (lines `:name: value`) are no code."""
    source = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(source):
        line = source.count("\n", 0, found.start(2)) + 1
        if found[1] == "console":
            yield Block("commands", found[2], line)
        else:
            yield Block("cell", re.sub(r"^:[a-z-]+:.*$", "", found[2], flags=re.MULTILINE), line)


def run_page(page: Path, pictures: Path | None = None) -> None:
    """Run everything in the current folder; what cells show is printed, and pictures go to a folder if one is given."""
    namespace: dict[str, Any] = {"__name__": "__main__", "__run_command": run_command}
    for number, block in enumerate(blocks(page)):
        if block.kind == "commands":
            for command in re.findall(r"^\$ (hulltune .+)$", block.text, flags=re.MULTILINE):
                run_command(command)
        else:
            shown = run_cell(block, page, namespace)
            show(shown, None if pictures is None else pictures / f"{page.stem}-{number:02d}.png")


def run_cell(block: Block, page: Path, namespace: dict[str, Any]) -> object:
    """The value of the last line of a cell if it is an expression without a semicolon, otherwise None."""
    source = re.sub(r"^!(.+)$", lambda line: f"__run_command({line[1]!r})", block.text, flags=re.MULTILINE)
    tree = ast.parse(source, filename=str(page))
    ast.increment_lineno(tree, block.line - 1)
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr) or block.text.rstrip().endswith(";"):
        exec(compile(tree, str(page), "exec"), namespace)
        return None
    exec(compile(ast.Module(tree.body[:-1], []), str(page), "exec"), namespace)
    return eval(compile(ast.Expression(last.value), str(page), "eval"), namespace)


def run_command(command: str) -> None:
    """Run a command by a shell for which `python` and `hulltune` are those of this environment; it must succeed."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    subprocess.run(command, shell=True, check=True, env={**os.environ, "PATH": path})


def show(value: object, picture: Path | None) -> None:
    """Make what a notebook would display; print it if it is text."""
    if value is None:
        return
    made = {name: getattr(value, name)() for name in REPRESENTATIONS if hasattr(value, name)}
    if isinstance(made.get("_repr_png_"), bytes):
        if picture is not None:
            picture.write_bytes(made["_repr_png_"])
            print(f"[{picture}]", flush=True)
    else:
        print(value, flush=True)


def run_in_own_process(page: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a page in a process of its own with `folder` as its working folder; its output is captured."""
    found = os.pathsep.join(map(str, (ROOT, ROOT / "src", ROOT / "examples")))
    environment = {**os.environ, "PYTHONPATH": found}
    command = [sys.executable, "-m", "tests.notebooks", str(page), "--here"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def main() -> None:
    parser = argparse.ArgumentParser(description="Run notebooks written as Markdown.")
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument("--pictures", type=Path, help="a folder for the pictures of cells [not kept]")
    parser.add_argument("--here", action="store_true", help="run in the current folder [in an empty one]")
    options = parser.parse_args()
    if options.pictures is not None:
        options.pictures.mkdir(parents=True, exist_ok=True)
    pictures = None if options.pictures is None else options.pictures.resolve()
    for page in [page.resolve() for page in options.pages]:
        start = time.process_time()
        if options.here:
            run_page(page, pictures)
            continue
        with tempfile.TemporaryDirectory() as folder:
            before = Path.cwd()
            os.chdir(folder)
            try:
                run_page(page, pictures)
            finally:
                os.chdir(before)
        print(f"{page.name}: {time.process_time() - start:.1f} s of CPU time, without commands", file=sys.stderr)


if __name__ == "__main__":
    main()
