"""The gallery has every picture that hulltune draws; its scripts draw them, and are short."""

from __future__ import annotations

import ast
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

import hulltune
from tests.pages import DOCS, ROOT, Page

PAGE = Page("docs/gallery.md")
SCRIPTS = sorted((ROOT / "examples" / "gallery").glob("*.py"))
LONGEST = {"terminal": 65, "error_surface": 40}
"""The most lines of code of a script, where that is more than a dozen and a few."""


def _slow(script: Path) -> Any:
    """The script as a parameter: that of the terminal, which runs three commands, is left to `make test-docs`."""
    return pytest.param(script, id=script.stem, marks=[pytest.mark.docs] if script.stem == "terminal" else [])


@pytest.mark.parametrize("script", [_slow(script) for script in SCRIPTS])
def test_a_script_draws_its_picture(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script), run_name="__main__")
    names = {path.name for path in tmp_path.iterdir()}
    assert names == ({"terminal.svg", "terminal-scores.svg"} if script.stem == "terminal" else {f"{script.stem}.png"})
    for drawn in tmp_path.iterdir():
        assert_is_a_picture(drawn)
        assert (DOCS / "pictures" / drawn.name).is_file()
    shown = "".join(rf"!\[[^\]]+\]\(pictures/{name}\)\n\n" for name in sorted(names, key=len))
    assert re.search(rf"{shown}\[examples/gallery/{script.name}\]\(../examples/gallery/{script.name}\)\n", PAGE.text)


def assert_is_a_picture(drawn: Path) -> None:
    if drawn.suffix == ".png":
        assert drawn.stat().st_size > 10_000
        assert drawn.read_bytes().startswith(b"\x89PNG")
    else:
        picture = drawn.read_text(encoding="utf-8")
        assert picture.startswith("<svg ")
        assert "oracle" in picture
        assert "://" not in picture.replace('xmlns="http://www.w3.org/2000/svg"', "")  # no fonts from elsewhere


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_says_what_it_draws_and_is_short(script: Path) -> None:
    text = script.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text))
    code = [line for line in text.splitlines()[1:] if line.strip() and not line.startswith("#")]
    assert len(code) <= LONGEST.get(script.stem, 15)


def test_every_picture_is_in_the_gallery() -> None:
    used = "\n".join(script.read_text(encoding="utf-8") for script in SCRIPTS)
    kinds = {name.removeprefix("plot_") for name in hulltune.__all__ if name.startswith("plot_")}
    assert kinds == {"surface", "plane", "sensitivity", "envelope", "plus", "times", "inside"}
    for kind in kinds:
        assert f"plot_{kind}(" in used or (f"metric_{kind}(" in used and ".plot()" in used), kind
    shown = re.findall(r"pictures/([\w-]+\.\w+)", PAGE.text)
    assert sorted(shown) == sorted(path.name for path in (DOCS / "pictures").iterdir())
