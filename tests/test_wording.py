"""Numbers and their nouns agree, wherever they are told."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomli")

from hulltune.errors import LONGEST, InputError, unknown_name
from hulltune.wording import counted, listed


@pytest.mark.parametrize(
    ("number", "noun", "said"),
    [
        (0, "file", "0 files"),
        (1, "file", "1 file"),
        (2, "file", "2 files"),
        (1, "hypothesis", "1 hypothesis"),
        (12_000, "new hypothesis", "12,000 new hypotheses"),
        (3, "box", "3 boxes"),
        (2, "line search", "2 line searches"),
    ],
)
def test_a_number_of_things(number: int, noun: str, said: str) -> None:
    assert counted(number, noun) == said


def test_of_many_items_the_first_few_and_a_count() -> None:
    assert listed([]) == ""
    assert listed([3, 1, 2]) == "3, 1, 2"
    assert listed(range(5)) == "0, 1, 2, 3, 4"
    assert listed(range(6)) == "0, 1, 2, 3, 4 and 1 more"
    assert listed((f"f{k}" for k in range(1203)), 3) == "f0, f1, f2 and 1,200 more"


SOURCES = Path(__file__).parents[1] / "src" / "hulltune"


def test_hints_name_packages_that_can_be_installed_from_anywhere() -> None:
    """An extra of hulltune itself cannot be: in a checkout, pip would look for a package of this name."""
    project = tomllib.loads((SOURCES.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [name for extra in project["optional-dependencies"].values() for name in extra]
    known = " ".join([*project["dependencies"], *extras])
    hints = []
    for path in SOURCES.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "hulltune[" not in text.replace("hulltune[0]", ""), path
        hints += re.findall(r"pip install (?:--upgrade )?([\w-]+)", text)
    assert set(hints) == {"matplotlib", "numba", "pyarrow", "rapidfuzz", "sacrebleu", "scipy", "zstandard"}
    assert all(re.search(rf"\b{name}[>\[]", known) for name in hints)


def test_a_long_message_loses_its_middle() -> None:
    message = str(unknown_name("feature", "x", [f"feature_{k}" for k in range(10_000)]))
    assert len(message) <= LONGEST
    assert message.startswith("unknown feature 'x'")
    assert message.endswith("9,950 more)")
    assert " … " in message
    assert str(InputError("x" * LONGEST)) == "x" * LONGEST
